//! A file that a path leads to, opened without reading it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Stat, fstatfs};

use crate::named_file::kernel_files;
use crate::named_file::owner::FileOwner;

/// `f_type` of procfs (statfs(2)).
pub(super) const PROC_SUPER_MAGIC: u64 = 0x9fa0;

/// A file opened with `O_PATH`, which keeps its inode number from being reused.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) descriptor: OwnedFd,
    pub(super) stat: Stat,
}

impl FoundFile {
    pub(super) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(super) fn owner(&self) -> FileOwner {
        FileOwner::of_file(&self.descriptor, &self.stat)
    }

    pub(super) fn is_procfs(&self) -> bool {
        is_procfs(&self.descriptor)
    }
}

pub(super) fn is_procfs(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|facts| kernel_files::file_system_magic(&facts) == PROC_SUPER_MAGIC)
}
