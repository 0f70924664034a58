//! Units of metrics and of chart axes.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units;

/// The unit of a metric or of a chart's axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum MetricUnit {
    /// Requests or events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Revolutions per minute.
    #[serde(rename = "rpm")]
    RevolutionsPerMinute,
    /// A fraction or ratio: 1 is the whole.
    #[serde(rename = "ratio")]
    Ratio,
    /// A plain number, such as a queue depth.
    #[serde(rename = "1")]
    Count,
    /// An angular position within the revolution, 0 to 1.
    #[serde(rename = "revolution")]
    Revolution,
    /// Sectors of 512 bytes.
    #[serde(rename = "sectors")]
    Sectors,
}

impl MetricUnit {
    /// Formats a value of this unit, such as `78.1 us`, `512 MB/s`, `83.9k /s`.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{} /s", units::format_count(value)),
            Self::BytesPerSecond => units::format_throughput(value),
            Self::Nanoseconds => units::format_latency(value),
            Self::Bytes => units::format_capacity(value),
            Self::RevolutionsPerMinute => format!("{value:.2} rpm"),
            Self::Ratio => units::format_three_digits(value),
            Self::Count => units::format_count(value),
            Self::Revolution => format!("{value:.3} rev"),
            Self::Sectors => format!("{value:.0} sectors"),
        }
    }
}
