//! Bytes that may be written to the file system of a file: its free space, for an in-memory file
//! system, and one on a device in memory, the available memory and what the limit of the device leaves, for one in
//! an image the free space below that, and for one on a snapshot, its origin or a thin volume what is left for that.
//! A quota may leave less. Before anything is written, so does what others have written to an image, a snapshot or a
//! pool and the kernel has not written back yet.

mod file_directory;
mod file_system;
mod image;
mod lower_space;
mod memory_device;
mod new_blocks;
mod quota;
mod store;
mod store_space;
mod unwritten;
mod upper_directory;
mod zfs_pool;

use crate::drive::error::DriveError;
use crate::drive::space_limit::SpaceLimit;
use crate::roots::SysPaths;

pub use self::lower_space::LowerSpace;
pub(super) use self::lower_space::SpaceDemand;
pub(super) use self::new_blocks::{is_on_nfs, is_on_server, is_written_in_place, new_block_bytes};
use self::store::SpaceStore;

/// Sizes are multiples of this, which is a multiple of every drive's block size.
pub(super) const SIZE_GRANULARITY: u64 = 4096;
/// Minimum number of bytes that stay free.
pub const RESERVE_BYTES: u64 = 1 << 30;
/// Divisor of the size of the file system, or of the memory, that gives the reserve.
pub const RESERVE_DIVISOR: u64 = 20;
/// Minimum number of bytes of a snapshot, a pool or the limit of a device in memory that stay free, unless that
/// is more than half of it: the file system above writes its journal and metadata as well.
const STORE_RESERVE_BYTES: u64 = 64 << 20;
/// Default size of a scratch file, if there is enough space.
const DEFAULT_SCRATCH_BYTES: u64 = 1 << 30;
/// A smaller file fits into the cache of the drive, so its results say nothing about the medium.
pub(super) const MIN_SCRATCH_BYTES: u64 = 16 << 20;

/// When free space is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpaceCount {
    /// Once, before a run begins or a scratch file is filled: what others have written and the kernel has
    /// not written back yet is not free.
    BeforeWriting,
    /// Again and again while the medium is written: a moment's unwritten data of others must not end the run.
    WhileWriting,
}

/// Free space of a file system and the reserve that must stay free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that this user can still write, without those that others have been promised.
    pub free_bytes: u64,
    /// Bytes that always stay free: 1 GiB or 5 % of the total size, whichever is larger.
    pub reserve_bytes: u64,
    /// What determines the free space, if not the file system itself.
    pub limit: Option<SpaceLimit>,
    /// Bytes that others have been promised, not among the free bytes: they may need the space when the
    /// kernel writes them back.
    pub unwritten_bytes: u64,
}

impl FreeSpace {
    /// From the total size and the free bytes.
    #[must_use]
    pub fn new(total: u64, free: u64) -> Self {
        Self {
            free_bytes: free,
            reserve_bytes: RESERVE_BYTES.max(total / RESERVE_DIVISOR),
            limit: None,
            unwritten_bytes: 0,
        }
    }

    /// Bytes that may be used: free bytes without the reserve.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.reserve_bytes)
    }

    /// Whether that many bytes are free beside a reserve, or beside its own reserve if that is less.
    fn has_free(&self, bytes: u64, reserve: u64) -> bool {
        self.free_bytes >= bytes.saturating_add(reserve.min(self.reserve_bytes))
    }

    /// Default size of a scratch file: 1 GiB, or half of the usable bytes if that is less. `None`
    /// when that is too small for a meaningful result.
    #[must_use]
    pub fn default_scratch_bytes(&self) -> Option<u64> {
        let size = DEFAULT_SCRATCH_BYTES.min(self.usable_bytes() / 2) / SIZE_GRANULARITY
            * SIZE_GRANULARITY;
        (size >= MIN_SCRATCH_BYTES).then_some(size)
    }

    /// Without bytes that others have been promised.
    #[must_use]
    pub(super) fn without(self, bytes: u64) -> Self {
        Self {
            free_bytes: self.free_bytes.saturating_sub(bytes),
            unwritten_bytes: self.unwritten_bytes + bytes.min(self.free_bytes),
            ..self
        }
    }

    fn of_store(roots: &SysPaths, store: &SpaceStore) -> Option<(Self, u64)> {
        let space = store.space(roots)?;
        let room = Self {
            free_bytes: space.free_bytes,
            reserve_bytes: store_reserve_bytes(space.total_bytes),
            limit: Some(SpaceLimit::Store(store.description.clone())),
            unwritten_bytes: 0,
        };
        Some((room, space.unit_bytes))
    }

    pub(super) fn insufficient_for_holes(self, name: &str, missing: u64) -> DriveError {
        DriveError::InsufficientSpaceForHoles {
            name: name.to_owned(),
            missing,
            free: self.free_bytes,
            reserve: self.reserve_bytes,
            unwritten: self.unwritten_bytes,
            limit: self.limit,
        }
    }

    pub(super) fn insufficient_space(self, directory: &str, wanted: u64) -> DriveError {
        DriveError::InsufficientSpace {
            directory: directory.to_owned(),
            free: self.free_bytes,
            reserve: self.reserve_bytes,
            wanted,
            unwritten: self.unwritten_bytes,
            limit: self.limit,
        }
    }
}

/// Bytes that stay free of a snapshot, a pool or the limit of a device in memory, of its size.
fn store_reserve_bytes(total: u64) -> u64 {
    let least = STORE_RESERVE_BYTES.min(total / 2);
    least.max(total / RESERVE_DIVISOR)
}

#[cfg(test)]
mod tests;
