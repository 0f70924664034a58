//! Who was blocked, how long and in what.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::processes::ProcessSummary;
use crate::drive::BlockDevice;
use crate::files::safe_text::SafeText;
use crate::snapshot::Snapshot;
use crate::snapshot::view::BlockedTaskView;
use crate::stats::sorting::SortList as _;
use crate::why::cause::Party;
use crate::why::wait_kind::{AT_DEVICE, SYNC_FUNCTIONS, WaitKind, wait_kind};
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

    /// Fraction of the time in which it waited for a request at a device, or for what is not known.
    pub fn waits_at_device(&self) -> f64 {
        self.waits_for(&AT_DEVICE) + self.waits_for(&[WaitKind::Unknown])
    }

    fn add(&mut self, look: &BlockedTaskView, share: f64, is_last: bool) {
        let kind = wait_kind(look.wait_channel.as_deref());
        *self.kinds.entry(kind).or_default() += share;
        if kind != WaitKind::NotIo {
            self.blocked += share;
        }
        (self.pid, self.tid) = (look.pid, look.tid);
        self.command.clone_from(&look.command);
        self.wait_channel.clone_from(&look.wait_channel);
        let slept = Duration::from_nanos(look.blocked_ns);
        self.longest = self.longest.max(slept);
        if is_last {
            self.asleep = slept;
        }
    }
}

/// The processes that were blocked in I/O, who waited longest first.
pub(super) fn summarize(
    window: &EvidenceWindow,
    last: &Snapshot,
    processes: &[ProcessSummary],
) -> Vec<Waiter> {
    // A recording has the blocked tasks at the end of each interval.
    let recorded = window.snapshots.iter().filter_map(|it| it.blocked.clone());
    let looks: Vec<Vec<BlockedTaskView>> = if window.scans.is_empty() {
        recorded.collect()
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
    let journal = journal_device(window);
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
fn journal_device(window: &EvidenceWindow) -> Option<SafeText> {
    let tasks = window.scans.iter().flat_map(|scan| &scan.blocked);
    let threads = tasks.filter(|it| it.is_kernel_thread);
    let names: BTreeSet<&[u8]> = threads.map(|it| &it.name[..]).collect();
    let mut journals = names.into_iter().filter_map(|name| {
        let name = std::str::from_utf8(name).ok()?;
        name.strip_prefix("jbd2/")?.rsplit_once('-')
    });
    let (device, _) = journals.next()?;
    journals.next().is_none().then(|| device.into())
}

/// The blocked tasks of each scan, without the threads of the kernel, which work for others. The sleep of a
/// task began with the first scan that shows it with the same context switches, or earlier where the kernel
/// tells.
fn looks_of_scans(window: &EvidenceWindow) -> Vec<Vec<BlockedTaskView>> {
    // Begin of the present sleep, and its context switches.
    let mut asleep: BTreeMap<(u32, u32), (Duration, Option<u64>)> = BTreeMap::new();
    let mut looks = Vec::new();
    for scan in &window.scans {
        let tasks = scan.blocked.iter().filter(|task| !task.is_kernel_thread);
        let look = tasks.map(|task| {
            let key = (task.pid, task.tid);
            let known = asleep.get(&key).copied();
            let is_same = |switches: Option<u64>| switches.is_some() && switches == task.switches;
            let seen = known.filter(|(_, switches)| is_same(*switches));
            let mut since = seen.map_or(scan.at, |(since, _)| since);
            asleep.insert(key, (since, task.switches));
            let mut details = window
                .blocked
                .iter()
                .filter(|it| it.switches == task.switches);
            let details = details.find(|it| (it.pid, it.tid) == key);
            let told = details.and_then(|it| it.asleep_since);
            since = told.map_or(since, |told| told.min(since));
            let slept = scan.at.saturating_sub(since);
            BlockedTaskView {
                pid: task.pid,
                tid: task.tid,
                command: SafeText::from_bytes(&task.name),
                unit: None,
                blocked_ns: u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX),
                wait_channel: task.wait_channel.as_ref().map(SafeText::from),
            }
        });
        looks.push(look.collect());
    }
    looks
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
