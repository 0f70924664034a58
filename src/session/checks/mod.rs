//! Result validity checks: what a run's metrics support and what they do not.
//!
//! A check that applies to every benchmark is a [`CheckRule`]: its function inspects the run and its
//! evidence and returns the measured values that trigger the check, or nothing. Benchmarks make
//! further checks themselves. `report::checks` writes the sentences.

mod counts;
mod distribution;
mod goals;
mod medium;
mod processors;
mod rule;
mod setup;
mod stability_over_time;

use crate::session::document::check::{CheckEvidence, CheckId};
use crate::session::document::{BenchmarkRun, Verdict};

pub use self::rule::{CheckRule, CheckSubject, Workload};

/// All rules, grouped by subject; verdicts are listed in this order.
pub const RULE_GROUPS: [(CheckSubject, &[CheckRule]); 7] = [
    (CheckSubject::KernelCounters, counts::COUNT_RULES),
    (CheckSubject::Data, medium::MEDIUM_RULES),
    (CheckSubject::Setup, setup::SETUP_RULES),
    (CheckSubject::Cpus, processors::PROCESSOR_RULES),
    (CheckSubject::Stability, stability_over_time::TIME_RULES),
    (CheckSubject::Latency, distribution::DISTRIBUTION_RULES),
    (CheckSubject::Goals, goals::GOAL_RULES),
];

/// All rules, in the order of [`RULE_GROUPS`].
pub fn all_rules() -> impl Iterator<Item = &'static CheckRule> {
    RULE_GROUPS.iter().flat_map(|(_, rules)| *rules)
}

/// The evidence of all rules that the run does not pass.
#[must_use]
pub fn evaluate_rules(run: &BenchmarkRun, workload: Workload) -> Vec<CheckEvidence> {
    let mut found: Vec<CheckEvidence> = Vec::new();
    for rule in all_rules().filter(|rule| rule.applies_to(workload)) {
        let is_found = |check: CheckId| found.iter().any(|evidence| evidence.id() == check);
        if rule.superseded_by.is_some_and(is_found) {
            continue;
        }
        found.extend(rule.evaluate(run));
    }
    found
}

/// Adds the verdicts of all rules to those that the benchmark itself recorded.
pub fn add_rule_verdicts(run: &mut BenchmarkRun, workload: Workload) {
    for evidence in evaluate_rules(run, workload) {
        run.findings.set_verdict(Verdict::from(evidence));
    }
    // Busy CPUs are the cause; the queue is one of the effects, and neither depth nor drive is at fault.
    if run.findings.has_check(CheckId::MachineBusy) {
        run.findings.remove_check(CheckId::QueueDepthNotReached);
    }
}

#[cfg(test)]
mod tests;
