//! Numbers in, numbers out.

pub mod latency;
pub mod timeline;
