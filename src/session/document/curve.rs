//! Curves and their axes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unit;
use crate::units;

/// Name and unit of a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What is drawn along it.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
}

impl Axis {
    /// An axis.
    #[must_use]
    pub fn new(name: &str, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
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
    pub name: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// `[x, y]`, in the order in which they were obtained.
    pub points: Vec<[f64; 2]>,
}
