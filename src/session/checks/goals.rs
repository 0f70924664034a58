//! Checks of goals whose result depends on decimal or binary unit prefixes.

use super::CheckRule;
use super::ProvokedBy::ByIntegrationTest;
use crate::session::document::{BenchmarkRun, GoalComparison, MetricUnit, Severity, SloResult};

/// Relative distance to the other prefix's limit within which a measurement counts as equal to it.
const PREFIX_TOLERANCE: f64 = 0.003;

pub(super) const GOAL_RULES: &[CheckRule] = &[CheckRule {
    code: "units-confused",
    severity: Severity::Note,
    meaning: "A goal is met with decimal units and missed with binary ones, or the other way round: \
            1 MiB is 4.9 % more than 1 MB, 1 GiB 7.4 % more than 1 GB.",
    condition: "the measurement lies between the limit as it is written and the limit in the other kind \
           of units",
    advice: "make sure which units the goal was meant in: MB is 1,000,000 bytes here, MiB 1,048,576",
    provoked: ByIntegrationTest("goal_between_decimal_and_binary_units_is_flagged"),
    find_evidence: units_confused,
}];

fn units_confused(run: &BenchmarkRun) -> Option<String> {
    run.findings.goals.iter().find_map(prefix_confusion)
}

fn prefix_confusion(goal: &SloResult) -> Option<String> {
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
        format!(
            "{}: measured {}, {}; with {}B in place of {}B the limit would be {} and the \
             answer the opposite",
            goal.goal,
            goal.unit.format(measured),
            if met { "met" } else { "missed" },
            other.symbol(),
            own.symbol(),
            goal.unit.format(other_limit)
        )
    })
}
