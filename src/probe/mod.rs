//! Reads the kernel: `/proc`, `/sys` and taskstats in, raw counters with a monotonic time out.
//! Knows no rates and no screens.

mod collector;
pub mod copy_jobs;
mod descriptors;
pub mod diskstats;
pub mod host;
mod identifier;
mod limits;
mod mounts;
mod notice;
pub mod open_files;
mod paging;
pub mod process;
mod process_entry;
mod processes;
mod reused_file;
pub mod sample;
mod taskstats;
pub(crate) mod text;
mod threads;
pub mod trace;
mod users;

pub use collector::{SampleCollector, boot_time};
pub use sample::SystemSample;
