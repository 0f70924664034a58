//! What is known about one bio, or a part of it, when it is complete.

use serde::Serialize;

use crate::trace::events::event::{DeviceNumber, Event, EventKind, SyncCall};
use crate::trace::requests::TracedRequest;

/// How a file is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reads into the page cache: read(2) and read-ahead.
    Buffered,
    /// Direct I/O (`O_DIRECT`).
    Direct,
    /// Reads into the page cache for a mapping (mmap(2)).
    Mmap,
    /// The page cache is written: by the kernel later, or by fsync(2) and similar calls.
    Writeback,
}

impl Access {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Buffered, Self::Direct, Self::Mmap, Self::Writeback];

    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Direct => "direct",
            Self::Mmap => "mmap",
            Self::Writeback => "writeback",
        }
    }
}

/// A file as an event identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileHint {
    /// Device number of its file system, as in `/proc/self/mountinfo`. `None`: the event tells it in another way;
    /// it is the file system that the bio goes to.
    pub(super) device: Option<DeviceNumber>,
    /// The inode.
    pub(super) inode: u64,
    /// The subvolume of btrfs, each of which has inode numbers of its own, where the event tells it.
    pub(super) subvolume: Option<u64>,
}

impl FileHint {
    /// The file of an event.
    pub(super) fn of_event(event: &Event) -> Self {
        Self {
            device: Some(event.device).filter(|device| *device != (0, 0)),
            inode: event.file.inode,
            subvolume: event.amount.filter(|_| event.kind == EventKind::FileSynced),
        }
    }
}

/// A bio, and what was known when it was queued. When it is complete, the request's sectors are those of the part that
/// one request has completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileBio {
    /// The bio.
    pub(super) request: TracedRequest,
    /// Whether a commit of a journal submitted it.
    pub(super) is_journal: bool,
    /// The file and how it is accessed, where the thread's events tell it.
    pub(super) file: Option<(FileHint, Access)>,
    /// Number of the completion: parts of one request have the same.
    pub(super) completion: u64,
}

impl FileBio {
    /// Whether the file system marked it as metadata (`REQ_META`).
    pub(super) fn is_metadata(&self) -> bool {
        self.request.flags.as_bytes().contains(&b'M')
    }
}

/// A finished system call that waited for writeback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyncRecord {
    /// The call.
    pub(super) call: SyncCall,
    /// The thread.
    pub(super) pid: u32,
    /// Its file descriptor, of a call that has one.
    pub(super) descriptor: Option<u32>,
    /// The file, where the file system reports it.
    pub(super) file: Option<FileHint>,
    /// Time until it returned, in nanoseconds.
    pub(super) duration_ns: u64,
    /// Time of it during which the file system's journal was being committed; `None` where the file
    /// system does not report commits.
    pub(super) commit_ns: Option<u64>,
}
