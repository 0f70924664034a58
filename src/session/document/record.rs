//! What a run was made with and what stopped it: target, engine, kernel's counts, time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LatencyByDirection;
use crate::safe_text::SafeText;

/// What stopped a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    /// One sentence: what went wrong, on what.
    pub message: SafeText,
    /// What to do about it.
    pub advice: SafeText,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// As it was named.
    pub path: SafeText,
    /// `block-device`, `file`, `scratch` or `simulated`.
    pub kind: SafeText,
    /// Its size.
    pub size_bytes: u64,
    /// Smallest request the kernel takes for it.
    pub logical_block_bytes: u32,
    /// Smallest request that the medium does without read-modify-write.
    pub physical_block_bytes: u32,
    /// The block device that the kernel keeps counts for, such as `nvme0n1`: the target itself,
    /// or what its file system lies on.
    pub device: Option<SafeText>,
    /// Model, as the drive says.
    pub model: Option<SafeText>,
    /// Serial number, as the drive says.
    pub serial: Option<SafeText>,
    /// Firmware revision.
    pub firmware: Option<SafeText>,
    /// Transport, such as `nvme`, `sata`, `usb`, `virtio`, `loop`.
    pub transport: Option<SafeText>,
    /// What the kernel's `rotational` flag claims.
    pub rotational: Option<bool>,
    /// File system that a file or directory lies on.
    pub file_system: Option<SafeText>,
}

/// What executed the requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineRecord {
    /// `uring`, `pread` or `simulated`.
    pub name: SafeText,
    /// What it made use of, such as `registered-buffers`.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 1_000>")]
    pub features: Vec<SafeText>,
    /// Why this engine and no other, where there was a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SafeText>,
}

/// A block device's own counts over a run, from /proc/diskstats
/// (kernel Documentation/admin-guide/iostats.rst).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCounts {
    /// Name of the device, such as `sda`.
    pub device: SafeText,
    /// Reads completed.
    pub reads: u64,
    /// Reads that were merged with another.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time spent by reads, summed over requests.
    pub read_ns: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes that were merged with another.
    pub writes_merged: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time spent by writes, summed over requests.
    pub write_ns: u64,
    /// Discards completed; null before kernel 4.18.
    pub discards: Option<u64>,
    /// Flushes completed; null before kernel 5.5.
    pub flushes: Option<u64>,
    /// Time during which something was in flight.
    pub busy_ns: u64,
    /// Requests in flight, integrated over time.
    pub weighted_ns: u64,
}

/// Where the time of the run's own requests went: in the kernel's queue or in the drive, from the
/// block layer's trace events. What a thread of the kernel writes back later is not in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageBreakdown {
    /// Name of the device, such as `sda`.
    pub device: SafeText,
    /// Requests that were followed: all, or where they are many a sample of spans of time.
    pub requests: u64,
    /// Events that the kernel lost: where there are any, some requests are missing.
    #[serde(rename = "lost")]
    pub lost_events: u64,
    /// From the block layer's entrance until they were given to the driver (Q2D): splitting,
    /// merging, waiting in the scheduler's queue.
    #[serde(rename = "queue")]
    pub q2d: LatencyByDirection,
    /// In the driver and the drive (D2C).
    #[serde(rename = "drive")]
    pub d2c: LatencyByDirection,
}

/// Processor time of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCpuTime {
    /// Of the threads that sent the requests, in user mode.
    pub user_ns: u64,
    /// Of the threads that sent the requests, in the kernel.
    pub system_ns: u64,
    /// Of the whole machine, all processors: what the kernel's own workers did is in it.
    pub machine_busy_ns: Option<u64>,
}
