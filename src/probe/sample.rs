//! Kernel counters at one time: raw, nothing derived.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mounts::MountSample;
use super::operations::operation::OperationSample;
use super::system::kernel_log::IoErrorSample;
use crate::drive::BlockDevice;
use crate::probe::file_systems::MountedFileSystem;
use crate::probe::system::temperature::Temperatures;

pub use super::availability::Availability;
pub use super::control_groups::DeviceIo;
pub use super::control_groups::io_files::IoLimit;
pub use super::control_groups::unit::{Unit, UnitKind};
pub use super::notice::ProbeNotice;
pub use super::process::io_priority::IoPriority;
pub use super::system::vmstat::{PagingCounters, ReclaimCounters};

/// All values that were read at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemSample {
    /// Time of the sample on a monotonic clock that includes suspension (`CLOCK_BOOTTIME`).
    pub boot_time: Duration,
    /// The same time as RFC 3339 in UTC.
    pub time: String,
    /// The machine.
    pub host: HostSample,
    /// `/proc/diskstats`, in the kernel's order.
    pub disks: Vec<DiskCounters>,
    /// Facts about the block devices, shared between samples as long as they stay the same.
    pub drives: Arc<[BlockDevice]>,
    /// Their temperatures, read together with the facts about drives.
    pub temperatures: Arc<Temperatures>,
    /// File systems on block devices, read together with the facts about drives.
    pub file_systems: Arc<[MountedFileSystem]>,
    /// Processes by ascending process id.
    pub processes: Vec<ProcessSample>,
    /// Processes that have ended since the previous sample, by ascending process id, with what no sample
    /// contains of their I/O; empty where the kernel does not report it.
    pub exit_records: Vec<ExitRecord>,
    /// Files that were written and closed since the previous sample.
    pub closed_files: Vec<ClosedFile>,
    /// Pages in memory only of the files that are followed.
    pub file_pages: Vec<FilePages>,
    /// Operations with an end that are no copies, such as the resync of an array.
    pub operations: Vec<OperationSample>,
    /// Control groups, where they were requested.
    pub control_groups: Option<ControlGroupsSample>,
    /// Mounted file systems, where they were requested.
    pub mounts: Option<Vec<MountSample>>,
    /// The last scan of the tasks, where blocked tasks were requested.
    pub task_scan: Option<Arc<TaskScan>>,
    /// I/O errors, where they were requested.
    pub io_errors: Option<IoErrorSample>,
    /// What could not be read and why.
    pub notices: Vec<ProbeNotice>,
}

impl SystemSample {
    /// The process with this id.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&ProcessSample> {
        process_with_id(&self.processes, pid)
    }

    /// The process with this id and start time.
    #[must_use]
    pub fn process_with_key(&self, key: ProcessKey) -> Option<&ProcessSample> {
        self.process(key.0)
            .filter(|process| process.identity.key() == key)
    }
}

/// The process with this id, in a list that is sorted by it.
#[must_use]
pub fn process_with_id(processes: &[ProcessSample], pid: u32) -> Option<&ProcessSample> {
    let found = processes.binary_search_by_key(&pid, |process| process.identity.pid);
    processes.get(found.ok()?)
}

#[cfg(test)]
impl SystemSample {
    /// A sample with these processes, so many seconds after the boot.
    pub(crate) fn of_processes(second: u64, processes: Vec<ProcessSample>) -> Self {
        Self {
            boot_time: Duration::from_secs(second),
            processes,
            ..Self::default()
        }
    }
}

/// The machine as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSample {
    /// Host name; shared, because it rarely changes.
    pub name: Option<Arc<str>>,
    /// Kernel release.
    pub kernel: Option<Arc<str>>,
    /// Time since boot.
    pub uptime: Option<Duration>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load_averages: Option<[f64; 3]>,
    /// Processor time of all processors.
    pub cpu: Option<CpuTicks>,
    /// `/proc/meminfo`.
    pub memory: MemoryCounters,
    /// I/O of the machine as a whole.
    pub paging: Option<PagingCounters>,
    /// Swapping and reclaim.
    pub reclaim: Option<ReclaimCounters>,
    /// `/proc/pressure/memory`; `None` without CONFIG_PSI or before kernel 4.20.
    pub memory_pressure: Option<PressureStall>,
    /// First line of `/proc/pressure/cpu`: at least one task waited for a processor.
    pub cpu_pressure: Option<PressureLine>,
    /// `/proc/pressure/io`; `None` without CONFIG_PSI or before kernel 4.20.
    pub pressure: Option<PressureStall>,
}

/// Processor time since boot in ticks of `USER_HZ`, all processors together (first line of
/// `/proc/stat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Neither idle nor waiting for I/O.
    pub busy: u64,
    /// Idle with I/O outstanding.
    pub iowait: u64,
    /// Total.
    pub total: u64,
}

/// The lines of `/proc/meminfo` that are relevant to I/O, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    /// Memory that the kernel can use.
    pub total: Option<u64>,
    /// Page cache without swap cache.
    pub cached: Option<u64>,
    /// Cache of raw block devices.
    pub buffers: Option<u64>,
    /// Dirty.
    pub dirty: Option<u64>,
    /// Under writeback.
    pub writeback: Option<u64>,
    /// Dirty and writeback bytes above which writers are throttled.
    pub throttle_threshold: Option<u64>,
    /// Dirty and writeback bytes above which the kernel writes back in the background.
    pub background_threshold: Option<u64>,
    /// Longest time for which data stay dirty before they are written back: their age
    /// (`vm.dirty_expire_centisecs`), and the time until it is checked
    /// (`vm.dirty_writeback_centisecs`). `None` where the kernel does not check.
    pub flush_delay: Option<Duration>,
}

/// All control groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlGroupsSample {
    /// What their counters contain.
    pub accounting: IoAccounting,
    /// The groups; a parent precedes its children.
    pub groups: Vec<ControlGroupSample>,
}

/// What the I/O counters of control groups contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IoAccounting {
    /// Version 2: buffered writes are charged to the group that dirtied the memory.
    V2,
    /// Version 1: buffered writes are charged to the root group.
    V1,
    /// Nothing is counted: no hierarchy has the controller.
    #[default]
    None,
}

/// One control group.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlGroupSample {
    /// The innermost unit that it belongs to.
    pub unit: Arc<Unit>,
    /// Whether it is the unit's own group, not one inside of it.
    pub is_unit: bool,
    /// Its I/O by device, that of the groups below it included; `None` where it is not counted.
    pub io: Option<Vec<DeviceIo>>,
    /// Pressure of its processes; `None` without PSI.
    pub pressure: Option<PressureStall>,
    /// Its own I/O limits.
    pub limits: Vec<IoLimit>,
}

/// Pressure stall information (kernel Documentation/accounting/psi.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PressureStall {
    /// At least one task waited.
    pub some: PressureLine,
    /// All tasks waited.
    pub full: PressureLine,
}

/// One line of a pressure file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PressureLine {
    /// Average over the last 10 seconds, in percent.
    pub average_10_s: f64,
    /// Total since boot.
    pub total: Duration,
}

impl PressureLine {
    /// Fraction of the time, 0 to 1, since an earlier reading that many seconds before. Without one the
    /// kernel's own average of 10 s, which still tells of a load that has ended.
    #[must_use]
    pub fn fraction_since(&self, before: Option<Self>, seconds: Option<f64>) -> f64 {
        let in_interval = || {
            let stalled = self.total.checked_sub(before?.total)?;
            Some((stalled.as_secs_f64() / seconds?).min(1.0))
        };
        in_interval().unwrap_or(self.average_10_s / 100.0)
    }
}

/// One line of `/proc/diskstats` (kernel Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Kernel's name.
    pub name: String,
    /// Major and minor number.
    pub device_number: (u32, u32),
    /// Reads.
    pub reads: RequestCounters,
    /// Writes.
    pub writes: RequestCounters,
    /// Discards; `None` before kernel 4.18.
    pub discards: Option<RequestCounters>,
    /// Flushes and the time they took; `None` before kernel 5.5.
    pub flushes: Option<FlushCounters>,
    /// Requests in flight: a gauge, not a counter.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Milliseconds times the requests in flight during them.
    pub weighted_ms: u64,
    /// Bytes that are dirty; `None` where that is not readable, or the machine has little dirty memory.
    pub dirty_bytes: Option<u64>,
    /// Bytes that are being written; `None` as for `dirty_bytes`.
    pub writeback_bytes: Option<u64>,
}

/// Counters of one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounters {
    /// Completed.
    pub completed: u64,
    /// Merged into another one before it was issued.
    pub merged: u64,
    /// Sectors of 512 bytes, independent of the device's own sectors.
    pub sectors: u64,
    /// Milliseconds from queueing to completion, summed over all of them.
    pub time_ms: u64,
}

/// Counters of flushes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlushCounters {
    /// Completed.
    pub completed: u64,
    /// Milliseconds they took.
    pub time_ms: u64,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessSample {
    /// Its identity; the same allocation in every sample until it executes another program.
    pub identity: Arc<ProcessIdentity>,
    /// Its I/O counters, with those of its ended threads and children.
    pub io: Availability<ProcessIo>,
    /// What it has done itself, without its ended children, since it was first sampled or, if it began
    /// after that, since its begin. `None` where ended children cannot be told apart: without exit records,
    /// and in a process with very many threads.
    pub own_io: Option<ProcessIo>,
    /// Page faults of the children that it has waited for: the number rises with each of them. wait(2) adds
    /// a child's counters to `io` (kernel/exit.c, `wait_task_zombie`).
    pub reaped_faults: u64,
    /// Time at which its I/O counters were read, on the clock of the samples: a little after the begin of the
    /// sample, for an idle process it may be a few samples ago.
    pub read_at: Duration,
    /// Processor time that it has used, at the resolution of ticks, as of the last time that its
    /// state was read; `None` until then.
    pub cpu_time: Option<Duration>,
    /// Time that it has waited for block I/O since it began; `None` without accounting.
    pub io_delay: Option<Duration>,
    /// Time that it has waited for swap-in; `None` without accounting.
    pub swap_in_delay: Option<Duration>,
    /// Kernel's one-letter state, as of the last time that it was read.
    pub state: Option<char>,
    /// Its open files; empty unless its counters changed or it is tracked.
    pub files: Arc<[OpenFile]>,
    /// Number of threads; 0 until it was read.
    pub thread_count: u32,
    /// Its I/O priority, as of its last I/O.
    pub priority: Option<IoPriority>,
    /// Kernel function that it waits in, where the kernel reports it.
    pub wait_channel: Option<Arc<str>>,
    /// Its threads, where they are requested and it is active.
    pub thread_samples: Option<Arc<[ThreadSample]>>,
    /// Recent I/O limits of its control groups; empty without limits, and for idle processes.
    pub io_limits: Arc<[IoLimit]>,
    /// The unit that it belongs to; `None` in the root group, and for idle processes.
    pub unit: Option<Arc<Unit>>,
}

/// A process that has ended, as the kernel reports at the ends of its threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitRecord {
    /// Process id.
    pub pid: u32,
    /// Process id of its parent.
    pub parent_pid: u32,
    /// Name of its first thread that ended, at most 15 bytes.
    pub name: Vec<u8>,
    /// What it has done since it was last sampled, without its ended children; all that it did if it never
    /// was.
    pub io: ProcessIo,
    /// All that its threads did that ended since the last sample, since they began.
    pub total_io: ProcessIo,
}

/// One thread of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadSample {
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: Vec<u8>,
    /// Its own I/O counters.
    pub io: Option<ProcessIo>,
    /// Time that it has waited for block I/O; `None` without accounting.
    pub io_delay: Option<Duration>,
    /// Kernel's one-letter state.
    pub state: Option<char>,
}

/// Identity of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// Process id of its parent.
    pub parent_pid: u32,
    /// Start time in ticks since boot: unique together with the process id.
    pub start_ticks: u64,
    /// Start time on the clock of the samples, at the resolution of ticks.
    pub started: Duration,
    /// Name of the program, at most 15 bytes, as the kernel keeps it.
    pub name: Vec<u8>,
    /// Arguments, each terminated by a zero byte; empty for kernel threads, and for a process that
    /// has been idle so far. Where there are more than are kept, the last byte is not zero.
    pub arguments: Vec<u8>,
    /// Owner's name, or number where it has none; `None` for a process that has been idle so far.
    pub user: Option<String>,
}

/// Process id and start time in ticks since boot: together they are unique.
pub type ProcessKey = (u32, u64);

impl ProcessIdentity {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> ProcessKey {
        (self.pid, self.start_ticks)
    }

    /// Name and arguments of the program: of its applet where one program contains several, such as
    /// `coreutils cp` of uutils or `busybox cp`.
    #[must_use]
    pub fn program(&self) -> (&[u8], &[u8]) {
        const MULTIPLE: [&[u8]; 3] = [b"coreutils", b"busybox", b"toybox"];
        let whole = (self.name.as_slice(), self.arguments.as_slice());
        let applet = || {
            let end = self.arguments.iter().position(|byte| *byte == 0)?;
            let arguments = &self.arguments[end + 1..];
            let name = arguments.split(|byte| *byte == 0).next()?;
            (!name.is_empty() && !name.starts_with(b"-")).then_some((name, arguments))
        };
        if MULTIPLE.contains(&whole.0) {
            applet().unwrap_or(whole)
        } else {
            whole
        }
    }
}

/// `/proc/PID/io` (kernel Documentation/filesystems/proc.rst, section 3.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes requested by read system calls.
    pub rchar: u64,
    /// Bytes passed to write system calls.
    pub wchar: u64,
    /// Read system calls.
    pub read_calls: u64,
    /// Write system calls.
    pub write_calls: u64,
    /// Bytes read from devices.
    pub read_bytes: u64,
    /// Bytes written, or to be written, to devices.
    pub write_bytes: u64,
    /// Bytes of `write_bytes` that were deleted before they were written.
    pub cancelled_write_bytes: u64,
}

impl ProcessIo {
    /// Bytes written without those whose pages were dropped before they reached the device.
    #[must_use]
    pub fn net_write_bytes(&self) -> u64 {
        self.write_bytes.saturating_sub(self.cancelled_write_bytes)
    }

    /// From the counters in the order of the fields; `None` where one is missing.
    #[must_use]
    pub fn from_counters(counters: [Option<u64>; 7]) -> Option<Self> {
        Some(Self {
            rchar: counters[0]?,
            wchar: counters[1]?,
            read_calls: counters[2]?,
            write_calls: counters[3]?,
            read_bytes: counters[4]?,
            write_bytes: counters[5]?,
            cancelled_write_bytes: counters[6]?,
        })
    }

    /// Each counter as computed from those of two readings; `None` when one of them is `None`.
    #[must_use]
    pub fn combine(&self, other: &Self, compute: impl Fn(u64, u64) -> Option<u64>) -> Option<Self> {
        Some(Self {
            rchar: compute(self.rchar, other.rchar)?,
            wchar: compute(self.wchar, other.wchar)?,
            read_calls: compute(self.read_calls, other.read_calls)?,
            write_calls: compute(self.write_calls, other.write_calls)?,
            read_bytes: compute(self.read_bytes, other.read_bytes)?,
            write_bytes: compute(self.write_bytes, other.write_bytes)?,
            cancelled_write_bytes: compute(
                self.cancelled_write_bytes,
                other.cancelled_write_bytes,
            )?,
        })
    }

    /// Each counter less that of another reading, at least 0.
    #[must_use]
    pub fn saturating_sub(&self, other: &Self) -> Self {
        self.combine(other, |own, other| Some(own.saturating_sub(other)))
            .unwrap_or_default()
    }

    /// Each counter plus that of another reading.
    #[must_use]
    pub fn saturating_add(&self, other: &Self) -> Self {
        self.combine(other, |own, other| Some(own.saturating_add(other)))
            .unwrap_or_default()
    }
}

/// A file that a process wrote and has closed, as it was afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedFile {
    /// Process id of the writer.
    pub pid: u32,
    /// Start time of the writer in ticks since boot.
    pub start_ticks: u64,
    /// Device number of the file system and inode number.
    pub inode: ((u32, u32), u64),
    /// Length in bytes.
    pub size: u64,
    /// Bytes of it that are allocated on the medium.
    pub allocated_bytes: u64,
    /// Time from its last change (ctime) to the look; `None` where the clocks contradict.
    pub time_since_change: Option<Duration>,
}

impl ClosedFile {
    /// When it was changed last, on the clock of the look at `at`.
    #[must_use]
    pub fn changed_at(&self, at: Duration) -> Option<Duration> {
        at.checked_sub(self.time_since_change?)
    }
}

/// An open file of a process: a regular file, a block device or a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Its file descriptor.
    pub descriptor: u32,
    /// Path as the kernel reports it; ends in ` (deleted)` when the file is deleted.
    pub path: Arc<[u8]>,
    /// Its type.
    pub kind: FileKind,
    /// Device number of the file system and inode number: together they identify the file.
    pub inode: ((u32, u32), u64),
    /// Offset of the next read or write.
    pub position: u64,
    /// Whether it may be read through this descriptor.
    pub readable: bool,
    /// Whether it may be written through this descriptor.
    pub writable: bool,
    /// Length in bytes; for a block device its capacity; `None` where the kernel does not report
    /// it.
    pub size: Option<u64>,
    /// Bytes of it that are allocated on the medium.
    pub allocated_bytes: u64,
}

/// A file that is written, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedFile {
    /// Its identity.
    pub id: ((u32, u32), u64),
    /// Its path, for a file that is closed.
    pub path: Arc<[u8]>,
    /// Process id and descriptor through which it is open.
    pub descriptor: Option<(u32, u32)>,
}

/// What the page cache holds of a file that is not on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePages {
    /// The file.
    pub id: ((u32, u32), u64),
    /// The bytes, or why they are unknown.
    pub unwritten: Result<UnwrittenBytes, PagesUnknown>,
}

/// Bytes of a file in memory only, in whole pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnwrittenBytes {
    /// Dirty or under writeback.
    pub total: u64,
    /// Under writeback.
    pub writeback: u64,
}

/// Why the unwritten pages of a file are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PagesUnknown {
    /// The kernel has no cachestat(2): it is older than 6.5.
    OldKernel,
    /// The kernel denies it: the file belongs to another user.
    NotPermitted,
    /// The file is a block device, which is not opened.
    BlockDevice,
    /// The file system does not keep the data of its files in the page cache of the file.
    FileSystem,
    /// The closed file is no longer at its path.
    NotFound,
    /// Another error.
    Failed,
}

/// Type of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A block device with its number.
    Block((u32, u32)),
    /// A pipe.
    Pipe,
}

/// All processes at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskScan {
    /// Time of the scan (`CLOCK_BOOTTIME`).
    pub at: Duration,
    /// Processor time of each process since it began, in ticks, by process id.
    pub processes: BTreeMap<u32, ScannedProcess>,
    /// The tasks that are blocked.
    pub blocked: Vec<BlockedTask>,
}

/// A process in a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScannedProcess {
    /// Start time in ticks since boot.
    pub start_ticks: u64,
    /// Name of the program.
    pub name: Arc<[u8]>,
    /// Processor time in ticks.
    pub cpu_ticks: u64,
}

/// A task in uninterruptible sleep, or one that waits for a FUSE server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedTask {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Name of the thread.
    pub name: Vec<u8>,
    /// Whether it is a thread of the kernel.
    pub is_kernel_thread: bool,
    /// Kernel function that it waits in.
    pub wait_channel: Option<String>,
    /// Its context switches so far: equal in two scans means that it has slept in between.
    pub switches: Option<u64>,
}
