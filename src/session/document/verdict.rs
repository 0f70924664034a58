//! Results of the validity checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::safe_text::SafeText;

/// How strongly a verdict affects the validity of the metrics.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Information only.
    Note,
    /// The metrics probably do not show what they appear to show.
    Warning,
    /// The metrics do not measure what the benchmark is for.
    Invalid,
}

/// The result of a validity check that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Stable identifier, such as `served-from-cache`.
    #[serde(deserialize_with = "crate::safe_text::name")]
    pub code: SafeText,
    /// How strongly it affects the validity of the metrics.
    pub severity: Severity,
    /// The measured values that triggered it.
    pub evidence: SafeText,
    /// What to do about it.
    pub advice: SafeText,
}

impl Verdict {
    /// Creates a verdict.
    #[must_use]
    pub fn new(
        code: &str,
        severity: Severity,
        evidence: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            severity,
            evidence: evidence.into().into(),
            advice: advice.into().into(),
        }
    }
}
