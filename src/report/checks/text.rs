//! Evidence and advice of a check.

use std::borrow::Cow;

/// The sentences about a check that did not pass. Neither ends in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckText {
    /// The measured values that triggered it.
    pub evidence: Cow<'static, str>,
    /// What to do about it.
    pub advice: Cow<'static, str>,
}

impl CheckText {
    pub(super) fn new(
        evidence: impl Into<Cow<'static, str>>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            evidence: evidence.into(),
            advice: advice.into(),
        }
    }
}
