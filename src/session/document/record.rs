//! Records of a run's target, engine, kernel counters, CPU time and error.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latency::LatencyByDirection;
use crate::files::safe_text::SafeText;

/// The error that stopped a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RunError {
    /// What went wrong and on what, in one sentence.
    pub message: SafeText,
    /// What to do about it.
    pub advice: SafeText,
}

/// The target of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TargetRecord {
    /// Path, as the user specified it.
    pub path: SafeText,
    /// `block-device`, `file`, `scratch` or `simulated`.
    pub kind: SafeText,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Logical block size in bytes: the smallest request that the kernel accepts.
    pub logical_block_bytes: u32,
    /// Physical block size in bytes: the smallest request that the medium executes without
    /// read-modify-write.
    pub physical_block_bytes: u32,
    /// The block device with the kernel's counters, such as `nvme0n1`: the target itself, or the
    /// device that holds its file system.
    pub device: Option<SafeText>,
    /// Model, as the drive reports it.
    pub model: Option<SafeText>,
    /// Serial number, as the drive reports it.
    pub serial: Option<SafeText>,
    /// Firmware revision, as the drive reports it.
    pub firmware: Option<SafeText>,
    /// Transport, such as `nvme`, `sata`, `usb`, `virtio`, `loop`.
    pub transport: Option<SafeText>,
    /// The kernel's `rotational` flag.
    pub rotational: Option<bool>,
    /// File system of a target that is a file or directory.
    pub file_system: Option<SafeText>,
}

impl TargetRecord {
    /// The `kind` of a block device.
    pub const BLOCK_DEVICE: &str = "block-device";
    /// The `kind` of a simulated drive.
    pub const SIMULATED: &str = "simulated";

    /// Whether the target is a block device itself; unlike a file system, it writes nothing by itself.
    #[must_use]
    pub fn is_block_device(&self) -> bool {
        self.kind == *Self::BLOCK_DEVICE
    }
}

/// The engine that executed the requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct EngineRecord {
    /// `uring`, `pread` or `simulated`.
    pub name: SafeText,
    /// Features in use, such as `registered-buffers`.
    pub features: Vec<SafeText>,
    /// Why this engine was chosen, if there was a specific reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SafeText>,
}

/// A block device's counters over a run, from /proc/diskstats (kernel
/// Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct KernelCounts {
    /// Name of the device, such as `sda`.
    pub device: SafeText,
    /// Reads completed.
    pub reads: u64,
    /// Reads merged with an adjacent request.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time of all reads in nanoseconds, summed over requests.
    pub read_ns: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged with an adjacent request.
    pub writes_merged: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time of all writes in nanoseconds, summed over requests.
    pub write_ns: u64,
    /// Discards completed; null before kernel 4.18.
    pub discards: Option<u64>,
    /// Flushes completed; null before kernel 5.5.
    pub flushes: Option<u64>,
    /// Time with at least one request in flight, in nanoseconds.
    pub busy_ns: u64,
    /// Number of requests in flight integrated over time, in nanoseconds.
    pub weighted_ns: u64,
    /// Time over which these were counted, in nanoseconds: more than the measured part of the run, with
    /// its preparation; null where it was not recorded.
    #[serde(default)]
    pub counted_ns: Option<u64>,
}

/// Time of the run's own requests in the block layer (Q2D) and in the drive (D2C), from the block
/// layer's trace events. Later writeback by kernel threads is not included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StageBreakdown {
    /// Name of the device, such as `sda`.
    pub device: SafeText,
    /// Number of traced requests: all, or a sample of time spans if there are many.
    pub requests: u64,
    /// Number of events that the kernel lost; if not 0, some requests are missing.
    pub lost_events: u64,
    /// Time from the entry into the block layer to the issue to the driver (Q2D): splitting,
    /// merging and the scheduler's queue.
    pub q2d: LatencyByDirection,
    /// Time in the driver and the drive (D2C).
    pub d2c: LatencyByDirection,
}

/// CPU time of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RunCpuTime {
    /// User time of the worker threads in nanoseconds.
    pub user_ns: u64,
    /// System time of the worker threads in nanoseconds.
    pub system_ns: u64,
    /// Busy time of all CPUs in nanoseconds, the kernel's own workers included.
    pub machine_busy_ns: Option<u64>,
}
