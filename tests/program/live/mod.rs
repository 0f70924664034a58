//! Real processes that move real files are found and followed.

mod by_device;
mod ended;
mod eye;
mod files;
mod not_on_disk;
mod ordinary;
mod throttled;
mod trees;
mod watch;
