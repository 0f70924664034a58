//! Results of the service level goals of a run.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric_id::MetricId;
use super::metric_unit::MetricUnit;
use crate::files::safe_text::SafeText;

/// On which side of its limit a metric meets a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum GoalComparison {
    /// The metric must be at least the limit.
    #[serde(rename = ">=")]
    AtLeast,
    /// The metric must be at most the limit.
    #[serde(rename = "<=")]
    AtMost,
}

impl GoalComparison {
    /// Whether a value meets the goal.
    #[must_use]
    pub fn is_met(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtLeast => value >= limit,
            Self::AtMost => value <= limit,
        }
    }
}

/// Prefix of a limit in bytes or bytes per second as the user wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum BytePrefix {
    /// 1000.
    #[serde(rename = "k")]
    Kilo,
    /// 1000 squared.
    #[serde(rename = "M")]
    Mega,
    /// 1000 to the power of 3.
    #[serde(rename = "G")]
    Giga,
    /// 1000 to the power of 4.
    #[serde(rename = "T")]
    Tera,
    /// 1024.
    #[serde(rename = "Ki")]
    Kibi,
    /// 1024 squared.
    #[serde(rename = "Mi")]
    Mebi,
    /// 1024 to the power of 3.
    #[serde(rename = "Gi")]
    Gibi,
    /// 1024 to the power of 4.
    #[serde(rename = "Ti")]
    Tebi,
}

impl BytePrefix {
    /// All prefixes, the binary ones first: `Ki` begins with the letter of `k`.
    pub const ALL: [Self; 8] = [
        Self::Kibi,
        Self::Mebi,
        Self::Gibi,
        Self::Tebi,
        Self::Kilo,
        Self::Mega,
        Self::Giga,
        Self::Tera,
    ];

    /// The prefix, such as `Mi`.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Kilo => "k",
            Self::Mega => "M",
            Self::Giga => "G",
            Self::Tera => "T",
            Self::Kibi => "Ki",
            Self::Mebi => "Mi",
            Self::Gibi => "Gi",
            Self::Tebi => "Ti",
        }
    }

    /// The prefix of the same power in the other system: `M` for `Mi`.
    #[must_use]
    pub const fn counterpart(self) -> Self {
        match self {
            Self::Kilo => Self::Kibi,
            Self::Mega => Self::Mebi,
            Self::Giga => Self::Gibi,
            Self::Tera => Self::Tebi,
            Self::Kibi => Self::Kilo,
            Self::Mebi => Self::Mega,
            Self::Gibi => Self::Giga,
            Self::Tebi => Self::Tera,
        }
    }

    /// What the prefix stands for.
    #[must_use]
    pub fn factor(self) -> f64 {
        match self {
            Self::Kilo => 1e3,
            Self::Mega => 1e6,
            Self::Giga => 1e9,
            Self::Tera => 1e12,
            Self::Kibi => 1_024.0,
            Self::Mebi => 1_048_576.0,
            Self::Gibi => 1_073_741_824.0,
            Self::Tebi => 1_099_511_627_776.0,
        }
    }
}

/// A service level goal and whether the run met it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SloResult {
    /// The goal as the user specified it, such as `p95<=500ms`; for display only.
    #[serde(deserialize_with = "crate::files::safe_text::name")]
    pub goal: SafeText,
    /// Name of the metric that the goal limits; null in documents that state the text only.
    #[serde(default)]
    pub metric: Option<MetricId>,
    /// Comparison of the metric with the limit; null in documents that state the text only.
    #[serde(default)]
    pub comparison: Option<GoalComparison>,
    /// Whether the goal was met; null if the metric could not be determined.
    pub met: Option<bool>,
    /// The measured value, in the metric's unit.
    pub measured: Option<f64>,
    /// The limit, in the metric's unit.
    pub limit: f64,
    /// Prefix of the limit as the user wrote it, such as `Mi` for 70MiB/s; null without one.
    #[serde(default)]
    pub prefix: Option<BytePrefix>,
    /// Unit of `measured` and `limit`.
    pub unit: MetricUnit,
}
