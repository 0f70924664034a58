//! The Bench screens: launcher, run, result.

mod chart;
mod consent;
mod distribution;
mod forecast;
mod headline;
mod kernel;
pub(super) mod launcher;
mod pages;
pub(super) mod result;
pub(super) mod running;
mod table;
mod verdicts;

use crate::bench::Test;
use crate::ui::look::Meaning;

/// What a test's curves mean: reads or writes.
fn meaning_of(test: &dyn Test) -> Meaning {
    if test.description().writes {
        Meaning::Write
    } else {
        Meaning::Read
    }
}
