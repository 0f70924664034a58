//! Goals whose answer hangs on what a prefix means.

use super::Provoked::ByTest;
use super::Rule;
use crate::session::document::{Goal, Run, Severity, Unit};

/// A measurement this close to the other reading's limit counts as there.
const CLOSE: f64 = 0.003;

pub(super) const RULES: &[Rule] = &[Rule {
    code: "units-confused",
    severity: Severity::Note,
    means: "A goal is met with decimal units and missed with binary ones, or the other way round: \
            1 MiB is 4.9 % more than 1 MB, 1 GiB 7.4 % more than 1 GB.",
    when: "the measurement lies between the limit as it is written and the limit in the other kind \
           of units",
    advice: "make sure which units the goal was meant in: MB is 1,000,000 bytes here, MiB 1,048,576",
    provoked: ByTest("a_goal_between_megabytes_and_mebibytes_is_told"),
    find: units_confused,
}];

/// Prefixes with what the other kind of prefix makes of them.
const PREFIXES: [(&str, &str, i32); 8] = [
    ("Ki", "k", -1),
    ("Mi", "M", -2),
    ("Gi", "G", -3),
    ("Ti", "T", -4),
    ("k", "Ki", 1),
    ("M", "Mi", 2),
    ("G", "Gi", 3),
    ("T", "Ti", 4),
];

fn units_confused(run: &Run) -> Option<String> {
    run.findings.goals.iter().find_map(confused)
}

fn confused(goal: &Goal) -> Option<String> {
    if !matches!(goal.unit, Unit::BytesPerSecond | Unit::Bytes) {
        return None;
    }
    let measured = goal.measured?;
    let met = goal.met?;
    let at_least = goal.goal.contains(">=");
    let limit = goal.goal.split(['=']).nth(1)?;
    let letters = limit.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
    let (own, other, power) = PREFIXES
        .iter()
        .find(|(prefix, ..)| letters.starts_with(prefix))?;
    let other_limit = goal.limit * 1.024_f64.powi(*power);
    let slack = 1.0 + if at_least == met { CLOSE } else { -CLOSE };
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
