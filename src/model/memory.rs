//! Dirty memory: when it will be on disk, and when writers have to wait for that.

use std::time::Duration;

use crate::probe::Sample;
use crate::probe::sample::Memory;

/// Longer than this nobody knows what will be.
const FORESEEABLE: Duration = Duration::from_secs(3600);

/// What is dirty or on its way, in bytes.
#[must_use]
pub fn unwritten(memory: &Memory) -> Option<u64> {
    memory.dirty?.checked_add(memory.writeback?)
}

/// How long until what is dirty is on disk, at the rate at which disks are being written to.
#[must_use]
pub fn drain(memory: &Memory, written: Option<f64>) -> Option<Duration> {
    let dirty = unwritten(memory)?;
    let rate = written.filter(|rate| *rate > 0.0)?;
    if dirty == 0 {
        return None;
    }
    // A trickle says nothing about how fast they could: the kernel has not begun yet.
    Duration::try_from_secs_f64(dirty as f64 / rate)
        .ok()
        .filter(|time| *time <= FORESEEABLE)
}

/// From so many unwritten bytes on writers are slowed down: half way between the limit of the
/// background and the hard one (mm/page-writeback.c, `dirty_freerun_ceiling`).
#[must_use]
pub fn throttled_from(memory: &Memory) -> Option<u64> {
    let (background, limit) = (memory.background_from?, memory.throttled_from?);
    Some(background / 2 + limit / 2)
}

/// Whether writers are slowed down.
#[must_use]
pub fn is_throttled(memory: &Memory) -> bool {
    match (unwritten(memory), throttled_from(memory)) {
        (Some(dirty), Some(ceiling)) => dirty >= ceiling,
        _ => false,
    }
}

/// How long until writers are slowed down, if dirty memory goes on growing as between two samples.
#[must_use]
pub fn throttle(before: &Sample, now: &Sample) -> Option<Duration> {
    let (was, is) = (
        unwritten(&before.host.memory)?,
        unwritten(&now.host.memory)?,
    );
    let left = throttled_from(&now.host.memory)?.saturating_sub(is);
    if left == 0 {
        return Some(Duration::ZERO);
    }
    let elapsed = now.at.checked_sub(before.at)?.as_secs_f64();
    let growth = is.checked_sub(was).filter(|growth| *growth > 0)? as f64;
    Duration::try_from_secs_f64(left as f64 * elapsed / growth).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(dirty: u64, writeback: u64) -> Memory {
        Memory {
            dirty: Some(dirty),
            writeback: Some(writeback),
            background_from: Some(1000),
            throttled_from: Some(3000),
            ..Memory::default()
        }
    }

    #[test]
    fn dirty_bytes_drain_at_the_rate_of_the_disks() {
        let dirty = memory(800, 200);
        assert_eq!(drain(&dirty, Some(100.0)), Some(Duration::from_secs(10)));
        assert_eq!(drain(&dirty, Some(0.0)), None);
        assert_eq!(drain(&dirty, Some(0.1)), None, "a trickle");
        assert_eq!(drain(&dirty, None), None);
        assert_eq!(drain(&Memory::default(), Some(1.0)), None);
        assert_eq!(drain(&memory(0, 0), Some(1.0)), None);
    }

    #[test]
    fn writers_wait_from_half_way_between_the_limits() {
        let sample = |seconds, memory| {
            let mut sample = Sample {
                at: Duration::from_secs(seconds),
                ..Sample::default()
            };
            sample.host.memory = memory;
            sample
        };
        // 200 more in two seconds, 1000 to go.
        let (before, now) = (sample(1, memory(500, 300)), sample(3, memory(900, 100)));
        assert_eq!(throttle(&before, &now), Some(Duration::from_secs(10)));
        assert_eq!(
            throttle(&now, &sample(4, memory(100, 0))),
            None,
            "it shrinks"
        );
        let full = sample(5, memory(1900, 100));
        assert_eq!(throttle(&now, &full), Some(Duration::ZERO));
        assert!(is_throttled(&full.host.memory) && !is_throttled(&now.host.memory));
        assert!(!is_throttled(&Memory::default()));
    }
}
