//! Scans of the tasks at a limited cost.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::task_scan::{TaskScan, scan_tasks};
use crate::roots::SysPaths;

/// A scan of the tasks may take at most this fraction of the time between two scans.
const MAX_SCAN_SHARE: f64 = 0.02;
/// Time between two scans, even if they take more than that.
const MAX_SCAN_GAP: Duration = Duration::from_secs(1);

/// Scans the tasks, but not so often that the scans are a noticeable load.
#[derive(Debug, Default)]
pub struct TaskScanner {
    next_scan: Duration,
}

impl TaskScanner {
    /// Whether enough time has passed since the last scan. Times are on the clock of the samples.
    #[must_use]
    pub fn is_due(&self, now: Duration) -> bool {
        now >= self.next_scan
    }

    /// Scans the tasks; `with_fuse` as for [`scan_tasks`].
    pub fn scan(&mut self, roots: &SysPaths, begun: Duration, with_fuse: bool) -> TaskScan {
        let worked = thread_time();
        let scan = scan_tasks(roots, begun, with_fuse);
        // Processor time: on a busy machine the scan itself waits, and is needed most.
        let taken = thread_time().saturating_sub(worked);
        self.next_scan = begun + taken.div_f64(MAX_SCAN_SHARE).min(MAX_SCAN_GAP);
        scan
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
