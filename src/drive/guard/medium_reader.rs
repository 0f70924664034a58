//! Reads the bytes on a medium rather than those in a page cache.
//!
//! Each block device has its own page cache: a partition, its disk, and a second loop device on the
//! same file do not see data written through each other.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::Advice;

use crate::drive::guard::bytes::ReadAt;
use crate::drive::guard::write_access::MediumAccess;
use crate::drive::ioctl;
use crate::drive::medium::open_medium::OpenMedium;

/// Alignment if it is unknown: sufficient for every drive in use.
const FALLBACK_ALIGNMENT: u32 = 4096;

/// Reads a medium with `O_DIRECT`, or, where that is not supported, through the page cache after
/// dropping it.
pub(super) struct MediumReader<'m> {
    buffered: &'m File,
    direct: Option<File>,
    alignment: usize,
    /// The kernel rejected `O_DIRECT` for a request: it is not tried again.
    direct_refused: Cell<bool>,
    /// A request failed: from now on read one block at a time, to get all readable blocks.
    block_by_block: Cell<bool>,
}

impl<'m> MediumReader<'m> {
    /// A reader with its own descriptor of the anchor's inode.
    pub(super) fn new(medium: &'m OpenMedium) -> Self {
        let access = MediumAccess {
            direct: true,
            ..MediumAccess::default()
        };
        let target = &medium.target;
        let alignment = target.logical_block_bytes.max(target.buffer_alignment);
        Self {
            buffered: medium.anchor(),
            direct: medium.open(access).ok().map(File::from),
            alignment: alignment.max(FALLBACK_ALIGNMENT).next_power_of_two() as usize,
            direct_refused: Cell::new(false),
            block_by_block: Cell::new(false),
        }
    }

    /// Reads whole blocks around the range and returns the range.
    fn read_direct(&self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let block = self.alignment;
        let begin = offset - offset % block as u64;
        let skipped = (offset - begin) as usize;
        let length = match self.block_by_block.get() {
            true => block,
            false => (skipped + buffer.len()).next_multiple_of(block),
        };
        let mut storage = vec![0_u8; length + block];
        let start = storage.as_ptr().align_offset(block);
        let aligned = &mut storage[start..start + length];
        let count = FileExt::read_at(file, aligned, begin)?;
        let found = aligned.get(skipped..count).unwrap_or_default();
        let count = found.len().min(buffer.len());
        buffer[..count].copy_from_slice(&found[..count]);
        Ok(count)
    }

    /// Pages that a process has mapped, and data that a file system keeps only in memory, are not
    /// dropped.
    fn read_buffered(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = buffer.len() as u64;
        let whole_pages = offset - offset % u64::from(FALLBACK_ALIGNMENT);
        let until = (offset + length).next_multiple_of(u64::from(FALLBACK_ALIGNMENT));
        let range = std::num::NonZeroU64::new(until - whole_pages);
        // If this fails the pages stay; errors of the medium appear in the read.
        let _ = ioctl::sync_file_data(self.buffered);
        let _ = rustix::fs::fadvise(self.buffered, whole_pages, range, Advice::DontNeed);
        FileExt::read_at(self.buffered, buffer, offset)
    }
}

impl ReadAt for MediumReader<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(file) = self.direct.as_ref().filter(|_| !self.direct_refused.get()) else {
            return self.read_buffered(buffer, offset);
        };
        match self.read_direct(file, buffer, offset) {
            Err(error) if is_direct_io_unsupported(&error) => {
                self.direct_refused.set(true);
                self.read_buffered(buffer, offset)
            }
            // The medium itself failed: the cache may hold data that is no longer on it.
            Err(_) if !self.block_by_block.replace(true) => self.read_direct(file, buffer, offset),
            answer => answer,
        }
    }
}

/// Whether the kernel or the file system does not support the request.
fn is_direct_io_unsupported(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS)
    )
}

#[cfg(test)]
#[path = "tests/medium_reader.rs"]
mod tests;
