//! Sums a window up: means of devices and processes, and who was blocked how long.

mod devices;
mod processes;
mod waiters;

use procfs::sys::kernel::Version;

use super::cause::{Cause, Party, Severity};
use super::evidence::BLOCKED_FOR;
use super::wait_kind::{FileServerClient, SYNC_FUNCTIONS, WaitKind, client_of_function, wait_kind};
use super::window::EvidenceWindow;
use crate::drive::{BlockDevice, DriveKind};
use crate::files::safe_text::SafeText;
use crate::probe::facts::{BlockedDetails, FactsSample};
use crate::snapshot::Snapshot;
use crate::snapshot::view::{HostView, UnitView, is_first_version_notice};

pub use self::devices::{DeviceSummary, IntervalLoad};
pub use self::processes::{ProcessInstance, ProcessSummary};
pub use self::waiters::Waiter;

/// Fraction of the time for which a device that works off requests is busy.
const WORKING: f64 = 0.3;
/// Depth of device stacks that are followed: a recording may have a circle.
const MAX_STACK: usize = 16;

/// The window, summed up.
#[derive(Debug)]
pub struct Analysis<'w> {
    /// The evidence itself.
    pub window: &'w EvidenceWindow,
    /// The last snapshot.
    pub last: &'w Snapshot,
    /// Length in seconds.
    pub seconds: f64,
    /// The devices, in the kernel's order.
    pub devices: Vec<DeviceSummary>,
    /// Processes that did I/O or were blocked.
    pub processes: Vec<ProcessSummary>,
    /// Processes that were blocked, who waited longest first.
    pub waiters: Vec<Waiter>,
    /// Whether control groups are of version 1.
    pub is_first_version: bool,
    /// Fraction of the time in which a task waited for I/O.
    pub io_pressure: Option<f64>,
    /// Fraction of the time in which a task waited for memory.
    pub memory_pressure: Option<f64>,
}

impl<'w> Analysis<'w> {
    /// Sums the window up; `None` without a snapshot that has rates.
    pub fn new(window: &'w EvidenceWindow) -> Option<Self> {
        let last = window.snapshots.last()?;
        let intervals = window.snapshots.iter().filter_map(|it| it.interval);
        let seconds: f64 = intervals.map(|it| it.as_secs_f64()).sum();
        if seconds <= 0.0 {
            return None;
        }
        let processes = processes::summarize(window, seconds);
        let waiters = waiters::summarize(window, last, &processes);
        let mut notices = last.notices.iter();
        let mut analysis = Self {
            window,
            last,
            seconds,
            devices: devices::summarize(window),
            processes,
            waiters,
            is_first_version: notices.any(|notice| is_first_version_notice(notice)),
            io_pressure: None,
            memory_pressure: None,
        };
        analysis.io_pressure = analysis.mean(|host| host.pressure_some);
        analysis.memory_pressure = analysis.mean(|host| host.memory_pressure_some);
        Some(analysis)
    }

    /// The facts at the end of the window; `None` for a recording.
    pub fn facts(&self) -> Option<&'w FactsSample> {
        self.window.facts.as_ref().map(|(_, end)| end)
    }

    /// Whether `systemctl` can limit the I/O of the unit with this name, and no other group has it: it
    /// needs version 2 of control groups.
    pub fn can_limit_unit(&self, name: &SafeText) -> bool {
        let units = self.last.units.iter().flatten();
        let mut of_name = units.filter(|unit| unit.name == *name).peekable();
        !self.is_first_version
            && of_name.peek().is_some()
            && of_name.all(UnitView::belongs_to_system_manager)
    }

    /// The functions that a task is in, as far as they are known: those of its kernel stack, innermost
    /// first, or else the one that it waits in.
    fn functions<'a>(&'a self, waiter: &'a Waiter) -> impl Iterator<Item = &'a str> {
        let stack = self.details(waiter).and_then(|it| it.stack.as_ref());
        let channel = waiter.wait_channel.as_deref().filter(|_| stack.is_none());
        let stack = stack.into_iter().flatten().map(String::as_str);
        stack.chain(channel)
    }

    /// The client of file servers that a task waits in at the end of the window. Its stack shows it best:
    /// the innermost function is often that of a wait for pages, as for any file system.
    pub fn server_client(&self, waiter: &Waiter) -> Option<FileServerClient> {
        self.functions(waiter).find_map(client_of_function)
    }

    /// Whether a task waits, or has waited, for the server of a file system.
    pub fn waits_for_server(&self, waiter: &Waiter) -> bool {
        waiter.waits_for(&[WaitKind::Server]) > 0.0 || self.server_client(waiter).is_some()
    }

    /// Whether a task is in a function whose name begins with one of these.
    pub fn is_in(&self, waiter: &Waiter, names: &str) -> bool {
        let begins = |function: &str| names.split(' ').any(|name| function.starts_with(name));
        waiter.wait_channel.as_deref().is_some_and(begins) || self.functions(waiter).any(begins)
    }

    /// Whether a task waits for memory at the end of the window.
    pub fn is_in_memory(&self, waiter: &Waiter) -> bool {
        let mut functions = self.functions(waiter);
        functions.any(|it| wait_kind(Some(it)) == WaitKind::Memory)
    }

    /// Whether a task is in sync(2) or syncfs(2).
    pub fn is_syncing(&self, waiter: &Waiter) -> bool {
        self.is_in(waiter, SYNC_FUNCTIONS)
    }

    /// Whether a device works off what a task waits for, as far as its devices are known; of sync(2), which
    /// waits for all of them, whether any device writes. A request that is lost leaves the device idle.
    pub fn makes_progress(&self, waiter: &Waiter) -> bool {
        let mut whole = self.whole_devices();
        if waiter.devices.is_empty() {
            return self.is_syncing(waiter) && whole.any(|it| it.write_bytes > 0.0);
        }
        whole.any(|it| it.iops > 0.0 && it.busy >= WORKING && self.is_on(&waiter.devices, it))
    }

    /// The details of a blocked task.
    pub fn details(&self, waiter: &Waiter) -> Option<&BlockedDetails> {
        let mut blocked = self.window.blocked.iter();
        blocked.find(|it| (it.pid, it.tid) == (waiter.pid, waiter.tid))
    }

    /// Adds the length of the sleep of a task to the proof.
    pub fn prove_sleep(&self, cause: &mut Cause, waiter: &Waiter) {
        let details = self.details(waiter);
        let metric = if details.is_some_and(|it| it.asleep_since.is_some()) {
            BLOCKED_FOR.read_from("/proc/PID/sched")
        } else {
            BLOCKED_FOR
        };
        cause.prove(&waiter.command, metric, waiter.longest_ns());
    }

    /// Version of the kernel; `None` where it is not known.
    pub fn kernel_version(&self) -> Option<Version> {
        self.last.host.kernel.as_deref()?.parse().ok()
    }

    /// A value of the machine in each snapshot that has it.
    fn host_values(&self, value: impl Fn(&HostView) -> Option<f64>) -> Vec<f64> {
        let hosts = self.window.snapshots.iter().map(|snapshot| &snapshot.host);
        hosts.filter_map(value).collect()
    }

    /// Mean of a value of the machine over the snapshots that have it.
    pub fn mean(&self, value: impl Fn(&HostView) -> Option<f64>) -> Option<f64> {
        let values = self.host_values(value);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Fraction of the snapshots in which a value of the machine is at least `least`.
    pub fn fraction_at_least(&self, value: fn(&HostView) -> Option<f64>, least: f64) -> f64 {
        let values = self.host_values(value);
        let above = values.iter().filter(|value| **value >= least).count();
        above as f64 / values.len().max(1) as f64
    }

    /// A cause that is proven.
    pub fn proven(&self, severity: Severity) -> Cause {
        self.cause(severity).confirmed_if(true)
    }

    /// A cause that is seen since the begin of the window; who examines gives it its code.
    pub fn cause(&self, severity: Severity) -> Cause {
        Cause::new("", severity, &self.window.snapshots[0].time)
    }

    /// The device of that name.
    pub fn device(&self, name: &str) -> Option<&DeviceSummary> {
        self.devices.iter().find(|device| *device.name == *name)
    }

    /// What is known of the drive of that name.
    pub fn drive(&self, name: &str) -> Option<&'w BlockDevice> {
        self.last.drives.iter().find(|drive| drive.name == name)
    }

    /// The process with that id.
    pub fn process(&self, pid: u32) -> Option<&ProcessSummary> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// A process as a party, also one that no snapshot lists.
    pub fn party(&self, pid: u32) -> Party {
        if let Some(process) = self.process(pid) {
            return process.party(None);
        }
        let scan = self.window.scans.last();
        let scanned = scan.and_then(|scan| scan.processes.get(&pid));
        let name = scanned.map(|it| SafeText::from_bytes(&it.name));
        Party {
            pid,
            command: name.unwrap_or_default(),
            ..Party::default()
        }
    }

    /// Whether `upper` is the device `lower` or lies on it.
    pub fn lies_on(&self, upper: &SafeText, lower: &SafeText) -> bool {
        let mut open = vec![upper];
        for _ in 0..MAX_STACK {
            if open.contains(&lower) {
                return true;
            }
            let devices = open.iter().filter_map(|name| self.device(name));
            open = devices.flat_map(|device| &device.underlying).collect();
        }
        false
    }

    /// Whether one of these devices is `device` or lies on it.
    pub fn is_on(&self, names: &[SafeText], device: &DeviceSummary) -> bool {
        names.iter().any(|name| self.lies_on(name, &device.name))
    }

    /// The devices without partitions, whose requests are those of their drives.
    pub fn whole_devices(&self) -> impl Iterator<Item = &DeviceSummary> {
        let devices = self.devices.iter();
        devices.filter(|it| it.kind != Some(DriveKind::Partition))
    }

    /// The devices that lie on no other one.
    pub fn lowest_devices(&self) -> impl Iterator<Item = &DeviceSummary> {
        self.whole_devices().filter(|it| it.underlying.is_empty())
    }

    /// Processes that were blocked for at least that fraction of the time.
    pub fn blocked(&self, least: f64) -> impl Iterator<Item = &Waiter> {
        let waiters = self.waiters.iter();
        waiters.filter(move |waiter| waiter.blocked >= least)
    }

    /// The process that was blocked, with that id.
    pub fn waiter(&self, pid: u32) -> Option<&Waiter> {
        self.waiters.iter().find(|waiter| waiter.pid == pid)
    }

    /// Those of them that use a device.
    pub fn blocked_on(&self, device: &DeviceSummary, least: f64) -> Vec<&Waiter> {
        let blocked = self.blocked(least);
        blocked
            .filter(|it| self.is_on(&it.devices, device))
            .collect()
    }
}
