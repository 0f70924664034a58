//! What is to be thought of the figures, and the goals they were held against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unit;
use crate::units;

/// How much a verdict takes from the figures' worth.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The figures are probably not what they seem.
    Warning,
    /// The figures do not say what the test is for.
    Invalid,
}

/// What is to be thought of a run's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// A fixed name, such as `served-from-cache`.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen, in figures.
    pub evidence: String,
    /// What to do about it.
    pub advice: String,
}

impl Verdict {
    /// A verdict.
    #[must_use]
    pub fn new(
        code: &str,
        severity: Severity,
        evidence: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            code: code.to_owned(),
            severity,
            evidence: evidence.into(),
            advice: advice.into(),
        }
    }
}

/// A service goal and whether the run met it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// As it was asked for, such as `p95<=500ms`.
    pub goal: String,
    /// Whether it was met; null where the figure could not be determined.
    pub met: Option<bool>,
    /// The value that decided, in the figure's unit.
    pub measured: Option<f64>,
    /// The limit, in the figure's unit.
    pub limit: f64,
    /// Unit of both.
    pub unit: Unit,
}

impl Goal {
    /// What was measured and how far that is from the limit, where it was.
    #[must_use]
    pub fn margin(&self) -> Option<String> {
        let value = self.measured?;
        let side = if value >= self.limit {
            "above"
        } else {
            "below"
        };
        let margin = if self.limit == 0.0 {
            "no margin to a limit of 0".to_owned()
        } else {
            let share = units::percent((value / self.limit - 1.0).abs());
            format!("{share} {side} the limit")
        };
        Some(format!("{}, {margin}", self.unit.format(value)))
    }
}
