//! The evidence of a window of time.

use std::sync::Arc;
use std::time::Duration;

use super::requests::RequestEvidence;
use crate::probe::facts::{BlockedDetails, FactsSample};
use crate::probe::process::numbers::ProcessNumbers;
use crate::probe::process::task_scan::TaskScan;
use crate::probe::waits::servers::FuseServer;
use crate::snapshot::Snapshot;
use crate::snapshot::files::DeletedView;

/// Length of a sliding window: long enough for what the rules call lasting, short enough that a
/// problem which ended is not named any more.
pub const WINDOW: Duration = Duration::from_secs(10);

/// Snapshots, scans and facts of a window. A recording has the snapshots only, which have a part of
/// the rest: control groups, mounts, blocked tasks and I/O errors.
#[derive(Debug, Clone, Default)]
pub struct EvidenceWindow {
    /// The snapshots, the oldest first. The first one of a sampler has no rates and is left out.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Scans of the tasks, the oldest first; empty for a recording.
    pub scans: Vec<TaskScan>,
    /// Facts at the begin and at the end; `None` for a recording.
    pub facts: Option<(FactsSample, FactsSample)>,
    /// Details of the tasks that were blocked longest.
    pub blocked: Vec<BlockedDetails>,
    /// What was looked at because of the load.
    pub looks: LoadLooks,
    /// Whether a command may name a process by its number.
    pub process_numbers: ProcessNumbers,
    /// Single requests; `None` without root, and where nothing was traced.
    pub requests: Option<RequestEvidence>,
}

/// What is looked at together with the facts, where the load gives reason to.
#[derive(Debug, Clone, Default)]
pub struct LoadLooks {
    /// Processes with I/O that can be stopped without that others hang with them.
    pub stoppable: Vec<u32>,
    /// The servers of FUSE file systems, while requests wait for them.
    pub fuse_servers: Vec<FuseServer>,
    /// Deleted files that hold space, while a file system is nearly full; the largest first.
    pub deleted_files: Vec<DeletedView>,
    /// Processes that wait for completions of io_uring, with their names, while the I/O pressure is high.
    pub uring_waiters: Vec<(u32, Vec<u8>)>,
}

impl EvidenceWindow {
    /// The evidence that a recording has: the snapshots, the oldest first.
    pub fn of_snapshots(snapshots: impl IntoIterator<Item = Arc<Snapshot>>) -> Self {
        let has_rates = |snapshot: &Arc<Snapshot>| snapshot.interval.is_some();
        Self {
            snapshots: snapshots.into_iter().filter(has_rates).collect(),
            ..Self::default()
        }
    }

    /// Whether the blocked tasks are known, from scans or from the snapshots of a recording.
    pub fn has_blocked_tasks(&self) -> bool {
        let mut snapshots = self.snapshots.iter();
        !self.scans.is_empty() || snapshots.any(|snapshot| snapshot.blocked.is_some())
    }
}
