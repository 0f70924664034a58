//! The evidence of a window of time.

use std::sync::Arc;
use std::time::Duration;

use super::requests::RequestEvidence;
use crate::probe::facts::{BlockedDetails, FactsSample};
use crate::probe::files::layout::FileLayout;
use crate::probe::process::numbers::ProcessNumbers;
use crate::probe::process::task_scan::{BlockedTask, TaskScan};
use crate::snapshot::Snapshot;

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
    /// How the files lie on their devices that are read in order; of rotational devices only.
    pub read_files: Vec<FileLayout>,
    /// Processes with I/O that can be stopped without that others hang with them.
    pub stoppable: Vec<u32>,
    /// Whether a command may name a process by its number.
    pub process_numbers: ProcessNumbers,
    /// Single requests; `None` without root, and where nothing was traced.
    pub requests: Option<RequestEvidence>,
}

impl EvidenceWindow {
    /// The evidence that a recording has: the snapshots, the oldest first.
    #[must_use]
    pub fn of_snapshots(snapshots: impl IntoIterator<Item = Arc<Snapshot>>) -> Self {
        let has_rates = |snapshot: &Arc<Snapshot>| snapshot.interval.is_some();
        Self {
            snapshots: snapshots.into_iter().filter(has_rates).collect(),
            ..Self::default()
        }
    }

    /// Whether the blocked tasks are known, from scans or from the snapshots of a recording.
    #[must_use]
    pub fn has_blocked_tasks(&self) -> bool {
        let mut snapshots = self.snapshots.iter();
        !self.scans.is_empty() || snapshots.any(|snapshot| snapshot.blocked.is_some())
    }

    /// Tasks that are blocked in the last scan, and have been without a context switch since an
    /// earlier one: those worth a closer look.
    #[must_use]
    pub fn still_blocked(&self) -> Vec<BlockedTask> {
        let Some((last, earlier)) = self.scans.split_last() else {
            return Vec::new();
        };
        let before = earlier.last();
        let blocked_before = |pid: u32, tid: u32| {
            before.is_some_and(|scan| {
                let mut tasks = scan.blocked.iter();
                tasks.any(|task| (task.pid, task.tid) == (pid, tid))
            })
        };
        last.blocked
            .iter()
            .filter(|task| !task.is_kernel_thread && blocked_before(task.pid, task.tid))
            .cloned()
            .collect()
    }
}
