//! The write guard, by the real program on real loop devices, overlays and mount namespaces: which
//! targets it refuses to overwrite, and that nothing was written to them then.

mod free_space;
mod locks;
mod mounted_files;
mod namespaces;
mod new_openers;
mod obstacles;
mod other_ways;
mod overlay;
mod partition_tables;
mod planted;
mod privileges;
pub mod sandbox;
mod stale_cache;
mod users;
mod while_writing;
