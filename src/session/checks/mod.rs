//! Result validity checks: what a run's metrics support and what they do not.
//!
//! A check that applies to every benchmark is a [`Rule`]: code, severity, meaning, condition, and the
//! function that inspects the run and says what it found. One file has those of one subject.
//! Benchmarks make further checks themselves, as [`Check`](super::document::check::Check) beside their code.

mod counts;
mod distribution;
mod goals;
mod medium;
mod processors;
mod rule;
mod setup;
mod stability_over_time;
#[cfg(test)]
mod tests;

use crate::session::document::{BenchmarkRun, Verdict};

pub use self::distribution::DOES_NOT_ROTATE;
pub use self::processors::QUEUE_DEPTH_NOT_REACHED;
pub use self::rule::{Rule, Run, Workload, named_options};
pub use self::stability_over_time::THROUGHPUT_DRIFTED;

/// All rules by subject, with its title; verdicts are listed in this order.
pub const SUBJECTS: [(&str, &[Rule]); 7] = [
    ("Kernel counters", counts::RULES),
    ("Data on the medium", medium::RULES),
    ("Drive setup", setup::RULES),
    ("CPU utilization", processors::RULES),
    ("Stability over time", stability_over_time::RULES),
    ("Latency distribution", distribution::RULES),
    ("Goals", goals::RULES),
];

/// All rules, in the order of [`SUBJECTS`].
pub fn all_rules() -> impl Iterator<Item = &'static Rule> {
    SUBJECTS.iter().flat_map(|(_, rules)| *rules)
}

/// The verdicts of all rules that the run does not pass.
#[must_use]
pub fn evaluate_rules(run: &BenchmarkRun, workload: Workload) -> Vec<Verdict> {
    let run = Run::new(run, workload);
    let found = |rule: &Rule| Some(rule.check.verdict((rule.find)(&run)?));
    all_rules().filter_map(found).collect()
}

/// Adds the verdicts of all rules to those that the benchmark itself recorded.
pub fn add_rule_verdicts(run: &mut BenchmarkRun, workload: Workload) {
    for verdict in evaluate_rules(run, workload) {
        run.findings.set_check(verdict);
    }
    // Busy CPUs are the cause; the queue is one of the effects, and neither depth nor drive is at fault.
    if run.findings.has_check(processors::MACHINE_BUSY) {
        run.findings.remove_check(QUEUE_DEPTH_NOT_REACHED);
    }
}
