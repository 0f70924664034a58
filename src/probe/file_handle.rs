//! Files by their inode number: file handles (open_by_handle_at(2)) identify a file without its path, and
//! keep it neither open nor in use.

use std::ffi::OsStr;
use std::fs::{File, Metadata, read_link};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::drive::foreign_tree::FileStatus;
use crate::drive::mounts::split_device_number;

/// Type of a handle that is an inode number and its generation (`FILEID_INO32_GEN`,
/// include/linux/exportfs.h), as ext4 and F2FS have them.
const INO32_GEN: libc::c_int = 1;

/// `struct file_handle` of that type.
#[repr(C)]
struct InodeHandle {
    handle_bytes: libc::c_uint,
    handle_type: libc::c_int,
    inode: u32,
    generation: u32,
}

/// A file that was found by its inode.
#[derive(Debug)]
pub struct FoundFile {
    link: PathBuf,
    metadata: Metadata,
    /// Refers to the file without opening it.
    _place: OwnedFd,
}

impl FoundFile {
    /// Finds a file, whatever its generation. That opens nothing: to open a device or a pipe would have
    /// effects. `mount` is a directory of its file system.
    ///
    /// # Errors
    /// `ESTALE` when it does not exist any more, `EPERM` without CAP_DAC_READ_SEARCH.
    pub fn by_inode(mount: BorrowedFd<'_>, inode: u64) -> io::Result<Self> {
        let mut handle = InodeHandle {
            handle_bytes: 8,
            handle_type: INO32_GEN,
            inode: u32::try_from(inode).map_err(io::Error::other)?,
            // 0 stands for any.
            generation: 0,
        };
        let flags = libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: `handle` is as long as its `handle_bytes` say; the result is a new descriptor that nothing
        // else owns.
        let place = unsafe {
            let handle = (&raw mut handle).cast();
            let number = libc::open_by_handle_at(mount.as_raw_fd(), handle, flags);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(number)
        };
        Ok(Self {
            link: PathBuf::from(format!("/proc/self/fd/{}", place.as_raw_fd())),
            metadata: File::from(place.try_clone()?).metadata()?,
            _place: place,
        })
    }

    /// Its path, which the kernel knows as long as it has the directory entry in memory.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let path = read_link(&self.link).ok()?;
        let own = (
            split_device_number(self.metadata.dev()),
            self.metadata.ino(),
        );
        let found = FileStatus::of_path(&path).ok()?;
        (found.identity() == own).then_some(path)
    }

    /// Its last path, if it is deleted.
    #[must_use]
    pub fn deleted_path(&self) -> Option<PathBuf> {
        let path = read_link(&self.link).ok()?;
        let path = path.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
        let is_deleted = self.metadata.nlink() == 0 && path.len() > 1;
        is_deleted.then(|| PathBuf::from(OsStr::from_bytes(path)))
    }
}
