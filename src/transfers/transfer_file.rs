//! A file of a transfer, as a process has it open.

use std::sync::Arc;

use super::pairing::End;
use crate::probe::SystemSample;
use crate::probe::file_locations::{FileLocation, location_of};
use crate::probe::interval::open_file;
use crate::probe::sample::{ClosedFile, FollowedFile, OpenFile, ProcessKey};

/// A destination whose length follows the position of its source within this many bytes ...
const MAX_LAG_BYTES: u64 = 8 << 20;
/// ... or within this fraction of it holds a copy; otherwise it holds something else, such as a
/// compressed archive.
const MAX_LAG_DIVISOR: u64 = 10;

/// An open file of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TransferFile {
    pub(super) process: ProcessKey,
    /// As in [`ProcessFlows`](super::flow::ProcessFlows).
    family: u32,
    descriptor: u32,
    pub(super) location: FileLocation,
    pub(super) inode: ((u32, u32), u64),
    pub(super) path: Arc<[u8]>,
}

impl TransferFile {
    pub(super) fn new(end: End<'_>) -> Self {
        let file = end.flow.file;
        Self {
            process: end.process.process.identity.key(),
            family: end.process.family,
            descriptor: file.descriptor,
            location: location_of(file),
            inode: file.inode,
            path: Arc::clone(&file.path),
        }
    }

    /// Whether this is the same descriptor: a child that was forked for a part of the work has inherited
    /// that of its parent, with one common offset (`dpkg-deb`).
    pub(super) fn is(&self, end: End<'_>) -> bool {
        let file = end.flow.file;
        (self.family, self.descriptor, self.inode)
            == (end.process.family, file.descriptor, file.inode)
    }

    /// The same for a file of a transfer.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.family, self.descriptor, self.inode) == (other.family, other.descriptor, other.inode)
    }

    /// The file for a look at its pages; `None` for a device, which is not opened.
    pub(super) fn followed(&self) -> Option<FollowedFile> {
        let FileLocation::FileSystem(_) = self.location else {
            return None;
        };
        Some(FollowedFile {
            id: self.inode,
            path: Arc::clone(&self.path),
            descriptor: Some((self.process.0, self.descriptor)),
        })
    }

    /// The file, while it is open.
    pub(super) fn find_open<'s>(&self, sample: &'s SystemSample) -> Option<&'s OpenFile> {
        let process = sample.process_with_key(self.process)?;
        open_file(process, self.descriptor, self.inode)
    }

    /// The file as it was after it had been closed; `None` if it is still open or was not found.
    pub(super) fn find_closed(&self, sample: &SystemSample) -> Option<ClosedFile> {
        let is_same = |file: &&ClosedFile| {
            ((file.pid, file.start_ticks), file.inode) == (self.process, self.inode)
        };
        sample.closed_files.iter().find(is_same).copied()
    }
}

/// Whether a destination with this length holds what was read up to a position.
pub(super) fn holds_about(length: u64, position: u64) -> bool {
    length.abs_diff(position) <= MAX_LAG_BYTES.max(position / MAX_LAG_DIVISOR)
}
