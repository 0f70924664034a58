//! Devices over a window.

use crate::drive::{BlockDevice, DriveKind};
use crate::files::safe_text::SafeText;
use crate::snapshot::view::DeviceView;
use crate::why::window::EvidenceWindow;

/// An interval with at most this many requests in flight shows the latency under light load.
const LIGHT_QUEUE: f64 = 1.2;
/// Requests that an interval needs for its latency to count.
const MIN_REQUESTS: f64 = 5.0;
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
    /// Whether it is a virtual disk, which reports nothing reliable of itself.
    pub is_virtual: bool,
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
        let latency = if self.reads_most() {
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

fn sum_up(
    view: &DeviceView,
    drive: Option<&BlockDevice>,
    intervals: &[(f64, &DeviceView)],
) -> DeviceSummary {
    let seconds: f64 = intervals.iter().map(|(seconds, _)| seconds).sum();
    let mean = |rate: fn(&DeviceView) -> Option<f64>| {
        let counts = intervals.iter();
        let counts = counts.map(|(seconds, view)| rate(view).unwrap_or(0.0) * seconds);
        counts.sum::<f64>() / seconds.max(1e-9)
    };
    let each = |time: f64, rate: f64| (rate > 0.0).then(|| time / rate);
    // Time that the requests take together, per second, in nanoseconds.
    let read_time = mean(|it| Some(it.read_ios_per_s? * it.read_await_ns?));
    let write_time = mean(|it| Some(it.write_ios_per_s? * it.write_await_ns?));
    let flush_time = mean(|it| Some(it.flush_ios_per_s? * it.flush_await_ns?));
    let read_iops = mean(|it| it.read_ios_per_s);
    let write_iops = mean(|it| it.write_ios_per_s);
    let read_bytes = mean(|it| it.read_bytes_per_s);
    let write_bytes = mean(|it| it.write_bytes_per_s);
    let flushes = mean(|it| it.flush_ios_per_s);
    let queue = mean(|it| it.queue_size);
    let iops = read_iops + write_iops;
    let loads: Vec<IntervalLoad> = intervals.iter().map(interval_load).collect();
    let light = loads
        .iter()
        .filter(|it| it.queue <= LIGHT_QUEUE && it.requests >= MIN_REQUESTS);
    let light = light.filter_map(|it| it.latency).reduce(f64::min);
    let service = each(read_time + write_time, iops).map(|latency| latency / queue.max(1.0));
    let is_parallel = queue >= SEVERAL && service.is_some_and(|it| it < PARALLEL_SERVICE);
    let in_flight = intervals.iter().filter_map(|it| it.1.in_flight);
    let transport = drive.and_then(|drive| drive.transport.as_deref());
    let is_virtual = matches!(transport, Some("virtio" | "xen" | "nbd"));
    DeviceSummary {
        name: view.name.clone(),
        kind: view.kind,
        serial: view.serves_serially && !is_parallel,
        is_virtual,
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
        queue,
        busy: mean(|it| it.busy),
        min_in_flight: in_flight.min().unwrap_or(0),
        light_latency: light,
        expected_latency: expected_latency(is_virtual, drive, light),
        intervals: loads,
    }
}

fn interval_load((seconds, view): &(f64, &DeviceView)) -> IntervalLoad {
    let reads = view.read_ios_per_s.unwrap_or(0.0);
    let writes = view.write_ios_per_s.unwrap_or(0.0);
    let read_time = reads * view.read_await_ns.unwrap_or(0.0);
    let write_time = writes * view.write_await_ns.unwrap_or(0.0);
    let per_second = reads + writes;
    IntervalLoad {
        requests: per_second * seconds,
        latency: (per_second > 0.0).then(|| (read_time + write_time) / per_second),
        queue: view.queue_size.unwrap_or(0.0),
        busy: view.busy.unwrap_or(0.0),
    }
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
    match shown {
        Some(shown) if is_known => shown.min(usual),
        Some(shown) => shown,
        None => usual,
    }
}
