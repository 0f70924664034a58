//! What the kernel said at one moment: raw counters, nothing derived.

use std::sync::Arc;
use std::time::Duration;

pub use super::notice::ProbeNotice;
pub use super::system::limits::IoLimit;
pub use super::system::paging::PagingCounters;

use super::copy_jobs::JobCount;
use crate::drive::ioctl::IoClass;
use crate::drive::{BlockDevice, MountedFileSystem};

/// Everything that was read at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemSample {
    /// When, on a clock that never goes backwards and counts suspension (`CLOCK_BOOTTIME`).
    pub boot_time: Duration,
    /// The same moment by the calendar, RFC 3339 in UTC.
    pub time: String,
    /// The machine.
    pub host: HostSample,
    /// `/proc/diskstats`, in the kernel's order.
    pub disks: Vec<DiskCounters>,
    /// Facts about the block devices, shared between samples for as long as they stay the same.
    pub drives: Arc<[BlockDevice]>,
    /// File systems on block devices, read together with the facts about drives.
    pub file_systems: Arc<[MountedFileSystem]>,
    /// Processes by ascending process id.
    pub processes: Vec<ProcessSample>,
    /// What could not be read and why.
    pub notices: Vec<ProbeNotice>,
}

/// The machine as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSample {
    /// Host name; shared, as it hardly ever changes.
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
    /// What the machine as a whole moves.
    pub paging: Option<PagingCounters>,
    /// `/proc/pressure/io`; `None` without CONFIG_PSI or before kernel 4.20.
    pub pressure: Option<PressureStall>,
}

/// Processor time since boot in ticks of `USER_HZ`, all processors together (first line of
/// `/proc/stat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Not idle and not waiting for I/O.
    pub busy: u64,
    /// Idle with I/O outstanding.
    pub iowait: u64,
    /// All of it.
    pub total: u64,
}

/// The lines of `/proc/meminfo` that matter for I/O, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    /// Memory that the kernel can use.
    pub total: Option<u64>,
    /// Page cache without swap cache.
    pub cached: Option<u64>,
    /// Cache of raw block devices.
    pub buffers: Option<u64>,
    /// Waiting to be written.
    pub dirty: Option<u64>,
    /// Being written.
    pub writeback: Option<u64>,
    /// From so much dirty and written back on writers are made to wait.
    pub throttle_threshold: Option<u64>,
    /// From so much on the kernel writes back in the background.
    pub background_threshold: Option<u64>,
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
    /// Fraction of the last 10 seconds, in percent.
    pub average_10_s: f64,
    /// Fraction of the last 60 seconds, in percent.
    pub average_60_s: f64,
    /// Fraction of the last 300 seconds, in percent.
    pub average_300_s: f64,
    /// Waited in all since boot.
    pub total: Duration,
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
    /// Requests in flight: a level, not a counter.
    pub in_flight: u64,
    /// Milliseconds in which something was in flight.
    pub busy_ms: u64,
    /// Milliseconds times the requests in flight during them.
    pub weighted_ms: u64,
}

/// Counters of one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounters {
    /// Completed.
    pub completed: u64,
    /// Merged into another one before it was issued.
    pub merged: u64,
    /// Sectors of 512 bytes, whatever the device's own sectors are.
    pub sectors: u64,
    /// Milliseconds from the queue to completion, over all of them.
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
    /// Who it is; the same allocation in every sample until it executes another program.
    pub identity: Arc<ProcessIdentity>,
    /// Its I/O counters.
    pub io: Availability<ProcessIo>,
    /// When they were read, on the clock of [`Sample::at`]: of a process that has moved nothing
    /// for a while this may be a few samples ago.
    pub read_at: Duration,
    /// Time that it has waited for block I/O since it began; `None` where nobody counts it.
    pub io_delay: Option<Duration>,
    /// Time that it has waited for memory to be swapped in; `None` where nobody counts it.
    pub swap_in_delay: Option<Duration>,
    /// Kernel's one-letter state, as of the last time that it was looked at.
    pub state: Option<char>,
    /// What it has open; empty unless its counters moved or it is being followed.
    pub files: Arc<[OpenFile]>,
    /// How many threads it has; 0 until it was looked at.
    pub thread_count: u32,
    /// Its I/O priority, as of the last time that it moved something.
    pub priority: Option<IoPriority>,
    /// Function of the kernel that it waits in, where the kernel tells.
    pub wait_channel: Option<Arc<str>>,
    /// Its threads, where they are asked for and it has moved something.
    pub thread_samples: Option<Arc<[ThreadSample]>>,
    /// What control groups let it do to devices, as of lately; empty without limits, and where it
    /// moves nothing.
    pub io_limits: Arc<[IoLimit]>,
    /// How far it is with all the files that its arguments name, where it copies several.
    pub job_count: Option<JobCount>,
}

/// One thread of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadSample {
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: Vec<u8>,
    /// Its own I/O counters.
    pub io: Availability<ProcessIo>,
    /// Time that it has waited for block I/O; `None` where nobody counts it.
    pub io_delay: Option<Duration>,
    /// Kernel's one-letter state.
    pub state: Option<char>,
}

/// A priority of I/O (kernel Documentation/block/ioprio.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPriority {
    /// Its class.
    pub class: IoClass,
    /// 0, the most urgent, to 7; without meaning for the class idle.
    pub level: u8,
}

/// Who a process is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// The process that it came from.
    pub parent_pid: u32,
    /// When it began, in ticks since boot: with the process id it is unique.
    pub start_ticks: u64,
    /// The same on the clock of [`Sample::at`], as finely as ticks go.
    pub started: Duration,
    /// Name of the program, at most 15 bytes, as the kernel keeps it.
    pub name: Vec<u8>,
    /// Arguments, each ended by a zero byte; empty for kernel threads, and of a process that has
    /// done nothing yet.
    pub arguments: Vec<u8>,
    /// Owner's name, or number where it has none; of a process that has done nothing yet `None`.
    pub user: Option<String>,
}

/// `/proc/PID/io` (kernel Documentation/filesystems/proc.rst, section 3.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes asked for by system calls that read.
    pub rchar: u64,
    /// Bytes handed over by system calls that write.
    pub wchar: u64,
    /// System calls that read.
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
    /// Bytes fetched from devices.
    pub read_bytes: u64,
    /// Bytes sent, or to be sent, to devices.
    pub write_bytes: u64,
    /// Bytes of `written` that were deleted before they went.
    pub cancelled_write_bytes: u64,
}

/// A value, or why there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Availability<T> {
    /// It was read.
    Available(T),
    /// The kernel refuses it to this user.
    NotPermitted,
    /// It is not there: a kernel without it, or the process ended meanwhile.
    #[default]
    Absent,
}

impl<T: Copy> Availability<T> {
    /// The value, where it was read.
    #[must_use]
    pub fn value(&self) -> Option<T> {
        match self {
            Self::Available(value) => Some(*value),
            Self::NotPermitted | Self::Absent => None,
        }
    }
}

/// A file that a process has open: a regular file, a block device or a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Number of the descriptor.
    pub descriptor: u32,
    /// What the kernel calls it; ends in ` (deleted)` when it has no name any more.
    pub path: Arc<[u8]>,
    /// What it is.
    pub kind: FileKind,
    /// Number of the file system and of the file in it: together they are the file.
    pub inode: ((u32, u32), u64),
    /// Offset of the next read or write.
    pub position: u64,
    /// Whether it may be read through this descriptor.
    pub readable: bool,
    /// Whether it may be written through this descriptor.
    pub writable: bool,
    /// Length in bytes; of a block device its capacity; `None` where the kernel does not tell.
    pub size: Option<u64>,
    /// Bytes of it that have a place on the medium.
    pub allocated_bytes: u64,
}

/// What a descriptor leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A block device with its number.
    Block((u32, u32)),
    /// A pipe.
    Pipe,
}
