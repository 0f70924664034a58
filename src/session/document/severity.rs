//! Severity of a check.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strongly a verdict affects the validity of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Information only.
    Note,
    /// The metrics probably do not show what they appear to show.
    Warning,
    /// The metrics do not measure what the benchmark is for.
    Invalid,
}
