//! Readers of machine-wide values.

pub mod diskstats;
pub mod host;
pub(crate) mod mounts;
pub(crate) mod paging;
pub(crate) mod users;
pub(crate) mod writeback;
