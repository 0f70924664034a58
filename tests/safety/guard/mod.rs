//! The write guard, by the real program on real loop devices, overlays and mount namespaces: which
//! targets it refuses to overwrite, and that nothing was written to them then.

mod locks;
mod namespaces;
mod obstacles;
mod other_ways;
mod planted;
mod privileges;
pub mod sandbox;
mod stale_cache;
mod users;
mod while_writing;
