//! Predictions about dirty memory: when it is flushed, and when writers are throttled.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::view::DeviceView;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::sample::MemoryCounters;

/// Longer predictions are not made.
const MAX_PREDICTION: Duration = Duration::from_secs(600);
/// Time constant of the mean growth of dirty memory, in seconds.
const GROWTH_TIME_CONSTANT: f64 = 5.0;
/// Slower growth is not extrapolated: bytes per second.
const MIN_GROWTH: f64 = 1e6;
/// Time constant with which earlier writes lose their weight in a device's write speed, in seconds.
const SPEED_TIME_CONSTANT: f64 = 60.0;
/// Fraction of an interval in which a device has to be busy for its speed to be measured.
const MIN_BUSY: f64 = 0.02;
/// Weighted bytes that have to be written before a speed counts as measured.
const MIN_MEASURED_BYTES: f64 = 16e6;
/// Bytes of a device that are not worth a prediction.
const NEGLIGIBLE_BYTES: u64 = 1 << 20;

/// What the last samples say about dirty memory and its way to the devices.
#[derive(Debug, Default)]
pub struct DirtyMemory {
    speeds: BTreeMap<SafeText, WriteSpeed>,
    growth: Option<f64>,
}

/// Speed of a device while it writes: the mean over the bytes that it wrote, of which later ones
/// weigh more.
#[derive(Debug, Clone, Copy, Default)]
struct WriteSpeed {
    bytes: f64,
    busy_seconds: f64,
}

impl WriteSpeed {
    fn record(&mut self, view: &DeviceView, seconds: f64) {
        let decay = (-seconds / SPEED_TIME_CONSTANT).exp();
        self.bytes *= decay;
        self.busy_seconds *= decay;
        if let (Some(rate), Some(busy)) = (view.write_bytes_per_s, view.busy)
            && busy >= MIN_BUSY
        {
            // Of an interval that also reads, only the share of the bytes written is counted.
            let read = view.read_bytes_per_s.unwrap_or(0.0);
            let share = if rate > 0.0 {
                rate / (rate + read)
            } else {
                0.0
            };
            self.bytes += rate * seconds;
            self.busy_seconds += busy.min(1.0) * seconds * share;
        }
    }

    fn bytes_per_s(&self) -> Option<f64> {
        (self.bytes >= MIN_MEASURED_BYTES && self.busy_seconds > 0.0)
            .then(|| self.bytes / self.busy_seconds)
    }
}

impl DirtyMemory {
    /// Records the interval between two samples.
    pub fn update(
        &mut self,
        before: Option<&SystemSample>,
        now: &SystemSample,
        devices: &[DeviceView],
    ) {
        let Some((before, seconds)) = before.and_then(|before| {
            let elapsed = now.boot_time.checked_sub(before.boot_time)?.as_secs_f64();
            (elapsed > 0.0).then_some((before, elapsed))
        }) else {
            return;
        };
        self.record_growth(&before.host.memory, &now.host.memory, seconds);
        let names: HashSet<&str> = devices.iter().map(|view| &*view.name).collect();
        self.speeds.retain(|name, _| names.contains(&**name));
        for view in devices.iter().filter(|view| view.is_medium()) {
            let writes = view.write_bytes_per_s.is_some_and(|rate| rate > 0.0);
            if writes || self.speeds.contains_key(&view.name) {
                let speed = self.speeds.entry(view.name.clone()).or_default();
                speed.record(view, seconds);
            }
        }
    }

    fn record_growth(&mut self, before: &MemoryCounters, now: &MemoryCounters, seconds: f64) {
        self.growth = unwritten_bytes(before)
            .zip(unwritten_bytes(now))
            .map(|(was, is)| {
                let rate = (is as f64 - was as f64) / seconds;
                let decay = (-seconds / GROWTH_TIME_CONSTANT).exp();
                self.growth
                    .map_or(rate, |mean| mean * decay + rate * (1.0 - decay))
            });
    }

    /// Sets when what is dirty of each device is flushed.
    pub fn set_flush_times(&self, memory: &MemoryCounters, devices: &mut [DeviceView]) {
        for view in devices {
            view.time_to_flush =
                view.dirty_bytes
                    .zip(view.writeback_bytes)
                    .and_then(|(dirty, writeback)| {
                        let speed = self.speeds.get(&view.name)?.bytes_per_s();
                        let bytes = dirty.saturating_add(writeback);
                        flush_time(bytes, speed, writeback == 0, memory)
                    });
        }
    }

    /// Time within which the memory that is dirty now is flushed: that of the slowest device, where
    /// the kernel reports the devices; otherwise of the only device that is written to.
    #[must_use]
    pub fn time_to_flush(
        &self,
        memory: &MemoryCounters,
        devices: &[DeviceView],
    ) -> Option<Duration> {
        if devices.iter().any(|view| view.dirty_bytes.is_some()) {
            let relevant = devices.iter().filter(|view| {
                let bytes = view.dirty_bytes.zip(view.writeback_bytes);
                bytes.is_some_and(|(dirty, writeback)| dirty + writeback >= NEGLIGIBLE_BYTES)
            });
            let times: Option<Vec<Duration>> = relevant.map(|view| view.time_to_flush).collect();
            return times?.into_iter().max();
        }
        let mut written = self.speeds.values().filter_map(WriteSpeed::bytes_per_s);
        let (speed, other) = (written.next(), written.next());
        if other.is_some() {
            return None;
        }
        let waits = memory.writeback == Some(0);
        flush_time(unwritten_bytes(memory)?, speed, waits, memory)
    }

    /// Bytes per second that a device, or a disk that it is on, writes while it is busy.
    #[must_use]
    pub fn write_speed(&self, device: &DeviceView) -> Option<f64> {
        let mut disks = std::iter::once(&device.name).chain(&device.underlying);
        disks.find_map(|name| self.speeds.get(name)?.bytes_per_s())
    }

    /// Time until writers are throttled, if dirty memory keeps growing as in the last seconds.
    #[must_use]
    pub fn time_to_throttle(&self, memory: &MemoryCounters) -> Option<Duration> {
        let remaining = throttle_threshold(memory)?.saturating_sub(unwritten_bytes(memory)?);
        if remaining == 0 {
            return Some(Duration::ZERO);
        }
        let growth = self.growth.filter(|growth| *growth >= MIN_GROWTH)?;
        Duration::try_from_secs_f64(remaining as f64 / growth)
            .ok()
            .filter(|time| *time <= MAX_PREDICTION)
    }
}

/// Time within which `bytes` are flushed at a speed in bytes per second. While nothing is under
/// writeback and the background limit is not reached, the kernel waits until the data expire.
#[must_use]
pub fn flush_time(
    bytes: u64,
    speed: Option<f64>,
    nothing_under_writeback: bool,
    memory: &MemoryCounters,
) -> Option<Duration> {
    let speed = speed.filter(|speed| *speed > 0.0 && bytes > 0)?;
    let drain = Duration::try_from_secs_f64(bytes as f64 / speed).ok()?;
    let below_limit = match (unwritten_bytes(memory), memory.background_threshold) {
        (Some(unwritten), Some(limit)) => unwritten <= limit,
        _ => true,
    };
    let delay = if nothing_under_writeback && below_limit {
        memory.flush_delay?
    } else {
        Duration::ZERO
    };
    Some(drain.saturating_add(delay)).filter(|time| *time <= MAX_PREDICTION)
}

/// Bytes dirty or under writeback.
#[must_use]
pub fn unwritten_bytes(memory: &MemoryCounters) -> Option<u64> {
    memory.dirty?.checked_add(memory.writeback?)
}

/// Unwritten bytes above which writers are throttled: half way between the background limit and the
/// hard limit (mm/page-writeback.c, `dirty_freerun_ceiling`).
#[must_use]
pub fn throttle_threshold(memory: &MemoryCounters) -> Option<u64> {
    let (background, limit) = (memory.background_threshold?, memory.throttle_threshold?);
    Some(background / 2 + limit / 2)
}

/// Whether writers are throttled.
#[must_use]
pub fn is_throttled(memory: &MemoryCounters) -> bool {
    match (unwritten_bytes(memory), throttle_threshold(memory)) {
        (Some(dirty), Some(ceiling)) => dirty >= ceiling,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn memory(dirty: u64, writeback: u64) -> MemoryCounters {
        MemoryCounters {
            dirty: Some(dirty),
            writeback: Some(writeback),
            background_threshold: Some(2000 * MB),
            throttle_threshold: Some(4000 * MB),
            flush_delay: Some(Duration::from_secs(35)),
            ..MemoryCounters::default()
        }
    }

    fn sample(second: u64, memory: MemoryCounters) -> SystemSample {
        let mut sample = SystemSample {
            boot_time: Duration::from_secs(second),
            ..SystemSample::default()
        };
        sample.host.memory = memory;
        sample
    }

    fn disk(name: &str, written: f64, busy: f64) -> DeviceView {
        DeviceView {
            name: name.into(),
            read_bytes_per_s: Some(0.0),
            write_bytes_per_s: Some(written),
            busy: Some(busy),
            ..DeviceView::default()
        }
    }

    /// After five seconds in which the devices wrote as given.
    fn tracked(devices: &[DeviceView], at: impl Fn(u64) -> MemoryCounters) -> DirtyMemory {
        let mut tracker = DirtyMemory::default();
        for second in 1..6 {
            let (before, now) = (
                sample(second - 1, at(second - 1)),
                sample(second, at(second)),
            );
            tracker.update(Some(&before), &now, devices);
        }
        tracker
    }

    #[test]
    fn flush_time_uses_the_speed_while_the_device_writes() {
        // 500 MB/s, of which it uses a tenth: the rate of a moment says nothing about the speed.
        let devices = [disk("sda", 50e6, 0.1)];
        let tracker = tracked(&devices, |_| memory(600 * MB, 0));
        let writing = memory(500 * MB, 100 * MB);
        let time = tracker.time_to_flush(&writing, &devices).unwrap();
        assert_eq!(time.as_secs_f64().round(), 1.0, "{time:?}");
        // Nothing is under writeback: it begins when the data expire.
        let waiting = memory(600 * MB, 0);
        let time = tracker.time_to_flush(&waiting, &devices).unwrap();
        assert_eq!(time.as_secs_f64().round(), 36.0, "{time:?}");
    }

    #[test]
    fn flush_time_is_unknown_without_measured_writes_or_with_two_written_devices() {
        let now = memory(600 * MB, 10 * MB);
        let trickle = [disk("sda", 100e3, 0.01)];
        assert_eq!(
            tracked(&trickle, |_| memory(0, 0)).time_to_flush(&now, &trickle),
            None
        );
        let two = [disk("sda", 50e6, 0.1), disk("sdb", 50e6, 0.1)];
        assert_eq!(
            tracked(&two, |_| memory(0, 0)).time_to_flush(&now, &two),
            None
        );
    }

    #[test]
    fn flush_time_of_reported_devices_is_that_of_the_slowest() {
        let mut devices = [disk("sda", 100e6, 1.0), disk("sdb", 10e6, 1.0)];
        let tracker = tracked(&devices, |_| memory(0, 0));
        let now = memory(600 * MB, 10 * MB);
        for device in &mut devices {
            device.dirty_bytes = Some(200 * MB);
            device.writeback_bytes = Some(100 * MB);
        }
        tracker.set_flush_times(&now, &mut devices);
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64().round());
        assert_eq!(seconds(devices[0].time_to_flush), Some(3.0));
        assert_eq!(seconds(tracker.time_to_flush(&now, &devices)), Some(30.0));
    }

    #[test]
    fn time_to_throttle_needs_steady_growth() {
        let growing = tracked(&[], |second| memory(second * 100 * MB, 0));
        let time = growing.time_to_throttle(&memory(1000 * MB, 0)).unwrap();
        assert_eq!(time.as_secs_f64().round(), 20.0, "{time:?}");
        assert_eq!(
            growing.time_to_throttle(&memory(3000 * MB, 0)),
            Some(Duration::ZERO)
        );
        let trickle = tracked(&[], |second| memory(second * 10_000, 0));
        assert_eq!(trickle.time_to_throttle(&memory(0, 0)), None);
        let slow = tracked(&[], |second| memory(second * 2 * MB, 0));
        assert_eq!(
            slow.time_to_throttle(&memory(0, 0)),
            None,
            "more than ten minutes"
        );
    }

    #[test]
    fn writers_are_throttled_at_midpoint_of_dirty_limits() {
        let memory = |dirty, writeback| MemoryCounters {
            dirty: Some(dirty),
            writeback: Some(writeback),
            background_threshold: Some(1000),
            throttle_threshold: Some(3000),
            ..MemoryCounters::default()
        };
        assert_eq!(throttle_threshold(&memory(0, 0)), Some(2000));
        assert!(is_throttled(&memory(1900, 100)) && !is_throttled(&memory(1899, 100)));
        assert!(!is_throttled(&MemoryCounters::default()));
    }
}
