//! Scans of the tasks at a limited cost: which are blocked in the kernel, where, and since which
//! context switch.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::listing::{AssignedPids, is_process, list_pids};
use super::task_scan::{ProcessLook, ScannedProcess, TaskScan, look_at_process};
use crate::roots::SysPaths;

/// A scan of the tasks may take at most this fraction of the time between two scans.
const MAX_SCAN_SHARE: f64 = 0.02;
/// Time between two scans, even if they take more than that.
const MAX_SCAN_GAP: Duration = Duration::from_secs(1);
/// A process that has been idle for this long is looked at once in this time: this late, and the time
/// between two scans, a wait of it is noticed.
const QUIET_TIME: Duration = Duration::from_secs(3);
/// Groups of quiet processes whose turns come at different times.
const TURN_GROUPS: u32 = 16;

/// Scans the tasks, but not so often that the scans are a noticeable load.
#[derive(Debug, Default)]
pub struct TaskScanner {
    next_scan: Duration,
    processes: BTreeMap<u32, FollowedProcess>,
    assigned_pids: AssignedPids,
    /// When `/proc` was listed.
    listed_at: Duration,
}

/// A process between scans.
#[derive(Debug, Default)]
struct FollowedProcess {
    process: ScannedProcess,
    /// `None` for a process that has begun since the last scan.
    looked_at: Option<Duration>,
    /// When it last ran or was blocked, as far as the looks show.
    active_at: Duration,
}

impl FollowedProcess {
    /// Whether it has been idle for a while and its turn has not come.
    fn can_skip(&self, pid: u32, now: Duration) -> bool {
        let offset = QUIET_TIME * (pid % TURN_GROUPS) / TURN_GROUPS;
        let turn = |at: Duration| (at + offset).as_nanos() / QUIET_TIME.as_nanos();
        now.saturating_sub(self.active_at) >= QUIET_TIME
            && self.looked_at.is_some_and(|at| turn(at) == turn(now))
    }

    fn follow(&mut self, look: &ProcessLook, now: Duration) {
        let is_idle = !look.is_running && look.blocked.is_empty();
        let is_unchanged = self.looked_at.is_some() && self.process == look.process;
        if !(is_idle && is_unchanged) {
            self.active_at = now;
        }
        self.process.clone_from(&look.process);
        self.looked_at = Some(now);
    }
}

impl TaskScanner {
    /// Whether enough time has passed since the last scan. Times are on the clock of the samples.
    #[must_use]
    pub fn is_due(&self, now: Duration) -> bool {
        now >= self.next_scan
    }

    /// Scans the tasks. A process that has been idle for 3 s is in the scan as it was when it was last
    /// looked at, at most 3 s ago. `with_fuse` is whether requests to FUSE servers may be outstanding,
    /// which makes the wait channels of sleeping tasks worth reading.
    pub fn scan(&mut self, roots: &SysPaths, begun: Duration, with_fuse: bool) -> TaskScan {
        let worked = thread_time();
        let mut scan = TaskScan {
            at: begun,
            ..TaskScan::default()
        };
        self.list_processes(roots, begun);
        self.processes.retain(|pid, followed| {
            if followed.can_skip(*pid, begun) {
                return true;
            }
            let Some(look) = look_at_process(roots, *pid, with_fuse) else {
                return false;
            };
            followed.follow(&look, begun);
            scan.blocked.extend(look.blocked);
            true
        });
        let processes = self.processes.iter();
        scan.processes = processes
            .map(|(pid, followed)| (*pid, followed.process.clone()))
            .collect();
        // Processor time: on a busy machine the scan itself waits, and is needed most.
        let taken = thread_time().saturating_sub(worked);
        self.next_scan = begun + taken.div_f64(MAX_SCAN_SHARE).min(MAX_SCAN_GAP);
        scan
    }

    /// Adds processes that have begun, and once in [`QUIET_TIME`] removes those that have ended and
    /// were not looked at since.
    fn list_processes(&mut self, roots: &SysPaths, now: Duration) {
        let begun = self.assigned_pids.since_last_call(roots);
        let is_listing_due = now.saturating_sub(self.listed_at) >= QUIET_TIME;
        if let Some(begun) = begun.filter(|_| !is_listing_due) {
            for pid in begun.filter(|pid| is_process(roots, *pid)) {
                self.processes.entry(pid).or_default();
            }
            return;
        }
        self.listed_at = now;
        let mut listed = list_pids(roots);
        listed.sort_unstable();
        self.processes
            .retain(|pid, _| listed.binary_search(pid).is_ok());
        for pid in listed {
            self.processes.entry(pid).or_default();
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn write(root: &Path, file: &str, content: &str) {
        let path = root.join("proc").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A process with one thread, and 12 ticks of processor time.
    fn write_process(root: &Path, pid: u32, state: char) {
        let stat =
            format!("{pid} (job) {state} 1 {pid} 1 0 -1 4 1 0 0 0 7 5 0 0 20 0 1 0 900 1 2\n");
        write(root, &format!("{pid}/stat"), &stat);
        write(root, &format!("{pid}/status"), &format!("Tgid:\t{pid}\n"));
        write(root, "loadavg", &format!("0.1 0.2 0.3 1/90 {pid}\n"));
    }

    fn blocked_pids(scan: &TaskScan) -> Vec<u32> {
        scan.blocked.iter().map(|task| task.pid).collect()
    }

    #[test]
    fn wait_of_quiet_process_is_noticed_within_quiet_time_and_followed_from_then_on() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        for pid in 1..=40 {
            write_process(root.path(), pid, 'S');
        }
        let mut scanner = TaskScanner::default();
        let step = SECOND / 2;
        for index in 0..8 {
            assert_eq!(scanner.scan(&roots, index * step, false).blocked, []);
        }
        for pid in 1..=40 {
            write_process(root.path(), pid, 'D');
        }
        let found: Vec<usize> = (8..15)
            .map(|index| {
                let scan = scanner.scan(&roots, index * step, false);
                assert_eq!(scan.processes.len(), 40);
                scan.blocked.len()
            })
            .collect();
        // Two or three of 16 groups per half second.
        assert!(found[0] > 0 && found[0] < 20, "{found:?}");
        assert!(found.is_sorted(), "{found:?}");
        assert_eq!(found.last(), Some(&40), "{found:?}");
    }

    #[test]
    fn active_process_is_looked_at_in_every_scan() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        write_process(root.path(), 7, 'R');
        let mut scanner = TaskScanner::default();
        for second in 0..10 {
            let _ = scanner.scan(&roots, second * SECOND, false);
        }
        write_process(root.path(), 7, 'D');
        let scan = scanner.scan(&roots, 10 * SECOND, false);
        assert_eq!(blocked_pids(&scan), [7]);
    }

    #[test]
    fn processes_that_begin_are_found_at_once_and_ended_ones_when_their_turn_comes() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        write_process(root.path(), 7, 'S');
        let mut scanner = TaskScanner::default();
        for second in 0..6 {
            let _ = scanner.scan(&roots, second * SECOND, false);
        }
        write_process(root.path(), 8, 'D');
        let scan = scanner.scan(&roots, 6 * SECOND, false);
        assert_eq!(blocked_pids(&scan), [8]);
        std::fs::remove_dir_all(root.path().join("proc/7")).unwrap();
        let scan = scanner.scan(&roots, 10 * SECOND, false);
        assert_eq!(scan.processes.keys().copied().collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn with_long_intervals_every_process_is_looked_at() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        write_process(root.path(), 7, 'S');
        let mut scanner = TaskScanner::default();
        for index in 0..4 {
            let _ = scanner.scan(&roots, index * 10 * SECOND, false);
        }
        write_process(root.path(), 7, 'D');
        let scan = scanner.scan(&roots, 40 * SECOND, false);
        assert_eq!(blocked_pids(&scan), [7]);
    }
}
