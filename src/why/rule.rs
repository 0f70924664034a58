//! The form of a rule.

use super::analysis::Analysis;
use super::cause::{Cause, NotExamined};
use super::evidence::Evidence;
use crate::files::safe_text::SafeText;

/// Examines a window for one cause. Each file in `rules` has one, and `rules::RULES` lists them.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Code of its causes.
    pub code: &'static str,
    /// Decides about a window; the causes get the code.
    pub examine: fn(&Analysis<'_>) -> Examination,
    explained: &'static str,
}

impl Rule {
    /// A rule; its causes explain those with one of these codes, on the same device or for the same process.
    pub const fn new(
        code: &'static str,
        examine: fn(&Analysis<'_>) -> Examination,
        explained: &'static str,
    ) -> Self {
        Self {
            code,
            examine,
            explained,
        }
    }

    /// Whether its causes can explain one with this code.
    pub fn explains(&self, code: &str) -> bool {
        self.explained.split(' ').any(|it| it == code)
    }
}

/// Result of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Examination {
    /// The cause is there, possibly several times: on several devices, in several groups.
    Found(Vec<Cause>),
    /// It is not, and these values prove it.
    RuledOut(Vec<Evidence>),
    /// It could not be examined.
    NotExamined(NotExamined),
}

impl Examination {
    /// The causes, or else the values that rule the cause out.
    pub fn of(causes: Vec<Cause>, ruled_out: impl FnOnce() -> Vec<Evidence>) -> Self {
        if causes.is_empty() {
            Self::RuledOut(ruled_out())
        } else {
            Self::Found(causes)
        }
    }

    /// The same for causes at devices. Where one device is on top of another, the lower one is the
    /// cause.
    pub fn of_devices(
        analysis: &Analysis<'_>,
        mut causes: Vec<Cause>,
        ruled_out: impl FnOnce() -> Vec<Evidence>,
    ) -> Self {
        let devices: Vec<_> = causes.iter().filter_map(|it| it.device.clone()).collect();
        causes.retain(|cause| {
            let is_above = |upper: &SafeText| {
                let mut lower = devices.iter().filter(|it| *it != upper);
                lower.any(|lower| analysis.lies_on(upper, lower))
            };
            !cause.device.as_ref().is_some_and(is_above)
        });
        Self::of(causes, ruled_out)
    }
}
