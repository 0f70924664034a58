//! Result validity checks: what a run's metrics support and what they do not.
//!
//! Every check is a [`CheckRule`]: data that state its meaning and condition, and a function that
//! inspects the run and its evidence and returns the measured values that trigger the check, or
//! nothing. `docs/trust.md` lists all checks; a test keeps that list complete.

use super::document::{BenchmarkRun, Severity, Verdict};

mod counts;
mod distribution;
mod goals;
mod medium;
pub mod of_benchmarks;
mod processors;
mod setup;
mod stability_over_time;

/// How the project tests that the check triggers when it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvokedBy {
    /// By the test of this name in `tests/verdicts`.
    ByIntegrationTest(&'static str),
    /// By `tests/guest/verdicts.sh`, run manually in a virtual machine: the check needs a drive
    /// that no automated test can create.
    InVirtualMachine,
}

/// A check that applies to every benchmark.
#[derive(Debug, Clone, Copy)]
pub struct CheckRule {
    /// Stable identifier, such as `served-from-cache`.
    pub code: &'static str,
    /// How strongly the check affects the validity of the metrics.
    pub severity: Severity,
    /// What the check means, in one sentence.
    pub meaning: &'static str,
    /// When the check triggers, thresholds included.
    pub condition: &'static str,
    /// What to do about it, in one sentence.
    pub advice: &'static str,
    /// How the condition is provoked in a test.
    pub provoked: ProvokedBy,
    /// Returns the evidence; `None` if the check passes or too little is known.
    pub(crate) find_evidence: fn(&BenchmarkRun) -> Option<String>,
}

impl CheckRule {
    /// Applies the check to a run; `None` if it passes.
    #[must_use]
    pub fn evaluate(&self, run: &BenchmarkRun) -> Option<Verdict> {
        let evidence = (self.find_evidence)(run)?;
        Some(Verdict::new(
            self.code,
            self.severity,
            evidence,
            self.advice,
        ))
    }
}

/// All rules, grouped by subject; verdicts are listed in this order.
pub const RULE_GROUPS: [(&str, &[CheckRule]); 7] = [
    ("The kernel's counts", counts::COUNT_RULES),
    ("What is read and written", medium::MEDIUM_RULES),
    ("The drive and its setting", setup::SETUP_RULES),
    ("The processors", processors::PROCESSOR_RULES),
    ("The course of the run", stability_over_time::TIME_RULES),
    ("Response times", distribution::DISTRIBUTION_RULES),
    ("Goals", goals::GOAL_RULES),
];

/// All rules, in the order of [`RULE_GROUPS`].
pub fn all_rules() -> impl Iterator<Item = &'static CheckRule> {
    RULE_GROUPS.iter().flat_map(|(_, rules)| *rules)
}

/// Adds the verdicts of all rules to those that the benchmark itself recorded.
pub fn add_rule_verdicts(run: &mut BenchmarkRun) {
    let verdicts: Vec<Verdict> = all_rules().filter_map(|rule| rule.evaluate(run)).collect();
    for verdict in verdicts {
        run.findings.set_verdict(verdict);
    }
}

/// Value of a parameter of type string, such as `cache`.
fn parameter_word<'a>(run: &'a BenchmarkRun, parameter: &str) -> Option<&'a str> {
    run.parameters.get(parameter)?.as_str()
}

/// Whether the benchmark bypasses the page cache, according to its parameters.
fn is_direct(run: &BenchmarkRun) -> bool {
    parameter_word(run, "cache").is_none_or(|cache| cache == "bypass")
}

/// Whether the target is a block device itself; unlike a file system, it writes nothing by itself.
fn is_block_device(run: &BenchmarkRun) -> bool {
    run.target.kind == "block-device"
}

/// `part` as a fraction of `whole`, 0 to 1; `None` if `whole` is 0.
fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
