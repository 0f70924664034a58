//! Attributes of a file beside its status and its extended attributes (`FS_IOC_FSGETXATTR`,
//! ioctl_xfs_fsgetxattr(2)).

use std::os::fd::AsFd;

use rustix::ioctl::{Getter, Opcode, ioctl, opcode};

/// `FS_IOC_FSGETXATTR` (include/uapi/linux/fs.h).
const FS_IOC_FSGETXATTR: Opcode = opcode::read::<FsXattr>(b'X', 31);
/// Flags that the kernel sets by itself: `FS_XFLAG_PREALLOC` and `FS_XFLAG_HASATTR`.
const KERNEL_FLAGS: u32 = 0x2 | 0x8000_0000;

/// `struct fsxattr`.
#[repr(C)]
struct FsXattr {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project_id: u32,
    copy_on_write_extent_size: u32,
    padding: [u8; 8],
}

/// What chattr(1) and xfs_io(8) set for a file, except the flags of `FS_IOC_GETFLAGS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InodeAttributes {
    /// `FS_XFLAG_...`.
    flags: u32,
    /// The project whose quota the file counts for; 0: none.
    pub(crate) project_id: u32,
    /// Hints for the size of extents in bytes.
    extent_sizes: [u32; 2],
}

impl InodeAttributes {
    /// Those of an open file; `None` on a file system that does not have them.
    pub(crate) fn of_file(file: impl AsFd) -> Option<Self> {
        // SAFETY: the kernel writes a structure of this type for this request, and any bytes are a
        // value of it.
        let answer = unsafe { ioctl(file, Getter::<FS_IOC_FSGETXATTR, FsXattr>::new()) };
        answer.ok().map(|answer| Self {
            flags: answer.flags & !KERNEL_FLAGS,
            project_id: answer.project_id,
            extent_sizes: [answer.extent_size, answer.copy_on_write_extent_size],
        })
    }
}
