//! Series and their axes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::MetricUnit;
use crate::safe_text::SafeText;
use crate::units;

/// Name and unit of a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChartAxis {
    /// The quantity on the axis.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
    /// Unit of the quantity.
    pub unit: MetricUnit,
}

impl ChartAxis {
    /// Creates an axis.
    #[must_use]
    pub fn new(name: &str, unit: MetricUnit) -> Self {
        Self {
            name: name.into(),
            unit,
        }
    }
}

/// Axes with sizes of blocks and buffers, which are displayed in binary units.
const BINARY_UNIT_AXES: [&str; 3] = ["block size", "record size", "read-ahead"];

impl ChartAxis {
    /// Formats a value on this axis.
    #[must_use]
    pub fn format(&self, value: f64) -> String {
        if self.unit == MetricUnit::Bytes && BINARY_UNIT_AXES.contains(&self.name.as_str()) {
            return units::format_block_size(value);
        }
        self.unit.format(value)
    }
}

/// A series of points, drawn as a curve or a scatter plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Name, such as `iops-over-time`.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
    /// Quantity and unit of x.
    pub x: ChartAxis,
    /// Quantity and unit of y.
    pub y: ChartAxis,
    /// `[x, y]`, in the order of measurement.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 2_000_000>")]
    pub points: Vec<[f64; 2]>,
    /// 95 % confidence interval of each point's y, `[lower, upper]`, in the order of `points`; null
    /// if not determined. Absent if no point has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 2_000_000>")]
    pub intervals: Vec<Option<[f64; 2]>>,
}

impl Series {
    /// The 95 % confidence interval of the point at this index.
    #[must_use]
    pub fn confidence_interval(&self, index: usize) -> Option<[f64; 2]> {
        self.intervals.get(index).copied().flatten()
    }

    /// Sets the 95 % confidence intervals of the points; stores nothing if no point has one.
    #[must_use]
    pub fn with_intervals(mut self, intervals: Vec<Option<[f64; 2]>>) -> Self {
        self.intervals = intervals;
        if self.intervals.iter().all(Option::is_none) {
            self.intervals.clear();
        }
        self
    }
}
