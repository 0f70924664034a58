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
    /// Requests completed.
    pub completed: f64,
    /// Requests in flight, mean.
    pub queue: f64,
    /// Fraction of the time with a request in flight.
    pub busy: f64,
    /// Latency of reads and writes in nanoseconds, mean; `None` without requests.
    pub latency: Option<f64>,
    /// Bytes per second.
    pub throughput: f64,
    /// Requests in flight at its end.
    pub in_flight: u64,
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

    /// Spread of the throughput: standard deviation relative to the mean; `None` without traffic.
    #[must_use]
    pub fn throughput_spread(&self) -> Option<f64> {
        let values: Vec<f64> = self.intervals.iter().map(|it| it.throughput).collect();
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
        let drive = last
            .drives
            .iter()
            .find(|drive| drive.name == view.name.as_str());
        let mut sums = Sums::default();
        for snapshot in &window.snapshots {
            sums.add(snapshot, &view.name);
        }
        sums.finish(view, drive)
    };
    last.devices.iter().map(summary).collect()
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

/// Sums over the intervals.
#[derive(Default)]
struct Sums {
    seconds: f64,
    reads: f64,
    writes: f64,
    read_bytes: f64,
    write_bytes: f64,
    read_time: f64,
    write_time: f64,
    flushes: Option<f64>,
    flush_time: f64,
    discards: f64,
    discard_time: f64,
    queue: f64,
    busy: f64,
    min_in_flight: Option<u64>,
    light_latency: Option<f64>,
    intervals: Vec<IntervalLoad>,
}

impl Sums {
    fn add(&mut self, snapshot: &Snapshot, name: &SafeText) {
        let view = snapshot.devices.iter().find(|view| view.name == *name);
        let (Some(view), Some(interval)) = (view, snapshot.interval) else {
            return;
        };
        let (Some(read_rate), Some(write_rate)) = (view.read_ios_per_s, view.write_ios_per_s)
        else {
            return;
        };
        let seconds = interval.as_secs_f64();
        let (reads, writes) = (read_rate * seconds, write_rate * seconds);
        let read_time = view.read_await_ns.unwrap_or(0.0) * reads;
        let write_time = view.write_await_ns.unwrap_or(0.0) * writes;
        let (read_bytes, write_bytes) = (
            view.read_bytes_per_s.unwrap_or(0.0),
            view.write_bytes_per_s.unwrap_or(0.0),
        );
        let load = IntervalLoad {
            completed: reads + writes,
            queue: view.queue_size.unwrap_or(0.0),
            busy: view.busy.unwrap_or(0.0),
            latency: (reads + writes > 0.0).then(|| (read_time + write_time) / (reads + writes)),
            throughput: read_bytes + write_bytes,
            in_flight: view.in_flight.unwrap_or(0),
        };
        self.seconds += seconds;
        self.reads += reads;
        self.writes += writes;
        self.read_time += read_time;
        self.write_time += write_time;
        self.read_bytes += read_bytes * seconds;
        self.write_bytes += write_bytes * seconds;
        if let Some(rate) = view.flush_ios_per_s {
            *self.flushes.get_or_insert(0.0) += rate * seconds;
            self.flush_time += view.flush_await_ns.unwrap_or(0.0) * rate * seconds;
        }
        let discards = view.discard_ios_per_s.unwrap_or(0.0) * seconds;
        self.discards += discards;
        self.discard_time += view.discard_await_ns.unwrap_or(0.0) * discards;
        self.queue += load.queue * seconds;
        self.busy += load.busy * seconds;
        let least = self.min_in_flight.get_or_insert(load.in_flight);
        *least = (*least).min(load.in_flight);
        if load.queue <= LIGHT_QUEUE && load.completed >= MIN_REQUESTS {
            let latency = load.latency.into_iter().chain(self.light_latency);
            self.light_latency = latency.reduce(f64::min);
        }
        self.intervals.push(load);
    }

    fn finish(self, view: &DeviceView, drive: Option<&BlockDevice>) -> DeviceSummary {
        let seconds = self.seconds.max(1e-9);
        let mean = |sum: f64, count: f64| (count > 0.0).then(|| sum / count);
        let flushes = self.flushes.unwrap_or(0.0);
        DeviceSummary {
            name: view.name.clone(),
            kind: view.kind,
            serial: view.serves_serially,
            is_virtual: drive.is_some_and(is_virtual),
            rotates: drive.is_some_and(|drive| drive.rotational == Some(true)),
            is_flash: drive.is_some_and(|drive| drive.rotational == Some(false)),
            scheduler: drive
                .and_then(|drive| drive.scheduler.as_ref())
                .map(Into::into),
            underlying: view.underlying.clone(),
            iops: (self.reads + self.writes) / seconds,
            read_iops: self.reads / seconds,
            write_iops: self.writes / seconds,
            throughput: (self.read_bytes + self.write_bytes) / seconds,
            read_bytes: self.read_bytes / seconds,
            write_bytes: self.write_bytes / seconds,
            read_await: mean(self.read_time, self.reads),
            write_await: mean(self.write_time, self.writes),
            flushes: self.flushes.map(|count| count / seconds),
            flush_await: mean(self.flush_time, flushes),
            discard_share: mean(
                self.discard_time,
                self.read_time + self.write_time + self.discard_time,
            )
            .unwrap_or(0.0),
            discard_await: mean(self.discard_time, self.discards),
            write_size: mean(self.write_bytes, self.writes),
            queue: self.queue / seconds,
            busy: self.busy / seconds,
            min_in_flight: self.min_in_flight.unwrap_or(0),
            light_latency: self
                .light_latency
                .unwrap_or(f64::INFINITY)
                .min(usual_latency(view, drive)),
            measured_light_latency: self.light_latency,
            seconds,
            intervals: self.intervals,
        }
    }
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
