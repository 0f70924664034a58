//! Facts about the machine that a sample does not contain, because only the diagnosis needs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::collector::boot_time;
use super::mounts::counters::{FuseConnection, read_connections};
use super::process::blocked_task::{
    ThreadSleep, UsedMount, kernel_stack, mount_of_used_file, named_paths, open_device_paths,
    read_switches, used_mounts,
};
use super::process::task_scan::{BlockedTask, TaskScan, TaskScanner};
use super::system::device_health::{DeviceHealth, read_device_health};
use super::system::kernel_log::{KernelLog, NewErrors};
use super::waits::groups::{LimitedGroup, limited_groups};
use super::waits::locks::{LockWait, lock_waits};
use crate::drive::mounts::{MountEntry, mounts};
use crate::roots::SysPaths;

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

    /// Where a blocked task waits: its kernel stack, where root allows, and the file systems that
    /// its process uses.
    #[must_use]
    pub fn examine_blocked(&self, facts: &FactsSample, task: &BlockedTask) -> BlockedDetails {
        let (pid, tid) = (task.pid, task.tid);
        let sleep = ThreadSleep::read(&self.roots, (pid, tid));
        let used_mount_id = mount_of_used_file(&self.roots, (pid, tid));
        // Without a context switch since the scan, what was read before is that of the same sleep.
        let switches = read_switches(&self.roots, (pid, tid));
        let is_same_sleep = switches.is_some() && switches == task.switches;
        BlockedDetails {
            pid,
            tid,
            stack: kernel_stack(&self.roots, pid, tid),
            used_mount_id: used_mount_id.filter(|_| is_same_sleep),
            sleep: sleep.filter(|_| is_same_sleep),
            mounts: used_mounts(&self.roots, &facts.mounts, pid),
            device_paths: open_device_paths(&self.roots, pid),
            named_paths: named_paths(&self.roots, pid),
            working_directory: fs::read_link(self.roots.proc.join(format!("{pid}/cwd"))).ok(),
            switches: switches.filter(|_| is_same_sleep),
            asleep_since: None,
        }
    }
}

/// Details of a blocked task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedDetails {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Functions of its kernel stack, innermost first; `None` without root.
    pub stack: Option<Vec<String>>,
    /// ID of the mount of the file that it reads, writes or flushes at this moment; `None` where that is not
    /// known, as in a call with a path.
    pub used_mount_id: Option<u64>,
    /// The sleep that it was found in; `None` where that is not known, or ended meanwhile.
    pub sleep: Option<ThreadSleep>,
    /// File systems that its process has files open on.
    pub mounts: Vec<UsedMount>,
    /// Paths below `/dev` that its process has open.
    pub device_paths: Vec<String>,
    /// Absolute paths among the arguments of its process.
    pub named_paths: Vec<PathBuf>,
    /// The working directory of its process.
    pub working_directory: Option<PathBuf>,
    /// Its context switches up to this sleep; `None` where that is not known, or ended meanwhile.
    pub switches: Option<u64>,
    /// Since when it sleeps at least (`CLOCK_BOOTTIME`), where the kernel tells.
    pub asleep_since: Option<Duration>,
}
