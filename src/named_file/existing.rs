//! An existing regular file: replaced by a new file, or written in place if a replacement would
//! lose attributes of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{
    AtFlags, FallocateFlags, Gid, Mode, OFlags, Stat, StatxFlags, Uid, fallocate, fchmod, fchown,
    fgetxattr, flistxattr, fstat, ftruncate, ioctl_getflags, statx,
};
use rustix::io::Errno;

use crate::inode_attributes::{InodeAttributes, dos_attributes};

/// Maximum size of the list of names, and of a value, of extended attributes (xattr(7)).
const MAX_XATTR_BYTES: usize = 1 << 16;
/// Flags that chattr(1) sets (`FS_FL_USER_MODIFIABLE`, `FS_PROJINHERIT_FL`; include/uapi/linux/fs.h)
/// and `FS_NOCOW_FL`.
const SETTABLE_FLAGS: u32 = 0x0003_80ff | 0x2000_0000 | 0x0080_0000;
/// `STATX_ATTR_APPEND` (include/uapi/linux/stat.h).
const STATX_ATTR_APPEND: u64 = 0x20;
/// `STATX_ATTR_MOUNT_ROOT`: the file is a mount point (kernel 5.8).
const STATX_ATTR_MOUNT_ROOT: u64 = 0x2000;
/// Set-user-ID, set-group-ID and sticky bit.
const SPECIAL_MODE_BITS: u32 = 0o7000;

/// Bytes per write when testing for free space.
const ZERO_CHUNK_BYTES: usize = 1 << 16;

/// Gives a replacement the owner and mode that the file has now, and tells whether it then has all
/// attributes of the file.
///
/// # Errors
/// When owner or mode cannot be set.
pub(super) fn make_equal(file: &File, replacement: &File) -> io::Result<bool> {
    let stat = fstat(file)?;
    set_ownership(replacement, &stat)?;
    Ok(can_be_replaced(file, &stat, replacement))
}

/// Sets owner and mode of a file to those of another.
fn set_ownership(file: &File, of: &Stat) -> io::Result<()> {
    let now = fstat(file)?;
    if (now.st_uid, now.st_gid) != (of.st_uid, of.st_gid) {
        let (user, group) = (Uid::from_raw(of.st_uid), Gid::from_raw(of.st_gid));
        fchown(file, Some(user), Some(group))?;
    }
    Ok(fchmod(file, Mode::from_raw_mode(of.st_mode & 0o777))?)
}

/// Whether a replacement, which already has owner and mode, would have all attributes of the file:
/// a single link, the same extended attributes (including ACLs, capabilities, security labels), the
/// same flags, attributes of FAT and project ID, and no mount on it.
fn can_be_replaced(file: &File, stat: &Stat, replacement: &File) -> bool {
    if stat.st_nlink != 1 || stat.st_mode & SPECIAL_MODE_BITS != 0 || is_mount_root(file) {
        return false;
    }
    let same_attributes = match (extended_attributes(file), extended_attributes(replacement)) {
        (Ok(old), Ok(new)) => old == new,
        _ => false,
    };
    same_attributes
        && inode_flags(file) == inode_flags(replacement)
        && InodeAttributes::of_file(file) == InodeAttributes::of_file(replacement)
        && dos_attributes(file) == dos_attributes(replacement)
}

/// Whether a file has capabilities, which the kernel removes at every write (capabilities(7)).
pub(super) fn has_file_capabilities(file: &File) -> bool {
    let mut value = [0; 64];
    fgetxattr(file, "security.capability", &mut value[..]).is_ok()
}

fn is_mount_root(file: &File) -> bool {
    has_attribute(file, STATX_ATTR_MOUNT_ROOT)
}

/// Whether names in a directory can be neither removed nor exchanged (`chattr +a`).
pub(super) fn is_append_only(directory: impl AsFd) -> bool {
    has_attribute(directory, STATX_ATTR_APPEND)
}

fn has_attribute(file: impl AsFd, attribute: u64) -> bool {
    statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
        .is_ok_and(|facts| facts.stx_attributes.bits() & attribute != 0)
}

fn inode_flags(file: &File) -> Option<u32> {
    let flags = ioctl_getflags(file).ok()?;
    Some(flags.bits() as u32 & SETTABLE_FLAGS)
}

/// All visible extended attributes.
fn extended_attributes(file: impl AsFd) -> rustix::io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut list = vec![0; MAX_XATTR_BYTES];
    let length = match flistxattr(&file, &mut list[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => 0,
        Err(error) => return Err(error),
    };
    let mut value = vec![0; MAX_XATTR_BYTES];
    list[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| {
            let length = fgetxattr(&file, name, &mut value[..])?;
            Ok((name.to_vec(), value[..length].to_vec()))
        })
        .collect()
}

/// Overwrites a file from its start. Space is reserved first, so that a full file system or a limit
/// on the file size leaves the content unchanged. Later errors are rolled back until all bytes are on
/// the drive; then the file is shortened, and keeps the new content whatever fails.
pub(super) fn overwrite_in_place(file: &File, bytes: &[u8]) -> io::Result<()> {
    overwrite_synchronized(file, bytes, &mut File::sync_data)
}

/// As above, with the call that synchronizes the data.
fn overwrite_synchronized(
    file: &File,
    bytes: &[u8],
    synchronize: &mut dyn FnMut(&File) -> io::Result<()>,
) -> io::Result<()> {
    let stat = fstat(file)?;
    let replaced = replace_content(file, bytes, stat.st_size as u64, synchronize);
    // For a user without CAP_FSETID the kernel removes the set-user-ID and set-group-ID bits at a write.
    if fstat(file).is_ok_and(|now| now.st_mode != stat.st_mode) {
        let _ = fchmod(file, Mode::from_raw_mode(stat.st_mode & 0o7777));
    }
    replaced
}

fn replace_content(
    file: &File,
    bytes: &[u8],
    before: u64,
    synchronize: &mut dyn FnMut(&File) -> io::Result<()>,
) -> io::Result<()> {
    let old = read_prefix(file, before.min(bytes.len() as u64));
    if let Err(error) = reserve_space(file, before, bytes.len() as u64) {
        // It may have grown by the reserved space.
        let _ = ftruncate(file, before);
        return Err(error);
    }
    let mut written = 0;
    let replaced = write_counted(file, bytes, &mut written)
        .and_then(|()| synchronize(file))
        .and_then(|()| Ok(ftruncate(file, bytes.len() as u64)?));
    if replaced.is_err() {
        restore_content(file, before, old.as_deref(), written);
        return replaced;
    }
    // The rest of the old content is gone: what was before cannot be restored any more.
    synchronize(file)
}

/// The first bytes of a file that is open for writing only; `None` if it may not be read.
fn read_prefix(file: &File, length: u64) -> Option<Vec<u8>> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    source.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Reserves space for that many bytes. The content of the file is kept; the file may have grown.
fn reserve_space(file: &File, before: u64, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    let allocated = fallocate(file, FallocateFlags::KEEP_SIZE, 0, length);
    if length > before {
        // This fails if it exceeds a limit on the file size.
        ftruncate(file, length)?;
    }
    match allocated {
        Ok(()) => Ok(()),
        // On this file system only a write shows whether there is space.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
            let zeros = vec![0; ZERO_CHUNK_BYTES];
            let mut at = before;
            while at < length {
                let count = (length - at).min(ZERO_CHUNK_BYTES as u64);
                file.write_all_at(&zeros[..count as usize], at)?;
                at += count;
            }
            if at > before {
                file.sync_data()?;
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn write_counted(file: &File, bytes: &[u8], written: &mut usize) -> io::Result<()> {
    while *written < bytes.len() {
        match file.write_at(&bytes[*written..], *written as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Restores overwritten content. The first error is the one that is reported.
fn restore_content(file: &File, before: u64, old: Option<&[u8]>, written: usize) {
    if let Some(old) = old {
        let _ = file.write_all_at(&old[..written.min(old.len())], 0);
        let _ = ftruncate(file, before);
        let _ = file.sync_data();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn failed_overwrite_leaves_the_old_or_the_new_content_whole() {
        let (long, short) = ("old content ".repeat(9000), "new".to_owned());
        for (old, new) in [(&long, &short), (&short, &long)] {
            for (failing, expected) in [(1, old), (2, new)] {
                let path = tempfile::NamedTempFile::new().unwrap();
                fs::write(&path, old).unwrap();
                let file = File::options().write(true).open(&path).unwrap();
                let mut calls = 0;
                let error = overwrite_synchronized(&file, new.as_bytes(), &mut |_| {
                    calls += 1;
                    match calls == failing {
                        true => Err(Errno::IO.into()),
                        false => Ok(()),
                    }
                });
                assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EIO));
                let found = fs::read_to_string(&path).unwrap();
                assert!(found == *expected, "{failing}: {} bytes", found.len());
            }
        }
    }
}
