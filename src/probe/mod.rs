//! Reads the kernel's interfaces: `/proc`, `/sys` and taskstats in, raw counters with a monotonic
//! time out. Independent of rates and screens.

mod availability;
pub mod btrfs;
mod collector;
pub mod control_groups;
pub mod facts;
pub mod file_handle;
pub mod file_locations;
pub mod file_systems;
pub mod interval;
pub mod mounts;
mod notice;
pub mod operations;
pub mod process;
pub mod sample;
pub mod system;
pub(crate) mod text;
pub mod waits;

pub use self::collector::{SampleCollector, Wanted, boot_time};
pub use self::sample::SystemSample;
