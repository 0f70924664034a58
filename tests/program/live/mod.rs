//! Real processes that move real files are found and followed.

mod agreement;
mod by_device;
mod counts;
mod ended;
mod files;
pub mod live_sampler;
mod not_on_disk;
mod ordinary;
mod throttled;
mod trees;
mod unplug;
mod watch;
