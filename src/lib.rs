//! diskscope: what is using my disks, how far along is that copy, and how good is this drive?
//!
//! Kernel counters flow up to the screen, user requests flow down to the drive; both meet in [`tui`] and
//! [`cli`]. `docs/architecture.md` describes the modules and their dependencies.

pub mod app;
pub mod axis;
pub mod bench;
pub mod benchmark_run;
pub mod bounded;
pub mod cli;
pub mod config;
mod control_groups;
pub mod diagnosis;
pub mod drive;
pub mod engine;
pub mod entropy;
pub mod file_trace;
pub mod format_version;
mod local_time;
mod memory;
pub mod model;
mod mountinfo;
pub mod named_file;
pub mod nearest;
pub mod private_directory;
mod privilege;
pub mod probe;
pub mod process_io_trace;
pub mod recording;
pub mod report;
pub mod request_trace;
pub mod roots;
pub mod safe_text;
pub mod session;
mod shared_directory;
pub mod shell;
pub mod stats;
pub mod supervisor;
pub mod terminal_output;
pub mod tui;
pub mod ui;
pub mod units;
pub mod window_recorder;
pub mod wrap;

#[cfg(test)]
#[path = "../tests/support/requirement.rs"]
mod requirement;
