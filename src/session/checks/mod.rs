//! What may be concluded from a run's figures, and what not.
//!
//! Every verdict is a [`Rule`]: data that say what it means and when it is given, and a function
//! that looks at the run and what was seen around it and finds the evidence, in figures, or
//! nothing. `docs/trust.md` lists them; a test keeps it complete.

use super::document::{BenchmarkRun, Severity, Verdict};

mod counts;
mod distribution;
mod goals;
mod medium;
pub mod of_benchmarks;
mod processors;
mod setup;
mod stability_over_time;

/// How it was made sure that a verdict is given where it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvokedBy {
    /// By the test of this name in `tests/verdicts`.
    ByIntegrationTest(&'static str),
    /// By `tests/guest/verdicts.sh`, by hand in a virtual machine: it takes a drive that no test can
    /// make.
    InVirtualMachine,
}

/// A verdict that may be given on any run.
#[derive(Debug, Clone, Copy)]
pub struct CheckRule {
    /// Its fixed name.
    pub code: &'static str,
    /// How much it takes from the figures' worth.
    pub severity: Severity,
    /// What it means, one sentence.
    pub meaning: &'static str,
    /// When it is given: thresholds in words.
    pub condition: &'static str,
    /// What to do about it, one sentence.
    pub advice: &'static str,
    /// What provokes it for real.
    pub provoked: ProvokedBy,
    /// Finds the evidence; `None` when there is none, or not enough is known.
    pub(crate) find_evidence: fn(&BenchmarkRun) -> Option<String>,
}

impl CheckRule {
    /// The verdict on a run, if it deserves it.
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

/// All rules, by what they look at; verdicts are listed in this order.
pub const RULE_GROUPS: [(&str, &[CheckRule]); 7] = [
    ("The kernel's counts", counts::COUNT_RULES),
    ("What is read and written", medium::MEDIUM_RULES),
    ("The drive and its setting", setup::SETUP_RULES),
    ("The processors", processors::PROCESSOR_RULES),
    ("The course of the run", stability_over_time::TIME_RULES),
    ("Response times", distribution::DISTRIBUTION_RULES),
    ("Goals", goals::GOAL_RULES),
];

/// Every rule there is.
pub fn all_rules() -> impl Iterator<Item = &'static CheckRule> {
    RULE_GROUPS.iter().flat_map(|(_, rules)| *rules)
}

/// Adds the verdicts that the run as a whole deserves to those that the test gave.
pub fn add_rule_verdicts(run: &mut BenchmarkRun) {
    let verdicts: Vec<Verdict> = all_rules().filter_map(|rule| rule.evaluate(run)).collect();
    for verdict in verdicts {
        run.findings.set_verdict(verdict);
    }
}

/// A parameter that is a word, such as `cache`.
fn parameter_word<'a>(run: &'a BenchmarkRun, parameter: &str) -> Option<&'a str> {
    run.parameters.get(parameter)?.as_str()
}

/// Whether the test goes past the page cache, as far as its parameters tell.
fn is_direct(run: &BenchmarkRun) -> bool {
    parameter_word(run, "cache").is_none_or(|cache| cache == "bypass")
}

/// Whether the target is a block device itself, on which nobody but its users writes.
fn is_block_device(run: &BenchmarkRun) -> bool {
    run.target.kind == "block-device"
}

/// A part as a share of a whole, 0 to 1; `None` of nothing.
fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
