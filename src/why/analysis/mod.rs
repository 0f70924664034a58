//! Sums a window up: means of devices and processes, and who was blocked how long.

mod devices;
mod processes;
mod waiters;

use procfs::sys::kernel::Version;

use super::cause::{Cause, Severity};
use super::file_server::FileServerClient;
use super::wait_kind::{WaitKind, client_in_stack};
use super::window::EvidenceWindow;
use crate::files::safe_text::SafeText;
use crate::probe::facts::BlockedDetails;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{HostView, UnitView, is_first_version_notice};

pub use self::devices::{DeviceSummary, IntervalLoad};
pub use self::processes::{ProcessInstance, ProcessSummary};
pub use self::waiters::Waiter;

/// Fraction of the time for which a device that works off requests is busy.
const WORKING: f64 = 0.3;
/// Beginnings of the names of functions in which a task waits for the writeback of whole file systems.
const SYNC_FUNCTIONS: [&str; 4] = [
    "wb_wait_for_completion",
    "sync_inodes",
    "ksys_sync",
    "sync_fs",
];

/// The window, summed up.
#[derive(Debug)]
pub struct Analysis<'w> {
    /// The evidence itself.
    pub window: &'w EvidenceWindow,
    /// Length in seconds.
    pub seconds: f64,
    /// The devices, in the kernel's order.
    pub devices: Vec<DeviceSummary>,
    /// Processes that did I/O or were blocked.
    pub processes: Vec<ProcessSummary>,
    /// Processes that were blocked, who waited longest first.
    pub waiters: Vec<Waiter>,
    /// Whether control groups can limit units: version 2 with the controller `io`.
    has_unit_limits: bool,
}

impl<'w> Analysis<'w> {
    /// Sums the window up; `None` without a snapshot that has rates.
    #[must_use]
    pub fn new(window: &'w EvidenceWindow) -> Option<Self> {
        let last = window.snapshots.last()?;
        let seconds: f64 = window
            .snapshots
            .iter()
            .filter_map(|snapshot| Some(snapshot.interval?.as_secs_f64()))
            .sum();
        if seconds <= 0.0 {
            return None;
        }
        let processes = processes::summarize(window, seconds);
        let devices = devices::summarize(window);
        let waiters = waiters::summarize(window, &processes, &devices);
        let v2_only = !last
            .notices
            .iter()
            .any(|notice| is_first_version_notice(notice));
        Some(Self {
            window,
            seconds,
            devices,
            processes,
            waiters,
            has_unit_limits: v2_only && last.units.is_some(),
        })
    }

    /// Whether `systemctl` can limit the I/O of the unit with this name, and no other group has it.
    #[must_use]
    pub fn can_limit_unit(&self, name: &SafeText) -> bool {
        let units = self.last().units.iter().flatten();
        let mut of_name = units.filter(|unit| unit.name == *name).peekable();
        self.has_unit_limits
            && of_name.peek().is_some()
            && of_name.all(UnitView::belongs_to_system_manager)
    }

    /// Whether a task waits for the server of a file system: by the kernel function that it waits in, or
    /// by its stack where that is known.
    #[must_use]
    pub fn waits_for_server(&self, waiter: &Waiter) -> bool {
        let kinds = [WaitKind::FuseServer, WaitKind::NetworkServer];
        let in_stack = || {
            self.details(waiter)?
                .stack
                .as_deref()
                .and_then(client_in_stack)
        };
        waiter.waits_for(&kinds) > 0.0 || in_stack().is_some()
    }

    /// Whether a device works off what a task waits for, as far as its devices are known; of sync(2), which
    /// waits for all of them, whether any device writes. A request that is lost leaves the device idle.
    #[must_use]
    pub fn makes_progress(&self, waiter: &Waiter) -> bool {
        let mut whole = self.whole_devices();
        if waiter.devices.is_empty() {
            return self.is_syncing(waiter) && whole.any(|it| it.write_bytes > 0.0);
        }
        whole.any(|device| {
            let mut own = waiter.devices.iter();
            device.iops > 0.0
                && device.busy >= WORKING
                && own.any(|name| self.lies_on(name, &device.name))
        })
    }

    /// Whether a task is in sync(2) or syncfs(2).
    #[must_use]
    pub fn is_syncing(&self, waiter: &Waiter) -> bool {
        let begins = |name: &str| SYNC_FUNCTIONS.iter().any(|it| name.starts_with(it));
        let stack = self.details(waiter).and_then(|it| it.stack.as_ref());
        let mut functions = stack.into_iter().flatten();
        waiter.wait_channel.as_deref().is_some_and(begins) || functions.any(|it| begins(it))
    }

    /// The client of file servers that a task waits in at the end of the window. Its stack shows it best.
    #[must_use]
    pub fn server_client(&self, waiter: &Waiter) -> Option<FileServerClient> {
        match self.details(waiter).and_then(|it| it.stack.as_deref()) {
            Some(stack) => client_in_stack(stack),
            None => FileServerClient::of_function(waiter.wait_channel.as_deref()?),
        }
    }

    /// The details of a blocked task.
    #[must_use]
    pub fn details(&self, waiter: &Waiter) -> Option<&BlockedDetails> {
        let mut blocked = self.window.blocked.iter();
        blocked.find(|it| (it.pid, it.tid) == (waiter.pid, waiter.tid))
    }

    /// The last snapshot.
    #[must_use]
    pub fn last(&self) -> &Snapshot {
        // A window without snapshots has no analysis.
        &self.window.snapshots[self.window.snapshots.len() - 1]
    }

    /// Version of the kernel; `None` where it is not known.
    #[must_use]
    pub fn kernel_version(&self) -> Option<Version> {
        self.last().host.kernel.as_deref()?.parse().ok()
    }

    /// A value of the machine in each snapshot that has it.
    fn host_values(&self, value: impl Fn(&HostView) -> Option<f64>) -> Vec<f64> {
        let hosts = self.window.snapshots.iter().map(|snapshot| &snapshot.host);
        hosts.filter_map(value).collect()
    }

    /// Mean of a value of the machine over the snapshots that have it.
    #[must_use]
    pub fn mean(&self, value: impl Fn(&HostView) -> Option<f64>) -> Option<f64> {
        let values = self.host_values(value);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Fraction of the snapshots in which a value of the machine is at least `least`.
    #[must_use]
    pub fn fraction_at_least(
        &self,
        value: impl Fn(&HostView) -> Option<f64>,
        least: f64,
    ) -> Option<f64> {
        let values = self.host_values(value);
        let above = values.iter().filter(|value| **value >= least).count();
        (!values.is_empty()).then(|| above as f64 / values.len() as f64)
    }

    /// A cause that is seen since the begin of the window.
    #[must_use]
    pub fn cause(&self, code: &'static str, severity: Severity) -> Cause {
        Cause::new(code, severity, &self.window.snapshots[0].time)
    }

    /// The device of that name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&DeviceSummary> {
        self.devices
            .iter()
            .find(|device| device.name.as_str() == name)
    }

    /// The process with that id.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&ProcessSummary> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// Whether `upper` is the device `lower` or lies on it.
    #[must_use]
    pub fn lies_on(&self, upper: &SafeText, lower: &SafeText) -> bool {
        devices::lies_on(&self.devices, upper, lower)
    }

    /// The devices without partitions, whose requests are those of their drives.
    pub fn whole_devices(&self) -> impl Iterator<Item = &DeviceSummary> {
        self.devices.iter().filter(|device| !device.is_partition())
    }

    /// Processes, without kernel threads, that waited on a device for at least that fraction of the
    /// time.
    pub fn waiters_on<'a>(
        &'a self,
        device: &'a SafeText,
        least: f64,
    ) -> impl Iterator<Item = &'a Waiter> {
        self.waiters.iter().filter(move |waiter| {
            waiter.blocked >= least
                && !waiter.is_kernel_thread
                && waiter.devices.iter().any(|own| self.lies_on(own, device))
        })
    }
}
