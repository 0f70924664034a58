//! diskscope shows in a terminal which process keeps which disk busy, when a running copy ends, and how
//! good a drive is; it works over SSH.
//!
//! * `diskscope` opens the Live screen, `diskscope watch` prints the same; `diskscope demo` shows every
//!   screen on a recording that the program contains.
//! * `diskscope run random-read /srv` measures in a scratch file, `diskscope run survey /dev/sda` runs all
//!   benchmarks that only read. Nothing that exists is overwritten without consent that names it.
//!
//! The library is there for the program and its tests; its interface follows their needs.
//!
//! Kernel counters flow up to the screen, user requests flow down to the drive; both meet in [`tui`] and
//! [`cli`]. `docs/architecture.md` describes the modules and their dependencies.

pub mod alerts;
pub mod app;
pub mod bench;

pub mod cli;
pub mod columns;
pub mod drive;
pub mod engine;
pub mod files;
pub mod probe;
pub mod recording;
pub mod report;
pub mod roots;
pub mod run;

pub mod session;
pub mod snapshot;
pub mod stats;
mod text;
mod time;
pub mod trace;
pub mod transfers;
pub mod tui;
pub mod ui;
pub mod units;
pub mod why;

#[cfg(test)]
#[path = "../tests/support/requirement.rs"]
mod requirement;
