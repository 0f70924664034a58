//! Who was blocked, how long and in what.

use std::collections::BTreeMap;
use std::time::Duration;

use super::devices::DeviceSummary;
use super::processes::ProcessSummary;
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;
use crate::why::cause::Party;
use crate::why::wait_kind::{WaitKind, wait_kind};
use crate::why::window::EvidenceWindow;

/// A process that was blocked.
#[derive(Debug, Clone, Default)]
pub struct Waiter {
    /// Process id.
    pub pid: u32,
    /// The thread that was blocked most.
    pub tid: u32,
    /// Command line.
    pub command: SafeText,
    /// Its service, container or session.
    pub unit: Option<SafeText>,
    /// Whether it is a thread of the kernel.
    pub is_kernel_thread: bool,
    /// Fraction of the looks at it in which it was blocked.
    pub blocked: f64,
    /// That fraction by what it waited for.
    pub kinds: BTreeMap<WaitKind, f64>,
    /// Longest time without a context switch, as far as the window shows.
    pub longest: Duration,
    /// Length of the sleep that it is in at the end of the window; 0 where it is not blocked then.
    pub asleep: Duration,
    /// Whether it was blocked, without a context switch, up to the end of the window.
    pub is_still_blocked: bool,
    /// Last wait channel.
    pub wait_channel: Option<SafeText>,
    /// Devices that it uses.
    pub devices: Vec<SafeText>,
}

impl Waiter {
    /// The process as who suffers.
    #[must_use]
    pub fn party(&self) -> Party {
        Party {
            pid: self.pid,
            command: self.command.clone(),
            unit: self.unit.clone(),
            share: Some(self.blocked),
        }
    }

    /// Longest time without a context switch, in nanoseconds.
    #[must_use]
    pub fn longest_ns(&self) -> f64 {
        self.longest.as_nanos() as f64
    }

    /// Fraction of the time in which it waited for one of these.
    #[must_use]
    pub fn waits_for(&self, kinds: &[WaitKind]) -> f64 {
        kinds.iter().filter_map(|kind| self.kinds.get(kind)).sum()
    }
}

/// The processes that were blocked in I/O, who waited longest first.
pub(super) fn summarize(
    window: &EvidenceWindow,
    processes: &[ProcessSummary],
    devices: &[DeviceSummary],
) -> Vec<Waiter> {
    let mut waiters = if !window.scans.is_empty() {
        summaries(&threads_of_scans(window), processes)
    } else if window.has_blocked_tasks() {
        summaries(&threads_of_snapshots(window), processes)
    } else {
        of_process_states(processes)
    };
    for waiter in &mut waiters {
        if waiter.devices.is_empty() {
            waiter.devices = devices_of_mounts(window, waiter.pid, devices);
        }
    }
    waiters.retain(|waiter| waiter.blocked > 0.0);
    waiters.sort_list_by(|a, b| b.blocked.total_cmp(&a.blocked).then(a.pid.cmp(&b.pid)));
    waiters
}

/// A recording without the blocked tasks has the state of each process at the end of each interval.
fn of_process_states(processes: &[ProcessSummary]) -> Vec<Waiter> {
    processes
        .iter()
        .filter(|process| process.blocked > 0.0)
        .map(|process| {
            let kind = wait_kind(process.wait_channel.as_deref());
            Waiter {
                pid: process.pid,
                tid: process.pid,
                command: process.command.clone(),
                unit: process.unit.clone(),
                blocked: if kind == WaitKind::NotIo {
                    0.0
                } else {
                    process.blocked
                },
                kinds: BTreeMap::from([(kind, process.blocked)]),
                wait_channel: process.wait_channel.clone(),
                devices: process.devices.clone(),
                ..Waiter::default()
            }
        })
        .collect()
}

/// A thread over the looks at it.
#[derive(Default)]
struct ThreadWaits {
    /// In how many looks it was blocked, by what it waited for.
    kinds: BTreeMap<WaitKind, usize>,
    longest: Duration,
    asleep: Duration,
    is_still_blocked: bool,
    is_kernel_thread: bool,
    /// Name of the thread, or command line of its process.
    name: SafeText,
    wait_channel: Option<SafeText>,
}

impl ThreadWaits {
    fn count_wait(&mut self, channel: Option<&str>) {
        *self.kinds.entry(wait_kind(channel)).or_default() += 1;
    }

    fn blocked(&self) -> usize {
        let io = self
            .kinds
            .iter()
            .filter(|(kind, _)| **kind != WaitKind::NotIo);
        io.map(|(_, count)| count).sum()
    }
}

/// The blocked threads by process and thread id, and the number of looks.
#[derive(Default)]
struct ThreadTable {
    threads: BTreeMap<(u32, u32), ThreadWaits>,
    looks: usize,
}

fn threads_of_scans(window: &EvidenceWindow) -> ThreadTable {
    let mut table = ThreadTable {
        looks: window.scans.len(),
        ..ThreadTable::default()
    };
    // Begin of the present sleep, and its context switches.
    let mut asleep: BTreeMap<(u32, u32), (Duration, Option<u64>)> = BTreeMap::new();
    for (index, scan) in window.scans.iter().enumerate() {
        for task in &scan.blocked {
            let key = (task.pid, task.tid);
            let since = match asleep.get(&key) {
                Some((since, switches)) if switches.is_some() && *switches == task.switches => {
                    *since
                }
                _ => scan.at,
            };
            asleep.insert(key, (since, task.switches));
            let waits = table.threads.entry(key).or_default();
            waits.count_wait(task.wait_channel.as_deref());
            let slept = scan.at.saturating_sub(since);
            waits.longest = waits.longest.max(slept);
            waits.is_still_blocked = index + 1 == window.scans.len();
            if waits.is_still_blocked {
                waits.asleep = slept;
            }
            waits.is_kernel_thread = task.is_kernel_thread;
            waits.name = SafeText::from_bytes(&task.name);
            waits.wait_channel = task.wait_channel.as_ref().map(SafeText::from);
        }
    }
    table
}

/// A recording has the blocked tasks at the end of each interval, with the length of their sleep.
fn threads_of_snapshots(window: &EvidenceWindow) -> ThreadTable {
    let mut table = ThreadTable::default();
    let lists = window.snapshots.iter().map(|it| it.blocked.as_ref());
    for (index, tasks) in lists.enumerate() {
        table.looks += usize::from(tasks.is_some());
        for task in tasks.into_iter().flatten() {
            let waits = table.threads.entry((task.pid, task.tid)).or_default();
            waits.count_wait(task.wait_channel.as_deref());
            let slept = Duration::from_nanos(task.blocked_ns);
            waits.longest = waits.longest.max(slept);
            waits.is_still_blocked = index + 1 == window.snapshots.len();
            if waits.is_still_blocked {
                waits.asleep = slept;
            }
            waits.name = task.command.clone();
            waits.wait_channel.clone_from(&task.wait_channel);
        }
    }
    table
}

/// The thread of each process that was blocked most.
fn summaries(table: &ThreadTable, processes: &[ProcessSummary]) -> Vec<Waiter> {
    let looks = table.looks.max(1) as f64;
    let mut waiters: BTreeMap<u32, Waiter> = BTreeMap::new();
    for ((pid, tid), waits) in &table.threads {
        let blocked = waits.blocked() as f64 / looks;
        let waiter = waiters.entry(*pid).or_default();
        if blocked <= waiter.blocked && waiter.pid != 0 {
            continue;
        }
        let process = processes.iter().find(|process| process.pid == *pid);
        *waiter = Waiter {
            pid: *pid,
            tid: *tid,
            command: process.map_or_else(|| waits.name.clone(), |process| process.command.clone()),
            unit: process.and_then(|process| process.unit.clone()),
            is_kernel_thread: waits.is_kernel_thread,
            blocked,
            kinds: waits
                .kinds
                .iter()
                .map(|(kind, count)| (*kind, *count as f64 / looks))
                .collect(),
            longest: waits.longest,
            asleep: waits.asleep,
            is_still_blocked: waits.is_still_blocked,
            wait_channel: waits.wait_channel.clone(),
            devices: process
                .map(|process| process.devices.clone())
                .unwrap_or_default(),
        };
    }
    waiters.into_values().collect()
}

/// The devices of the file systems on which a blocked process has files open.
fn devices_of_mounts(
    window: &EvidenceWindow,
    pid: u32,
    devices: &[DeviceSummary],
) -> Vec<SafeText> {
    let Some(last) = window.snapshots.last() else {
        return Vec::new();
    };
    let details = || window.blocked.iter().filter(|details| details.pid == pid);
    let mut names: Vec<SafeText> = Vec::new();
    let opened = |path: &String| last.drives.iter().any(|drive| drive.path == *path);
    for path in details().flat_map(|details| &details.device_paths) {
        if opened(path) {
            names.push(path.trim_start_matches("/dev/").replace('/', "!").into());
        }
    }
    for mount in details().flat_map(|details| &details.mounts) {
        let file_system = last
            .file_systems
            .iter()
            .find(|it| it.device_id == mount.device_id);
        let number = file_system.map_or(mount.device_id, |it| it.block_device);
        let drive = last.drives.iter().find(|drive| drive.number == number);
        if let Some(drive) = drive {
            let name = SafeText::from(&drive.name);
            if devices.iter().any(|device| device.name == name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}
