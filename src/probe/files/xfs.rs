//! XFS: the generation of an inode, which a file handle needs.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct xfs_fsop_bulkreq` (fs/xfs/libxfs/xfs_fs.h).
#[repr(C)]
struct BulkRequest {
    last_inode: *mut u64,
    count: i32,
    buffer: *mut libc::c_void,
    returned: *mut i32,
}

/// `struct xfs_bstat` in words; the kernel's has 17 or 18 of them.
const STAT_WORDS: usize = 32;
/// Offset of `bs_gen` in it: the 28th 32-bit number.
const GENERATION_INDEX: usize = 27;
/// `XFS_IOC_FSBULKSTAT_SINGLE`: _IOWR('X', 102, struct xfs_fsop_bulkreq).
const FSBULKSTAT_SINGLE: u32 =
    (3 << 30) | ((size_of::<BulkRequest>() as u32) << 16) | ((b'X' as u32) << 8) | 102;

/// The generation of an inode. `mount` is a directory of the file system.
///
/// # Errors
/// `EINVAL` or `ENOENT` when there is no such inode, `EPERM` without CAP_SYS_ADMIN.
pub fn inode_generation(mount: BorrowedFd<'_>, inode: u64) -> io::Result<u32> {
    let mut wanted = inode;
    let mut stat = [0_u64; STAT_WORDS];
    let mut request = BulkRequest {
        last_inode: &raw mut wanted,
        count: 1,
        buffer: stat.as_mut_ptr().cast(),
        returned: std::ptr::null_mut(),
    };
    // SAFETY: the kernel reads the request, and writes one struct xfs_bstat to `buffer`, which is
    // larger, and one inode number to `last_inode`; it omits the count where there is no address.
    let result = unsafe {
        libc::ioctl(
            mount.as_raw_fd(),
            FSBULKSTAT_SINGLE as libc::Ioctl,
            &raw mut request,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    if stat[0] != inode {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    let word = stat[GENERATION_INDEX / 2].to_ne_bytes();
    let half = if GENERATION_INDEX.is_multiple_of(2) {
        0
    } else {
        4
    };
    Ok(u32::from_ne_bytes([
        word[half],
        word[half + 1],
        word[half + 2],
        word[half + 3],
    ]))
}
