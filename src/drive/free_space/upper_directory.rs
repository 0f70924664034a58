//! The directory in which an overlay stores what is written.

use std::fs::File;
use std::os::fd::AsRawFd;

use rustix::fs::{AtFlags, StatxFlags};

use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::roots::SysPaths;

/// `STATX_MNT_ID`: ID of the mount that holds a file (kernel 5.8).
pub(super) const STATX_MNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// Upper directory of the overlay that holds a file; `None` where it is unknown, as in a container.
pub(super) fn overlay_upper_directory(roots: &SysPaths, file: &File) -> Option<String> {
    upper_directory(&mount_of_file(roots, file)?).map(str::to_owned)
}

/// The mount through which a file was opened.
pub(super) fn mount_of_file(roots: &SysPaths, file: &File) -> Option<MountEntry> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, STATX_MNT_ID).ok()?;
    // An older kernel leaves it out, and 0 is the ID of no mount.
    let is_known = facts.stx_mask & STATX_MNT_ID.bits() != 0;
    let id = match is_known {
        true => facts.stx_mnt_id,
        false => mount_id_in_fdinfo(roots, file)?,
    };
    let mounts = mounts::mounts(roots).ok()?;
    mounts.into_iter().find(|mount| mount.id == id)
}

/// `mnt_id` of a descriptor (proc_pid_fdinfo(5)).
fn mount_id_in_fdinfo(roots: &SysPaths, file: &File) -> Option<u64> {
    let info = roots.proc.join(format!("self/fdinfo/{}", file.as_raw_fd()));
    let info = std::fs::read_to_string(info).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    id.trim().parse().ok()
}

/// Upper directory in the options of a mount.
pub(super) fn upper_directory(mount: &MountEntry) -> Option<&str> {
    let mut options = mount.options.iter();
    options.find_map(|option| option.strip_prefix("upperdir="))
}
