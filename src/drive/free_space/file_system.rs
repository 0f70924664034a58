//! The free space of the file system of a file, without what is below it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{StatVfs, fstatvfs};
use rustix::io::Errno;

use super::file_directory::directory_of;
use super::{FreeSpace, new_blocks, quota};
use crate::drive::error::{DriveError, io_error_context};
use crate::drive::space_limit::SpaceLimit;
use crate::memory;
use crate::memory::MemoryLimit;
use crate::roots::SysPaths;

/// File system type, as statfs(2) reports it.
const TMPFS_MAGIC: u32 = 0x0102_1994;
const RAMFS_MAGIC: u32 = 0x8584_58f6;

impl FreeSpace {
    /// The free space of the file system of an open file, and what quotas leave of it.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub(in crate::drive) fn of_file_system(
        roots: &SysPaths,
        file: &File,
        directory: &str,
    ) -> Result<Self, DriveError> {
        let facts = space_of(file).map_err(io_error_context("get the free space of", directory))?;
        let own = Self::new(
            facts.f_blocks.saturating_mul(facts.f_frsize),
            facts.f_bavail.saturating_mul(facts.f_frsize),
        );
        let own = match is_memory_backed(roots, file) {
            // The kernel reports no sizes for an in-memory file system without a size limit.
            true => own.limited_by_memory(facts.f_blocks > 0, memory::memory_limits(roots)),
            false => own,
        };
        Ok(own.limited_by(quota::quota_rooms(roots, file)))
    }

    /// The minimum of this and of others.
    fn limited_by(self, others: Vec<Self>) -> Self {
        let least = others
            .into_iter()
            .min_by_key(|room| (room.usable_bytes(), room.free_bytes));
        least
            .filter(|other| other.usable_bytes() < self.usable_bytes())
            .unwrap_or(self)
    }

    /// What a limit of the memory leaves.
    pub(super) fn of_memory(limit: MemoryLimit) -> Self {
        Self {
            limit: Some(SpaceLimit::Memory(limit.limit_name)),
            ..Self::new(limit.total_bytes, limit.available_bytes)
        }
    }

    /// The minimum of the free space of the file system itself, if it has a limit, and of what each
    /// memory limit leaves.
    pub(super) fn limited_by_memory(self, has_own_limit: bool, limits: Vec<MemoryLimit>) -> Self {
        let by_memory = limits.into_iter().map(Self::of_memory);
        let own = has_own_limit.then(|| self.clone());
        own.into_iter()
            .chain(by_memory)
            .min_by_key(|room| (room.usable_bytes(), room.free_bytes))
            .unwrap_or(self)
    }
}

/// The space of the file system of a file. A union of file systems (mergerfs) reports none for a file whose name
/// was removed: then that of the directory that the name was in, if it is still there.
fn space_of(file: &File) -> io::Result<StatVfs> {
    let error = match fstatvfs(file) {
        Err(error @ (Errno::STALE | Errno::NOENT)) => io::Error::from(error),
        facts => return Ok(facts?),
    };
    let directory = directory_of(file).ok_or(error)?;
    if directory.metadata()?.dev() != file.metadata()?.dev() {
        return Err(Errno::STALE.into());
    }
    Ok(fstatvfs(&directory)?)
}

/// Whether it is known how much space the file system of a file has left.
pub(super) fn tells_space(roots: &SysPaths, file: &File) -> bool {
    is_memory_backed(roots, file) || space_of(file).is_ok_and(|facts| facts.f_blocks > 0)
}

/// Whether data written to a file uses memory: tmpfs and ramfs, also below an overlay.
pub(super) fn is_memory_backed(roots: &SysPaths, file: &File) -> bool {
    let magic = new_blocks::file_system_magic(roots, file);
    matches!(magic, Some(TMPFS_MAGIC | RAMFS_MAGIC))
}
