//! Facts about the machine that a sample does not contain, because only the diagnosis needs them.

use std::path::Path;
use std::time::Duration;

use super::collector::boot_time;
use super::mounts::counters::{FuseConnection, read_connections};
use super::process::task_scan::{TaskScan, TaskScanner};
use super::system::device_health::{DeviceHealth, read_device_health};
use super::system::kernel_log::{KernelLog, NewErrors};
use super::waits::groups::{LimitedGroup, limited_groups};
use super::waits::locks::{LockWait, lock_waits};
use crate::drive::mounts::{MountEntry, mounts};
use crate::roots::SysPaths;

pub use super::process::blocked_task::BlockedDetails;

/// Facts that are read at the begin and at the end of a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactsSample {
    /// Time of the reading (`CLOCK_BOOTTIME`).
    pub at: Duration,
    /// Errors, links and RAID activity of the devices.
    pub devices: Vec<DeviceHealth>,
    /// Connections to FUSE servers; `None` where they cannot be read.
    pub fuse: Option<Vec<FuseConnection>>,
    /// I/O errors that the kernel logged since the last reading.
    pub kernel_errors: NewErrors,
    /// All mounts of this namespace.
    pub mounts: Vec<MountEntry>,
    /// Control groups with a limit of memory or of processor time.
    pub groups: Vec<LimitedGroup>,
    /// Processes that wait for the locks of files.
    pub locks: Vec<LockWait>,
}

impl FactsSample {
    /// The mount that a path leads to, by the mount points in it.
    #[must_use]
    pub fn mount_of(&self, path: &Path) -> Option<&MountEntry> {
        let around = self
            .mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.path));
        around.max_by_key(|mount| mount.path.components().count())
    }
}

/// Reads facts; keeps the kernel log open in between.
#[derive(Debug)]
pub struct FactsReader {
    roots: SysPaths,
    kernel_log: KernelLog,
    tasks: TaskScanner,
    /// Whether a FUSE file system is mounted, as of the last reading.
    has_fuse_mounts: bool,
}

impl FactsReader {
    /// Opens the kernel log at its end.
    #[must_use]
    pub fn new(roots: SysPaths) -> Self {
        Self {
            kernel_log: KernelLog::open_at_end(&roots),
            tasks: TaskScanner::default(),
            has_fuse_mounts: false,
            roots,
        }
    }

    /// Reads the facts.
    pub fn read(&mut self) -> FactsSample {
        let mounts = mounts(&self.roots).unwrap_or_default();
        let is_fuse = |mount: &MountEntry| mount.file_system.starts_with("fuse");
        self.has_fuse_mounts = mounts.iter().any(is_fuse);
        FactsSample {
            at: boot_time(),
            devices: read_device_health(&self.roots),
            fuse: read_connections(&self.roots),
            kernel_errors: self.kernel_log.new_errors(),
            mounts,
            groups: limited_groups(&self.roots),
            locks: lock_waits(&self.roots),
        }
    }

    /// Requests that wait for FUSE servers, and the errors that were logged since the last reading:
    /// a few short files, cheap enough for every sample.
    pub fn read_signals(&mut self) -> (u64, NewErrors) {
        let connections = read_connections(&self.roots).unwrap_or_default();
        let waiting = connections.iter().filter_map(|it| it.waiting).sum();
        (waiting, self.kernel_log.new_errors())
    }

    /// Scans the tasks; `None` if the last scan was so recent that scanning would be noticeable.
    pub fn scan(&mut self) -> Option<TaskScan> {
        let begun = boot_time();
        if !self.tasks.is_due(begun) {
            return None;
        }
        let fuse = read_connections(&self.roots).unwrap_or_default();
        // Without a mounted fusectl nothing is listed, and only the owner of a connection may read it.
        let mut counts = fuse.iter().filter_map(|it| it.waiting).peekable();
        let waiting = match counts.peek() {
            None => self.has_fuse_mounts,
            Some(_) => counts.any(|waiting| waiting > 0),
        };
        Some(self.tasks.scan(&self.roots, begun, waiting))
    }
}
