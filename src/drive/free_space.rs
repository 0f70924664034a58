//! How much may be written to the file system of a file: what is free there, and, where its files
//! lie in memory, what memory there is.

use std::fs::File;

use rustix::fs::{AtFlags, StatxFlags};

use super::scratch::SIZE_GRANULARITY;
use super::{DriveError, io_error_context, mounts};
use crate::memory;
use crate::memory::MemoryLimit;
use crate::roots::SysPaths;

/// Never fewer bytes than this stay free.
const RESERVE_BYTES: u64 = 1 << 30;
/// Nor a smaller share of the file system, or of the memory, than 1 in this many.
const RESERVE_DIVISOR: u64 = 20;
/// The size when none is asked for, where there is room.
const DEFAULT_SCRATCH_BYTES: u64 = 1 << 30;
/// Smaller ones fit into a drive's own cache and say nothing.
pub(super) const MIN_SCRATCH_BYTES: u64 = 16 << 20;
/// Types of file systems, as statfs(2) gives them.
const TMPFS_MAGIC: u32 = 0x0102_1994;
const RAMFS_MAGIC: u32 = 0x8584_58f6;
const OVERLAYFS_MAGIC: u32 = 0x794c_7630;
/// `STATX_MNT_ID`: which mount a file lies on (kernel 5.8).
const STATX_MNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// What a file system has free and what of it has to stay free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that this user can still write.
    pub free_bytes: u64,
    /// Bytes that stay free whatever is asked for: 1 GiB or 5 % of the whole, if that is more.
    pub reserve_bytes: u64,
    /// The limit of memory that leaves no more, where the file system lies in memory.
    pub memory_limit: Option<String>,
}

impl FreeSpace {
    /// By the sizes of the whole and of what is free.
    #[must_use]
    pub fn new(total: u64, free: u64) -> Self {
        Self {
            free_bytes: free,
            reserve_bytes: RESERVE_BYTES.max(total / RESERVE_DIVISOR),
            memory_limit: None,
        }
    }

    /// Bytes that may be used.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.reserve_bytes)
    }

    /// The size for a scratch file when none is asked for: 1 GiB, or half of what may be used.
    /// `None` when that would be too small to say anything.
    #[must_use]
    pub fn default_scratch_bytes(&self) -> Option<u64> {
        let size = DEFAULT_SCRATCH_BYTES.min(self.usable_bytes() / 2) / SIZE_GRANULARITY
            * SIZE_GRANULARITY;
        (size >= MIN_SCRATCH_BYTES).then_some(size)
    }

    /// Room on the file system of an open file.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn of_file(
        roots: &SysPaths,
        file: &File,
        directory: &str,
    ) -> Result<Self, DriveError> {
        let facts = rustix::fs::fstatvfs(file)
            .map_err(io_error_context("ask for the free space of", directory))?;
        let own = Self::new(
            facts.f_blocks.saturating_mul(facts.f_frsize),
            facts.f_bavail.saturating_mul(facts.f_frsize),
        );
        if !is_memory_backed(roots, file) {
            return Ok(own);
        }
        // Of a file system in memory without a limit of its own the kernel tells no sizes.
        Ok(own.limited_by_memory(facts.f_blocks > 0, memory::memory_limits(roots)))
    }

    /// The least of what the file system itself has, where it has a limit, and of what each limit of
    /// memory leaves.
    fn limited_by_memory(self, has_own_limit: bool, limits: Vec<MemoryLimit>) -> Self {
        let by_memory = limits.into_iter().map(|limit| Self {
            memory_limit: Some(limit.limit_name),
            ..Self::new(limit.total_bytes, limit.available_bytes)
        });
        let own = has_own_limit.then(|| self.clone());
        own.into_iter()
            .chain(by_memory)
            .min_by_key(|room| (room.usable_bytes(), room.free_bytes))
            .unwrap_or(self)
    }

    pub(super) fn insufficient_space(self, directory: &str, wanted: u64) -> DriveError {
        DriveError::InsufficientSpace {
            directory: directory.to_owned(),
            free: self.free_bytes,
            reserve: self.reserve_bytes,
            wanted,
            limit: self.memory_limit,
        }
    }
}

/// Whether what is written to a file takes memory: tmpfs and ramfs, also below an overlay.
fn is_memory_backed(roots: &SysPaths, file: &File) -> bool {
    let kind = |found: rustix::fs::StatFs| found.f_type as u32;
    let is_memory = |kind: u32| matches!(kind, TMPFS_MAGIC | RAMFS_MAGIC);
    match rustix::fs::fstatfs(file).map(kind) {
        Ok(OVERLAYFS_MAGIC) => overlay_upper_directory(roots, file)
            .and_then(|upper| rustix::fs::statfs(upper).ok())
            .is_some_and(|found| is_memory(kind(found))),
        Ok(kind) => is_memory(kind),
        Err(_) => false,
    }
}

/// Where the overlay that a file lies on keeps what is written; `None` where that cannot be told,
/// as in a container.
fn overlay_upper_directory(roots: &SysPaths, file: &File) -> Option<String> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, STATX_MNT_ID).ok()?;
    let mounts = mounts::mounts(roots).ok()?;
    let mount = mounts.iter().find(|mount| mount.id == facts.stx_mnt_id)?;
    let mut options = mount.options.iter();
    let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
    Some(upper.to_owned())
}

#[cfg(test)]
mod tests;
