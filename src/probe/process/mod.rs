//! Readers of processes: /proc/PID, taskstats.

pub mod closed_files;
pub mod dependents;
pub(crate) mod descriptors;
pub(crate) mod entry;
pub mod exit_records;
pub mod file_pages;
pub(crate) mod identifier;
pub mod io_priority;
mod listing;
pub mod mappings;
mod netlink;
pub mod numbers;
pub mod open_files;
pub mod page_cache;
pub(crate) mod reused_file;
pub mod scanned_tasks;
pub mod stat;
pub mod system_call;
pub(crate) mod table;
pub mod task_scan;
pub mod task_scanner;
pub mod taskstats;
pub mod temporary_name;
pub mod thread_owner;
pub mod thread_sleep;
pub(crate) mod threads;
