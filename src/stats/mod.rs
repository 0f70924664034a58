//! Statistics: pure functions of numbers.

pub mod general;
pub mod latency;
pub mod random;
pub mod rotation;
pub mod sorting;
