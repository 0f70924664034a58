//! File handles (open_by_handle_at(2)): they identify a file without its path, and keep it neither
//! open nor in use.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::drive::mounts::split_device_number;
use crate::foreign_tree::FileStatus;

/// `MAX_HANDLE_SZ`.
const MAX_HANDLE_BYTES: usize = 128;
/// `FILEID_INO32_GEN`: inode and generation in 32 bits each (include/linux/exportfs.h).
const INO32_GEN: i32 = 1;
/// `struct file_handle` with room for the largest one.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawHandle {
    handle_bytes: libc::c_uint,
    handle_type: libc::c_int,
    bytes: [u8; MAX_HANDLE_BYTES],
}

/// Identifies a file of one file system.
#[derive(Clone, Copy)]
pub struct FileHandle(RawHandle);

impl FileHandle {
    /// A handle of ext2, ext3, ext4 or f2fs, whose inodes have 32 bits. They accept generation 0 for
    /// any (`ext4_nfs_get_inode` in fs/ext4/super.c).
    #[must_use]
    pub fn of_inode32(inode: u64) -> Option<Self> {
        let inode = u32::try_from(inode).ok()?;
        let mut bytes = [0; MAX_HANDLE_BYTES];
        bytes[..4].copy_from_slice(&inode.to_ne_bytes());
        Some(Self(RawHandle {
            handle_bytes: 8,
            handle_type: INO32_GEN,
            bytes,
        }))
    }

    /// Finds the file. That opens nothing: to open a device or a pipe would have effects. `mount` is
    /// a directory of its file system.
    ///
    /// # Errors
    /// `ESTALE` when it does not exist any more, `EPERM` without CAP_DAC_READ_SEARCH.
    pub fn find(&self, mount: BorrowedFd<'_>) -> io::Result<FoundFile> {
        let mut handle = self.0;
        // SAFETY: `handle` is initialized up to its `handle_bytes`; the result is a new descriptor
        // that nothing else owns.
        let place = unsafe {
            let number = libc::open_by_handle_at(
                mount.as_raw_fd(),
                (&raw mut handle).cast(),
                libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW,
            );
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(number)
        };
        Ok(FoundFile {
            link: PathBuf::from(format!("/proc/self/fd/{}", place.as_raw_fd())),
            place,
        })
    }
}

/// A file that was found by its handle.
#[derive(Debug)]
pub struct FoundFile {
    link: PathBuf,
    place: OwnedFd,
}

impl FoundFile {
    /// Its path, which the kernel knows as long as it has the directory entry in memory.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        let path = std::fs::read_link(&self.link).ok()?;
        let (found, own) = (FileStatus::of_path(&path).ok()?, self.metadata()?);
        let own = (split_device_number(own.dev()), own.ino());
        (found.identity() == own).then_some(path)
    }

    /// Its last path, if it is deleted.
    #[must_use]
    pub fn deleted_path(&self) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        let path = std::fs::read_link(&self.link).ok()?;
        let path = path.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
        let is_deleted = self.metadata()?.nlink() == 0 && path.len() > 1;
        is_deleted.then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    }

    fn metadata(&self) -> Option<std::fs::Metadata> {
        File::from(self.place.try_clone().ok()?).metadata().ok()
    }
}
