//! The pages of a file in the page cache, from cachestat(2) (kernel mm/filemap.c; since 6.5).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Number of the system call: the same on all architectures except alpha
/// (include/uapi/asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of a file that are in the page cache, in whole pages. A large folio counts with all its
/// pages, as the kernel writes it back as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CachedBytes {
    /// In the page cache.
    pub cached: u64,
    /// Dirty.
    pub dirty: u64,
    /// Under writeback.
    pub writeback: u64,
}

/// `struct cachestat_range` (include/uapi/linux/mman.h).
#[repr(C)]
struct Range {
    offset: u64,
    /// 0: until the end.
    length: u64,
}

/// `struct cachestat`, in pages.
#[repr(C)]
#[derive(Default)]
struct PageCounts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// What the page cache holds of a file. Takes time in proportion to its cached pages.
///
/// # Errors
/// `ENOSYS` before Linux 6.5; `EPERM`, on later kernels, when the file neither belongs to the user
/// nor may be written; `EOPNOTSUPP` for hugetlbfs.
pub fn cached_bytes(file: &File) -> io::Result<CachedBytes> {
    let range = Range {
        offset: 0,
        length: 0,
    };
    let mut counts = PageCounts::default();
    // SAFETY: the call reads one range and writes one `struct cachestat`; both addresses are of
    // values of these layouts that outlive it.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut counts,
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let page = rustix::param::page_size() as u64;
    let bytes = |pages: u64| pages.saturating_mul(page);
    Ok(CachedBytes {
        cached: bytes(counts.cached),
        dirty: bytes(counts.dirty),
        writeback: bytes(counts.writeback),
    })
}
