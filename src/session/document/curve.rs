//! Curves and their axes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unit;
use crate::safe_text::SafeText;
use crate::units;

/// Name and unit of a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What is drawn along it.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub name: SafeText,
    /// Its unit.
    pub unit: Unit,
}

impl Axis {
    /// An axis.
    #[must_use]
    pub fn new(name: &str, unit: Unit) -> Self {
        Self {
            name: name.into(),
            unit,
        }
    }
}

/// Axes whose bytes are sizes of blocks and buffers: people count them in binary units.
const BINARY_AXES: [&str; 3] = ["block size", "record size", "read-ahead"];

impl Axis {
    /// A value on it as people read it.
    #[must_use]
    pub fn format(&self, value: f64) -> String {
        if self.unit == Unit::Bytes && BINARY_AXES.contains(&self.name.as_str()) {
            return units::block_size(value);
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
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// `[x, y]`, in the order in which they were obtained.
    #[serde(deserialize_with = "crate::bounded::list::<_, _, 2_000_000>")]
    pub points: Vec<[f64; 2]>,
}
