//! Reads the kernel: `/proc`, `/sys` and taskstats in, raw counters with a monotonic time out.
//! Knows no rates and no screens.

mod collector;
mod descriptors;
pub mod diskstats;
mod entry;
mod handle;
pub mod host;
mod identifier;
pub mod jobs;
mod limits;
mod mounts;
mod notice;
pub mod open_files;
pub mod process;
mod processes;
pub mod sample;
mod taskstats;
pub(crate) mod text;
mod threads;
pub mod trace;
mod traffic;
mod users;

pub use collector::{Collector, now};
pub use sample::Sample;
