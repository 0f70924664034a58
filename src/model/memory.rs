//! Dirty memory: when it will be flushed, and when writers are throttled.

use std::time::Duration;

use crate::probe::SystemSample;
use crate::probe::sample::MemoryCounters;

/// Longer predictions are not made.
const MAX_PREDICTION: Duration = Duration::from_secs(3600);

/// Bytes dirty or under writeback.
#[must_use]
pub fn unwritten_bytes(memory: &MemoryCounters) -> Option<u64> {
    memory.dirty?.checked_add(memory.writeback?)
}

/// Time until the dirty memory is flushed at the current write rate of the disks.
#[must_use]
pub fn time_to_flush(memory: &MemoryCounters, written: Option<f64>) -> Option<Duration> {
    let dirty = unwritten_bytes(memory)?;
    let rate = written.filter(|rate| *rate > 0.0)?;
    if dirty == 0 {
        return None;
    }
    // A low rate does not show the drive's speed: writeback has not started yet.
    Duration::try_from_secs_f64(dirty as f64 / rate)
        .ok()
        .filter(|time| *time <= MAX_PREDICTION)
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

/// Time until writers are throttled, if dirty memory keeps growing as it did between two samples.
#[must_use]
pub fn time_to_throttle(before: &SystemSample, now: &SystemSample) -> Option<Duration> {
    let (was, is) = (
        unwritten_bytes(&before.host.memory)?,
        unwritten_bytes(&now.host.memory)?,
    );
    let remaining = throttle_threshold(&now.host.memory)?.saturating_sub(is);
    if remaining == 0 {
        return Some(Duration::ZERO);
    }
    let elapsed = now.boot_time.checked_sub(before.boot_time)?.as_secs_f64();
    let growth = is.checked_sub(was).filter(|growth| *growth > 0)? as f64;
    Duration::try_from_secs_f64(remaining as f64 * elapsed / growth).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(dirty: u64, writeback: u64) -> MemoryCounters {
        MemoryCounters {
            dirty: Some(dirty),
            writeback: Some(writeback),
            background_threshold: Some(1000),
            throttle_threshold: Some(3000),
            ..MemoryCounters::default()
        }
    }

    #[test]
    fn time_to_flush_is_dirty_bytes_divided_by_disk_write_rate() {
        let dirty = memory(800, 200);
        assert_eq!(
            time_to_flush(&dirty, Some(100.0)),
            Some(Duration::from_secs(10))
        );
        assert_eq!(time_to_flush(&dirty, Some(0.0)), None);
        assert_eq!(time_to_flush(&dirty, Some(0.1)), None, "a trickle");
        assert_eq!(time_to_flush(&dirty, None), None);
        assert_eq!(time_to_flush(&MemoryCounters::default(), Some(1.0)), None);
        assert_eq!(time_to_flush(&memory(0, 0), Some(1.0)), None);
    }

    #[test]
    fn writers_are_throttled_at_midpoint_of_dirty_limits() {
        let sample = |seconds, memory| {
            let mut sample = SystemSample {
                boot_time: Duration::from_secs(seconds),
                ..SystemSample::default()
            };
            sample.host.memory = memory;
            sample
        };
        // 200 more in two seconds, 1000 remaining.
        let (before, now) = (sample(1, memory(500, 300)), sample(3, memory(900, 100)));
        assert_eq!(
            time_to_throttle(&before, &now),
            Some(Duration::from_secs(10))
        );
        assert_eq!(
            time_to_throttle(&now, &sample(4, memory(100, 0))),
            None,
            "it shrinks"
        );
        let full = sample(5, memory(1900, 100));
        assert_eq!(time_to_throttle(&now, &full), Some(Duration::ZERO));
        assert!(is_throttled(&full.host.memory) && !is_throttled(&now.host.memory));
        assert!(!is_throttled(&MemoryCounters::default()));
    }
}
