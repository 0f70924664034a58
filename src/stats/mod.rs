//! Numbers in, numbers out.

pub mod confidence;
pub mod latency;
pub mod reduce;
pub mod robust;
pub mod student;
pub mod timeline;
