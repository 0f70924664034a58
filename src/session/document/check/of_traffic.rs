//! Evidence of the checks on traffic: the kernel's counters and the data on the medium.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;
use crate::session::document::evidence::OtherUser;

/// Reads that did not reach the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CacheHits {
    /// Bytes that the benchmark read, without holes of the file.
    pub issued_bytes: u64,
    /// Number of reads.
    pub reads: u64,
    /// Bytes read from the device.
    pub device_bytes: u64,
    /// Name of the device.
    pub device: SafeText,
}

/// Writes that did not reach the device before the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UnflushedWrites {
    /// Bytes that the benchmark wrote.
    pub issued_bytes: u64,
    /// Bytes written to the device.
    pub device_bytes: u64,
    /// Name of the device.
    pub device: SafeText,
}

/// Traffic of other processes on the drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CompetingTraffic {
    /// Bytes that the benchmark read and wrote.
    pub issued_bytes: u64,
    /// Name of the device.
    pub device: SafeText,
    /// Bytes read by others.
    pub read_bytes: u64,
    /// Bytes written by others.
    pub written_bytes: u64,
    /// The largest other users, if any are known.
    pub users: Vec<OtherUser>,
}

/// A target without a block device of its own that the kernel counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct UncountedTarget {
    /// The target.
    pub target: SafeText,
    /// Its file system, if known.
    pub file_system: Option<SafeText>,
}

/// Traffic above and below a page cache that lies below the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CachedLayer {
    /// Bytes that the benchmark read and wrote.
    pub issued_bytes: u64,
    /// The device that holds the backing file.
    pub underlying_device: SafeText,
    /// Bytes read and written on that device.
    pub underlying_bytes: u64,
}

/// Requests that the kernel split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SplitRequests {
    /// Requests that the benchmark issued.
    pub issued_requests: u64,
    /// Requests that the device completed.
    pub device_requests: u64,
    /// Bytes of those requests.
    pub device_bytes: u64,
    /// Name of the device.
    pub device: SafeText,
}

/// Requests that the kernel merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MergedRequests {
    /// Requests that the benchmark issued.
    pub issued_requests: u64,
    /// Number of them that were merged with an adjacent one.
    pub merged_requests: u64,
    /// Name of the device.
    pub device: SafeText,
}

/// Parts of a file without data on the medium, within the window of the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MissingExtents {
    /// The file: the target, or the backing file of a loop device.
    pub file: SafeText,
    /// Size of the window in bytes.
    pub bytes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Bytes that are allocated but were never written.
    pub unwritten_bytes: u64,
}

/// Data that was written with another pattern than random data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WrittenPattern {
    /// Value of `--data`.
    pub data: SafeText,
    /// Bytes written.
    pub written_bytes: u64,
}
