//! What was counted of a job.

/// Files and bytes of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCount {
    /// Regular files to copy, as far as they were found.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether all of them were found: otherwise the numbers above still grow.
    pub is_complete: bool,
    /// Files that have arrived; `None` where nobody can tell.
    pub files_done: Option<u64>,
    /// Bytes that have arrived, those of the file of the moment included; `None` where nobody can
    /// tell.
    pub bytes_done: Option<u64>,
}
