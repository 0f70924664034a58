//! Transfers of a view.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::nanoseconds;
use crate::safe_text::SafeText;

/// Progress of a process through a file, or through all files that its arguments name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferView {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub command: SafeText,
    /// File that is read, where known.
    pub source: Option<SafeText>,
    /// File that is written, where known.
    pub destination: Option<SafeText>,
    /// Bytes done.
    pub position_bytes: Option<u64>,
    /// Total bytes.
    pub size_bytes: Option<u64>,
    /// Smoothed rate.
    pub rate_bytes_per_s: Option<f64>,
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
    /// Bytes of it that may be in memory only: at most what it has written, and at most all bytes
    /// dirty or under writeback.
    #[serde(rename = "unwritten_bytes")]
    pub not_on_disk_bytes: Option<u64>,
    /// What limits it.
    #[serde(rename = "waits_for")]
    pub bottleneck: Option<Bottleneck>,
    /// Why it is slower than its devices.
    #[serde(rename = "throttled")]
    pub throttle: Option<Throttle>,
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
    /// The process closed the file or ended.
    Finished,
}
