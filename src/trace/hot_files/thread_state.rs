//! What each thread was doing when it submitted a bio.

use foldhash::HashMap;

use super::piece::{Access, FileHint, Transfer};
use crate::trace::events::event::{DeviceNumber, FileKey};
use crate::trace::events::file_event::{InodeKey, SyncCall};

/// Limit on threads. Beyond it those without a system call or writeback in progress are dropped.
const MAX_THREADS: usize = 65_536;

/// A system call in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenCall {
    pub(super) call: SyncCall,
    pub(super) descriptor: Option<u32>,
    pub(super) started_ns: u64,
    pub(super) file: Option<FileHint>,
    /// Device of its file system, where that reports commits.
    pub(super) journal: Option<DeviceNumber>,
    /// The journal's commit time when the file became known.
    pub(super) commit_ns_before: u64,
}

/// State of one thread. Each event replaces what it contradicts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ThreadState {
    /// File whose pages were added and not yet read, and their bytes.
    added: Option<(InodeKey, u64)>,
    /// File of the last page fault.
    fault: Option<InodeKey>,
    /// File of direct I/O, and the bytes that were not yet submitted.
    direct: Option<(InodeKey, u64)>,
    /// File that is being written back.
    pub(super) writeback: Option<FileKey>,
    /// File that is being synchronized.
    synced: Option<FileHint>,
    pub(super) call: Option<OpenCall>,
    pub(super) in_commit: bool,
    /// The round of announcements in which it was announced, and the file that it last used then.
    pub(super) announced: (u32, Option<FileHint>),
}

impl ThreadState {
    pub(super) fn pages_added(&mut self, file: InodeKey, bytes: u64) {
        let before = self.added.filter(|(known, _)| *known == file);
        let waiting = before.map_or(0, |(_, bytes)| bytes);
        self.added = Some((file, waiting.saturating_add(bytes)));
        self.direct = None;
        self.synced = None;
        if self.fault != Some(file) {
            self.fault = None;
        }
    }

    pub(super) fn page_fault(&mut self, file: InodeKey) {
        self.fault = Some(file);
    }

    pub(super) fn direct_started(&mut self, file: InodeKey, bytes: u64) {
        self.direct = Some((file, bytes));
        self.synced = None;
    }

    /// The end of a system call that waits for writeback.
    pub(super) fn take_call(&mut self, call: SyncCall) -> Option<OpenCall> {
        self.synced = None;
        self.call.take().filter(|open| open.call == call)
    }

    pub(super) fn file_synced(&mut self, file: FileHint) {
        self.synced = Some(file);
        self.direct = None;
    }

    /// The file of a bio that the thread submits, and how it is accessed.
    pub(super) fn submit(
        &mut self,
        transfer: Transfer,
        bytes: u64,
    ) -> (Option<FileHint>, Option<Access>) {
        if let Some((file, left)) = &mut self.direct
            && *left > 0
        {
            *left = left.saturating_sub(bytes);
            return (Some((*file).into()), Some(Access::Direct));
        }
        match transfer {
            Transfer::Read => self.submit_read(bytes),
            Transfer::Write => self.submit_write(),
        }
    }

    fn submit_read(&mut self, bytes: u64) -> (Option<FileHint>, Option<Access>) {
        let Some((file, left)) = &mut self.added else {
            return (None, None);
        };
        if *left == 0 {
            return (None, None);
        }
        *left = left.saturating_sub(bytes);
        let access = match self.fault {
            Some(fault) if fault == *file => Access::Mmap,
            _ => Access::Buffered,
        };
        (Some((*file).into()), Some(access))
    }

    fn submit_write(&self) -> (Option<FileHint>, Option<Access>) {
        let written = self.writeback.map(FileHint::from);
        let hint = written.or(self.synced);
        let is_writeback = hint.is_some() || self.call.is_some();
        (hint, is_writeback.then_some(Access::Writeback))
    }

    fn is_busy(&self) -> bool {
        self.call.is_some() || self.writeback.is_some() || self.in_commit
    }
}

/// The states of all threads, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct ThreadStates {
    threads: HashMap<u32, ThreadState>,
}

impl ThreadStates {
    pub(super) fn of(&mut self, pid: u32) -> &mut ThreadState {
        if self.threads.len() > MAX_THREADS {
            self.threads.retain(|_, state| state.is_busy());
        }
        self.threads.entry(pid).or_default()
    }

    /// After lost events nothing is known about any thread.
    pub(super) fn clear(&mut self) {
        self.threads.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> InodeKey {
        InodeKey {
            device: (8, 1),
            inode,
        }
    }

    fn hint(inode: u64) -> Option<FileHint> {
        Some(file(inode).into())
    }

    #[test]
    fn read_belongs_to_file_whose_pages_were_added() {
        let mut thread = ThreadState::default();
        assert_eq!(thread.submit(Transfer::Read, 4096), (None, None));
        thread.pages_added(file(1), 8192);
        let buffered = Some(Access::Buffered);
        assert_eq!(thread.submit(Transfer::Read, 4096), (hint(1), buffered));
        assert_eq!(thread.submit(Transfer::Read, 4096), (hint(1), buffered));
        assert_eq!(thread.submit(Transfer::Read, 4096), (None, None));
    }

    #[test]
    fn read_after_page_fault_is_for_mapping() {
        let mut thread = ThreadState::default();
        thread.page_fault(file(1));
        thread.pages_added(file(1), 4096);
        assert_eq!(
            thread.submit(Transfer::Read, 4096),
            (hint(1), Some(Access::Mmap))
        );
        thread.pages_added(file(2), 4096);
        assert_eq!(
            thread.submit(Transfer::Read, 4096),
            (hint(2), Some(Access::Buffered))
        );
    }

    #[test]
    fn pages_of_buffered_write_are_not_charged_with_later_direct_read() {
        let mut thread = ThreadState::default();
        thread.pages_added(file(1), 16_384);
        thread.direct_started(file(2), 8192);
        let direct = Some(Access::Direct);
        assert_eq!(thread.submit(Transfer::Read, 8192), (hint(2), direct));
    }

    #[test]
    fn write_belongs_to_file_that_is_written_back() {
        let mut thread = ThreadState::default();
        thread.pages_added(file(1), 16_384);
        assert_eq!(thread.submit(Transfer::Write, 4096), (None, None));
        let key = FileKey {
            inode: 7,
            ..FileKey::default()
        };
        thread.writeback = Some(key);
        assert_eq!(
            thread.submit(Transfer::Write, 4096),
            (Some(key.into()), Some(Access::Writeback))
        );
        thread.writeback = None;
        thread.file_synced(file(3).into());
        assert_eq!(
            thread.submit(Transfer::Write, 4096),
            (hint(3), Some(Access::Writeback))
        );
    }

    #[test]
    fn thread_memory_is_bounded() {
        let mut states = ThreadStates::default();
        states.of(1).in_commit = true;
        for pid in 2..3 * MAX_THREADS as u32 {
            states.of(pid);
        }
        assert!(states.threads.len() <= MAX_THREADS + 1);
        assert!(states.of(1).in_commit);
    }
}
