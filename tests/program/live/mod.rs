//! Real processes that move real files are found and followed.

mod ended;
mod files;
mod live_sampler;
mod ordinary;
mod throttled;
mod trees;
mod watch;
