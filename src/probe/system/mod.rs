//! Readers of machine-wide values.

pub mod device_health;
pub mod diskstats;
pub mod fuse;
pub mod host;
pub mod io_errors;
pub mod kernel_log;
pub(crate) mod mounts;
pub mod paging;
pub mod reclaim;
pub mod temperature;
pub mod users;
pub mod writeback;
