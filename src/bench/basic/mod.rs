//! Sequential, random and mixed reads and writes.

pub mod mixed;
pub(crate) mod random;
pub mod random_read;
pub mod random_write;
pub(crate) mod sequential;
pub mod sequential_read;
pub mod sequential_write;
