//! Evidence of the checks on the setup: how the drive is attached and configured, and the CPUs.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

/// A property of the target, as the drive's identification describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TargetProperty {
    /// Path or name of the target.
    pub target: SafeText,
    /// The property, such as `its file system is tmpfs`.
    pub property: SafeText,
}

/// The cache mode of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CacheUse {
    /// Value of `--cache`.
    pub cache: SafeText,
}

/// A loop device that uses the page cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LoopLayer {
    /// The backing file, if known.
    pub backing_file: Option<SafeText>,
    /// Traffic above and below the page cache, if counted.
    pub traffic: Option<LoopTraffic>,
}

/// Bytes read and written on a loop device and on the device that holds its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LoopTraffic {
    /// The loop device.
    pub device: SafeText,
    /// Bytes on the loop device.
    pub device_bytes: u64,
    /// The device that holds its file.
    pub underlying_device: SafeText,
    /// Bytes on that device.
    pub underlying_bytes: u64,
}

/// Why the memory of the host probably answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "sign", rename_all = "kebab-case")]
pub enum HostCache {
    /// The device answers much faster than it ever did.
    FastReads {
        /// Mean latency of the reads at the device during the run, in nanoseconds.
        device_ns: f64,
        /// Mean time per request of the same device before the run, in nanoseconds.
        earlier_ns: f64,
        /// Number of those earlier requests.
        earlier_requests: u64,
    },
    /// The virtual disk has a write-back cache, and the writes are not synchronous.
    WriteBack,
}

/// A partition that does not start on a physical block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Misalignment {
    /// The partition.
    pub device: SafeText,
    /// Size of a physical block in bytes.
    pub physical_block_bytes: u32,
}

/// A request size or alignment that is no multiple of the physical block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SubBlockRequest {
    /// Name of the parameter, such as `block-size`.
    pub parameter: SafeText,
    /// Its value in bytes.
    pub bytes: u64,
    /// Size of a physical block in bytes.
    pub physical_block_bytes: u64,
}

/// A queue deeper than that of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct QueueOverflow {
    /// Requests kept in flight.
    pub requested_depth: u64,
    /// Requests that the drive accepts at once.
    pub device_depth: u64,
}

/// Throughput compared with the maximum of the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LinkUsage {
    /// Highest throughput in bytes per second.
    pub throughput: f64,
    /// Maximum of the link in bytes per second.
    pub link_max: f64,
    /// The link, such as `SATA 6.0 Gbps`, if known.
    pub link: Option<SafeText>,
}

/// CPU time of the worker threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WorkerUtilization {
    /// CPU utilization of each worker thread in the busiest phase, 0 to 1.
    pub utilization: f64,
    /// Number of worker threads.
    pub workers: u32,
}

/// Utilization of all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CpuUtilization {
    /// Utilization of all CPUs over the run, 0 to 1.
    pub utilization: f64,
    /// Number of CPUs.
    pub cpus: u32,
}
