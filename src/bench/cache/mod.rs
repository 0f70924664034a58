//! Caches, and the cost of data patterns and sync settings.

pub mod compression;
pub mod read_ahead;
pub mod read_modify_write;
pub mod write_cache;
pub mod write_sync_close;
