//! Statistics: pure functions of numbers.

pub mod general;
pub mod latency;
pub mod rotation;
pub mod sorting;
