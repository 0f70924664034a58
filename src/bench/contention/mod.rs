//! Benchmarks of loads that compete for the drive.

pub mod interference;
pub mod reorder;
