//! The view of one sample: what the Live screen draws and `watch` prints.
//!
//! Unknown values are `None`, null in JSON, "n/a" on the screen: in the first sample, when a
//! counter went backwards, without permission. They are never 0.

mod device_share;
mod fault;
mod mount;
mod nanoseconds;
mod transfer;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::drive::unplug::FlushState;
use crate::drive::{BlockDevice, DriveKind, VolumeKind};
use crate::files::safe_text::SafeText;
use crate::probe::file_systems::MountedFileSystem;
use crate::probe::sample::ProbeNotice;
use crate::probe::system::temperature::Temperatures;

pub use self::device_share::{DeviceShare, TotalRates, TracedInterval};
pub use self::fault::{BlockedTaskView, IoErrorsView};
pub use self::mount::{MountErrors, MountView, NoMountValues};
pub use self::transfer::{
    Bottleneck, BottleneckReason, Throttle, TransferKey, TransferKind, TransferOperation,
    TransferState, TransferView, WorkProgress,
};
pub use self::unit::{UnitLimit, UnitView};

/// State of the machine at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was taken, RFC 3339.
    pub time: SafeText,
    /// Time since the previous sample; `None` for the first.
    #[serde(rename = "interval_ns", with = "nanoseconds", default)]
    pub interval: Option<Duration>,
    /// The machine.
    pub host: HostView,
    /// Block devices that have a medium, in the kernel's order.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 10_000>")]
    pub devices: Vec<DeviceView>,
    /// Processes that did I/O in the interval, waited for I/O or are blocked in it, the busiest
    /// first; all processes on request.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 100_000>")]
    pub processes: Vec<ProcessView>,
    /// Total number of processes.
    pub process_count: usize,
    /// All processes, and all drives, together.
    #[serde(default)]
    pub total: TotalRates,
    /// What the requests of all devices showed; `None` unless they were traced.
    #[serde(default)]
    pub traced: Option<TracedInterval>,
    /// Transfers of large files, the largest remainder first.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 10_000>")]
    pub transfers: Vec<TransferView>,
    /// Files that grow, the fastest first.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 10_000>")]
    #[serde(rename = "growing")]
    pub growing_files: Vec<GrowingFile>,
    /// Control groups, the busiest first; `None` where they were not sampled.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::optional_bounded_list::<_, _, 20_000>")]
    pub units: Option<Vec<UnitView>>,
    /// Mounted file systems; `None` where they were not sampled.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::optional_bounded_list::<_, _, 10_000>")]
    pub mounts: Option<Vec<MountView>>,
    /// Tasks in uninterruptible sleep, the longest first; `None` where they were not sampled.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::optional_bounded_list::<_, _, 100_000>")]
    pub blocked: Option<Vec<BlockedTaskView>>,
    /// I/O errors in the interval, of the devices that had any; `None` where they were not sampled
    /// or cannot be read.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::optional_bounded_list::<_, _, 10_000>")]
    pub io_errors: Option<Vec<IoErrorsView>>,
    /// What could not be read and why, each notice once, such as a missing permission.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    pub notices: Vec<SafeText>,
    /// Facts about the block devices; not part of the stream, because they rarely change.
    #[serde(skip)]
    pub drives: Arc<[BlockDevice]>,
    /// Their temperatures; not part of the stream.
    #[serde(skip)]
    pub temperatures: Arc<Temperatures>,
    /// File systems on block devices.
    #[serde(skip)]
    pub file_systems: Arc<[MountedFileSystem]>,
}

/// Whether a notice says that delay accounting is off, which root can change.
#[must_use]
pub fn is_delay_accounting_notice(notice: &str) -> bool {
    notice == ProbeNotice::DelayAccountingOff.message()
}

/// Whether a notice says that control groups are those of version 1.
#[must_use]
pub fn is_first_version_notice(notice: &str) -> bool {
    notice == ProbeNotice::BufferedWritesUnattributed.message()
}

/// Whether a notice says that other users' processes are unreadable.
#[must_use]
pub fn is_other_users_notice(notice: &str) -> bool {
    notice == ProbeNotice::OthersIoNotPermitted.message()
}

/// Whether a notice is about control groups.
#[must_use]
pub fn is_units_notice(notice: &str) -> bool {
    let notices = [
        ProbeNotice::BufferedWritesUnattributed,
        ProbeNotice::NoControlGroupIo,
    ];
    notices.iter().any(|it| it.message() == notice)
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
    #[serde(rename = "load")]
    pub load_averages: Option<[f64; 3]>,
    /// Fraction of processor time (0 to 1, all processors together) that was busy. Includes kernel
    /// threads.
    pub cpu_busy: Option<f64>,
    /// Fraction of processor time (0 to 1) that was idle while I/O was outstanding.
    #[serde(rename = "cpu_wait")]
    pub cpu_iowait: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which at least one task waited for I/O.
    pub pressure_some: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which all tasks waited for I/O.
    pub pressure_full: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which at least one task waited for memory:
    /// reclaim, swap-in, or a file that was dropped from the page cache and is read again.
    pub memory_pressure_some: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which all tasks waited for memory.
    pub memory_pressure_full: Option<f64>,
    /// Fraction of time (0 to 1, average of 10 s) in which at least one task waited for a processor.
    pub cpu_pressure_some: Option<f64>,
    /// Bytes read from swap per second.
    pub swap_in_bytes_per_s: Option<f64>,
    /// Bytes written to swap per second.
    pub swap_out_bytes_per_s: Option<f64>,
    /// Bytes of files per second that were read again shortly after they had been dropped from the
    /// page cache.
    pub refault_bytes_per_s: Option<f64>,
    /// Allocations per second that had to reclaim memory themselves.
    pub direct_reclaims_per_s: Option<f64>,
    /// Memory that the kernel can use.
    pub memory_bytes: Option<u64>,
    /// Bytes of files and devices in the page cache, including tmpfs and shared memory.
    pub cached_bytes: Option<u64>,
    /// Bytes written by programs and not yet under writeback.
    pub dirty_bytes: Option<u64>,
    /// Bytes under writeback.
    pub writeback_bytes: Option<u64>,
    /// Time within which the memory that is dirty now is flushed, at the speed at which the devices
    /// write back; `None` when nothing is dirty or no speed is known.
    #[serde(rename = "drain_ns", with = "nanoseconds", default)]
    pub time_to_flush: Option<Duration>,
    /// Bytes dirty and under writeback above which the kernel writes back in the background.
    #[serde(rename = "background_from_bytes")]
    pub background_threshold_bytes: Option<u64>,
    /// Bytes dirty and under writeback above which writers are throttled.
    #[serde(rename = "throttled_from_bytes")]
    pub throttle_threshold_bytes: Option<u64>,
    /// Time until writers are throttled, if dirty memory keeps growing as in the last seconds; 0 when
    /// they are throttled already, `None` while it does not grow, or when it takes more than ten
    /// minutes.
    #[serde(rename = "throttle_ns", with = "nanoseconds", default)]
    pub time_to_throttle: Option<Duration>,
    /// Fraction of the bytes read by all processes, 0 to 1, that came from the page cache; `None`
    /// without reads.
    #[serde(rename = "cache_hits")]
    pub cache_hit_fraction: Option<f64>,
}

/// One block device over the interval (iostat -x, sysstat's iostat.c).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceView {
    /// Kernel's name.
    pub name: SafeText,
    /// What its users call it: the name of a volume of LVM, LUKS, multipath or mdadm, otherwise
    /// vendor and model, the backing file of a loop device, or its kind.
    pub label: SafeText,
    /// What manages it, where `label` is the name of a volume.
    pub volume: Option<VolumeKind>,
    /// Name below `/dev/disk/by-id`: the one with model and serial number, or the volume's name.
    /// `None` without udev.
    pub by_id: Option<SafeText>,
    /// Its kind; `None` where it is unknown.
    pub kind: Option<DriveKind>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// Name of the device that it is part of or on top of.
    pub parent: Option<SafeText>,
    /// Names of all devices that it is part of or on top of.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    #[serde(rename = "lies_on")]
    pub underlying: Vec<SafeText>,
    /// Where its file system is mounted.
    #[serde(rename = "mounted_at")]
    pub mount_point: Option<SafeText>,
    /// Whether it is known to serve one request at a time, so that full utilization means
    /// saturation.
    #[serde(rename = "serial")]
    pub serves_serially: bool,
    /// Reads completed per second.
    pub read_ios_per_s: Option<f64>,
    /// Writes completed per second.
    pub write_ios_per_s: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// Mean time from allocation to completion of reads; `None` when none completed.
    pub read_await_ns: Option<f64>,
    /// Mean time from allocation to completion of writes; `None` when none completed.
    pub write_await_ns: Option<f64>,
    /// Requests in flight at the time of the sample.
    pub in_flight: Option<u64>,
    /// Requests in flight, mean over the interval.
    pub queue_size: Option<f64>,
    /// Mean size of the requests in bytes; `None` when none completed.
    pub request_bytes: Option<f64>,
    /// Fraction of the interval with at least one request in flight; may exceed 1 (io_ticks is
    /// sampled since kernel 5.0). Does not indicate saturation of a device that serves requests in
    /// parallel.
    pub busy: Option<f64>,
    /// Mean size of the reads in bytes; `None` when none completed.
    pub read_request_bytes: Option<f64>,
    /// Mean size of the writes in bytes; `None` when none completed.
    pub write_request_bytes: Option<f64>,
    /// Fraction of the reads, 0 to 1, that were merged into another request before they were
    /// issued.
    #[serde(rename = "read_merged")]
    pub read_merged_fraction: Option<f64>,
    /// Fraction of the writes, 0 to 1, that were merged into another request before they were
    /// issued.
    #[serde(rename = "write_merged")]
    pub write_merged_fraction: Option<f64>,
    /// Discards completed per second; `None` before kernel 4.18.
    pub discard_ios_per_s: Option<f64>,
    /// Bytes discarded per second; `None` before kernel 4.18.
    pub discard_bytes_per_s: Option<f64>,
    /// Mean time from allocation to completion of discards; `None` when none completed.
    pub discard_await_ns: Option<f64>,
    /// Fraction of the discards, 0 to 1, that were merged into another request.
    #[serde(rename = "discard_merged")]
    pub discard_merged_fraction: Option<f64>,
    /// Flushes of the drive's cache completed per second; `None` before kernel 5.5. The kernel does
    /// not count them for partitions.
    pub flush_ios_per_s: Option<f64>,
    /// Mean time of the flushes; `None` when none completed.
    pub flush_await_ns: Option<f64>,
    /// Whether a flush was answered since the last write; `None` in older recordings.
    pub flush_state: Option<FlushState>,
    /// Bytes written by programs to it and not yet under writeback; `None` without root and debugfs,
    /// and while the machine has little dirty memory.
    pub dirty_bytes: Option<u64>,
    /// Bytes under writeback to it; `None` as `dirty_bytes`.
    pub writeback_bytes: Option<u64>,
    /// Time within which these are flushed, at the speed at which the device writes back.
    #[serde(rename = "drain_ns", with = "nanoseconds", default)]
    pub time_to_flush: Option<Duration>,
}

#[cfg(test)]
impl DeviceView {
    /// A device of this kind on top of these.
    pub(crate) fn on_top_of(name: &str, kind: DriveKind, underlying: &[&str]) -> Self {
        Self {
            name: name.into(),
            kind: Some(kind),
            parent: match underlying {
                [only] => Some((*only).into()),
                _ => None,
            },
            underlying: underlying.iter().map(|it| (*it).into()).collect(),
            ..Self::default()
        }
    }
}

impl DeviceView {
    /// The name to show: that of a volume, otherwise that of the kernel.
    #[must_use]
    pub fn display_name(&self) -> &str {
        match self.volume {
            Some(_) => &self.label,
            None => &self.name,
        }
    }

    /// Whether it is a medium of its own: not on top of another device, nor in memory. A device of
    /// which nothing is known is one.
    #[must_use]
    pub fn is_medium(&self) -> bool {
        self.parent.is_none()
            && self.underlying.is_empty()
            && matches!(self.kind, None | Some(DriveKind::Disk | DriveKind::Optical))
    }
}

/// One process over the interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessView {
    /// Process id.
    pub pid: u32,
    /// Start time in ticks since boot: unique together with the process id.
    #[serde(skip)]
    pub start_ticks: u64,
    /// Thread id; equal to `pid` in lines of whole processes, 0 in those of ended children.
    pub tid: u32,
    /// Whether the line is of what has ended: with `tid` 0 what the children of the process did that
    /// ended in the interval, after they were last sampled, or all of it where no sample has seen
    /// them (`pid`, `user` and `command` are those of the parent); otherwise of a process that has
    /// ended itself.
    pub exited: bool,
    /// Names of these children with their number, most bytes first, at most eight; empty where the
    /// kernel does not report ended threads.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended_programs: Vec<EndedProgram>,
    /// Owner's name, or number where it has none.
    pub user: Option<SafeText>,
    /// Command line, safe to print.
    pub command: SafeText,
    /// Name of the service, container, session or other control group that it belongs to; `None` in
    /// the root group.
    pub unit: Option<SafeText>,
    /// Path of the group of that unit, which contains the slices that it is in.
    #[serde(skip)]
    pub unit_path: Option<SafeText>,
    /// Bytes read from devices per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written to devices per second, without cancelled ones.
    pub write_bytes_per_s: Option<f64>,
    /// Bytes requested by read system calls per second.
    #[serde(rename = "asked_read_bytes_per_s")]
    pub rchar_bytes_per_s: Option<f64>,
    /// Bytes passed to write system calls per second.
    #[serde(rename = "asked_write_bytes_per_s")]
    pub wchar_bytes_per_s: Option<f64>,
    /// Reads completed at devices per second, those of its dirty pages written back included;
    /// `None` unless requests were traced.
    pub read_ios_per_s: Option<f64>,
    /// Writes completed at devices per second; `None` unless requests were traced.
    pub write_ios_per_s: Option<f64>,
    /// Read system calls per second, on sockets and pipes too.
    pub read_syscalls_per_s: Option<f64>,
    /// Write system calls per second, on sockets and pipes too.
    pub write_syscalls_per_s: Option<f64>,
    /// Fraction of the interval spent waiting for block I/O, 0 to 1.
    pub io_wait: Option<f64>,
    /// Kernel's one-letter state. For an idle process it may be a few seconds old.
    pub state: Option<char>,
    /// Process id of its parent.
    #[serde(rename = "parent")]
    pub parent_pid: u32,
    /// Fraction of the bytes that it read, 0 to 1, that came from the page cache.
    #[serde(rename = "cached")]
    pub cache_fraction: Option<f64>,
    /// Bytes read from devices since it began.
    pub read_total_bytes: Option<u64>,
    /// Bytes written to devices since it began, without cancelled ones.
    pub write_total_bytes: Option<u64>,
    /// Bytes read from devices since its first sample.
    pub read_accumulated_bytes: Option<u64>,
    /// Bytes written to devices since its first sample, without cancelled ones.
    pub write_accumulated_bytes: Option<u64>,
    /// Fraction of the interval, 0 to 1, spent waiting for swap-in.
    pub swap_in: Option<f64>,
    /// Number of threads; `None` until it was read.
    pub threads: Option<u32>,
    /// I/O class and level: `be/4`, `rt/0`, `idle`; `-` where none was set.
    pub priority: Option<SafeText>,
    /// Kernel function that it waits in.
    #[serde(rename = "blocked_in")]
    pub wait_channel: Option<SafeText>,
    /// Devices that it uses. From traced requests: the busiest first, each layer of a stack on its
    /// own. Otherwise an estimate from its open files, those whose file offsets moved first.
    #[serde(default)]
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 1_000>")]
    pub devices: Vec<DeviceShare>,
    /// Whether `devices` is an estimate.
    pub devices_estimated: bool,
}

impl ProcessView {
    /// Whether the line is of the ended children of a process.
    #[must_use]
    pub fn is_ended_children(&self) -> bool {
        self.exited && self.tid == 0
    }

    /// Names of its devices.
    pub fn device_names(&self) -> impl Iterator<Item = &str> {
        self.devices.iter().map(|share| &*share.name)
    }
}

/// Ended children of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedProgram {
    /// Name of the program, at most 15 bytes.
    pub name: SafeText,
    /// Number of processes.
    pub count: u64,
}

/// A file that grows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GrowingFile {
    /// The file.
    pub path: SafeText,
    /// Process id of a writer.
    pub pid: u32,
    /// Name of that program.
    pub command: SafeText,
    /// Its length.
    pub size_bytes: u64,
    /// Growth rate.
    pub growth_bytes_per_s: f64,
}
