//! An existing regular file that is written in place, because a replacement would lose attributes of
//! it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{
    FallocateFlags, Mode, OFlags, fallocate, fchmod, fstat, fstatfs, fstatvfs, ftruncate,
};
use rustix::io::Errno;

use crate::named_file::held_signals::HeldSignals;
use crate::named_file::kernel_files::file_system_magic;

/// Set-user-ID and set-group-ID bit.
const SET_ID_BITS: u32 = 0o6000;
/// Bytes per write when testing for free space.
const ZERO_CHUNK_BYTES: usize = 1 << 16;
/// File systems (`f_type` of statfs(2)) that write the blocks of a file in place: ext2 to ext4,
/// XFS, tmpfs, ramfs, FAT, exFAT, ntfs3, ntfs, JFS, HFS+, UDF. XFS gives new blocks to those that files
/// share, but only one time: it needs none to put the old content back.
const OVERWRITING_FILE_SYSTEMS: [u64; 11] = [
    0xef53,
    0x5846_5342,
    0x0102_1994,
    0x8584_58f6,
    0x4d44,
    0x2011_bab0,
    0x7366_746e,
    0x5346_544e,
    0x3153_464a,
    0x482b,
    0x1501_3346,
];
/// Space on other file systems that they need in addition to that of the data.
const METADATA_BYTES: u64 = 1 << 20;

/// Failure to overwrite a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum OverwriteError {
    /// The file has its old content, or all of the new one.
    #[error(transparent)]
    Whole(io::Error),
    /// The file has a part of the new content, and its old content could not be put back.
    #[error(transparent)]
    Mixed(io::Error),
}

impl From<Errno> for OverwriteError {
    fn from(error: Errno) -> Self {
        Self::Whole(error.into())
    }
}

/// Overwrites a file from its start. Space is reserved first, so that a full file system or a limit
/// on the file size leaves the content unchanged. Later errors are rolled back until all bytes are on
/// the drive; then the file is shortened, and keeps the new content whatever fails.
///
/// # Errors
/// When it cannot be overwritten; tells whether a part of it was.
pub(super) fn overwrite_in_place(file: &File, bytes: &[u8]) -> Result<(), OverwriteError> {
    overwrite_synchronized(file, bytes, &mut File::sync_data)
}

/// As above, with the call that synchronizes the data.
fn overwrite_synchronized(
    file: &File,
    bytes: &[u8],
    synchronize: &mut dyn FnMut(&File) -> io::Result<()>,
) -> Result<(), OverwriteError> {
    let stat = fstat(file)?;
    let _held = HeldSignals::hold();
    let replaced = replace_content(file, bytes, stat.st_size as u64, synchronize);
    restore_set_id_bits(file, stat.st_mode);
    replaced
}

/// For a user without CAP_FSETID the kernel removes the set-user-ID and set-group-ID bits at a write.
/// What somebody else has changed of the mode meanwhile stays.
fn restore_set_id_bits(file: &File, before: u32) {
    let Ok(now) = fstat(file) else { return };
    let lost = before & !now.st_mode & SET_ID_BITS;
    if lost != 0 {
        let _ = fchmod(file, Mode::from_raw_mode(now.st_mode & 0o7777 | lost));
    }
}

fn replace_content(
    file: &File,
    bytes: &[u8],
    before: u64,
    synchronize: &mut dyn FnMut(&File) -> io::Result<()>,
) -> Result<(), OverwriteError> {
    let old = read_prefix(file, before.min(bytes.len() as u64));
    check_space_for_new_blocks(file, before, bytes.len() as u64)?;
    let mut written = 0;
    let replaced = reserve_space(file, before, bytes.len() as u64)
        .and_then(|()| write_counted(file, bytes, &mut written))
        .and_then(|()| synchronize(file))
        .and_then(|()| Ok(ftruncate(file, bytes.len() as u64)?));
    if let Err(error) = replaced {
        return Err(
            match restore_content(file, before, old.as_deref(), written) {
                Ok(()) => OverwriteError::Whole(error),
                Err(_) => OverwriteError::Mixed(error),
            },
        );
    }
    // The rest of the old content is gone: what was before cannot be restored any more.
    synchronize(file).map_err(OverwriteError::Whole)
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

/// Fails where a file system gives a file new blocks for what is overwritten, such as btrfs, ZFS or the
/// upper one of an overlay, and has not enough of them for the new content and for putting the old one
/// back. Nothing can reserve these blocks.
fn check_space_for_new_blocks(file: &File, before: u64, length: u64) -> rustix::io::Result<()> {
    let magic = file_system_magic(&fstatfs(file)?);
    let space = fstatvfs(file)?;
    // A file system without a size has no limit, or does not tell it.
    if length == 0 || space.f_blocks == 0 || OVERWRITING_FILE_SYSTEMS.contains(&magic) {
        return Ok(());
    }
    let needed = length
        .saturating_add(before.min(length))
        .saturating_add(METADATA_BYTES);
    match space.f_bavail.saturating_mul(space.f_frsize) < needed {
        true => Err(Errno::NOSPC),
        false => Ok(()),
    }
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

/// Puts back the size, and the content of which that many bytes were overwritten.
fn restore_content(file: &File, before: u64, old: Option<&[u8]>, written: usize) -> io::Result<()> {
    let put_back = match old {
        _ if written == 0 => Ok(()),
        Some(old) => file.write_all_at(&old[..written.min(old.len())], 0),
        None => Err(io::ErrorKind::PermissionDenied.into()),
    };
    ftruncate(file, before)?;
    put_back?;
    match written {
        0 => Ok(()),
        _ => file.sync_data(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use super::*;

    /// Overwrites a file; the call with this number that synchronizes its data fails.
    fn overwrite_failing(file: &File, new: &[u8], failing: u32) -> OverwriteError {
        let mut calls = 0;
        let overwritten = overwrite_synchronized(file, new, &mut |_| {
            calls += 1;
            match calls == failing {
                true => Err(Errno::IO.into()),
                false => Ok(()),
            }
        });
        overwritten.unwrap_err()
    }

    #[test]
    fn failed_overwrite_leaves_the_old_or_the_new_content_whole() {
        let (long, short) = ("old content ".repeat(9000), "new".to_owned());
        for (old, new) in [(&long, &short), (&short, &long)] {
            for (failing, expected) in [(1, old), (2, new)] {
                let path = tempfile::NamedTempFile::new().unwrap();
                fs::write(&path, old).unwrap();
                let file = File::options().write(true).open(&path).unwrap();
                let error = overwrite_failing(&file, new.as_bytes(), failing);
                let OverwriteError::Whole(error) = error else {
                    panic!("{error:?}");
                };
                assert_eq!(error.raw_os_error(), Some(libc::EIO));
                let found = fs::read_to_string(&path).unwrap();
                assert!(found == *expected, "{failing}: {} bytes", found.len());
            }
        }
    }

    #[test]
    fn old_content_that_cannot_be_put_back_is_reported() {
        let file = File::from(memfd_create("file", MemfdFlags::ALLOW_SEALING).unwrap());
        file.write_all_at(b"old content", 0).unwrap();
        let failed = overwrite_synchronized(&file, b"new", &mut |file| {
            fcntl_add_seals(file, SealFlags::WRITE).unwrap();
            Err(Errno::NOSPC.into())
        });
        assert!(
            matches!(failed, Err(OverwriteError::Mixed(_))),
            "{failed:?}"
        );
    }

    #[test]
    fn mode_that_changes_while_a_file_is_written_in_place_is_kept() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let set_mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for (before, meanwhile, after) in [(0o644, 0o600, 0o600), (0o6755, 0o755, 0o6755)] {
            set_mode(before);
            let file = File::options().write(true).open(&path).unwrap();
            overwrite_synchronized(&file, b"new", &mut |_| {
                set_mode(meanwhile);
                Ok(())
            })
            .unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, after);
        }
    }
}
