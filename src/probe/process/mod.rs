//! Readers of processes: /proc/PID, taskstats.

pub(crate) mod descriptors;
pub(crate) mod entry;
pub(crate) mod identifier;
pub mod open_files;
pub(crate) mod reused_file;
pub mod stat;
pub(crate) mod table;
pub(crate) mod taskstats;
pub(crate) mod threads;
