//! What a scan of the tasks finds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

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
