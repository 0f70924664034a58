//! Who else than its owner can write to a directory, and move what lies in it.

use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::Stat;
use rustix::io::Errno;

/// Write permission of group and others; the group's bits include what an access control list
/// permits to anybody.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Write permission of everybody.
const WRITABLE_BY_EVERYBODY: u32 = 0o002;
/// Only the owner of a file renames or removes it (inode(7)).
const STICKY: u32 = 0o1000;

/// Whether others than its owner may make files and second names of files in a directory. Who is in
/// its group is not asked: other sources than /etc/group may know more members.
#[must_use]
pub fn is_shared(directory: &Stat) -> bool {
    directory.st_mode & WRITABLE_BY_OTHERS != 0
}

/// The same, but not where the group is the private one of the user who runs this program.
#[must_use]
pub fn is_writable_by_others(directory: impl AsFd, stat: &Stat) -> bool {
    is_shared(stat) && !has_private_group(directory, stat)
}

/// Whether others than its owner can rename, replace and remove whatever lies in a directory.
#[must_use]
pub fn can_be_rearranged(directory: impl AsFd, stat: &Stat) -> bool {
    stat.st_mode & STICKY == 0 && is_writable_by_others(directory, stat)
}

/// Whether only the group of the same number as the user can write besides the owner, who is the
/// user of this process: useradd(8) makes such a group for one user alone (`USERGROUPS_ENAB`), and
/// the umask 0002 that goes with it makes all of that user's directories writable by it. Root's
/// group has other members on many systems.
fn has_private_group(directory: impl AsFd, stat: &Stat) -> bool {
    let user = rustix::process::geteuid();
    let is_own = stat.st_uid == user.as_raw() && stat.st_gid == stat.st_uid && !user.is_root();
    is_own && stat.st_mode & WRITABLE_BY_EVERYBODY == 0 && !has_access_list(directory)
}

/// What cannot be found out counts as one. The path of the descriptor also serves for `O_PATH`.
fn has_access_list(directory: impl AsFd) -> bool {
    let path = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    let none: &mut [u8] = &mut [];
    let found = rustix::fs::getxattr(path, "system.posix_acl_access", none);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}
