//! Files by inode: opening them without a path, and where they are on the device.

pub mod handle;
pub mod layout;
