//! The Bench screens: launcher, run, result.

mod chart;
mod checks;
mod consent;
mod distribution;
mod forecast;
mod headline;
mod kernel;
pub mod launcher;
mod pages;
pub mod result;
pub mod running;
mod table;

use crate::bench::Benchmark;
use crate::tui::theme::StyleRole;

/// The role of a benchmark's curves: reads or writes.
fn role_of(benchmark: &dyn Benchmark) -> StyleRole {
    if benchmark.description().may_write {
        StyleRole::Write
    } else {
        StyleRole::Read
    }
}
