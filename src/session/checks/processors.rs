//! Checks whether the CPU, and not the drive, limited the rate.

use super::CheckRule;
use super::ProvokedBy::ByIntegrationTest;
use crate::session::document::{BenchmarkRun, ProcessorLoad, Severity};
use crate::units;

/// CPU utilization of a worker thread above which the thread itself limits the rate.
const BUSY_THREAD_UTILIZATION: f64 = 0.9;
/// Utilization of all CPUs above which no time is left for the kernel's own workers.
const BUSY_MACHINE_UTILIZATION: f64 = 0.95;

pub(super) const PROCESSOR_RULES: &[CheckRule] = &[
    CheckRule {
        code: "generator-busy",
        severity: Severity::Warning,
        meaning: "The threads that send the requests were busy all the time: the drive waited for \
                this program.",
        condition: "at least 90 % of a processor for each of them in the busiest phase of 0.3 s or more",
        advice: "use more --workers, or a larger --block-size",
        provoked: ByIntegrationTest("cpu_bound_load_generator_is_flagged"),
        find_evidence: generator_busy,
    },
    CheckRule {
        code: "machine-busy",
        severity: Severity::Warning,
        meaning: "All processors were busy: others computed, or the kernel's own workers had no time.",
        condition: "at least 95 % of all processors over the run",
        advice: "stop what else computes; on a small machine fewer --workers may be faster",
        provoked: ByIntegrationTest("saturated_processors_are_flagged"),
        find_evidence: machine_busy,
    },
];

fn processor_load(run: &BenchmarkRun) -> Option<&ProcessorLoad> {
    run.evidence.processors.as_ref()
}

fn generator_busy(run: &BenchmarkRun) -> Option<String> {
    let seen = processor_load(run)?;
    let share = seen
        .generator_utilization
        .filter(|share| *share >= BUSY_THREAD_UTILIZATION)?;
    Some(format!(
        "{} had {} of a processor{}",
        match seen.busiest_workers {
            1 => "the thread that sends requests".to_owned(),
            many => format!("the {many} threads that send requests"),
        },
        units::format_percent(share.min(1.0)),
        if seen.busiest_workers > 1 {
            " each"
        } else {
            ""
        },
    ))
}

fn machine_busy(run: &BenchmarkRun) -> Option<String> {
    let seen = processor_load(run)?;
    let share = seen
        .machine_utilization
        .filter(|share| *share >= BUSY_MACHINE_UTILIZATION)?;
    Some(format!(
        "{} of the machine's {} processors were busy",
        units::format_percent(share.min(1.0)),
        seen.count
    ))
}
