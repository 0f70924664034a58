//! Checks of goals whose result depends on decimal or binary unit prefixes.

use super::CheckRule;
use super::ProvokedBy::ByIntegrationTest;
use crate::session::document::{BenchmarkRun, MetricUnit, Severity, SloResult};

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

fn units_confused(run: &BenchmarkRun) -> Option<String> {
    run.findings.goals.iter().find_map(prefix_confusion)
}

fn prefix_confusion(goal: &SloResult) -> Option<String> {
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
        format!(
            "{}: measured {}, {}; with {other}B in place of {own}B the limit would be {} and the \
             answer the opposite",
            goal.goal,
            goal.unit.format(measured),
            if met { "met" } else { "missed" },
            goal.unit.format(other_limit)
        )
    })
}
