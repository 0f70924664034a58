//! Faults: tasks that are blocked in the kernel, and for how long; I/O errors in an interval.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::printable::printable_command_line;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::process::task_scan::{BlockedTask, TaskScan};
use crate::probe::system::kernel_log::{IoErrorSample, NewErrors};
use crate::stats::sorting::SortList as _;

/// A task in uninterruptible sleep (state D). Threads of the kernel are left out: they wait for
/// work too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockedTaskView {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Command line of its process, safe to print.
    pub command: SafeText,
    /// Name of the unit that it belongs to.
    pub unit: Option<SafeText>,
    /// Nanoseconds since the first sample that found it in this sleep: no context switch since
    /// then. 0 in that sample.
    pub blocked_ns: u64,
    /// Kernel function that it waits in.
    #[serde(rename = "blocked_in")]
    pub wait_channel: Option<SafeText>,
}

/// I/O errors of a device in the interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IoErrorsView {
    /// Kernel's name of the device, which may no longer exist.
    pub device: SafeText,
    /// Errors that the kernel logged; `None` where the log cannot be read.
    pub logged: Option<u64>,
    /// Commands that failed (`ioerr_cnt` of SCSI drives); `None` where they are not counted.
    pub failed_commands: Option<u64>,
    /// The last error that was logged.
    pub message: Option<SafeText>,
}

impl IoErrorsView {
    /// The errors to report: those logged. Where the log cannot be read the failed commands, of
    /// which some are harmless.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.logged.or(self.failed_commands)
    }
}

/// Maximum length of an error message in characters.
const MAX_MESSAGE_CHARS: usize = 160;

/// A thread of a process with that start time.
type TaskKey = (u32, u32, u64);

/// Follows the blocked tasks from sample to sample. A task that has made no context switch since
/// the previous scan has slept all the time: the criterion of the kernel's hung task detector
/// (kernel/hung_task.c, `check_hung_task`).
#[derive(Debug, Default)]
pub struct BlockedTasks {
    /// Number of context switches, and the scan that found the task in this sleep first.
    sleeps: HashMap<TaskKey, (u64, Duration)>,
}

impl BlockedTasks {
    /// The blocked tasks of a sample, the longest first; `None` where they were not sampled.
    pub fn update(&mut self, sample: &SystemSample) -> Option<Vec<BlockedTaskView>> {
        let scan = sample.task_scan.as_deref()?;
        let before = std::mem::take(&mut self.sleeps);
        let mut views = Vec::new();
        for task in scan.blocked.iter().filter(|task| !task.is_kernel_thread) {
            let start = scan.processes.get(&task.pid).map_or(0, |it| it.start_ticks);
            let key = (task.pid, task.tid, start);
            let since = match (before.get(&key), task.switches) {
                (Some((switches, since)), Some(now)) if *switches == now => *since,
                _ => scan.at,
            };
            // Where the switches cannot be read, every scan finds another sleep.
            if let Some(switches) = task.switches {
                self.sleeps.insert(key, (switches, since));
            }
            let blocked = scan.at.saturating_sub(since);
            views.push(blocked_view(sample, scan, task, blocked));
        }
        views.sort_list_by(|a, b| {
            let longest_first = b.blocked_ns.cmp(&a.blocked_ns);
            longest_first.then((a.pid, a.tid).cmp(&(b.pid, b.tid)))
        });
        Some(views)
    }
}

fn blocked_view(
    sample: &SystemSample,
    scan: &TaskScan,
    task: &BlockedTask,
    blocked: Duration,
) -> BlockedTaskView {
    let process = sample.process(task.pid);
    let scanned = scan
        .processes
        .get(&task.pid)
        .map_or(&task.name[..], |it| &it.name);
    let (arguments, name) = match process {
        Some(process) => (&process.identity.arguments[..], &process.identity.name[..]),
        None => (&[][..], scanned),
    };
    BlockedTaskView {
        pid: task.pid,
        tid: task.tid,
        command: printable_command_line(arguments, name).into(),
        unit: process.and_then(|process| Some(process.unit.as_ref()?.name.clone())),
        blocked_ns: u64::try_from(blocked.as_nanos()).unwrap_or(u64::MAX),
        wait_channel: task.wait_channel.as_ref().map(SafeText::from),
    }
}

/// The devices with errors since `before`; `None` where errors were not sampled or cannot be read.
pub fn io_error_views(
    before: Option<&SystemSample>,
    now: &SystemSample,
) -> Option<Vec<IoErrorsView>> {
    let errors = now.io_errors.as_ref()?;
    let before = before.and_then(|before| before.io_errors.as_ref());
    let mut devices: BTreeMap<&str, IoErrorsView> = BTreeMap::new();
    let is_logged = matches!(errors.logged, NewErrors::Available(_));
    if let NewErrors::Available(logged) = &errors.logged {
        for error in logged {
            let view = devices.entry(&error.device).or_default();
            view.logged = Some(view.logged.unwrap_or(0) + 1);
            view.message = Some(SafeText::from(&error.message).cut(MAX_MESSAGE_CHARS));
        }
    } else if errors.command_errors.is_empty() {
        return None;
    }
    for (device, failed) in &errors.command_errors {
        let new = before.and_then(|before| new_errors(before, device, *failed));
        if new.is_some_and(|new| new > 0) || devices.contains_key(device.as_str()) {
            devices.entry(device).or_default().failed_commands = new;
        }
    }
    let views = devices.into_iter().map(|(device, view)| IoErrorsView {
        device: device.into(),
        logged: view.logged.or(is_logged.then_some(0)),
        ..view
    });
    Some(views.collect())
}

/// Commands that failed since `before`; `None` after the counter was reset.
fn new_errors(before: &IoErrorSample, device: &str, failed: u64) -> Option<u64> {
    let mut counters = before.command_errors.iter();
    let (_, earlier) = counters.find(|(name, _)| name == device)?;
    failed.checked_sub(*earlier)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::probe::process::task_scan::ScannedProcess;
    use crate::probe::system::kernel_log::KernelIoError;

    /// A sample with one blocked task, that many seconds after the boot.
    fn blocked(second: u64, start_ticks: u64, switches: Option<u64>) -> SystemSample {
        let task = BlockedTask {
            pid: 7,
            tid: 8,
            name: b"writer".to_vec(),
            switches,
            ..BlockedTask::default()
        };
        let kernel_thread = BlockedTask {
            pid: 30,
            tid: 30,
            is_kernel_thread: true,
            switches: Some(1),
            ..BlockedTask::default()
        };
        let process = ScannedProcess {
            start_ticks,
            name: b"db".as_slice().into(),
            cpu_ticks: 0,
        };
        SystemSample {
            task_scan: Some(Arc::new(TaskScan {
                at: Duration::from_secs(second),
                processes: [(7, process)].into(),
                blocked: vec![task, kernel_thread],
            })),
            ..SystemSample::default()
        }
    }

    #[test]
    fn sleep_lasts_while_the_number_of_context_switches_is_the_same() {
        let mut tasks = BlockedTasks::default();
        for (second, start, switches, blocked_s) in [
            (10, 5, Some(40), 0),
            (12, 5, Some(40), 2),
            (15, 5, Some(40), 5),
            (16, 5, Some(41), 0),
            (19, 5, Some(41), 3),
            // Another process with the same id.
            (20, 900, Some(41), 0),
            (21, 900, None, 0),
            (22, 900, None, 0),
        ] {
            let views = tasks.update(&blocked(second, start, switches)).unwrap();
            assert_eq!(views.len(), 1, "kernel threads are left out");
            assert_eq!(views[0].blocked_ns, blocked_s * 1_000_000_000, "{second}");
            assert_eq!(&*views[0].command, "[db]");
        }
    }

    #[test]
    fn sleep_ends_with_a_scan_that_does_not_find_the_task() {
        let mut tasks = BlockedTasks::default();
        tasks.update(&blocked(10, 5, Some(40)));
        let empty = SystemSample {
            task_scan: Some(Arc::default()),
            ..SystemSample::default()
        };
        assert_eq!(tasks.update(&empty), Some(Vec::new()));
        let views = tasks.update(&blocked(12, 5, Some(40))).unwrap();
        assert_eq!(views[0].blocked_ns, 0);
        assert_eq!(tasks.update(&SystemSample::default()), None);
    }

    fn errors(logged: NewErrors, failed: &[(&str, u64)]) -> SystemSample {
        let counted = failed
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        SystemSample {
            io_errors: Some(IoErrorSample {
                logged,
                command_errors: counted.collect(),
            }),
            ..SystemSample::default()
        }
    }

    fn logged(devices: &[&str]) -> NewErrors {
        let error = |device: &&str| KernelIoError {
            device: (*device).to_owned(),
            message: format!("I/O error, dev {device}"),
        };
        NewErrors::Available(devices.iter().map(error).collect())
    }

    #[test]
    fn logged_errors_and_failed_commands_are_counted_per_device() {
        let before = errors(logged(&[]), &[("sda", 3), ("sdb", 0)]);
        let now = errors(logged(&["sda", "sda", "sdz"]), &[("sda", 5), ("sdb", 0)]);
        let views = io_error_views(Some(&before), &now).unwrap();
        let found: Vec<_> = views
            .iter()
            .map(|view| (&*view.device, view.logged, view.failed_commands))
            .collect();
        assert_eq!(found, [("sda", Some(2), Some(2)), ("sdz", Some(1), None)]);
        assert_eq!(views[0].message, Some("I/O error, dev sda".into()));
    }

    #[test]
    fn failed_commands_count_where_the_log_cannot_be_read() {
        let before = errors(NewErrors::NotPermitted, &[("sda", 3), ("sdb", 9)]);
        let now = errors(NewErrors::NotPermitted, &[("sda", 4), ("sdb", 2)]);
        let views = io_error_views(Some(&before), &now).unwrap();
        assert_eq!(views.len(), 1, "a counter that went backwards is unknown");
        assert_eq!(views[0].count(), Some(1));
        // A drive that counts a failed command which the kernel did not log as an error.
        let before = errors(logged(&[]), &[("sda", 3)]);
        let now = errors(logged(&[]), &[("sda", 4)]);
        let views = io_error_views(Some(&before), &now).unwrap();
        assert_eq!(views[0].count(), Some(0));
        let unreadable = errors(NewErrors::NotPermitted, &[]);
        assert_eq!(io_error_views(None, &unreadable), None);
        assert_eq!(io_error_views(None, &SystemSample::default()), None);
    }
}
