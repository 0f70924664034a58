//! Checks of goals whose result depends on decimal or binary unit prefixes.

use super::rule::CheckRule;
use crate::session::document::check::{CheckEvidence, CheckId, PrefixAmbiguity};
use crate::session::document::{BenchmarkRun, GoalComparison, MetricUnit, SloResult};

/// Relative distance to the other prefix's limit within which a measurement counts as equal to it.
const PREFIX_TOLERANCE: f64 = 0.003;

pub(super) const GOAL_RULES: &[CheckRule] =
    &[CheckRule::new(CheckId::UnitsConfused, units_confused)];

fn units_confused(run: &BenchmarkRun) -> Option<CheckEvidence> {
    run.findings.goals.iter().find_map(prefix_confusion)
}

fn prefix_confusion(goal: &SloResult) -> Option<CheckEvidence> {
    if !matches!(goal.unit, MetricUnit::BytesPerSecond | MetricUnit::Bytes) {
        return None;
    }
    let measured = goal.measured?;
    let met = goal.met?;
    let (comparison, own) = (goal.comparison?, goal.prefix?);
    let other = own.counterpart();
    let other_limit = goal.limit * other.factor() / own.factor();
    let slack = 1.0
        + if (comparison == GoalComparison::AtLeast) == met {
            PREFIX_TOLERANCE
        } else {
            -PREFIX_TOLERANCE
        };
    let otherwise = comparison.is_met(measured, other_limit * slack);
    (otherwise != met).then(|| {
        CheckEvidence::UnitsConfused(PrefixAmbiguity {
            goal: goal.goal.clone(),
            measured,
            met,
            unit: goal.unit,
            prefix: format!("{}B", own.symbol()).into(),
            other_prefix: format!("{}B", other.symbol()).into(),
            other_limit,
        })
    })
}
