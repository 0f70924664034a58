//! The directory in which an overlay stores what is written.

use std::fs::File;

use rustix::fs::{AtFlags, StatxFlags};

use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::roots::SysPaths;

/// `STATX_MNT_ID`: ID of the mount that holds a file (kernel 5.8).
pub(super) const STATX_MNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// Upper directory of the overlay that holds a file; `None` where it is unknown, as in a container.
pub(super) fn overlay_upper_directory(roots: &SysPaths, file: &File) -> Option<String> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, STATX_MNT_ID).ok()?;
    let mounts = mounts::mounts(roots).ok()?;
    let mount = mounts.iter().find(|mount| mount.id == facts.stx_mnt_id)?;
    upper_directory(mount).map(str::to_owned)
}

/// Upper directory in the options of a mount.
pub(super) fn upper_directory(mount: &MountEntry) -> Option<&str> {
    let mut options = mount.options.iter();
    options.find_map(|option| option.strip_prefix("upperdir="))
}
