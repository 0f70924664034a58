//! Attribution of writeback by kernel threads.
//!
//! The kernel does not record which thread dirtied a page. It reports when a clean file gets dirty
//! pages, and by which thread. Between the start and the end of a file's writeback, everything that
//! the writing thread submits to the block layer belongs to that file
//! (`writeback_mark_inode_dirty`, `writeback_single_inode_start` and `writeback_single_inode` in
//! the kernel's include/trace/events/writeback.h). A file's writes are therefore attributed to the
//! thread that was the first to dirty it after it had been clean.

use std::collections::HashMap;

use super::request::RequestActor;
use crate::trace::events::event::{Event, EventKind, FileKey};

/// Limit on files. Beyond it all are forgotten: their writes stay with the kernel's threads.
const MAX_FILES: usize = 65_536;

/// Tracks which thread dirtied which file, and which thread writes back which file.
#[derive(Debug, Default)]
pub(crate) struct WritebackAttribution {
    dirtied_by: HashMap<FileKey, RequestActor>,
    written_by_thread: HashMap<u32, FileKey>,
}

impl WritebackAttribution {
    /// Processes an event of a file.
    pub(crate) fn record_event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Dirtied => {
                if self.dirtied_by.len() >= MAX_FILES {
                    self.dirtied_by.clear();
                }
                let actor = RequestActor::of_event(event);
                self.dirtied_by.insert(event.file, actor);
            }
            EventKind::WritebackStarted => {
                self.written_by_thread.insert(event.pid, event.file);
            }
            EventKind::WritebackFinished => {
                self.written_by_thread.remove(&event.pid);
            }
            _ => {}
        }
    }

    /// The thread that requests of this thread are attributed to; `None` when that is the thread
    /// itself.
    pub(crate) fn charged_actor(&self, pid: u32) -> Option<RequestActor> {
        self.dirtier(self.written_by_thread.get(&pid)?, pid)
    }

    /// The thread that dirtied a file that this thread writes; `None` when that is the thread itself.
    pub(crate) fn dirtier(&self, file: &FileKey, pid: u32) -> Option<RequestActor> {
        let actor = self.dirtied_by.get(file)?;
        (actor.pid != pid).then_some(*actor)
    }

    /// After lost events it is unknown which thread writes back which file.
    pub(crate) fn clear_writeback(&mut self) {
        self.written_by_thread.clear();
    }
}
