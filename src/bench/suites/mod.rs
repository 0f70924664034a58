//! Benchmarks that run other benchmarks one after the other.

pub mod quartet;
pub mod survey;
