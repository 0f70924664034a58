//! Sequential, random and mixed reads and writes.

pub mod mixed;
pub mod random;
pub mod sequential;
