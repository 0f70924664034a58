//! Whether the file system of a file that grows has space left. For deletion with the checks of its callers
//! (`named_file`, recordings): ENOSPC tells the same.

use std::fs::File;
use std::io;
use std::ops::Range;

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};

/// Bytes that stay free, or 1 in [`RESERVE_DIVISOR`] on a small file system.
const RESERVE_BYTES: u64 = 64 << 20;
const RESERVE_DIVISOR: u64 = 20;

/// What an output takes its space of.
#[derive(Debug, Default)]
pub struct OutputSpace;

impl OutputSpace {
    /// For a file.
    #[must_use]
    pub fn below_file(_: &File) -> Self {
        Self
    }

    /// Whether the reserve is kept after another `bytes` bytes; true where the size is unknown.
    #[must_use]
    pub fn has_room(&mut self, file: &File, bytes: u64) -> bool {
        fstatvfs(file).is_ok_and(|facts| {
            let total = facts.f_blocks.saturating_mul(facts.f_frsize);
            let reserve = RESERVE_BYTES.min(total / RESERVE_DIVISOR);
            let free = facts.f_bavail.saturating_mul(facts.f_frsize);
            total == 0 || free >= bytes.saturating_add(reserve)
        })
    }

    /// The same.
    ///
    /// # Errors
    /// None.
    pub fn has_room_for_next(&mut self, file: &File, bytes: u64) -> io::Result<bool> {
        Ok(self.has_room(file, bytes))
    }

    /// Whether a range can be written whose space was reserved (fallocate(2)).
    #[must_use]
    pub fn has_room_in_reserved(&mut self, file: &File, range: Range<u64>, bytes: u64) -> bool {
        Self::hole_bytes(file, range.end) == 0 || self.has_room(file, bytes)
    }

    /// Whether the file system reserves space (fallocate(2)).
    #[must_use]
    pub fn reserves_space(&self, file: &File) -> bool {
        fallocate(file, FallocateFlags::KEEP_SIZE, 0, 1).is_ok()
    }

    /// Bytes of the first `bytes` of a file that have no blocks.
    #[must_use]
    pub fn hole_bytes(file: &File, bytes: u64) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let blocks = file.metadata().map_or(0, |facts| facts.blocks());
        bytes.saturating_sub(blocks.saturating_mul(512))
    }
}
