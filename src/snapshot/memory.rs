//! Dirty memory and its limits.

use crate::probe::sample::MemoryCounters;

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
