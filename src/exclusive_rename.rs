//! A rename that replaces no other file, also on file systems without `RENAME_NOREPLACE`.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

/// Renames an entry of a directory, unless the new name exists. Follows no symbolic link.
///
/// # Errors
/// [`Errno::EXIST`] if the new name exists; or what the kernel reports.
pub fn rename_exclusively(
    directory: impl AsFd,
    from: &OsStr,
    to: &OsStr,
) -> rustix::io::Result<()> {
    let here = directory.as_fd();
    match renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
        // Without `RENAME_NOREPLACE` (NFS, FUSE): link, then remove the old name.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        done => return done,
    }
    match linkat(here, from, here, to, AtFlags::empty()) {
        // Without hard links either (FAT, shared folders of virtual machines, object storage): the name
        // is free, or was a moment ago.
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        linked => return linked.and_then(|()| unlinkat(here, from, AtFlags::empty())),
    }
    match statat(here, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => renameat(here, from, here, to),
        Err(error) => Err(error),
    }
}
