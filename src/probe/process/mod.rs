//! Readers of processes: /proc/PID, taskstats.

pub mod blocked_task;
pub mod closed_files;
pub mod dependents;
mod descriptors;
mod entry;
pub mod file_pages;
mod identifier;
pub mod io_priority;
mod netlink;
pub mod numbers;
pub mod open_files;
mod own_io;
pub mod page_cache;
mod reused_file;
pub mod stat;
pub(super) mod table;
pub mod task_scan;
pub mod taskstats;
pub mod thread_owner;
mod threads;
