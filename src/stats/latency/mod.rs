//! Statistics of latencies and of queue depths.

pub mod bimodality;
pub mod concurrency;
pub mod histogram;
pub mod response_model;
pub mod steady_state;
