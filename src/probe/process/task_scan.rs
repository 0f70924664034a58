//! Scans of the tasks at a limited cost: which threads are blocked in the kernel, where, and since which
//! context switch. Several scans show who waits most, without delay accounting and without tracing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rustix::fs::CWD;
use rustix::time::{ClockId, clock_gettime};

use super::blocked_task::switches_of;
use super::numbers::{AssignedPids, is_process};
use super::stat::parse_stat;
use crate::probe::text::{list_numbers_at, read_small_file, read_word};
use crate::roots::SysPaths;

pub use crate::probe::sample::{BlockedTask, ScannedProcess, TaskScan};

/// A scan of the tasks may take at most this fraction of the time between two scans.
const MAX_SCAN_SHARE: f64 = 0.02;
/// Time between two scans, even if they take more than that.
const MAX_SCAN_GAP: Duration = Duration::from_secs(1);
/// A process that has been idle for this long is looked at once in this time: this late, and the time
/// between two scans, a wait of it is noticed.
const QUIET_TIME: Duration = Duration::from_secs(3);
/// Groups of quiet processes whose turns come at different times.
const TURN_GROUPS: u32 = 16;

/// The parent of all kernel threads.
const KERNEL_THREAD_PARENT: u32 = 2;
/// Wait channels of a request to a FUSE server, which may be slept in interruptibly
/// (fs/fuse/dev.c).
const FUSE_CHANNELS: [&str; 2] = ["request_wait_answer", "fuse_wait_on_page_writeback"];
/// `/proc/PID/stat` is never longer: 52 numbers and a name of 15 bytes.
const STAT_BYTES: usize = 1024;

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
        let listed = list_numbers_at(&roots.proc).unwrap_or_default();
        self.processes
            .retain(|pid, _| listed.binary_search(pid).is_ok());
        for pid in listed {
            self.processes.entry(pid).or_default();
        }
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// What is seen of a process at one moment.
#[derive(Debug)]
struct ProcessLook {
    process: ScannedProcess,
    /// Whether the process, or the first of its threads, runs or wants to.
    is_running: bool,
    /// Its threads that are blocked.
    blocked: Vec<BlockedTask>,
}

/// Looks at a process and its threads; `None` where it has ended. `with_fuse` is whether requests to
/// FUSE servers may be outstanding, which makes the wait channels of sleeping tasks worth reading.
fn look_at_process(roots: &SysPaths, pid: u32, with_fuse: bool) -> Option<ProcessLook> {
    let place = roots.proc.join(pid.to_string());
    let mut buffer = [0; STAT_BYTES];
    let stat = parse_stat(read_small_file(CWD, place.join("stat"), &mut buffer)?)?;
    let is_kernel_thread = pid == KERNEL_THREAD_PARENT || stat.parent_pid == KERNEL_THREAD_PARENT;
    let blocked_thread = |tid: u32, place: &Path, state: char, name: &[u8]| {
        if state != 'D' && !(state == 'S' && with_fuse && !is_kernel_thread) {
            return None;
        }
        let channel = read_word(&place.join("wchan")).filter(|name| name != "0");
        let is_in_fuse = channel
            .as_ref()
            .is_some_and(|channel| FUSE_CHANNELS.iter().any(|known| channel.starts_with(known)));
        (state == 'D' || is_in_fuse).then(|| BlockedTask {
            pid,
            tid,
            name: name.to_vec(),
            is_kernel_thread,
            wait_channel: channel,
            switches: switches_of(place),
        })
    };
    let look_at_thread = |tid: u32| {
        let place = place.join(format!("task/{tid}"));
        let mut buffer = [0; STAT_BYTES];
        let stat = parse_stat(read_small_file(CWD, place.join("stat"), &mut buffer)?)?;
        blocked_thread(tid, &place, stat.state, stat.name)
    };
    let blocked = match stat.thread_count {
        0 | 1 => blocked_thread(pid, &place, stat.state, stat.name)
            .into_iter()
            .collect(),
        _ => list_numbers_at(&place.join("task"))
            .unwrap_or_default()
            .into_iter()
            .filter_map(look_at_thread)
            .collect(),
    };
    Some(ProcessLook {
        process: ScannedProcess {
            start_ticks: stat.start_ticks,
            name: stat.name.into(),
            cpu_ticks: stat.cpu_ticks,
        },
        is_running: stat.state == 'R',
        blocked,
    })
}

#[cfg(test)]
mod tests;
