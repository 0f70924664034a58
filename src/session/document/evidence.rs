//! Evidence collected during a run: the input of the validity checks.
//!
//! Every field is optional: what the kernel does not report, or not to this user, is absent.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::KernelCounts;
use crate::files::safe_text::SafeText;

/// Evidence collected during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RunEvidence {
    /// Requests and bytes that the benchmark issued, ramp time included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued: Option<DirectionCounts>,
    /// Bytes that this program submitted to the block layer, from /proc/self/io.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_to_block_layer: Option<SubmittedBytes>,
    /// The devices below the one that the target is or lies on, from top to bottom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub underlying: Vec<LayerCounts>,
    /// Other processes that used the drive, the largest user first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_users: Vec<OtherUser>,
    /// CPU utilization during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorLoad>,
    /// How the processors idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_idle: Option<ProcessorIdle>,
    /// Temperature of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<DriveTemperature>,
    /// How much of the file has data on the medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<FileAllocation>,
    /// Contents of sampled blocks of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_sample: Option<BlockSample>,
    /// Size in bytes of the part of the target that the benchmark uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// How the drive is attached and configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_setup: Option<DriveSetup>,
    /// Times at which this program did not run; absent if it always ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseEvidence>,
    /// Times without a completion although requests were in flight; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallEvidence>,
    /// What the lowest device did before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_history: Option<DeviceHistory>,
}

/// Times in which requests were in flight and none completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StallEvidence {
    /// Number of such times.
    pub count: u64,
    /// Total length in nanoseconds.
    pub total_ns: u64,
    /// Length of the longest in nanoseconds.
    pub longest_ns: u64,
    /// Start of the longest since the start of the run, in nanoseconds.
    pub longest_start_ns: u64,
}

/// Counters of a device from the start of the machine to the start of the run, from /proc/diskstats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeviceHistory {
    /// Name of the device.
    pub device: SafeText,
    /// Requests completed.
    pub requests: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Time with at least one request in flight, in nanoseconds.
    pub busy_ns: u64,
}

/// Times at which this program was stopped or the machine was suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PauseEvidence {
    /// Number of pauses.
    pub count: u64,
    /// Total length of the pauses in nanoseconds.
    pub total_ns: u64,
    /// Length of the longest pause in nanoseconds.
    pub longest_ns: u64,
    /// Time during which the machine was suspended, in nanoseconds. Not part of the values above,
    /// because the measurement's clock stops during suspend.
    pub suspended_ns: u64,
}

/// Requests and bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DirectionCounts {
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Bytes that a process submitted to the block layer (kernel Documentation/filesystems/proc.rst,
/// `/proc/PID/io`); a buffered write counts when its page becomes dirty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SubmittedBytes {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// A device below another, and its counters over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LayerCounts {
    /// Relation to the device above it.
    pub relation_to_upper: LayerRelation,
    /// The device's own counters.
    #[serde(flatten)]
    pub counts: KernelCounts,
}

/// Relation of a device to the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LayerRelation {
    /// The whole disk of a partition.
    WholeDisk,
    /// A member of a RAID or a device-mapper volume.
    Member,
    /// The device that holds the backing file of a loop device.
    BackingDevice,
    /// One of several devices of the file system that the target is on (btrfs).
    FileSystem,
}

/// Another process that used drives during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OtherUser {
    /// Process id; the thread id if the process ended before its process id was read.
    pub pid: u32,
    /// Name of the process.
    pub command: SafeText,
    /// Bytes that the process read.
    pub read_bytes: u64,
    /// Bytes that the process wrote.
    pub written_bytes: u64,
    /// How the traffic was attributed to the process.
    pub attribution: Attribution,
}

/// How traffic was attributed to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// Its requests to this drive were traced individually.
    TracedRequests,
    /// It has the drive, or a file on it, open; how many of its bytes went there is unknown.
    HasOpenDescriptor,
    /// It read or wrote on some drive.
    AnyDrive,
    /// It read or wrote on some drive, or children of it that have ended did: it has waited for them, and
    /// its counters contain theirs.
    EndedChildren,
}

/// CPU utilization during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ProcessorLoad {
    /// CPU utilization per worker thread in the busiest phase, 0 to 1; null if no phase
    /// was long enough.
    pub generator_utilization: Option<f64>,
    /// Number of worker threads in that phase.
    pub busiest_workers: u32,
    /// Utilization of all CPUs over the run, by any process, 0 to 1.
    pub machine_utilization: Option<f64>,
    /// Number of CPUs of the machine.
    pub count: u32,
}

/// How the processors of the machine idle: what a wake-up costs depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ProcessorIdle {
    /// The hypervisor, which wakes an idle processor of a virtual machine.
    pub hypervisor: Option<SafeText>,
    /// The driver of the idle states; null where the kernel only halts the processor.
    pub idle_driver: Option<SafeText>,
    /// The frequency governor; null where the kernel does not set the frequency.
    pub governor: Option<SafeText>,
}

/// Temperature of the drive in degrees Celsius (kernel Documentation/hwmon/sysfs-interface.rst).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DriveTemperature {
    /// Temperature at the start.
    pub initial_celsius: f64,
    /// Highest temperature during the run.
    pub max_celsius: f64,
    /// Temperature from which the drive may throttle, as the drive reports it.
    pub throttle_celsius: Option<f64>,
}

/// How much of a file has data on the medium, within the benchmark's window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileAllocation {
    /// The file: the target, or the backing file of a loop device.
    pub file: SafeText,
    /// Size of the window in bytes.
    pub bytes: u64,
    /// Bytes in holes: not allocated on the medium.
    pub hole_bytes: u64,
    /// Bytes that are allocated but were never written: the file system returns zeros.
    pub unwritten_bytes: u64,
    /// Bytes that the file system stores compressed or encrypted.
    pub encoded_bytes: u64,
}

/// Contents of blocks sampled at random offsets before the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BlockSample {
    /// Number of sampled blocks.
    pub blocks: u32,
    /// Number of sampled blocks that hold only zeros.
    pub zero_blocks: u32,
}

/// How the drive is attached and configured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DriveSetup {
    /// Capacity in bytes of the largest device that the target is or lies on.
    #[serde(default)]
    pub capacity_bytes: Option<u64>,
    /// Write cache mode: `write back` or `write through`.
    pub write_cache: Option<SafeText>,
    /// Revolutions per minute, as the drive reports it.
    pub rotation_rate: Option<u32>,
    /// Whether the partition starts on a physical block boundary.
    pub aligned: Option<bool>,
    /// The active I/O scheduler.
    pub scheduler: Option<SafeText>,
    /// Why another scheduler would suit the drive better, if one would.
    pub scheduler_advice: Option<SafeText>,
    /// Number of requests that the drive or its link accepts at once, if known.
    pub max_queue_depth: Option<u32>,
    /// The link to the host, such as `SATA 6.0 Gbps`.
    pub link: Option<SafeText>,
    /// Maximum throughput of the link in bytes per second.
    pub link_max_bytes_per_s: Option<u64>,
    /// Backing file of a loop device, at any depth of the stack.
    pub backing_file: Option<SafeText>,
    /// Whether that loop device bypasses the page cache.
    pub direct_io: Option<bool>,
    /// Why the drive, or one below it, is considered virtual.
    pub virtual_disk: Option<SafeText>,
    /// Why the drive is considered to be backed by memory.
    pub memory_backing: Option<SafeText>,
}
