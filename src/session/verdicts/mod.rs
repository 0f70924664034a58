//! What may be concluded from a run's figures, and what not.
//!
//! Every verdict is a [`Rule`]: data that say what it means and when it is given, and a function
//! that looks at the run and what was seen around it and finds the evidence, in figures, or
//! nothing. `docs/trust.md` lists them; a test keeps it complete.

use super::document::{Run, Severity, Verdict};

mod counts;
mod course;
mod distribution;
mod goals;
mod medium;
pub mod of_tests;
mod processors;
mod setup;

/// How it was made sure that a verdict is given where it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provoked {
    /// By the test of this name in `tests/verdicts`.
    ByTest(&'static str),
    /// By `tests/guest/verdicts.sh`, by hand in a virtual machine: it takes a drive that no test can
    /// make.
    InGuest,
}

/// A verdict that may be given on any run.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its fixed name.
    pub code: &'static str,
    /// How much it takes from the figures' worth.
    pub severity: Severity,
    /// What it means, one sentence.
    pub means: &'static str,
    /// When it is given: thresholds in words.
    pub when: &'static str,
    /// What to do about it, one sentence.
    pub advice: &'static str,
    /// What provokes it for real.
    pub provoked: Provoked,
    /// Finds the evidence; `None` when there is none, or not enough is known.
    pub(crate) find: fn(&Run) -> Option<String>,
}

impl Rule {
    /// The verdict on a run, if it deserves it.
    #[must_use]
    pub fn judge(&self, run: &Run) -> Option<Verdict> {
        let evidence = (self.find)(run)?;
        Some(Verdict::new(
            self.code,
            self.severity,
            evidence,
            self.advice,
        ))
    }
}

/// All rules, by what they look at; verdicts are listed in this order.
pub const GROUPS: [(&str, &[Rule]); 7] = [
    ("The kernel's counts", counts::RULES),
    ("What is read and written", medium::RULES),
    ("The drive and its setting", setup::RULES),
    ("The processors", processors::RULES),
    ("The course of the run", course::RULES),
    ("Response times", distribution::RULES),
    ("Goals", goals::RULES),
];

/// Every rule there is.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| *rules)
}

/// Adds the verdicts that the run as a whole deserves to those that the test gave.
pub fn judge(run: &mut Run) {
    let verdicts: Vec<Verdict> = rules().filter_map(|rule| rule.judge(run)).collect();
    for verdict in verdicts {
        run.findings.put_verdict(verdict);
    }
}

/// A parameter that is a word, such as `cache`.
fn word<'a>(run: &'a Run, parameter: &str) -> Option<&'a str> {
    run.parameters.get(parameter)?.as_str()
}

/// Whether the test goes past the page cache, as far as its parameters tell.
fn is_direct(run: &Run) -> bool {
    word(run, "cache").is_none_or(|cache| cache == "bypass")
}

/// Whether the target is a block device itself, on which nobody but its users writes.
fn is_device(run: &Run) -> bool {
    run.target.kind == "block-device"
}

/// A part as a share of a whole, 0 to 1; `None` of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
