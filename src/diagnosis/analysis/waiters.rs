//! Who was blocked, how long and in what.

use std::collections::BTreeMap;
use std::time::Duration;

use super::devices::DeviceSummary;
use super::processes::ProcessSummary;
use crate::diagnosis::wait_kind::{WaitKind, wait_kind};
use crate::diagnosis::window::EvidenceWindow;
use crate::probe::process::task_scan::BlockedTask;
use crate::safe_text::SafeText;
use crate::sorting::SortList as _;

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
    /// Whether it was blocked, without a context switch, up to the end of the window.
    pub is_still_blocked: bool,
    /// Last wait channel.
    pub wait_channel: Option<SafeText>,
    /// Devices that it uses.
    pub devices: Vec<SafeText>,
}

impl Waiter {
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
    let mut waiters = match window.scans.len() {
        0 => from_snapshots(processes),
        _ => from_scans(window, processes),
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

/// A recording has the state of each process at the end of each interval only.
fn from_snapshots(processes: &[ProcessSummary]) -> Vec<Waiter> {
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

/// A thread over the scans.
#[derive(Default)]
struct ThreadWaits {
    kinds: BTreeMap<WaitKind, usize>,
    /// Begin of the present sleep, and its context switches.
    asleep: Option<(Duration, Option<u64>)>,
    longest: Duration,
    last_at: Duration,
    last: BlockedTask,
}

impl ThreadWaits {
    fn add(&mut self, at: Duration, task: &BlockedTask) {
        *self
            .kinds
            .entry(wait_kind(task.wait_channel.as_deref()))
            .or_default() += 1;
        let since = match self.asleep {
            Some((since, switches)) if switches.is_some() && switches == task.switches => since,
            _ => at,
        };
        self.asleep = Some((since, task.switches));
        self.longest = self.longest.max(at.saturating_sub(since));
        self.last_at = at;
        self.last = task.clone();
    }

    fn blocked(&self) -> usize {
        let io = self
            .kinds
            .iter()
            .filter(|(kind, _)| **kind != WaitKind::NotIo);
        io.map(|(_, count)| count).sum()
    }
}

fn from_scans(window: &EvidenceWindow, processes: &[ProcessSummary]) -> Vec<Waiter> {
    let mut threads: BTreeMap<(u32, u32), ThreadWaits> = BTreeMap::new();
    for scan in &window.scans {
        for task in &scan.blocked {
            let waits = threads.entry((task.pid, task.tid)).or_default();
            waits.add(scan.at, task);
        }
    }
    let scans = window.scans.len() as f64;
    let end = window.scans.last().map_or(Duration::ZERO, |scan| scan.at);
    let mut waiters: BTreeMap<u32, Waiter> = BTreeMap::new();
    for ((pid, tid), waits) in &threads {
        let blocked = waits.blocked() as f64 / scans;
        let waiter = waiters.entry(*pid).or_default();
        if blocked <= waiter.blocked && waiter.pid != 0 {
            continue;
        }
        let process = processes.iter().find(|process| process.pid == *pid);
        *waiter = Waiter {
            pid: *pid,
            tid: *tid,
            command: process.map_or_else(
                || SafeText::from_bytes(&waits.last.name),
                |process| process.command.clone(),
            ),
            unit: process.and_then(|process| process.unit.clone()),
            is_kernel_thread: waits.last.is_kernel_thread,
            blocked,
            kinds: waits
                .kinds
                .iter()
                .map(|(kind, count)| (*kind, *count as f64 / scans))
                .collect(),
            longest: waits.longest,
            is_still_blocked: waits.last_at == end,
            wait_channel: waits.last.wait_channel.as_ref().map(SafeText::from),
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
