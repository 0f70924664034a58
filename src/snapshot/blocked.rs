//! For how long tasks have been in uninterruptible sleep.

use std::collections::HashMap;
use std::time::Duration;

use super::view::BlockedTaskView;
use crate::files::printable::printable_command_line;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::process::task_scan::{BlockedTask, TaskScan};
use crate::stats::sorting::SortList as _;

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
            views.push(blocked_view(
                sample,
                scan,
                task,
                scan.at.saturating_sub(since),
            ));
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
    let name = scan.processes.get(&task.pid).map(|it| &*it.name);
    let command = match process {
        Some(process) => {
            printable_command_line(&process.identity.arguments, &process.identity.name)
        }
        None => printable_command_line(&[], name.unwrap_or(&task.name)),
    };
    BlockedTaskView {
        pid: task.pid,
        tid: task.tid,
        command: command.into(),
        unit: process
            .and_then(|process| process.unit.as_ref())
            .map(|unit| unit.name.clone()),
        blocked_ns: u64::try_from(blocked.as_nanos()).unwrap_or(u64::MAX),
        wait_channel: task.wait_channel.as_ref().map(SafeText::from),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::probe::process::task_scan::ScannedProcess;

    /// A sample with one blocked task, that many seconds after the boot.
    fn sample(second: u64, start_ticks: u64, switches: Option<u64>) -> SystemSample {
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
            let views = tasks.update(&sample(second, start, switches)).unwrap();
            assert_eq!(views.len(), 1, "kernel threads are left out");
            assert_eq!(views[0].blocked_ns, blocked_s * 1_000_000_000, "{second}");
            assert_eq!(&*views[0].command, "[db]");
        }
    }

    #[test]
    fn sleep_ends_with_a_scan_that_does_not_find_the_task() {
        let mut tasks = BlockedTasks::default();
        tasks.update(&sample(10, 5, Some(40)));
        let empty = SystemSample {
            task_scan: Some(Arc::default()),
            ..SystemSample::default()
        };
        assert_eq!(tasks.update(&empty), Some(Vec::new()));
        let views = tasks.update(&sample(12, 5, Some(40))).unwrap();
        assert_eq!(views[0].blocked_ns, 0);
        assert_eq!(tasks.update(&SystemSample::default()), None);
    }
}
