//! How much may be written to the file system of a file: what is free there, and, where its files
//! lie in memory, what memory there is.

use std::fs::File;

use rustix::fs::{AtFlags, StatxFlags};

use super::scratch::GRAIN;
use super::{DriveError, failed, mounts};
use crate::memory::{self, Limit};
use crate::roots::Roots;

/// Never fewer bytes than this stay free.
const RESERVE_BYTES: u64 = 1 << 30;
/// Nor a smaller share of the file system, or of the memory, than 1 in this many.
const RESERVE_SHARE: u64 = 20;
/// The size when none is asked for, where there is room.
const USUAL_BYTES: u64 = 1 << 30;
/// Smaller ones fit into a drive's own cache and say nothing.
pub(super) const SMALLEST_CHOICE: u64 = 16 << 20;
/// Types of file systems, as statfs(2) gives them.
const TMPFS: u32 = 0x0102_1994;
const RAMFS: u32 = 0x8584_58f6;
const OVERLAY: u32 = 0x794c_7630;
/// `STATX_MNT_ID`: which mount a file lies on (kernel 5.8).
const MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// What a file system has free and what of it has to stay free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this user can still write.
    pub free: u64,
    /// Bytes that stay free whatever is asked for: 1 GiB or 5 % of the whole, if that is more.
    pub reserve: u64,
    /// The limit of memory that leaves no more, where the file system lies in memory.
    pub limit: Option<String>,
}

impl Room {
    /// By the sizes of the whole and of what is free.
    #[must_use]
    pub fn new(total: u64, free: u64) -> Self {
        Self {
            free,
            reserve: RESERVE_BYTES.max(total / RESERVE_SHARE),
            limit: None,
        }
    }

    /// Bytes that may be used.
    #[must_use]
    pub fn usable(&self) -> u64 {
        self.free.saturating_sub(self.reserve)
    }

    /// The size for a scratch file when none is asked for: 1 GiB, or half of what may be used.
    /// `None` when that would be too small to say anything.
    #[must_use]
    pub fn choice(&self) -> Option<u64> {
        let size = USUAL_BYTES.min(self.usable() / 2) / GRAIN * GRAIN;
        (size >= SMALLEST_CHOICE).then_some(size)
    }

    /// Room on the file system of an open file.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn around(roots: &Roots, file: &File, directory: &str) -> Result<Self, DriveError> {
        let facts =
            rustix::fs::fstatvfs(file).map_err(failed("ask for the free space of", directory))?;
        let own = Self::new(
            facts.f_blocks.saturating_mul(facts.f_frsize),
            facts.f_bavail.saturating_mul(facts.f_frsize),
        );
        if !lies_in_memory(roots, file) {
            return Ok(own);
        }
        // Of a file system in memory without a limit of its own the kernel tells no sizes.
        Ok(own.within_memory(facts.f_blocks > 0, memory::limits(roots)))
    }

    /// The least of what the file system itself has, where it has a limit, and of what each limit of
    /// memory leaves.
    fn within_memory(self, has_own_limit: bool, limits: Vec<Limit>) -> Self {
        let by_memory = limits.into_iter().map(|limit| Self {
            limit: Some(limit.name),
            ..Self::new(limit.whole, limit.left)
        });
        let own = has_own_limit.then(|| self.clone());
        own.into_iter()
            .chain(by_memory)
            .min_by_key(|room| (room.usable(), room.free))
            .unwrap_or(self)
    }

    pub(super) fn refuse(self, directory: &str, wanted: u64) -> DriveError {
        DriveError::NoRoom {
            directory: directory.to_owned(),
            free: self.free,
            reserve: self.reserve,
            wanted,
            limit: self.limit,
        }
    }
}

/// Whether what is written to a file takes memory: tmpfs and ramfs, also below an overlay.
fn lies_in_memory(roots: &Roots, file: &File) -> bool {
    let kind = |found: rustix::fs::StatFs| found.f_type as u32;
    let is_memory = |kind: u32| matches!(kind, TMPFS | RAMFS);
    match rustix::fs::fstatfs(file).map(kind) {
        Ok(OVERLAY) => upper_directory(roots, file)
            .and_then(|upper| rustix::fs::statfs(upper).ok())
            .is_some_and(|found| is_memory(kind(found))),
        Ok(kind) => is_memory(kind),
        Err(_) => false,
    }
}

/// Where the overlay that a file lies on keeps what is written; `None` where that cannot be told,
/// as in a container.
fn upper_directory(roots: &Roots, file: &File) -> Option<String> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, MOUNT_ID).ok()?;
    let mounts = mounts::mounts(roots).ok()?;
    let mount = mounts.iter().find(|mount| mount.id == facts.stx_mnt_id)?;
    let mut options = mount.options.iter();
    let upper = options.find_map(|option| option.strip_prefix("upperdir="))?;
    Some(upper.to_owned())
}

#[cfg(test)]
mod tests;
