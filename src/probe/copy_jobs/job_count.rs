//! Progress of a copy job.

use std::sync::Arc;

use crate::probe::copy_jobs::arguments;
use crate::probe::copy_jobs::count::FileCount;

/// Progress of a job, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    /// The parsed arguments.
    pub order: Arc<arguments::CopyOrder>,
    /// The counts.
    pub count: FileCount,
}

/// A copy job whose process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedJob {
    /// Process id.
    pub pid: u32,
    /// Start time of the process in ticks since boot.
    pub start_ticks: u64,
    /// The counts after the end; `None` where they cannot be determined.
    pub count: Option<FileCount>,
}
