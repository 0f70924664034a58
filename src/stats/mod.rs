//! Numbers in, numbers out.

pub mod concurrency;
pub mod latency;
pub mod response_model;
pub mod segments;
pub mod steady_state;
pub mod timeline;
