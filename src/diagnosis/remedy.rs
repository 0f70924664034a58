//! What helps, as data.

use crate::files::safe_text::SafeText;
use crate::probe::process::blocked_task::ThreadSleep;

/// A process, and no other one that gets its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessInstance {
    /// Process id.
    pub pid: u32,
    /// Time of its start in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

/// A mount whose server a thread waits for, and no other one that gets its place later. The numbers alone do
/// not tell: the kernel gives them to the next mount. It does not while a thread waits for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedMount {
    /// Mount ID.
    pub id: u64,
    /// ID of the mount that it is mounted on.
    pub parent: u64,
    /// Device number of its file system.
    pub device_id: (u32, u32),
    /// The sleep of a thread that waits.
    pub waiter: ThreadSleep,
}

/// A measure; `report::diagnosis` makes the command of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Remedy {
    /// The I/O class idle: has an effect with the schedulers bfq and, since Linux 5.14, mq-deadline only.
    IdleClass {
        /// The process.
        process: ProcessInstance,
        /// The scheduler that heeds it.
        scheduler: SafeText,
    },
    /// A limit of a unit of the system's manager, version 2 of control groups.
    LimitUnit {
        /// The unit.
        unit: SafeText,
        /// The device.
        device: SafeText,
        /// Bytes read per second; `None` where it reads next to nothing.
        read_bytes_per_s: Option<u64>,
        /// Bytes written per second; `None` where it writes next to nothing.
        write_bytes_per_s: Option<u64>,
    },
    /// SIGSTOP, and SIGCONT later.
    Pause {
        /// The process.
        process: ProcessInstance,
    },
    /// A higher limit of the control group, or none.
    RaiseLimit {
        /// The group.
        group: SafeText,
        /// The unit of the system's manager that it is, if any.
        unit: Option<SafeText>,
        /// The device.
        device: SafeText,
    },
    /// A slower resynchronization of a RAID.
    SlowResync {
        /// The RAID device.
        device: SafeText,
    },
    /// Smaller limits of dirty memory, so that a slow device does not delay all writers.
    LowerDirtyLimits {
        /// Bytes from which writers wait.
        limit_bytes: u64,
    },
    /// What uses the space.
    ShowDiskUsage {
        /// Where the file system is mounted.
        mount_point: SafeText,
        /// Whether its inodes are used up, not its bytes.
        inodes: bool,
    },
    /// The health of a drive.
    ShowHealth {
        /// The drive.
        device: SafeText,
    },
    /// The messages of the kernel.
    ShowKernelLog,
    /// The single requests of a device.
    TraceRequests {
        /// The device.
        device: SafeText,
    },
    /// What uses memory.
    ShowMemoryUsers,
    /// What uses the processors.
    ShowProcessorUsers,
    /// An unmount of a file system whose server does not answer.
    LazyUnmount {
        /// Where it is mounted.
        mount_point: SafeText,
        /// The mount; `None` where another one there could not be told from it: then no command names it.
        mount: Option<AwaitedMount>,
    },
    /// Such an unmount, which detaches other file systems as well.
    UnmountWithSubmounts {
        /// Where it is mounted.
        mount_point: SafeText,
        /// Where the others are mounted, below it.
        submounts: Vec<SafeText>,
    },
    /// An unmount of what is mounted over such a file system, before its own: a command with its mount
    /// point would unmount the upper one.
    UnmountUpperFirst {
        /// Where it is mounted.
        mount_point: SafeText,
    },
    /// An unmount of the file system whose server does not answer, where it is not certain which one that
    /// is: a command would end the requests of another one.
    UnmountUnanswering,
    /// Fewer flushes: transactions combined.
    GroupCommits,
    /// A copy of a file that lies in one piece.
    Defragment {
        /// The file.
        path: SafeText,
        /// The program of its file system that does it in place, where it has one.
        program: Option<&'static str>,
    },
    /// More requests in flight.
    MoreParallelRequests,
    /// A command that comes with the finding.
    Command {
        /// The command line, quoted for a shell.
        line: SafeText,
    },
}

impl Remedy {
    /// Whether it acts on one process by its number, which another process has later.
    #[must_use]
    pub fn acts_on_process(&self) -> bool {
        matches!(self, Self::IdleClass { .. } | Self::Pause { .. })
    }
}
