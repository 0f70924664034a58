//! The result as it is shown and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::files::safe_text::SafeText;

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
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["buffered", "direct", "mmap", "writeback"][self as usize]
    }
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ProcessView {
    /// Process id.
    pub pid: u32,
    /// Name of the program, or of the thread of the kernel.
    pub command: SafeText,
    /// Its unit: service, container or session.
    pub unit: Option<SafeText>,
}

/// The share of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileUserView {
    /// The process.
    #[serde(flatten)]
    pub process: ProcessView,
    /// Bytes that it read or wrote.
    pub bytes: u64,
}

/// What identifies a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileNameView {
    /// Its path; `None` where only the inode is known.
    pub path: Option<SafeText>,
    /// Whether it is deleted.
    pub deleted: bool,
    /// The block device of its file system.
    pub device: SafeText,
    /// Where that is mounted.
    pub mount_point: SafeText,
    /// Its inode.
    pub inode: u64,
}

/// A file with requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HotFileView {
    /// The file.
    #[serde(flatten)]
    pub file: FileNameView,
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Requests that read it.
    pub read_ios: u64,
    /// Requests that wrote it.
    pub write_ios: u64,
    /// Median latency of its requests, from queueing to completion.
    pub p50_ns: Option<u64>,
    /// Latency that 99 % of its requests do not exceed.
    pub p99_ns: Option<u64>,
    /// The processes, those with most bytes first. For written files: those that dirtied them.
    pub who: Vec<FileUserView>,
    /// How most of its bytes were accessed.
    pub via: Option<Access>,
}

/// Which files the requests of a time belong to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HotFilesView {
    /// Length of the trace.
    pub duration_ns: u64,
    /// The files, those with most bytes first.
    pub files: Vec<HotFileView>,
    /// Files that are not in the list because it is full.
    pub files_omitted: u64,
    /// Bytes of all files, also of those.
    pub file_bytes: u64,
    /// Bytes whose file is not known.
    pub unknown_bytes: u64,
    /// The same by reason.
    pub unknown: BTreeMap<UnknownReason, u64>,
    /// Bytes of metadata and journals.
    pub metadata_bytes: u64,
    /// Events that the kernel has lost.
    pub events_lost: u64,
    /// What the kernel does not report, and what that means.
    pub not_recorded: Vec<&'static str>,
}

/// Why the file of a request is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownReason {
    /// No event of the thread that submitted the request names a file: a thread of the kernel that
    /// encrypts, compresses or computes checksums, direct I/O of a file system that does not use iomap.
    NoEvent,
    /// Files of two subvolumes of btrfs have its inode.
    Subvolumes,
    /// More files than the trace keeps.
    TooManyFiles,
    /// The device has no mounted file system there: raw I/O, swap.
    NoFileSystem,
}

impl HotFilesView {
    /// All bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        let known = self.file_bytes.saturating_add(self.metadata_bytes);
        known.saturating_add(self.unknown_bytes)
    }
}
