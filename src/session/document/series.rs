//! Series and their axes.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric_unit::MetricUnit;
use super::series_kind::{AxisQuantity, SeriesId, SeriesKind};
use crate::files::safe_text::SafeText;
use crate::units;

/// Sizes of blocks and buffers.
const BLOCK_SIZES: [AxisQuantity; 3] = [
    AxisQuantity::BlockSize,
    AxisQuantity::RecordSize,
    AxisQuantity::ReadAhead,
];

/// Name and unit of a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ChartAxis {
    /// The quantity on the axis.
    #[serde(deserialize_with = "crate::files::safe_text::name")]
    pub name: SafeText,
    /// Unit of the quantity.
    pub unit: MetricUnit,
}

impl ChartAxis {
    /// Creates an axis.
    #[must_use]
    pub fn new(quantity: AxisQuantity) -> Self {
        let (name, unit) = quantity.label_and_unit();
        Self::named(name, unit)
    }

    /// Creates an axis of a quantity that no series of a run has, such as a counter of the live
    /// view.
    #[must_use]
    pub fn named(name: &str, unit: MetricUnit) -> Self {
        Self {
            name: name.into(),
            unit,
        }
    }

    /// Formats a value on this axis; sizes of blocks and buffers in binary units.
    #[must_use]
    pub fn format(&self, value: f64) -> String {
        let is_block_size = BLOCK_SIZES.iter().any(|quantity| {
            let (name, _) = quantity.label_and_unit();
            self.name == name
        });
        if self.unit == MetricUnit::Bytes && is_block_size {
            return units::format_block_size(value);
        }
        self.unit.format(value)
    }
}

/// A series of points, drawn as a curve or a scatter plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Series {
    /// Name, such as `iops-over-time`.
    #[serde(rename = "name")]
    pub id: SeriesId,
    /// Quantity and unit of x.
    pub x: ChartAxis,
    /// Quantity and unit of y.
    pub y: ChartAxis,
    /// `[x, y]`, in the order of measurement.
    pub points: Vec<[f64; 2]>,
    /// 95 % confidence interval of each point's y, `[lower, upper]`, in the order of `points`; null
    /// if not determined. Absent if no point has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<[f64; 2]>>,
}

impl Series {
    /// Creates a series of points of the benchmark itself, with the axes of its kind.
    #[must_use]
    pub fn new(kind: SeriesKind, points: Vec<[f64; 2]>) -> Self {
        let [x, y] = kind.axes().map(ChartAxis::new);
        Self {
            id: SeriesId::of(kind),
            x,
            y,
            points,
            intervals: Vec::new(),
        }
    }

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
