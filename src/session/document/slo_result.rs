//! Results of the service level goals of a run.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric_kind::MetricId;
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
    /// Prefix of the limit as the user wrote it (`k`, `M`, `G`, `T`, `Ki`, `Mi`, `Gi`, `Ti`), such as `Mi` for
    /// 70MiB/s; null without one.
    #[serde(default)]
    pub prefix: Option<SafeText>,
    /// Unit of `measured` and `limit`.
    pub unit: MetricUnit,
}
