//! Whether the file system of a file that grows while others work, such as a recording, its quotas, and what
//! is below it, keep their reserve.

use std::fs::File;

use rustix::fs::fstatvfs;

use super::{LowerSpace, quota};
use crate::roots::SysPaths;

/// Bytes that stay free on the file system of an output, whatever its size.
const RESERVE_BYTES: u64 = 64 << 20;
/// On a small file system, only 1 in this many bytes stays free.
const RESERVE_SHARE: u64 = 20;

/// What an output takes its space of.
#[derive(Debug)]
pub struct OutputSpace {
    roots: SysPaths,
    /// The images, snapshots and pools below its file system: when one of them is full, data of others
    /// is lost that the kernel has accepted.
    lower: LowerSpace,
}

impl OutputSpace {
    /// What a file on a mounted file system takes its space of.
    #[must_use]
    pub fn below_file(file: &File) -> Self {
        let roots = SysPaths::default();
        Self {
            lower: LowerSpace::below_output(&roots, file),
            roots,
        }
    }

    /// Whether the reserve is kept after another `bytes` bytes; true where the size is unknown.
    #[must_use]
    pub fn has_room(&self, file: &File, bytes: u64) -> bool {
        let Ok(facts) = fstatvfs(file) else {
            return true;
        };
        // A byte more than what a block holds takes a whole block.
        let block = facts.f_frsize.max(1);
        let needed = bytes.next_multiple_of(block).saturating_add(block);
        let total = facts.f_blocks.saturating_mul(facts.f_frsize);
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        // An unlimited file system in memory, and some in user space, report no sizes.
        let has_own = total == 0 || free >= needed.saturating_add(reserve_bytes(total));
        // An image that counts for the same quota loses data as below a full file system.
        let quotas = || quota::quota_rooms(&self.roots, file).into_iter();
        has_own
            && quotas().all(|room| room.has_free(needed, RESERVE_BYTES))
            && self.has_lower_room(needed)
    }

    /// Whether what is below the file system keeps its reserve after another `bytes` bytes. Space that
    /// is reserved in the file system is not reserved there.
    #[must_use]
    pub fn has_lower_room(&self, bytes: u64) -> bool {
        self.lower.has_free(&self.roots, bytes, RESERVE_BYTES)
    }
}

/// Bytes that stay free on a file system of this size.
fn reserve_bytes(total: u64) -> u64 {
    RESERVE_BYTES.min(total / RESERVE_SHARE)
}
