//! Events of the kernel (tracefs) -> requests, and the files that they belong to.
//!
//! `events` captures and decodes; `requests` matches events to requests and sums them; `hot_files` finds the file of
//! each request; `stream`, `by_process` and `retained_requests` join them for one purpose each.

pub mod by_process;
pub mod events;
pub mod hot_files;
mod partitions;
pub mod requests;
pub(crate) mod retained_requests;
pub mod stream;
