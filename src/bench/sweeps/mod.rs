//! Sweeps over one setting: block size, queue depth, time (steady state).

pub(crate) mod block_size;
pub mod block_size_read;
pub mod block_size_write;
pub(crate) mod concurrency;
pub mod concurrency_read;
pub mod concurrency_write;
pub mod steady_state;
