//! What is known about one bio, or a part of it, when it is complete.

use serde::Serialize;

use crate::trace::events::event::{DeviceNumber, FileKey};
use crate::trace::events::file_event::{BtrfsFile, InodeKey, SyncCall};
use crate::trace::requests::RequestActor;

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transfer {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

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

/// What an event tells about the file system of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileSystemHint {
    /// Its device number in `/proc/self/mountinfo`.
    Device(DeviceNumber),
    /// A subvolume of btrfs, and the UUID of the file system.
    Subvolume([u8; 16], u64),
    /// The drive only.
    Drive,
}

/// The file of a bio as the events of its thread identify it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHint {
    /// The file system.
    pub system: FileSystemHint,
    /// The inode.
    pub inode: u64,
}

impl From<InodeKey> for FileHint {
    fn from(key: InodeKey) -> Self {
        Self {
            system: FileSystemHint::Device(key.device),
            inode: key.inode,
        }
    }
}

impl From<BtrfsFile> for FileHint {
    fn from(file: BtrfsFile) -> Self {
        Self {
            system: FileSystemHint::Subvolume(file.uuid, file.subvolume),
            inode: file.inode,
        }
    }
}

impl From<FileKey> for FileHint {
    fn from(key: FileKey) -> Self {
        Self {
            system: FileSystemHint::Drive,
            inode: key.inode,
        }
    }
}

/// A completed bio, or the part of it that one request has completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedPiece {
    /// The drive; never a partition.
    pub drive: DeviceNumber,
    /// First sector of 512 bytes, on the drive.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Direction.
    pub transfer: Transfer,
    /// Whether the file system marked it as metadata (`REQ_META`).
    pub is_metadata: bool,
    /// Whether a commit of a journal submitted it.
    pub is_journal: bool,
    /// From queueing to completion, in nanoseconds.
    pub latency_ns: u64,
    /// Number of the completion: pieces of one request have the same.
    pub request: u64,
    /// The thread that submitted it.
    pub submitter: RequestActor,
    /// The thread that dirtied the file, where another one writes it back.
    pub dirtied_by: Option<RequestActor>,
    /// The file, where the thread's events tell it.
    pub hint: Option<FileHint>,
    /// How the file is accessed, where the thread's events tell it.
    pub access: Option<Access>,
}

impl CompletedPiece {
    /// The thread that it is attributed to.
    #[must_use]
    pub fn charged_actor(&self) -> RequestActor {
        self.dirtied_by.unwrap_or(self.submitter)
    }

    /// First byte on the drive.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.sector.saturating_mul(512)
    }
}

/// A finished system call that waited for writeback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRecord {
    /// The call.
    pub call: SyncCall,
    /// The thread.
    pub pid: u32,
    /// Its file descriptor, of a call that has one.
    pub descriptor: Option<u32>,
    /// The file, where the file system reports it.
    pub file: Option<FileHint>,
    /// When it began, on the trace's clock.
    pub started_ns: u64,
    /// Time until it returned, in nanoseconds.
    pub duration_ns: u64,
    /// Time of it during which the file system's journal was being committed; `None` where the file
    /// system does not report commits.
    pub commit_ns: Option<u64>,
}
