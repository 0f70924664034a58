//! File handles (name_to_handle_at(2)): they identify a file without its path, and keep it neither
//! open nor in use.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::drive::mounts::split_device_number;
use crate::foreign_tree::FileStatus;

/// `MAX_HANDLE_SZ`.
const MAX_HANDLE_BYTES: usize = 128;
/// `FILEID_INO32_GEN`: inode and generation in 32 bits each (include/linux/exportfs.h).
const INO32_GEN: i32 = 1;
/// `FILEID_BTRFS_WITHOUT_PARENT`: object, subvolume, generation (fs/btrfs/export.h).
const BTRFS: i32 = 0x4d;

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
    fn from_parts(handle_type: i32, parts: &[&[u8]]) -> Self {
        let mut bytes = [0; MAX_HANDLE_BYTES];
        let mut length = 0;
        for part in parts {
            bytes[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        Self(RawHandle {
            handle_bytes: length as libc::c_uint,
            handle_type,
            bytes,
        })
    }

    /// A handle of ext2, ext3, ext4 or f2fs, whose inodes have 32 bits. They accept generation 0 for
    /// any (`ext4_nfs_get_inode` in fs/ext4/super.c).
    #[must_use]
    pub fn of_inode32(inode: u64) -> Option<Self> {
        let inode = u32::try_from(inode).ok()?;
        let generation = 0_u32;
        Some(Self::from_parts(
            INO32_GEN,
            &[&inode.to_ne_bytes(), &generation.to_ne_bytes()],
        ))
    }

    /// A handle of btrfs, which accepts generation 0 for any (`btrfs_get_dentry` in
    /// fs/btrfs/export.c).
    #[must_use]
    pub fn of_btrfs_inode(subvolume: u64, inode: u64) -> Self {
        let generation = 0_u32;
        Self::from_parts(
            BTRFS,
            &[
                &inode.to_ne_bytes(),
                &subvolume.to_ne_bytes(),
                &generation.to_ne_bytes(),
            ],
        )
    }

    /// The handle of an existing file, and the number of its mount in `/proc/self/mountinfo`.
    ///
    /// # Errors
    /// When it does not exist, or its file system has no handles.
    pub fn of_path(path: &Path) -> io::Result<(Self, u64)> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = RawHandle {
            handle_bytes: MAX_HANDLE_BYTES as libc::c_uint,
            handle_type: 0,
            bytes: [0; MAX_HANDLE_BYTES],
        };
        let mut mount: libc::c_int = 0;
        // SAFETY: the path ends in a zero byte, `handle` has room for the `handle_bytes` bytes that
        // it announces, and `mount` for one int.
        let result = unsafe {
            libc::name_to_handle_at(
                libc::AT_FDCWD,
                path.as_ptr(),
                (&raw mut handle).cast(),
                &raw mut mount,
                libc::AT_SYMLINK_FOLLOW,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let mount = u64::try_from(mount).map_err(io::Error::other)?;
        Ok((Self(handle), mount))
    }

    /// The subvolume of a handle of btrfs.
    #[must_use]
    pub fn btrfs_subvolume(&self) -> Option<u64> {
        let bytes = self.0.bytes[8..16].try_into().ok()?;
        (self.0.handle_type == BTRFS).then(|| u64::from_ne_bytes(bytes))
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
