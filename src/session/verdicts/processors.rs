//! Whether the machine, and not the drive, set the pace.

use super::Provoked::ByTest;
use super::Rule;
use crate::session::document::{Processors, Run, Severity};
use crate::units;

/// A thread that has so much of a processor has no time to wait for the drive.
const BUSY_THREAD: f64 = 0.9;
/// So much of all processors leaves nothing for the kernel's own workers.
const BUSY_MACHINE: f64 = 0.95;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "generator-busy",
        severity: Severity::Warning,
        means: "The threads that send the requests were busy all the time: the drive waited for \
                this program.",
        when: "at least 90 % of a processor for each of them in the busiest phase of 0.3 s or more",
        advice: "use more --workers, or a larger --block-size",
        provoked: ByTest("a_generator_that_never_waits_is_told"),
        find: generator_busy,
    },
    Rule {
        code: "machine-busy",
        severity: Severity::Warning,
        means: "All processors were busy: others computed, or the kernel's own workers had no time.",
        when: "at least 95 % of all processors over the run",
        advice: "stop what else computes; on a small machine fewer --workers may be faster",
        provoked: ByTest("processors_that_are_all_busy_are_told"),
        find: machine_busy,
    },
];

fn processors(run: &Run) -> Option<&Processors> {
    run.evidence.processors.as_ref()
}

fn generator_busy(run: &Run) -> Option<String> {
    let seen = processors(run)?;
    let share = seen.generator_share.filter(|share| *share >= BUSY_THREAD)?;
    Some(format!(
        "{} had {} of a processor{}",
        match seen.workers {
            1 => "the thread that sends requests".to_owned(),
            many => format!("the {many} threads that send requests"),
        },
        units::percent(share.min(1.0)),
        if seen.workers > 1 { " each" } else { "" },
    ))
}

fn machine_busy(run: &Run) -> Option<String> {
    let seen = processors(run)?;
    let share = seen.machine_share.filter(|share| *share >= BUSY_MACHINE)?;
    Some(format!(
        "{} of the machine's {} processors were busy",
        units::percent(share.min(1.0)),
        seen.count
    ))
}
