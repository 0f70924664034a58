//! The write guard, by the real program on real loop devices, overlays and mount namespaces: which
//! targets it refuses to overwrite, and that nothing was written to them then.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/loop_device.rs"]
mod loop_device;
mod place;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/requirement.rs"]
mod requirement;

mod locks;
mod mounted_files;
mod namespaces;
mod obstacles;
mod other_ways;
mod overlay;
mod planted;
mod privileges;
mod sparse_images;
mod stale_cache;
mod users;
mod while_writing;
