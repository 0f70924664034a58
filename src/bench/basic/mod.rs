//! Sequential, random and mixed reads and writes.

pub mod random;
pub mod sequential;
