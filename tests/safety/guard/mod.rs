//! The write guard, by the real program on real loop devices, file systems and mount namespaces: which
//! targets it refuses to overwrite, and that nothing was written to them then. What no host has is in
//! `tests/guest/claims.sh`.

mod free_space;
mod loop_devices;
mod privileges;
pub mod sandbox;
mod stale_cache;
mod targets;
mod users;
mod while_writing;
