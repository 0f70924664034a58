//! Numbers in, numbers out.

pub mod concurrency;
pub mod confidence;
pub mod latency;
pub mod reduce;
pub mod response_model;
pub mod robust;
pub mod segments;
pub mod steady_state;
pub mod student;
pub mod timeline;
