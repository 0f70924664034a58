//! A file of a transfer, as a process has it open.

use std::sync::Arc;

use crate::probe::SystemSample;
use crate::probe::sample::{ClosedFile, FileHandle, FollowedFile, OpenFile, ProcessSample};
use crate::snapshot::file_locations::{FileLocation, location_of};
use crate::snapshot::interval::open_file;

/// An open file of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferFile {
    pid: u32,
    start_ticks: u64,
    handle: FileHandle,
    location: FileLocation,
    inode: ((u32, u32), u64),
    pub(super) path: Arc<[u8]>,
}

impl TransferFile {
    /// The file as a process has it open.
    #[must_use]
    pub fn new(process: &ProcessSample, file: &OpenFile) -> Self {
        Self {
            pid: process.identity.pid,
            start_ticks: process.identity.start_ticks,
            handle: file.handle,
            location: location_of(file),
            inode: file.inode,
            path: Arc::clone(&file.path),
        }
    }

    /// Whether this is the file of this process.
    #[must_use]
    pub fn is_file_of(&self, process: &ProcessSample, file: &OpenFile) -> bool {
        self.is_held_by(process) && self.handle == file.handle && self.inode == file.inode
    }

    /// Whether this process has it open.
    #[must_use]
    pub fn is_held_by(&self, process: &ProcessSample) -> bool {
        self.pid == process.identity.pid && self.start_ticks == process.identity.start_ticks
    }

    /// The location of the file.
    #[must_use]
    pub fn location(&self) -> FileLocation {
        self.location
    }

    /// Its identity: device number of the file system and inode number.
    #[must_use]
    pub fn inode(&self) -> ((u32, u32), u64) {
        self.inode
    }

    /// The file for a look at its pages; `None` for a device, which is not opened.
    #[must_use]
    pub fn followed(&self) -> Option<FollowedFile> {
        let FileLocation::FileSystem(_) = self.location else {
            return None;
        };
        Some(FollowedFile {
            id: self.inode,
            path: Arc::clone(&self.path),
            descriptor: match self.handle {
                FileHandle::Descriptor(descriptor) => Some((self.pid, descriptor)),
            },
        })
    }

    /// Process id of the process that has it open.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file as it was after it had been closed; `None` if it is still open or was not found.
    pub(super) fn find_closed(&self, sample: &SystemSample) -> Option<ClosedFile> {
        let same = |file: &&ClosedFile| {
            (file.pid, file.start_ticks, file.inode) == (self.pid, self.start_ticks, self.inode)
        };
        sample.closed_files.iter().find(same).copied()
    }

    /// The process that has it open, while it runs.
    #[must_use]
    pub fn find_process<'s>(&self, sample: &'s SystemSample) -> Option<&'s ProcessSample> {
        sample.process_with_key((self.pid, self.start_ticks))
    }

    pub(super) fn find_open_file<'s>(&self, sample: &'s SystemSample) -> Option<&'s OpenFile> {
        open_file(self.find_process(sample)?, self.handle, self.inode)
    }
}
