//! Reading what is on a medium, not what the page cache of one of its names remembers.
//!
//! Each block device has a page cache of its own: a partition, its disk, and a second loop device
//! on the same file do not see what was written through another of them.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::Advice;

use super::bytes::ReadAt;
use crate::drive::ioctl;
use crate::drive::medium::{MediumAccess, OpenMedium};

/// Alignment that satisfies every drive in use, unless it says otherwise.
const FALLBACK_ALIGNMENT: u32 = 4096;

/// Reads a medium with `O_DIRECT`; where that is not possible through the page cache, after what it
/// held was dropped.
pub(super) struct MediumReader<'m> {
    buffered: &'m File,
    direct: Option<File>,
    alignment: usize,
    /// `O_DIRECT` was refused for a request: it is not tried again.
    direct_refused: Cell<bool>,
    /// A request failed: one block at a time from now on, so that what can be read is.
    block_by_block: Cell<bool>,
}

impl<'m> MediumReader<'m> {
    /// A reader with a descriptor of its own, which leads to the same inode as the anchor.
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

    /// Reads whole blocks around what is wanted, and gives the part that is.
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

    /// Pages that somebody has mapped stay, and so does what a file system keeps in memory only.
    fn read_buffered(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = buffer.len() as u64;
        let whole_pages = offset - offset % u64::from(FALLBACK_ALIGNMENT);
        let until = (offset + length).next_multiple_of(u64::from(FALLBACK_ALIGNMENT));
        let range = std::num::NonZeroU64::new(until - whole_pages);
        // What fails here leaves pages as they are; reading says the rest.
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
            // The medium itself failed: the cache may hold what is there no longer.
            Err(_) if !self.block_by_block.replace(true) => self.read_direct(file, buffer, offset),
            answer => answer,
        }
    }
}

/// Whether the kernel or the file system does not take the request as such.
fn is_direct_io_unsupported(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS)
    )
}

#[cfg(test)]
#[path = "tests/medium_reader.rs"]
mod tests;
