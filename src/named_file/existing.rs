//! A regular file that is there already: replaced by another, or written in place where the other
//! would lack something of it.

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

/// Longest list of names, and longest value, of extended attributes (xattr(7)).
const MAX_XATTR_BYTES: usize = 1 << 16;
/// Flags that chattr(1) sets (`FS_FL_USER_MODIFIABLE`, `FS_PROJINHERIT_FL`; include/uapi/linux/fs.h)
/// and `FS_NOCOW_FL`.
const SETTABLE_FLAGS: u32 = 0x0003_80ff | 0x2000_0000 | 0x0080_0000;
/// `STATX_ATTR_MOUNT_ROOT`: something is mounted on it (kernel 5.8).
const STATX_ATTR_MOUNT_ROOT: u64 = 0x2000;
/// Set-user-ID, set-group-ID and sticky bit.
const SPECIAL_MODE_BITS: u32 = 0o7000;

/// Bytes that are written at once to find out whether there is room.
const ZERO_CHUNK_BYTES: usize = 1 << 16;

/// Owner and mode, which a replacement takes over.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileOwnership {
    user: u32,
    group: u32,
    mode: u32,
}

impl FileOwnership {
    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self {
            user: stat.st_uid,
            group: stat.st_gid,
            mode: stat.st_mode & 0o777,
        }
    }

    /// Gives a file the same.
    pub(super) fn apply_to(self, file: &File) -> io::Result<()> {
        let now = fstat(file)?;
        if (now.st_uid, now.st_gid) != (self.user, self.group) {
            let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
            fchown(file, Some(user), Some(group))?;
        }
        Ok(fchmod(file, Mode::from_raw_mode(self.mode))?)
    }
}

/// Whether a replacement, which has owner and mode already, would have all that the file has: one
/// name only, the same extended attributes (with them ACLs, capabilities, security labels), the
/// same flags, nothing mounted on it.
pub(super) fn can_be_replaced(file: &File, stat: &Stat, replacement: &File) -> bool {
    if stat.st_nlink != 1 || stat.st_mode & SPECIAL_MODE_BITS != 0 || is_mount_root(file) {
        return false;
    }
    let same_attributes = match (extended_attributes(file), extended_attributes(replacement)) {
        (Ok(old), Ok(new)) => old == new,
        _ => false,
    };
    same_attributes && inode_flags(file) == inode_flags(replacement)
}

fn is_mount_root(file: &File) -> bool {
    statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
        .is_ok_and(|facts| facts.stx_attributes.bits() & STATX_ATTR_MOUNT_ROOT != 0)
}

fn inode_flags(file: &File) -> Option<u32> {
    let flags = ioctl_getflags(file).ok()?;
    Some(flags.bits() as u32 & SETTABLE_FLAGS)
}

/// All extended attributes that can be seen.
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

/// Writes a file in place, from its beginning. Room is made first, so that a file system that is
/// full, or a limit on the file's size, leaves what is in it; what goes wrong later is undone.
pub(super) fn overwrite_in_place(file: &File, bytes: &[u8]) -> io::Result<()> {
    let before = fstat(file)?.st_size as u64;
    let old = read_prefix(file, before.min(bytes.len() as u64));
    if let Err(error) = reserve_space(file, before, bytes.len() as u64) {
        // It may be longer by what was reserved.
        let _ = ftruncate(file, before);
        return Err(error);
    }
    let mut written = 0;
    let done = write_counted(file, bytes, &mut written)
        .and_then(|()| file.sync_data())
        .and_then(|()| Ok(ftruncate(file, bytes.len() as u64)?))
        .and_then(|()| file.sync_data());
    if done.is_err() {
        restore_content(file, before, old.as_deref(), written);
    }
    done
}

/// The first bytes of a file that is open for writing only; `None` where it may not be read.
fn read_prefix(file: &File, length: u64) -> Option<Vec<u8>> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    source.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Makes room for that many bytes. What was in the file stays; it may have become longer.
fn reserve_space(file: &File, before: u64, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    let allocated = fallocate(file, FallocateFlags::KEEP_SIZE, 0, length);
    if length > before {
        // This is what a limit on the size is asked about.
        ftruncate(file, length)?;
    }
    match allocated {
        Ok(()) => Ok(()),
        // Only writing shows there that there is room.
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

/// Puts back what was overwritten. The first error is the one that is reported.
fn restore_content(file: &File, before: u64, old: Option<&[u8]>, written: usize) {
    if let Some(old) = old {
        let _ = file.write_all_at(&old[..written.min(old.len())], 0);
        let _ = ftruncate(file, before);
        let _ = file.sync_data();
    }
}
