//! What each thread was doing when it submitted a bio.

use foldhash::HashMap;

use super::view::Access;
use crate::trace::events::event::{DeviceNumber, Event};

/// Limit on threads. Beyond it those without writeback in progress are dropped.
const MAX_THREADS: usize = 65_536;

/// A file as an event identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileHint {
    /// Device number of its file system, as in `/proc/self/mountinfo`. `None`: the event tells it in another way;
    /// it is the file system that the bio goes to.
    pub(super) device: Option<DeviceNumber>,
    /// The inode.
    pub(super) inode: u64,
}

impl FileHint {
    /// The file of an event.
    pub(super) fn of_event(event: &Event) -> Self {
        Self {
            device: Some(event.device).filter(|device| *device != (0, 0)),
            inode: event.file.inode,
        }
    }
}

/// State of one thread. Each event replaces what it contradicts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ThreadState {
    /// File whose pages were added and not yet read, and their bytes.
    added: Option<(FileHint, u64)>,
    /// File of the last page fault.
    pub(super) fault: Option<FileHint>,
    /// File of direct I/O, and the bytes that were not yet submitted.
    direct: Option<(FileHint, u64)>,
    /// File that is being written back.
    pub(super) writeback: Option<FileHint>,
    /// File that is being synchronized.
    pub(super) synced: Option<FileHint>,
}

impl ThreadState {
    pub(super) fn pages_added(&mut self, file: FileHint, bytes: u64) {
        let before = self.added.filter(|(known, _)| *known == file);
        let waiting = before.map_or(0, |(_, bytes)| bytes);
        self.added = Some((file, waiting.saturating_add(bytes)));
        self.direct = None;
        self.synced = None;
        self.fault = self.fault.filter(|fault| *fault == file);
    }

    pub(super) fn direct_started(&mut self, file: FileHint, bytes: u64) {
        self.direct = Some((file, bytes));
        self.synced = None;
    }

    pub(super) fn file_synced(&mut self, file: FileHint) {
        self.synced = Some(file);
        self.direct = None;
    }

    /// The file of a bio that the thread submits, and how it is accessed.
    pub(super) fn submit(&mut self, is_write: bool, bytes: u64) -> Option<(FileHint, Access)> {
        if let Some(file) = self.writeback.filter(|_| is_write) {
            return Some((file, Access::Writeback));
        }
        if let Some((file, left)) = &mut self.direct
            && *left > 0
        {
            *left = left.saturating_sub(bytes);
            return Some((*file, Access::Direct));
        }
        if is_write {
            return Some((self.synced?, Access::Writeback));
        }
        let (file, left) = self.added.as_mut().filter(|(_, left)| *left > 0)?;
        *left = left.saturating_sub(bytes);
        let access = if self.fault == Some(*file) {
            Access::Mmap
        } else {
            Access::Buffered
        };
        Some((*file, access))
    }
}

/// The states of all threads, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct ThreadStates(HashMap<u32, ThreadState>);

impl ThreadStates {
    pub(super) fn of(&mut self, pid: u32) -> &mut ThreadState {
        if self.0.len() > MAX_THREADS {
            self.0.retain(|_, state| state.writeback.is_some());
        }
        self.0.entry(pid).or_default()
    }

    /// After lost events nothing is known about any thread.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
