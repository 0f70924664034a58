//! Checks of goals whose result depends on decimal or binary unit prefixes.

use serde_json::json;

use super::rule::Rule;
use crate::session::document::check::Found;
use crate::session::document::{GoalComparison, MetricUnit, SloResult};
use crate::session::slo;

/// Relative distance to the other prefix's limit within which a measurement counts as equal to it.
const PREFIX_TOLERANCE: f64 = 0.003;

pub(super) const RULES: &[Rule] = &[Rule::note(
    "units-confused",
    "A goal is met with decimal unit prefixes and missed with binary ones, or the other way round.",
    "the measurement lies between the limit as specified and the limit in the other kind of units: 1 MiB \
     is 4.9 % more than 1 MB, 1 GiB 7.4 % more than 1 GB",
    |run| run.findings.goals.iter().find_map(units_confused),
)];

fn units_confused(goal: &SloResult) -> Option<Found> {
    if !matches!(goal.unit, MetricUnit::BytesPerSecond | MetricUnit::Bytes) {
        return None;
    }
    let (measured, met) = (goal.measured?, goal.met?);
    let (comparison, own) = (goal.comparison?, goal.prefix.as_deref()?);
    let (other, ratio) = slo::other_prefix(own)?;
    let other_limit = goal.limit * ratio;
    let is_at_least = comparison == GoalComparison::AtLeast;
    let slack = if is_at_least == met {
        1.0 + PREFIX_TOLERANCE
    } else {
        1.0 - PREFIX_TOLERANCE
    };
    if comparison.is_met(measured, other_limit * slack) == met {
        return None;
    }
    let [prefix, other_prefix] = [own, other].map(|prefix| format!("{prefix}B"));
    let [result, otherwise] = if met {
        ["met", "missed"]
    } else {
        ["missed", "met"]
    };
    Some(Found::new(
        format!(
            "{}: measured {}, {result}; with {other_prefix} instead of {prefix} the limit is {}, and the \
             goal is {otherwise}",
            goal.goal,
            goal.unit.format(measured),
            goal.unit.format(other_limit)
        ),
        "check the unit of the goal: MB is 1,000,000 bytes, MiB is 1,048,576",
        json!({
            "goal": goal.goal, "measured": measured, "met": met, "unit": goal.unit,
            "prefix": prefix, "other_prefix": other_prefix, "other_limit": other_limit,
        }),
    ))
}
