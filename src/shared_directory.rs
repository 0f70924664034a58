//! Users other than the owner who can write to a directory or move its entries.

use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Stat, Uid};
use rustix::io::Errno;

/// Write permission of group and others. The group bits include the maximum that an access control
/// list grants to anyone.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Write permission of others.
const WRITABLE_BY_EVERYBODY: u32 = 0o002;
/// Sticky bit: only the owner of a file can rename or remove it (inode(7)).
const STICKY: u32 = 0o1000;

/// Whether users other than the owner may create files and hard links in a directory. Group
/// membership is not checked: sources other than /etc/group may define more members.
#[must_use]
pub fn is_shared(directory: &Stat) -> bool {
    directory.st_mode & WRITABLE_BY_OTHERS != 0
}

/// As above, but false for the private group of the user who runs this program.
#[must_use]
pub fn is_writable_by_others(directory: impl AsFd, stat: &Stat) -> bool {
    is_writable_by_others_than(rustix::process::geteuid(), directory, stat)
}

/// As above, for a file or directory and the private group of that user.
#[must_use]
pub fn is_writable_by_others_than(user: Uid, file: impl AsFd, stat: &Stat) -> bool {
    is_shared(stat) && !has_private_group(user, file, stat)
}

/// Whether users other than the owner can rename, replace and remove any entry of a directory.
#[must_use]
pub fn can_be_rearranged(directory: impl AsFd, stat: &Stat) -> bool {
    can_be_rearranged_by_others_than(rustix::process::geteuid(), directory, stat)
}

/// As above, but the private group of that user does not count.
#[must_use]
pub fn can_be_rearranged_by_others_than(user: Uid, directory: impl AsFd, stat: &Stat) -> bool {
    stat.st_mode & STICKY == 0 && is_writable_by_others_than(user, directory, stat)
}

/// Whether the only other writer is the group with the same number as the owner, who is that user.
/// useradd(8) creates such a group for one user alone (`USERGROUPS_ENAB`); with the matching umask
/// 0002 all directories of that user are group-writable. The group of root has other members on many
/// systems.
fn has_private_group(user: Uid, file: impl AsFd, stat: &Stat) -> bool {
    let is_own = stat.st_uid == user.as_raw() && stat.st_gid == stat.st_uid && !user.is_root();
    is_own && stat.st_mode & WRITABLE_BY_EVERYBODY == 0 && !has_access_list(file)
}

/// Counts as present if unknown. The /proc path of the descriptor also works for `O_PATH`.
fn has_access_list(directory: impl AsFd) -> bool {
    let path = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    let none: &mut [u8] = &mut [];
    let found = rustix::fs::getxattr(path, "system.posix_acl_access", none);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}
