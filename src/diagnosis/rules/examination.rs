//! Result of a rule.

use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::cause::{Cause, NotExamined};
use crate::diagnosis::measurement::Measurement;
use crate::files::safe_text::SafeText;

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
    /// The same for causes at devices. Where one device is on top of another, the lower one is the
    /// cause.
    pub(super) fn of_devices(
        analysis: &Analysis<'_>,
        causes: Vec<Cause>,
        ruled_out: impl FnOnce() -> Vec<Measurement>,
    ) -> Self {
        let devices: Vec<SafeText> = causes.iter().filter_map(|it| it.device.clone()).collect();
        let has_lower = |upper: &SafeText| {
            let mut others = devices.iter().filter(|lower| *lower != upper);
            others.any(|lower| analysis.lies_on(upper, lower))
        };
        let is_lowest = |cause: &Cause| !cause.device.as_ref().is_some_and(has_lower);
        Self::of(causes.into_iter().filter(is_lowest).collect(), ruled_out)
    }
}
