//! Files and bytes of the programs that work on several files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::probe::sample::ProcessKey;
use crate::transfers::arguments::CopyOrder;

/// Files and bytes of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCount {
    /// Regular files to copy, as far as they were found.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of an archive (tar) of all that was found, with a header for each file and directory.
    pub archive_bytes: u64,
    /// Whether all of them were found; otherwise the counts still grow.
    pub is_complete: bool,
    /// Files that are copied completely; `None` if unknown.
    pub files_done: Option<u64>,
    /// Bytes copied, including those of the current file; `None` if unknown.
    pub bytes_done: Option<u64>,
    /// Device number of the file system that is read; `None` until a source was found.
    pub source_file_system: Option<(u32, u32)>,
    /// Device number of the file system that is written; `None` if unknown.
    pub destination_file_system: Option<(u32, u32)>,
}

/// A job whose process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    /// What its arguments request.
    pub order: Arc<CopyOrder>,
    /// The counts so far.
    pub count: FileCount,
}

/// What is counted at the time of a sample.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// The jobs whose process runs.
    pub running: BTreeMap<ProcessKey, JobCount>,
    /// The jobs whose process has ended and for which the last look at the destination is done, once
    /// each, with their final counts; `None` where these cannot be determined.
    pub ended: Vec<(ProcessKey, Option<FileCount>)>,
}
