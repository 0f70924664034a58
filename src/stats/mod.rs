//! Numbers in, numbers out.

pub mod general;
pub mod latency;
pub mod rotation;
