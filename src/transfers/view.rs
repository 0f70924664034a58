//! What is shown of a transfer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;
use crate::probe::operations::operation::{OperationKind, WorkUnit};
use crate::probe::sample::PagesUnknown;
use crate::units::nanoseconds;

/// Progress of a process through a file, or through all files that its arguments name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferView {
    /// Process id; `None` for an operation that the kernel performs alone.
    pub pid: Option<u32>,
    /// What it does.
    #[serde(default)]
    pub kind: TransferKind,
    /// Name of the program, or of the device of an operation that the kernel performs alone.
    pub command: SafeText,
    /// File that is read, or device that is worked on, where known.
    pub source: Option<SafeText>,
    /// File that is written, where known.
    pub destination: Option<SafeText>,
    /// Bytes done.
    pub position_bytes: Option<u64>,
    /// Total bytes.
    pub size_bytes: Option<u64>,
    /// Smoothed rate.
    pub rate_bytes_per_s: Option<f64>,
    /// Rate in the last interval.
    #[serde(default)]
    pub interval_rate_bytes_per_s: Option<f64>,
    /// Estimated time left.
    #[serde(rename = "eta_ns", with = "nanoseconds", default)]
    pub eta: Option<Duration>,
    /// Time left at the best of the recent rates.
    #[serde(rename = "eta_low_ns", with = "nanoseconds", default)]
    pub eta_low: Option<Duration>,
    /// Time left at the worst of the recent rates.
    #[serde(rename = "eta_high_ns", with = "nanoseconds", default)]
    pub eta_high: Option<Duration>,
    /// State of the transfer.
    pub state: TransferState,
    /// Files that are copied completely, in a job of several files; `None` if unknown.
    pub files_done: Option<u64>,
    /// Files to copy, in a job of several files, as far as they are counted.
    pub files_total: Option<u64>,
    /// Progress of what is not counted in bytes.
    #[serde(default)]
    pub work: Option<WorkProgress>,
    /// Bytes of its destination that are in memory only. Unless `not_on_disk_exact`, an upper limit:
    /// at most what it has written, and at most all bytes dirty or under writeback.
    #[serde(alias = "unwritten_bytes")]
    pub not_on_disk_bytes: Option<u64>,
    /// Whether `not_on_disk_bytes` are the file's own pages, as cachestat(2) reports them.
    #[serde(default)]
    pub not_on_disk_exact: bool,
    /// Why they are not known exactly.
    #[serde(default)]
    pub not_on_disk_unknown: Option<PagesUnknown>,
    /// Time within which these are flushed, as for its destination device.
    #[serde(rename = "drain_ns", with = "nanoseconds", default)]
    pub time_to_flush: Option<Duration>,
    /// What limits it.
    #[serde(rename = "waits_for")]
    pub bottleneck: Option<Bottleneck>,
    /// What the bottleneck is derived from.
    #[serde(default)]
    pub bottleneck_reason: Option<BottleneckReason>,
    /// Why it is slower than its devices.
    #[serde(rename = "throttled")]
    pub throttle: Option<Throttle>,
}

/// Identifies a transfer from snapshot to snapshot: its process, what it does, whether it is a job, and
/// its file or device.
pub type TransferKey = (Option<u32>, TransferKind, bool, SafeText);

impl TransferView {
    /// The key of this transfer: its process with its source, or with its destination where it has
    /// no source.
    #[must_use]
    pub fn key(&self) -> TransferKey {
        let file = self.source.as_ref().or(self.destination.as_ref());
        let file = file.unwrap_or(&self.command).clone();
        (self.pid, self.kind, self.files_total.is_some(), file)
    }

    /// The completed fraction, 0 to 1; `None` without a position or a size.
    #[must_use]
    pub fn progress_fraction(&self) -> Option<f64> {
        let (position, size) = match self.work {
            Some(work) => (work.done, work.total),
            None => (self.position_bytes?, self.size_bytes?),
        };
        (size > 0).then(|| (position as f64 / size as f64).min(1.0))
    }
}

/// What a transfer does.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum TransferKind {
    /// Files are copied.
    #[default]
    Copy,
    /// A file is read.
    Read,
    /// A file is written whose source is unknown.
    Write,
    /// The checksum of a file is computed.
    Checksum,
    /// An archive or a package is written or read.
    Archive,
    /// A file is compressed or decompressed.
    Compress,
    /// A file system is checked.
    Fsck,
    /// An operation that is no copy of files.
    #[serde(untagged)]
    Operation(OperationKind),
}

/// Progress in units other than bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkProgress {
    /// Units done.
    pub done: u64,
    /// All units.
    pub total: u64,
    /// The unit.
    pub unit: WorkUnit,
}

/// The bottleneck of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// The device that it reads.
    Source,
    /// The device that it writes.
    Destination,
    /// One device for both source and destination.
    #[serde(rename = "both")]
    SameDisk,
    /// No device: the program computes, or waits for something else.
    #[serde(rename = "program")]
    NotDiskBound,
}

/// What a bottleneck is derived from: values of the last seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BottleneckReason {
    /// A device is busy, or the process waits for it.
    Device {
        /// Kernel's name of the device.
        device: SafeText,
        /// Which of its requests.
        operation: TransferOperation,
        /// Mean time from allocation to completion of these requests; `None` when none completed.
        await_ns: Option<f64>,
        /// Fraction of the time with at least one request in flight.
        busy: Option<f64>,
    },
    /// The kernel makes the writer wait: the limit of dirty memory is reached.
    DirtyLimit {
        /// Device that the dirty memory is written to, where known.
        device: Option<SafeText>,
    },
    /// Its rate is at the limit of its control group for a device.
    ControlGroup {
        /// Kernel's name of the device.
        device: SafeText,
    },
    /// The process uses this fraction of one processor.
    Processor {
        /// Fraction, 0 to 1; above 1 with several threads.
        fraction: f64,
    },
    /// The reader waits for the next program of its pipeline, and the writer for the previous one.
    Pipeline,
    /// The process waits for block I/O in this small fraction of the time.
    HardlyWaits {
        /// Fraction, 0 to 1.
        fraction: f64,
    },
}

/// What a transfer does with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferOperation {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// What throttles a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttle {
    /// The kernel: the limit of dirty memory is reached.
    DirtyMemory,
    /// A limit of its control group for one of the devices (`io.max`, `blkio.throttle`).
    ControlGroup,
    /// Its own arguments, such as `--bwlimit` of rsync or `-L` of pv.
    OwnLimit,
}

/// State of a transfer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferState {
    /// The position advances.
    #[default]
    Moving,
    /// The position has not advanced for a while.
    Stalled,
    /// Bytes are transferred, but the kernel reports no position.
    #[serde(rename = "no-position")]
    UnknownPosition,
    /// The file was closed, and everything had been transferred.
    Finished,
    /// The file was closed before the end: the position is the last one.
    Ended,
    /// The file was closed. How far it came afterwards is unknown: the position is the last one that
    /// was seen.
    Closed,
}

impl TransferState {
    /// Whether the file is closed.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Ended | Self::Closed)
    }
}
