//! The view of one sample: what the Live screen draws and `watch` prints.
//!
//! Whatever is not known is `None`, null in JSON, "n/a" on the screen: a first sample, a counter
//! that went backwards, a missing permission. Never 0.

use std::time::Duration;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::drive::{BlockDevice, MountedFileSystem};
use crate::probe::sample::ProbeNotice;
use crate::safe_text::SafeText;

mod transfer;

pub use self::transfer::{Bottleneck, Throttle, TransferState, TransferView};

/// Everything that is known of one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was taken, RFC 3339.
    pub time: SafeText,
    /// Time since the sample before; `None` for the first.
    #[serde(rename = "interval_ns", with = "nanoseconds", default)]
    pub interval: Option<Duration>,
    /// The machine.
    pub host: HostView,
    /// Block devices that have a medium, in the kernel's order.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    pub devices: Vec<DeviceView>,
    /// Processes that moved something in the interval, waited for I/O or hang in it, the busiest
    /// first; all of them where that is asked for.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 100_000>")]
    pub processes: Vec<ProcessView>,
    /// How many processes there are in all.
    pub process_count: usize,
    /// Large files that some process moves through, the largest remainder first.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    pub transfers: Vec<TransferView>,
    /// Files that grow, the fastest first.
    #[serde(default)]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    pub growing_files: Vec<GrowingFile>,
    /// What could not be read and why, each said once, such as a missing permission.
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 1_000>")]
    pub notices: Vec<SafeText>,
    /// Facts about the block devices; not part of the stream, as they hardly change.
    #[serde(skip)]
    pub drives: Arc<[BlockDevice]>,
    /// File systems on block devices.
    #[serde(skip)]
    pub file_systems: Arc<[MountedFileSystem]>,
}

/// Whether a notice says that nobody counts how long processes wait for I/O, which root can mend.
#[must_use]
pub fn is_delay_accounting_notice(notice: &str) -> bool {
    notice == ProbeNotice::DelayAccountingOff.message()
}

/// Whether a notice says that other users' processes do not tell what they do.
#[must_use]
pub fn is_other_users_notice(notice: &str) -> bool {
    notice == ProbeNotice::OthersIoNotPermitted.message()
}

/// The machine as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostView {
    /// Host name.
    pub name: Option<SafeText>,
    /// Kernel release.
    pub kernel: Option<SafeText>,
    /// Time since boot.
    #[serde(rename = "uptime_ns", with = "nanoseconds", default)]
    pub uptime: Option<Duration>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load_averages: Option<[f64; 3]>,
    /// Fraction of processor time (0 to 1, all processors together) in which one was busy. Includes
    /// what the kernel's own threads do on behalf of others.
    pub cpu_busy: Option<f64>,
    /// Fraction of processor time (0 to 1) in which one was idle while I/O was outstanding.
    pub cpu_iowait: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which at least one task waited for I/O.
    pub pressure_some: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which all tasks waited for I/O.
    pub pressure_full: Option<f64>,
    /// Memory that the kernel can use.
    pub memory_bytes: Option<u64>,
    /// Bytes of files and devices in the page cache.
    pub cached_bytes: Option<u64>,
    /// Bytes written by programs and not yet on their way to a disk.
    pub dirty_bytes: Option<u64>,
    /// Bytes on their way to a disk.
    pub writeback_bytes: Option<u64>,
    /// How long until what is dirty is on disk at the present rate of writing; `None` when
    /// nothing is dirty or no rate is known.
    #[serde(rename = "drain_ns", with = "nanoseconds", default)]
    pub time_to_flush: Option<Duration>,
    /// From so many bytes dirty and written back on the kernel writes back in the background.
    pub background_threshold_bytes: Option<u64>,
    /// From so many bytes dirty and written back on writers are made to wait.
    pub throttle_threshold_bytes: Option<u64>,
    /// How long until writers are made to wait, if dirty memory goes on growing as it does; 0 when
    /// they are already, `None` while it does not grow.
    #[serde(rename = "throttle_ns", with = "nanoseconds", default)]
    pub time_to_throttle: Option<Duration>,
    /// Fraction of the bytes, 0 to 1, that all processes read and that no device had to deliver;
    /// `None` while none reads.
    pub cache_hit_fraction: Option<f64>,
}

/// One block device over the interval (iostat -x, sysstat's iostat.c).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceView {
    /// Kernel's name.
    pub name: SafeText,
    /// What to call it: model and size belong in the heading.
    pub label: SafeText,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// Whether it is a part of, or lies on, another device; the name of that device.
    pub parent: Option<SafeText>,
    /// The devices that it is a part of or lies on.
    #[serde(default)]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 1_000>")]
    pub underlying: Vec<SafeText>,
    /// Where its file system is mounted.
    pub mount_point: Option<SafeText>,
    /// Whether it serves one request at a time as far as is known, so that busy is saturation.
    pub serves_serially: bool,
    /// Reads completed per second.
    pub read_ios_per_s: Option<f64>,
    /// Writes completed per second.
    pub write_ios_per_s: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// Mean time from the queue to completion of reads; `None` when none completed.
    pub read_await_ns: Option<f64>,
    /// Mean time from the queue to completion of writes; `None` when none completed.
    pub write_await_ns: Option<f64>,
    /// Requests in flight at the moment of the sample.
    pub in_flight: Option<u64>,
    /// Requests in flight, mean over the interval.
    pub queue_size: Option<f64>,
    /// Mean size of the requests in bytes; `None` when none completed.
    pub request_bytes: Option<f64>,
    /// Fraction of the interval in which something was in flight; may exceed 1 (io_ticks is sampled
    /// since kernel 5.0). Not saturation on anything that serves requests in parallel.
    pub busy: Option<f64>,
    /// Mean size of the reads in bytes; `None` when none completed.
    pub read_request_bytes: Option<f64>,
    /// Mean size of the writes in bytes; `None` when none completed.
    pub write_request_bytes: Option<f64>,
    /// Fraction of the reads, 0 to 1, that were merged into another request before they were
    /// issued.
    pub read_merged_fraction: Option<f64>,
    /// Fraction of the writes, 0 to 1, that were merged into another request before they were
    /// issued.
    pub write_merged_fraction: Option<f64>,
    /// Discards completed per second; `None` before kernel 4.18.
    pub discard_ios_per_s: Option<f64>,
    /// Bytes discarded per second; `None` before kernel 4.18.
    pub discard_bytes_per_s: Option<f64>,
    /// Mean time from the queue to completion of discards; `None` when none completed.
    pub discard_await_ns: Option<f64>,
    /// Fraction of the discards, 0 to 1, that were merged into another request.
    pub discard_merged_fraction: Option<f64>,
    /// Flushes of the drive's cache completed per second; `None` before kernel 5.5. The kernel
    /// does not keep them for partitions.
    pub flush_ios_per_s: Option<f64>,
    /// Mean time of the flushes; `None` when none completed.
    pub flush_await_ns: Option<f64>,
}

/// One process over the interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessView {
    /// Process id.
    pub pid: u32,
    /// When it began, in ticks since boot: with the process id it is unique.
    #[serde(skip)]
    pub start_ticks: u64,
    /// Thread id: the same as `pid` where processes are shown whole.
    pub tid: u32,
    /// Owner's name, or number where it has none.
    pub user: Option<SafeText>,
    /// Command line, made harmless to print.
    pub command: SafeText,
    /// Bytes fetched from devices per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes sent to devices per second, cancelled ones taken off.
    pub write_bytes_per_s: Option<f64>,
    /// Bytes asked for by system calls per second.
    pub rchar_bytes_per_s: Option<f64>,
    /// Bytes handed over by system calls per second.
    pub wchar_bytes_per_s: Option<f64>,
    /// Fraction of the interval spent waiting for block I/O, 0 to 1.
    pub io_wait: Option<f64>,
    /// Kernel's one-letter state. Of a process that moves nothing it may be a few seconds old.
    pub state: Option<char>,
    /// Process id of its parent.
    pub parent_pid: u32,
    /// Fraction of the bytes that it read, 0 to 1, that came from the page cache.
    pub cache_fraction: Option<f64>,
    /// Bytes fetched from devices since it began.
    pub read_total_bytes: Option<u64>,
    /// Bytes sent to devices since it began, cancelled ones taken off.
    pub write_total_bytes: Option<u64>,
    /// Bytes fetched from devices since it was seen first.
    pub read_accumulated_bytes: Option<u64>,
    /// Bytes sent to devices since it was seen first, cancelled ones taken off.
    pub write_accumulated_bytes: Option<u64>,
    /// Fraction of the interval, 0 to 1, spent waiting for memory to be swapped in.
    pub swap_in: Option<f64>,
    /// How many threads it has; `None` until it was looked at.
    pub threads: Option<u32>,
    /// I/O class and level: `be/4`, `rt/0`, `idle`; `-` where none was set.
    pub priority: Option<SafeText>,
    /// Function of the kernel that it waits in.
    pub wait_channel: Option<SafeText>,
    /// Devices that it works on, as far as its open files tell: those whose files moved first.
    #[serde(default)]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 1_000>")]
    pub devices: Vec<SafeText>,
}

/// A file that some process makes longer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GrowingFile {
    /// The file.
    pub path: SafeText,
    /// Process id of who has it open for writing.
    pub pid: u32,
    /// Name of that program.
    pub command: SafeText,
    /// Its length.
    pub size_bytes: u64,
    /// By how much it grows.
    pub growth_bytes_per_s: f64,
}

/// Durations as whole nanoseconds.
mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => {
                serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
            }
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}
