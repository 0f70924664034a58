//! Devices over a window.

use crate::drive::{BlockDevice, DriveKind};
use crate::files::safe_text::SafeText;
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
/// Requests in flight from which a device shows whether it serves several at once, and the time per
/// request in nanoseconds below which it does, whatever it says of itself: a disk seeks for longer.
const SEVERAL: f64 = 2.0;
const PARALLEL_SERVICE: f64 = 1e6;

/// Latency of a single request that is usual, in nanoseconds, where the window shows none: of a removable
/// drive, and of another one that does not seek.
const REMOVABLE_LATENCY: f64 = 10e6;
const USUAL_LATENCY: f64 = 4e6;

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
    /// Mean requests in flight.
    pub queue: f64,
    /// Mean fraction of the time with a request in flight.
    pub busy: f64,
    /// Least number of requests in flight at the ends of the intervals.
    pub min_in_flight: u64,
    /// Latency under light load in nanoseconds, as far as the window shows it.
    pub light_latency: Option<f64>,
    /// The same, or what is usual for such a drive.
    pub expected_latency: f64,
    /// The intervals.
    pub intervals: Vec<IntervalLoad>,
}

/// A device in one interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntervalLoad {
    /// Reads and writes completed.
    pub requests: f64,
    /// Their latency in nanoseconds, mean; `None` without requests.
    pub latency: Option<f64>,
    /// Bytes per second.
    pub throughput: f64,
    /// Requests in flight, mean.
    pub queue: f64,
    /// Fraction of the time with a request in flight.
    pub busy: f64,
}

impl DeviceSummary {
    /// Whether its time goes into reads rather than into writes.
    pub fn reads_most(&self) -> bool {
        let time = |iops: f64, latency: Option<f64>| iops * latency.unwrap_or(0.0);
        time(self.read_iops, self.read_await) > time(self.write_iops, self.write_await)
    }

    /// Mean latency in the direction that takes most of its time, in nanoseconds; 0 without requests.
    pub fn latency(&self) -> f64 {
        let reads_most = self.reads_most();
        let latency = if reads_most {
            self.read_await
        } else {
            self.write_await
        };
        latency.unwrap_or(0.0)
    }

    /// Fraction of the intervals for which a condition holds.
    pub fn fraction_of_intervals(&self, holds: impl Fn(&IntervalLoad) -> bool) -> f64 {
        let count = self.intervals.iter().filter(|it| holds(it)).count();
        count as f64 / self.intervals.len().max(1) as f64
    }

    /// The spread of the throughput of a virtual disk that delivers a constant rate: standard deviation
    /// relative to the mean.
    pub fn fixed_rate_spread(&self) -> Option<f64> {
        let count = self.intervals.len() as f64;
        let values = || self.intervals.iter().map(|it| it.throughput);
        let mean = values().sum::<f64>() / count;
        let variance = values().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
        let spread = variance.sqrt() / mean;
        let is_fixed = self.is_virtual && mean > 0.0 && count >= 4.0 && spread < FIXED_RATE_SPREAD;
        is_fixed.then_some(spread)
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
        let intervals = window.snapshots.iter().filter_map(|snapshot| {
            let mut devices = snapshot.devices.iter();
            let own = devices.find(|it| it.name == view.name && it.read_ios_per_s.is_some())?;
            Some((snapshot.interval?.as_secs_f64(), own))
        });
        sum_up(view, drive, &intervals.collect::<Vec<_>>())
    };
    last.devices.iter().map(summary).collect()
}

type Field = fn(&DeviceView) -> Option<f64>;

/// Mean of a rate over intervals of these lengths.
fn mean_rate(intervals: &[(f64, &DeviceView)], rate: Field) -> f64 {
    let seconds: f64 = intervals.iter().map(|(seconds, _)| seconds).sum();
    let counts = intervals.iter();
    let counts = counts.map(|(seconds, view)| rate(view).unwrap_or(0.0) * seconds);
    counts.sum::<f64>() / seconds.max(1e-9)
}

/// Time that the requests of this rate took together, per second, in nanoseconds.
fn request_time(intervals: &[(f64, &DeviceView)], rate: Field, latency: Field) -> f64 {
    let seconds: f64 = intervals.iter().map(|(seconds, _)| seconds).sum();
    let times = intervals
        .iter()
        .map(|(seconds, view)| rate(view).unwrap_or(0.0) * latency(view).unwrap_or(0.0) * seconds);
    times.sum::<f64>() / seconds.max(1e-9)
}

fn sum_up(
    view: &DeviceView,
    drive: Option<&BlockDevice>,
    intervals: &[(f64, &DeviceView)],
) -> DeviceSummary {
    let mean = |rate: Field| mean_rate(intervals, rate);
    let time = |rate: Field, latency: Field| request_time(intervals, rate, latency);
    let each = |time: f64, rate: f64| (rate > 0.0).then(|| time / rate);
    let read_iops = mean(|it| it.read_ios_per_s);
    let write_iops = mean(|it| it.write_ios_per_s);
    let read_time = time(|it| it.read_ios_per_s, |it| it.read_await_ns);
    let write_time = time(|it| it.write_ios_per_s, |it| it.write_await_ns);
    let flush_time = time(|it| it.flush_ios_per_s, |it| it.flush_await_ns);
    let discard_time = time(|it| it.discard_ios_per_s, |it| it.discard_await_ns);
    let (read_bytes, write_bytes) = (
        mean(|it| it.read_bytes_per_s),
        mean(|it| it.write_bytes_per_s),
    );
    let flushes = mean(|it| it.flush_ios_per_s);
    let loads: Vec<IntervalLoad> = intervals.iter().map(interval_load).collect();
    let light = loads
        .iter()
        .filter(|it| it.queue <= LIGHT_QUEUE && it.requests >= MIN_REQUESTS);
    let light = light.filter_map(|it| it.latency).reduce(f64::min);
    let queue = mean(|it| it.queue_size);
    let iops = read_iops + write_iops;
    let service = each(read_time + write_time, iops).map(|latency| latency / queue.max(1.0));
    let is_parallel = queue >= SEVERAL && service.is_some_and(|it| it < PARALLEL_SERVICE);
    let serial = view.serves_serially && !is_parallel;
    let is_virtual = drive.is_some_and(is_virtual);
    DeviceSummary {
        name: view.name.clone(),
        kind: view.kind,
        serial,
        is_virtual,
        rotates: drive.is_some_and(|drive| drive.rotational == Some(true)),
        is_flash: drive.is_some_and(|drive| drive.rotational == Some(false)),
        scheduler: drive.and_then(|it| it.scheduler.as_ref().map(Into::into)),
        underlying: view.underlying.clone(),
        iops,
        read_iops,
        write_iops,
        throughput: read_bytes + write_bytes,
        read_bytes,
        write_bytes,
        read_await: each(read_time, read_iops),
        write_await: each(write_time, write_iops),
        flushes: view.flush_ios_per_s.map(|_| flushes),
        flush_await: each(flush_time, flushes),
        discard_share: each(discard_time, read_time + write_time + discard_time).unwrap_or(0.0),
        queue,
        busy: mean(|it| it.busy),
        min_in_flight: intervals
            .iter()
            .filter_map(|it| it.1.in_flight)
            .min()
            .unwrap_or(0),
        light_latency: light,
        expected_latency: expected_latency(is_virtual, drive, light),
        intervals: loads,
    }
}

fn interval_load((seconds, view): &(f64, &DeviceView)) -> IntervalLoad {
    let (reads, writes) = (
        view.read_ios_per_s.unwrap_or(0.0),
        view.write_ios_per_s.unwrap_or(0.0),
    );
    let read_time = reads * view.read_await_ns.unwrap_or(0.0);
    let time = read_time + writes * view.write_await_ns.unwrap_or(0.0);
    let per_second = reads + writes;
    IntervalLoad {
        requests: per_second * seconds,
        latency: (per_second > 0.0).then(|| time / per_second),
        throughput: view.read_bytes_per_s.unwrap_or(0.0) + view.write_bytes_per_s.unwrap_or(0.0),
        queue: view.queue_size.unwrap_or(0.0),
        busy: view.busy.unwrap_or(0.0),
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
    let makers = ["Amazon", "Google", "Microsoft", "QEMU", "Virtual", "VMware"];
    let names = [&drive.model, &drive.vendor];
    let mut names = names.into_iter().flatten();
    let is_cloud = names.any(|name| makers.iter().any(|maker| name.contains(maker)));
    is_cloud || matches!(drive.transport.as_deref(), Some("virtio" | "xen" | "nbd"))
}

/// Latency under light load of a device: of one that says nothing reliable of itself, as a virtual one,
/// what it showed in the window; of others at most what is usual.
fn expected_latency(is_virtual: bool, drive: Option<&BlockDevice>, shown: Option<f64>) -> f64 {
    let transport = drive.and_then(|drive| drive.transport.as_deref());
    let is_known = !is_virtual && drive.is_some_and(|drive| drive.rotational.is_some());
    let usual = match transport {
        Some("usb" | "mmc") => REMOVABLE_LATENCY,
        _ => USUAL_LATENCY,
    };
    shown.map_or(
        usual,
        |shown| if is_known { shown.min(usual) } else { shown },
    )
}
