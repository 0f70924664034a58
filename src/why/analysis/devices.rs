//! Devices over a window.

use crate::drive::{BlockDevice, DriveKind};
use crate::files::safe_text::SafeText;
use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceView;
use crate::why::window::EvidenceWindow;

/// An interval with at most this many requests in flight shows the latency under light load.
const LIGHT_QUEUE: f64 = 1.2;
/// Requests that an interval needs for its latency to count.
const MIN_REQUESTS: f64 = 5.0;
/// Spread of the throughput below which a virtual disk is at a fixed rate.
const FIXED_RATE_SPREAD: f64 = 0.05;
/// Depth of device stacks that are followed.
const MAX_STACK: usize = 16;

/// Latency of a single request that is usual for a kind of drive, in nanoseconds, where the window
/// shows none: a seek and half a revolution of a disk; flash with its interface; a virtual disk,
/// which may be either.
const DISK_LATENCY: f64 = 12e6;
const NVME_LATENCY: f64 = 0.3e6;
const FLASH_LATENCY: f64 = 1e6;
const REMOVABLE_LATENCY: f64 = 10e6;
const UNKNOWN_LATENCY: f64 = 4e6;

/// A device over the window. Rates are means over the window.
#[derive(Debug, Clone, Default)]
pub struct DeviceSummary {
    /// Kernel's name.
    pub name: SafeText,
    /// Its kind.
    pub kind: Option<DriveKind>,
    /// Whether it serves one request at a time.
    pub serial: bool,
    /// Whether it is a virtual disk, whose limits another machine sets.
    pub is_virtual: bool,
    /// Whether it is known to rotate: a disk, or a volume on disks.
    pub rotates: bool,
    /// Whether it is known not to rotate.
    pub is_flash: bool,
    /// Its I/O scheduler.
    pub scheduler: Option<SafeText>,
    /// Names of the devices below it, directly.
    pub underlying: Vec<SafeText>,
    /// Reads and writes completed per second.
    pub iops: f64,
    /// Reads per second.
    pub read_iops: f64,
    /// Writes per second.
    pub write_iops: f64,
    /// Bytes read and written per second.
    pub throughput: f64,
    /// Bytes read per second.
    pub read_bytes: f64,
    /// Bytes written per second.
    pub write_bytes: f64,
    /// Mean latency of reads in nanoseconds; `None` without reads.
    pub read_await: Option<f64>,
    /// Mean latency of writes in nanoseconds; `None` without writes.
    pub write_await: Option<f64>,
    /// Flushes per second; `None` where they are not counted.
    pub flushes: Option<f64>,
    /// Mean latency of flushes in nanoseconds.
    pub flush_await: Option<f64>,
    /// Share of the discards in the time that all requests take together, without flushes.
    pub discard_share: f64,
    /// Mean latency of discards in nanoseconds; `None` without discards.
    pub discard_await: Option<f64>,
    /// Mean size of writes in bytes.
    pub write_size: Option<f64>,
    /// Mean requests in flight.
    pub queue: f64,
    /// Mean fraction of the time with a request in flight.
    pub busy: f64,
    /// Least number of requests in flight at the ends of the intervals.
    pub min_in_flight: u64,
    /// Latency under light load in nanoseconds, or what is usual for such a drive.
    pub light_latency: f64,
    /// The same as far as the window shows it.
    pub measured_light_latency: Option<f64>,
    /// Length of the intervals together in seconds.
    pub seconds: f64,
    /// The intervals.
    pub intervals: Vec<IntervalLoad>,
}

/// A device in one interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntervalLoad {
    seconds: f64,
    reads: f64,
    writes: f64,
    read_bytes: f64,
    write_bytes: f64,
    /// Time of all reads together in nanoseconds, of all writes, and so on.
    read_time: f64,
    write_time: f64,
    flushes: Option<f64>,
    flush_time: f64,
    discards: f64,
    discard_time: f64,
    /// Requests in flight, mean.
    pub queue: f64,
    /// Fraction of the time with a request in flight.
    pub busy: f64,
    /// Requests in flight at its end.
    pub in_flight: u64,
}

impl IntervalLoad {
    /// Reads and writes completed.
    #[must_use]
    pub fn completed(&self) -> f64 {
        self.reads + self.writes
    }

    /// Latency of reads and writes in nanoseconds, mean; `None` without requests.
    #[must_use]
    pub fn latency(&self) -> Option<f64> {
        mean(self.read_time + self.write_time, self.completed())
    }

    /// Bytes per second.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        (self.read_bytes + self.write_bytes) / self.seconds.max(1e-9)
    }

    /// The interval of a snapshot; `None` where it has no rates of the device.
    fn of(snapshot: &Snapshot, name: &SafeText) -> Option<Self> {
        let view = snapshot.devices.iter().find(|view| view.name == *name)?;
        let seconds = snapshot.interval?.as_secs_f64();
        let count = |rate: Option<f64>| rate.unwrap_or(0.0) * seconds;
        let time = |latency: Option<f64>, count: f64| latency.unwrap_or(0.0) * count;
        let (reads, writes) = (
            view.read_ios_per_s? * seconds,
            view.write_ios_per_s? * seconds,
        );
        let flushes = view.flush_ios_per_s.map(|rate| rate * seconds);
        let discards = count(view.discard_ios_per_s);
        Some(Self {
            seconds,
            reads,
            writes,
            read_bytes: count(view.read_bytes_per_s),
            write_bytes: count(view.write_bytes_per_s),
            read_time: time(view.read_await_ns, reads),
            write_time: time(view.write_await_ns, writes),
            flushes,
            flush_time: time(view.flush_await_ns, flushes.unwrap_or(0.0)),
            discards,
            discard_time: time(view.discard_await_ns, discards),
            queue: view.queue_size.unwrap_or(0.0),
            busy: view.busy.unwrap_or(0.0),
            in_flight: view.in_flight.unwrap_or(0),
        })
    }
}

fn mean(sum: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| sum / count)
}

impl DeviceSummary {
    /// The higher of the mean latencies of reads and writes, in nanoseconds; 0 without requests.
    #[must_use]
    pub fn latency(&self) -> f64 {
        self.read_await
            .unwrap_or(0.0)
            .max(self.write_await.unwrap_or(0.0))
    }

    /// Whether it is a part of a device.
    #[must_use]
    pub fn is_partition(&self) -> bool {
        self.kind == Some(DriveKind::Partition)
    }

    /// Fraction of the intervals for which a condition holds.
    #[must_use]
    pub fn fraction_of_intervals(&self, holds: impl Fn(&IntervalLoad) -> bool) -> f64 {
        let count = self.intervals.iter().filter(|it| holds(it)).count();
        count as f64 / self.intervals.len().max(1) as f64
    }

    /// The spread of the throughput of a virtual disk that delivers a constant rate.
    #[must_use]
    pub fn fixed_rate_spread(&self) -> Option<f64> {
        let spread = self.throughput_spread().filter(|_| self.is_virtual);
        spread.filter(|spread| *spread < FIXED_RATE_SPREAD)
    }

    /// Spread of the throughput: standard deviation relative to the mean; `None` without traffic.
    #[must_use]
    pub fn throughput_spread(&self) -> Option<f64> {
        let values: Vec<f64> = self
            .intervals
            .iter()
            .map(IntervalLoad::throughput)
            .collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
        (mean > 0.0 && count >= 4.0).then(|| variance.sqrt() / mean)
    }
}

/// The devices of the last snapshot over the window.
pub(super) fn summarize(window: &EvidenceWindow) -> Vec<DeviceSummary> {
    let Some(last) = window.snapshots.last() else {
        return Vec::new();
    };
    let summary = |view: &DeviceView| {
        let mut drives = last.drives.iter();
        let drive = drives.find(|drive| drive.name == view.name.as_str());
        let snapshots = window.snapshots.iter();
        let intervals = snapshots.filter_map(|it| IntervalLoad::of(it, &view.name));
        sum_up(view, drive, intervals.collect())
    };
    last.devices.iter().map(summary).collect()
}

fn sum_up(
    view: &DeviceView,
    drive: Option<&BlockDevice>,
    intervals: Vec<IntervalLoad>,
) -> DeviceSummary {
    let sum = |value: fn(&IntervalLoad) -> f64| intervals.iter().map(value).sum::<f64>();
    let duration = sum(|it| it.seconds);
    let seconds = duration.max(1e-9);
    let (reads, writes) = (sum(|it| it.reads), sum(|it| it.writes));
    let (read_time, write_time) = (sum(|it| it.read_time), sum(|it| it.write_time));
    let (read_bytes, write_bytes) = (sum(|it| it.read_bytes), sum(|it| it.write_bytes));
    let flushes = intervals.iter().filter_map(|it| it.flushes);
    let flushes = flushes.reduce(|sum, count| sum + count);
    let (discards, discard_time) = (sum(|it| it.discards), sum(|it| it.discard_time));
    let light = intervals.iter().filter(|it| it.queue <= LIGHT_QUEUE);
    let light = light.filter(|it| it.completed() >= MIN_REQUESTS);
    let light = light.filter_map(IntervalLoad::latency).reduce(f64::min);
    DeviceSummary {
        name: view.name.clone(),
        kind: view.kind,
        serial: view.serves_serially,
        is_virtual: drive.is_some_and(is_virtual),
        rotates: drive.is_some_and(|drive| drive.rotational == Some(true)),
        is_flash: drive.is_some_and(|drive| drive.rotational == Some(false)),
        scheduler: drive.and_then(|it| it.scheduler.as_ref().map(Into::into)),
        underlying: view.underlying.clone(),
        iops: (reads + writes) / seconds,
        read_iops: reads / seconds,
        write_iops: writes / seconds,
        throughput: (read_bytes + write_bytes) / seconds,
        read_bytes: read_bytes / seconds,
        write_bytes: write_bytes / seconds,
        read_await: mean(read_time, reads),
        write_await: mean(write_time, writes),
        flushes: flushes.map(|count| count / seconds),
        flush_await: mean(sum(|it| it.flush_time), flushes.unwrap_or(0.0)),
        discard_share: mean(discard_time, read_time + write_time + discard_time).unwrap_or(0.0),
        discard_await: mean(discard_time, discards),
        write_size: mean(write_bytes, writes),
        queue: sum(|it| it.queue * it.seconds) / seconds,
        busy: sum(|it| it.busy * it.seconds) / seconds,
        min_in_flight: intervals.iter().map(|it| it.in_flight).min().unwrap_or(0),
        light_latency: light
            .unwrap_or(f64::INFINITY)
            .min(usual_latency(view, drive)),
        measured_light_latency: light,
        seconds,
        intervals,
    }
}

/// Whether `upper` is `lower` or lies on it.
pub(super) fn lies_on(devices: &[DeviceSummary], upper: &SafeText, lower: &SafeText) -> bool {
    let mut open = vec![upper];
    for _ in 0..MAX_STACK {
        if open.contains(&lower) {
            return true;
        }
        open = open
            .iter()
            .filter_map(|name| devices.iter().find(|device| device.name == **name))
            .flat_map(|device| &device.underlying)
            .collect();
    }
    false
}

fn is_virtual(drive: &BlockDevice) -> bool {
    let cloud = |model: &str| {
        ["Amazon", "Google", "Microsoft", "QEMU", "Virtual", "VMware"]
            .iter()
            .any(|maker| model.contains(maker))
    };
    matches!(drive.transport.as_deref(), Some("virtio" | "xen" | "nbd"))
        || drive.model.as_deref().is_some_and(cloud)
        || drive.vendor.as_deref().is_some_and(cloud)
}

fn usual_latency(view: &DeviceView, drive: Option<&BlockDevice>) -> f64 {
    let transport = drive.and_then(|drive| drive.transport.as_deref());
    if view.serves_serially {
        return DISK_LATENCY;
    }
    match (transport, drive.and_then(|drive| drive.rotational)) {
        (Some("nvme"), _) => NVME_LATENCY,
        (Some("usb" | "mmc"), _) => REMOVABLE_LATENCY,
        (Some("sata" | "sas"), Some(false)) => FLASH_LATENCY,
        _ => UNKNOWN_LATENCY,
    }
}
