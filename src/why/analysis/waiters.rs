//! Who was blocked, how long and in what.

use std::collections::BTreeMap;
use std::time::Duration;

use super::processes::ProcessSummary;
use crate::drive::BlockDevice;
use crate::files::safe_text::SafeText;
use crate::probe::facts::BlockedDetails;
use crate::snapshot::Snapshot;
use crate::stats::sorting::SortList as _;
use crate::why::cause::Party;
use crate::why::wait_kind::{SYNC_FUNCTIONS, WaitKind, wait_kind};
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
    /// Longest time without a context switch, as far as it is known.
    pub longest: Duration,
    /// Length of the sleep that it is in at the end of the window; 0 where it is not blocked then.
    pub asleep: Duration,
    /// Last wait channel.
    pub wait_channel: Option<SafeText>,
    /// Devices that it uses.
    pub devices: Vec<SafeText>,
}

impl Waiter {
    /// The process as who suffers.
    pub fn party(&self) -> Party {
        Party {
            pid: self.pid,
            command: self.command.clone(),
            unit: self.unit.clone(),
            share: Some(self.blocked),
        }
    }

    /// Longest time without a context switch, in nanoseconds.
    pub fn longest_ns(&self) -> f64 {
        self.longest.as_nanos() as f64
    }

    /// Fraction of the time in which it waited for one of these.
    pub fn waits_for(&self, kinds: &[WaitKind]) -> f64 {
        kinds.iter().filter_map(|kind| self.kinds.get(kind)).sum()
    }

    fn add(&mut self, look: &Look, share: f64, is_last: bool) {
        let kind = wait_kind(look.wait_channel.as_deref());
        *self.kinds.entry(kind).or_default() += share;
        if kind != WaitKind::NotIo {
            self.blocked += share;
        }
        (self.pid, self.tid) = (look.pid, look.tid);
        self.command.clone_from(&look.name);
        self.is_kernel_thread = look.is_kernel_thread;
        self.wait_channel.clone_from(&look.wait_channel);
        self.longest = self.longest.max(look.slept);
        if is_last {
            self.asleep = look.slept;
        }
    }
}

/// A look at a blocked thread.
struct Look {
    pid: u32,
    tid: u32,
    /// Name of the thread, or command line of its process.
    name: SafeText,
    is_kernel_thread: bool,
    wait_channel: Option<SafeText>,
    /// Length of its sleep up to now.
    slept: Duration,
}

/// The processes that were blocked in I/O, who waited longest first.
pub(super) fn summarize(
    window: &EvidenceWindow,
    last: &Snapshot,
    processes: &[ProcessSummary],
) -> Vec<Waiter> {
    let looks = if window.scans.is_empty() {
        looks_of_snapshots(window)
    } else {
        looks_of_scans(window)
    };
    let share = 1.0 / looks.len().max(1) as f64;
    let mut threads: BTreeMap<(u32, u32), Waiter> = BTreeMap::new();
    for (index, look) in looks.iter().enumerate() {
        let is_last = index + 1 == looks.len();
        for look in look {
            let waiter = threads.entry((look.pid, look.tid)).or_default();
            waiter.add(look, share, is_last);
        }
    }
    let mut waiters: BTreeMap<u32, Waiter> = BTreeMap::new();
    for waiter in threads.into_values().filter(|it| it.blocked > 0.0) {
        let most = waiters.entry(waiter.pid).or_default();
        if waiter.blocked > most.blocked {
            *most = waiter;
        }
    }
    let mut waiters: Vec<Waiter> = waiters.into_values().collect();
    let journal = journal_device(&waiters);
    for waiter in &mut waiters {
        if let Some(process) = processes.iter().find(|process| process.pid == waiter.pid) {
            waiter.command.clone_from(&process.command);
            waiter.unit.clone_from(&process.unit);
            waiter.devices.clone_from(&process.devices);
        }
        if waiter.devices.is_empty() {
            waiter.devices = devices_of_files(window, last, waiter);
        }
        let in_journal = waiter.waits_for(&[WaitKind::Lock, WaitKind::Commit]) > 0.0;
        if waiter.devices.is_empty() && in_journal {
            waiter.devices.extend(journal.clone());
        }
    }
    waiters.sort_list_by(|a, b| b.blocked.total_cmp(&a.blocked).then(a.pid.cmp(&b.pid)));
    waiters
}

/// The device of the journal whose kernel thread, `jbd2/sda1-8`, is blocked, if it is the only one.
fn journal_device(waiters: &[Waiter]) -> Option<SafeText> {
    let threads = waiters.iter().filter(|it| it.is_kernel_thread);
    let mut names = threads.filter_map(|it| it.command.strip_prefix("jbd2/")?.rsplit_once('-'));
    let (device, _) = names.next()?;
    names.next().is_none().then(|| device.into())
}

/// The sleep of a task began with the first scan that shows it with the same context switches, or earlier
/// where the kernel tells.
fn looks_of_scans(window: &EvidenceWindow) -> Vec<Vec<Look>> {
    // Begin of the present sleep, and its context switches.
    let mut asleep: BTreeMap<(u32, u32), (Duration, Option<u64>)> = BTreeMap::new();
    let mut looks = Vec::new();
    for scan in &window.scans {
        let look = scan.blocked.iter().map(|task| {
            let key = (task.pid, task.tid);
            let known = asleep.get(&key).copied();
            let is_same = |switches: Option<u64>| switches.is_some() && switches == task.switches;
            let seen = known.filter(|(_, switches)| is_same(*switches));
            let mut since = seen.map_or(scan.at, |(since, _)| since);
            asleep.insert(key, (since, task.switches));
            let is_it = |it: &&BlockedDetails| {
                (it.pid, it.tid, it.switches) == (key.0, key.1, task.switches)
            };
            let details = window.blocked.iter().find(is_it);
            let told = details.and_then(|it| it.asleep_since);
            since = told.map_or(since, |told| told.min(since));
            Look {
                pid: task.pid,
                tid: task.tid,
                name: SafeText::from_bytes(&task.name),
                is_kernel_thread: task.is_kernel_thread,
                wait_channel: task.wait_channel.as_ref().map(SafeText::from),
                slept: scan.at.saturating_sub(since),
            }
        });
        looks.push(look.collect());
    }
    looks
}

/// A recording has the blocked tasks at the end of each interval, with the length of their sleep.
fn looks_of_snapshots(window: &EvidenceWindow) -> Vec<Vec<Look>> {
    let lists = window.snapshots.iter().filter_map(|it| it.blocked.as_ref());
    let looks = lists.map(|tasks| {
        let look = tasks.iter().map(|task| Look {
            pid: task.pid,
            tid: task.tid,
            name: task.command.clone(),
            is_kernel_thread: false,
            wait_channel: task.wait_channel.clone(),
            slept: Duration::from_nanos(task.blocked_ns),
        });
        look.collect()
    });
    looks.collect()
}

/// The devices that a blocked process has open, and those of the file systems on which it has files open;
/// of one without any that of the file system that an argument leads to, unless it is in sync(2), which waits
/// for all devices.
fn devices_of_files(window: &EvidenceWindow, last: &Snapshot, waiter: &Waiter) -> Vec<SafeText> {
    let details = || window.blocked.iter().filter(|it| it.pid == waiter.pid);
    let of_mount = |device_id: (u32, u32)| {
        let mut systems = last.file_systems.iter();
        let system = systems.find(|it| it.device_id == device_id);
        let number = system.map_or(device_id, |it| it.block_device);
        last.drives.iter().find(|drive| drive.number == number)
    };
    let opened = details().flat_map(|details| &details.device_paths);
    let opened = opened.filter_map(|path| last.drives.iter().find(|drive| drive.path == *path));
    let mounts = details().flat_map(|details| &details.mounts);
    let mounted = mounts.filter_map(|mount| of_mount(mount.device_id));
    let mut drives: Vec<&BlockDevice> = opened.chain(mounted).collect();
    let channel = waiter.wait_channel.as_deref().unwrap_or_default();
    let is_syncing = SYNC_FUNCTIONS.split(' ').any(|it| channel.starts_with(it));
    if let (Some((_, facts)), true, false) = (&window.facts, drives.is_empty(), is_syncing) {
        let paths = details().flat_map(|details| &details.named_paths);
        let mounts = paths.filter_map(|path| facts.mount_of(path));
        drives.extend(mounts.filter_map(|mount| of_mount(mount.device_id)).next());
    }
    let mut names: Vec<SafeText> = Vec::new();
    for drive in drives {
        let name = SafeText::from(&drive.name);
        if last.devices.iter().any(|it| it.name == name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
