//! diskscope: what is using my disks, how far along is that copy, and how good is this drive?
//!
//! Two streams meet in [`runtime`] alone: what the kernel says flows up to the screen, what the
//! user asks flows down to the drive. `docs/architecture.md` draws the house.

pub mod app;
pub mod axis;
pub mod bench;
pub mod bounded;
pub mod cli;
pub mod drive;
pub mod engine;
pub mod entropy;
mod local_time;
mod memory;
pub mod model;
pub mod named_file;
pub mod nearest;
pub mod printable;
pub mod private_directory;
mod privilege;
pub mod probe;
pub mod recording;
pub mod report;
pub mod roots;
pub mod runtime;
pub mod safe_json;
pub mod safe_text;
pub mod session;
mod shared_directory;
pub mod shell;
pub mod stats;
pub mod ui;
pub mod units;

#[cfg(test)]
#[path = "../tests/support/requirement.rs"]
mod requirement;
