//! Bounded history of each device and of the machine, for sparklines and charts.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::view::{DeviceView, HostView, Snapshot, TransferKey};
use crate::files::safe_text::SafeText;
use crate::snapshot::advice::ObservedLoad;

/// Number of samples kept: ten minutes at one sample per second.
pub const MAX_SAMPLES: usize = 600;
/// Number of recent samples that describe the load of a device.
const LOAD_SAMPLES: usize = 60;

/// One device at one time; `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DevicePoint {
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f32>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f32>,
    /// Reads completed per second.
    pub read_ios_per_s: Option<f32>,
    /// Writes completed per second.
    pub write_ios_per_s: Option<f32>,
    /// Mean response time of reads in nanoseconds.
    pub read_await_ns: Option<f32>,
    /// Mean response time of writes in nanoseconds.
    pub write_await_ns: Option<f32>,
    /// Requests in flight, mean.
    pub queue_size: Option<f32>,
    /// Mean size of the requests in bytes.
    pub request_bytes: Option<f32>,
    /// Fraction of time with at least one request in flight.
    pub utilization: Option<f32>,
    /// Mean size of the reads in bytes.
    pub read_request_bytes: Option<f32>,
}

impl DevicePoint {
    fn from_view(view: &DeviceView) -> Self {
        let short = |value: Option<f64>| value.map(|value| value as f32);
        Self {
            read_bytes_per_s: short(view.read_bytes_per_s),
            write_bytes_per_s: short(view.write_bytes_per_s),
            read_ios_per_s: short(view.read_ios_per_s),
            write_ios_per_s: short(view.write_ios_per_s),
            read_await_ns: short(view.read_await_ns),
            write_await_ns: short(view.write_await_ns),
            queue_size: short(view.queue_size),
            request_bytes: short(view.request_bytes),
            utilization: short(view.busy),
            read_request_bytes: short(view.read_request_bytes),
        }
    }

    /// Bytes of both directions per second.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f32> {
        Some(self.read_bytes_per_s? + self.write_bytes_per_s?)
    }
}

/// The machine at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostPoint {
    /// Fraction of time in which at least one task waited for I/O.
    pub pressure_some: Option<f32>,
    /// Fraction of time in which all tasks waited for I/O.
    pub pressure_full: Option<f32>,
    /// Bytes dirty and not under writeback.
    pub dirty_bytes: Option<f32>,
    /// Bytes under writeback.
    pub writeback_bytes: Option<f32>,
    /// Fraction of the bytes read that came from the page cache.
    pub cache_hit_fraction: Option<f32>,
}

impl HostPoint {
    fn from_host(host: &HostView) -> Self {
        let short = |value: Option<f64>| value.map(|value| value as f32);
        let bytes = |value: Option<u64>| value.map(|bytes| bytes as f32);
        Self {
            pressure_some: short(host.pressure_some),
            pressure_full: short(host.pressure_full),
            dirty_bytes: bytes(host.dirty_bytes),
            writeback_bytes: bytes(host.writeback_bytes),
            cache_hit_fraction: short(host.cache_hit_fraction),
        }
    }
}

fn push<T>(ring: &mut VecDeque<T>, point: T) {
    if ring.len() == MAX_SAMPLES {
        ring.pop_front();
    }
    ring.push_back(point);
}

/// Ring buffers of points, per device and for the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SampleHistory {
    recorded_samples: u64,
    host_points: VecDeque<HostPoint>,
    device_points: BTreeMap<SafeText, VecDeque<DevicePoint>>,
    transfer_rates: BTreeMap<TransferKey, VecDeque<Option<f32>>>,
}

impl SampleHistory {
    /// Records a snapshot. A device that is missing gets a gap, and is dropped once only gaps are
    /// left.
    pub fn record(&mut self, live: &Snapshot) {
        self.recorded_samples += 1;
        push(&mut self.host_points, HostPoint::from_host(&live.host));
        let views: HashMap<&str, &DeviceView> = live
            .devices
            .iter()
            .map(|view| (&*view.name, view))
            .collect();
        for view in &live.devices {
            self.device_points.entry(view.name.clone()).or_default();
        }
        self.device_points.retain(|name, ring| {
            let view = views.get(&**name).copied();
            push(ring, view.map(DevicePoint::from_view).unwrap_or_default());
            view.is_some() || ring.iter().any(|point| *point != DevicePoint::default())
        });
        self.record_transfers(live);
    }

    /// Records the rates of the transfers; those that are no longer listed are dropped.
    fn record_transfers(&mut self, live: &Snapshot) {
        let mut known = std::mem::take(&mut self.transfer_rates);
        for view in &live.transfers {
            let key = view.key();
            let mut ring = known.remove(&key).unwrap_or_default();
            // A transfer that is over has no rate any more: its curve ends.
            if !view.state.is_over() {
                push(
                    &mut ring,
                    view.interval_rate_bytes_per_s.map(|rate| rate as f32),
                );
            }
            self.transfer_rates.insert(key, ring);
        }
    }

    /// The rates of a transfer in bytes per second, the oldest first; at most [`MAX_SAMPLES`].
    #[must_use]
    pub fn transfer_rates(&self, key: &TransferKey) -> Vec<Option<f32>> {
        self.transfer_rates
            .get(key)
            .map_or_else(Vec::new, |ring| ring.iter().copied().collect())
    }

    /// Samples until the curves are moved: they are moved by `step` samples at once, so that most frames
    /// only add a point at their end.
    #[must_use]
    pub fn samples_until_move(&self, step: u64) -> usize {
        let step = step.max(1);
        ((step - self.recorded_samples % step) % step) as usize
    }

    /// The points of the machine, the oldest first; at most [`MAX_SAMPLES`].
    #[must_use]
    pub fn host(&self) -> &VecDeque<HostPoint> {
        &self.host_points
    }

    /// The read load of a device in the last minute or so: the mean over the samples with reads;
    /// `None` without reads.
    #[must_use]
    pub fn read_load(&self, device: &str) -> Option<ObservedLoad> {
        let (mut count, mut bytes, mut size) = (0.0, 0.0, 0.0);
        for point in self.latest_points(device, LOAD_SAMPLES) {
            if let (Some(rate), Some(request)) = (point.read_bytes_per_s, point.read_request_bytes)
            {
                count += 1.0;
                bytes += f64::from(rate);
                size += f64::from(request);
            }
        }
        (count > 0.0).then(|| ObservedLoad {
            read_bytes_per_s: bytes / count,
            read_request_bytes: size / count,
        })
    }

    /// The points of a device, the oldest first; at most [`MAX_SAMPLES`].
    #[must_use]
    pub fn points_of(&self, device: &str) -> Option<&VecDeque<DevicePoint>> {
        self.device_points.get(device)
    }

    /// The newest points of a device, at most `count`, the oldest first.
    pub fn latest_points(&self, device: &str, count: usize) -> impl Iterator<Item = &DevicePoint> {
        self.device_points
            .get(device)
            .into_iter()
            .flat_map(move |ring| ring.range(ring.len().saturating_sub(count)..))
    }
}
