//! Readers of what the kernel says of the machine as a whole.

pub mod diskstats;
pub mod host;
pub(crate) mod limits;
pub(crate) mod mounts;
pub(crate) mod paging;
pub(crate) mod users;
