//! Numbers in, numbers out.

pub mod anderson_darling;
pub mod circular;
pub mod fits;
pub mod folding;
pub mod latency;
pub mod robust;
pub mod timeline;
pub mod uniform;
