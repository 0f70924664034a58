//! Checks of goals whose result depends on decimal or binary unit prefixes.

use super::rule::CheckRule;
use crate::session::document::check::{CheckEvidence, CheckId, PrefixAmbiguity};
use crate::session::document::{BenchmarkRun, MetricUnit, SloResult};

/// Relative distance to the other prefix's limit within which a measurement counts as equal to it.
const PREFIX_TOLERANCE: f64 = 0.003;

pub(super) const GOAL_RULES: &[CheckRule] =
    &[CheckRule::new(CheckId::UnitsConfused, units_confused)];

/// Each prefix, its counterpart of the other kind, and the power that relates them.
const PREFIX_FACTORS: [(&str, &str, i32); 8] = [
    ("Ki", "k", -1),
    ("Mi", "M", -2),
    ("Gi", "G", -3),
    ("Ti", "T", -4),
    ("k", "Ki", 1),
    ("M", "Mi", 2),
    ("G", "Gi", 3),
    ("T", "Ti", 4),
];

fn units_confused(run: &BenchmarkRun) -> Option<CheckEvidence> {
    run.findings.goals.iter().find_map(prefix_confusion)
}

fn prefix_confusion(goal: &SloResult) -> Option<CheckEvidence> {
    if !matches!(goal.unit, MetricUnit::BytesPerSecond | MetricUnit::Bytes) {
        return None;
    }
    let measured = goal.measured?;
    let met = goal.met?;
    let at_least = goal.goal.contains(">=");
    let limit = goal.goal.split(['=']).nth(1)?;
    let letters = limit.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let (own, other, power) = PREFIX_FACTORS
        .iter()
        .find(|(prefix, ..)| letters.starts_with(prefix))?;
    let other_limit = goal.limit * 1.024_f64.powi(*power);
    let slack = 1.0
        + if at_least == met {
            PREFIX_TOLERANCE
        } else {
            -PREFIX_TOLERANCE
        };
    let otherwise = match at_least {
        true => measured >= other_limit * slack,
        false => measured <= other_limit * slack,
    };
    (otherwise != met).then(|| {
        CheckEvidence::UnitsConfused(PrefixAmbiguity {
            goal: goal.goal.clone(),
            measured,
            met,
            unit: goal.unit,
            prefix: format!("{own}B").into(),
            other_prefix: format!("{other}B").into(),
            other_limit,
        })
    })
}
