//! Result of a rule.

use crate::diagnosis::cause::{Cause, NotExamined};
use crate::diagnosis::measurement::Measurement;

/// Result of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diagnosis) enum Examination {
    /// The cause is there, possibly several times: on several devices, in several groups.
    Problem(Vec<Cause>),
    /// It is not, and these values prove it.
    RuledOut(Vec<Measurement>),
    /// It could not be examined.
    NotExamined(NotExamined),
}

impl Examination {
    /// The causes, or else the values that rule the cause out.
    pub(super) fn of(causes: Vec<Cause>, ruled_out: impl FnOnce() -> Vec<Measurement>) -> Self {
        match causes.is_empty() {
            true => Self::RuledOut(ruled_out()),
            false => Self::Problem(causes),
        }
    }
}
