//! Suites of other benchmarks.

pub mod quartet;
pub mod survey;
