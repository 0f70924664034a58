//! Counts of a copy job.

/// Files and bytes of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCount {
    /// Regular files to copy, as far as they were found.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether all of them were found; otherwise the counts still grow.
    pub is_complete: bool,
    /// Files that are copied completely; `None` if unknown.
    pub files_done: Option<u64>,
    /// Bytes copied, including those of the current file; `None` if unknown.
    pub bytes_done: Option<u64>,
}
