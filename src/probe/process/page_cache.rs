//! The pages of a file in the page cache, from cachestat(2) (kernel mm/filemap.c; since 6.5).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::probe::sample::UnwrittenBytes;

/// Number of the system call: the same on all architectures except alpha
/// (include/uapi/asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of a file that are in memory only, in whole pages. A large folio counts with all its pages, as the
/// kernel writes it back as a whole.
///
/// # Errors
///
/// `ENOSYS` before kernel 6.5, `EPERM` for a file of another user that this process may not write.
pub fn unwritten_bytes(file: &File) -> io::Result<UnwrittenBytes> {
    // `struct cachestat_range` (include/uapi/linux/mman.h): from 0 until the end.
    let range = [0_u64; 2];
    // `struct cachestat`: cached, dirty, under writeback, evicted, recently evicted.
    let mut pages = [0_u64; 5];
    // SAFETY: the call reads one range, two 64-bit numbers, and writes five; both arrays outlive it.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            pages.as_mut_ptr(),
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let page_size = rustix::param::page_size() as u64;
    let [cached, dirty, writeback, ..] = pages.map(|count| count.saturating_mul(page_size));
    // A page can be dirty again while it is written back.
    Ok(UnwrittenBytes {
        total: dirty.saturating_add(writeback).min(cached),
        writeback,
    })
}
