//! Sweeps over one setting: block size, queue depth, time (steady state).

pub mod block_size;
pub mod concurrency;
pub mod steady_state;
