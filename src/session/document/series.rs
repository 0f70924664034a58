//! Curves and their axes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MetricUnit;
use crate::safe_text::SafeText;
use crate::units;

/// Name and unit of a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChartAxis {
    /// What is drawn along it.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
    /// Its unit.
    pub unit: MetricUnit,
}

impl ChartAxis {
    /// An axis.
    #[must_use]
    pub fn new(name: &str, unit: MetricUnit) -> Self {
        Self {
            name: name.into(),
            unit,
        }
    }
}

/// Axes whose bytes are sizes of blocks and buffers: people count them in binary units.
const BINARY_UNIT_AXES: [&str; 3] = ["block size", "record size", "read-ahead"];

impl ChartAxis {
    /// A value on it as people read it.
    #[must_use]
    pub fn format(&self, value: f64) -> String {
        if self.unit == MetricUnit::Bytes && BINARY_UNIT_AXES.contains(&self.name.as_str()) {
            return units::format_block_size(value);
        }
        self.unit.format(value)
    }
}

/// A curve or a cloud of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Name, such as `iops-over-time`.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
    /// Horizontal axis.
    pub x: ChartAxis,
    /// Vertical axis.
    pub y: ChartAxis,
    /// `[x, y]`, in the order in which they were obtained.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 2_000_000>")]
    pub points: Vec<[f64; 2]>,
    /// 95 % confidence limits of each point's y, `[lower, upper]`, in the order of `points`; null where
    /// they cannot be had. Absent where no point has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 2_000_000>")]
    pub intervals: Vec<Option<[f64; 2]>>,
}

impl Series {
    /// The 95 % limits of the point at this index.
    #[must_use]
    pub fn confidence_interval(&self, index: usize) -> Option<[f64; 2]> {
        self.intervals.get(index).copied().flatten()
    }

    /// The same series with 95 % limits of its points; none at all where no point has any.
    #[must_use]
    pub fn with_intervals(mut self, intervals: Vec<Option<[f64; 2]>>) -> Self {
        self.intervals = intervals;
        if self.intervals.iter().all(Option::is_none) {
            self.intervals.clear();
        }
        self
    }
}
