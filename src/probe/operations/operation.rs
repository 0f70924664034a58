//! An operation with an end, as it was read.

use serde::{Deserialize, Serialize};

/// Bytes of a sector in sysfs and of the counters of devices.
pub(super) const SECTOR: u64 = 512;

/// An operation that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationSample {
    /// What it does.
    pub kind: OperationKind,
    /// The device, file or mount point that it works on.
    pub subject: Vec<u8>,
    /// Process that performs it or waits for it; `None` where the kernel does it alone.
    pub pid: Option<u32>,
    /// Device that it works on, where there is one.
    pub device: Option<(u32, u32)>,
    /// How far it is.
    pub progress: OperationProgress,
    /// Rate that it is limited to, bytes per second.
    pub limit_bytes_per_s: Option<u64>,
}

impl OperationSample {
    pub(super) fn new(kind: OperationKind, subject: &[u8], progress: OperationProgress) -> Self {
        Self {
            kind,
            subject: subject.to_vec(),
            pid: None,
            device: None,
            progress,
            limit_bytes_per_s: None,
        }
    }
}

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// The members of an array are made equal.
    Resync,
    /// A member of an array is rebuilt.
    Rebuild,
    /// The members of an array are compared.
    Check,
    /// The members of an array are compared and corrected.
    Repair,
    /// The layout of an array is changed.
    Reshape,
    /// All data of a file system are read and their checksums verified.
    Scrub,
    /// The chunks of a file system are rewritten.
    Balance,
    /// A logical volume is moved.
    Pvmove,
    /// Unused space is discarded.
    Discard,
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationProgress {
    /// So many of so many units.
    Done {
        /// Units done.
        done: u64,
        /// All units.
        total: u64,
        /// What is counted.
        unit: WorkUnit,
    },
    /// A counter of bytes that began before the operation.
    Counter {
        /// Its value.
        bytes: u64,
        /// Bytes that it advances at most, where known.
        at_most: Option<u64>,
    },
    /// It waits for another operation.
    Waiting,
}

impl OperationProgress {
    /// So many of so many bytes.
    pub(super) fn bytes(done: u64, total: u64) -> Self {
        let unit = WorkUnit::Bytes;
        Self::Done { done, total, unit }
    }
}

/// Unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkUnit {
    /// Bytes.
    Bytes,
    /// Chunks of a btrfs file system.
    Chunks,
}
