//! The segments of a ring, and which of them is overwritten next.

use super::frame::FrameKind;
use super::ring::{RingGeometry, ScannedRing};

/// Segments with snapshots from this long before a trigger are protected, in milliseconds.
const PROTECTED_BEFORE_MS: u64 = 60_000;
/// Segments with snapshots until this long after a trigger are protected, in milliseconds.
const PROTECTED_AFTER_MS: u64 = 30_000;
/// At most 1 in this many segments is protected.
const PROTECTED_SHARE: usize = 4;

/// What is known of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SegmentSummary {
    /// Sequence number; 0 while it is unused.
    sequence: u64,
    /// Times of its first and last snapshot, in milliseconds since 1970.
    times_ms: Option<(u64, u64)>,
    /// Times of its triggers.
    triggers_ms: Vec<u64>,
}

/// All segments of a ring.
#[derive(Debug)]
pub(super) struct RingSegments(Vec<SegmentSummary>);

impl RingSegments {
    /// The segments as they were found.
    pub(super) fn new(geometry: RingGeometry, ring: &ScannedRing) -> Self {
        let mut segments = Self(vec![
            SegmentSummary::default();
            geometry.segment_count as usize
        ]);
        for found in &ring.segments {
            segments.0[found.index].sequence = found.sequence;
            for entry in &found.entries {
                segments.note_frame(found.index, entry.head.kind, entry.head.mark.time_ms);
            }
        }
        segments
    }

    /// Notes a frame that was written to a segment.
    pub(super) fn note_frame(&mut self, segment: usize, kind: FrameKind, time_ms: u64) {
        let segment = &mut self.0[segment];
        match kind {
            FrameKind::View => {
                let (first, last) = segment.times_ms.unwrap_or((time_ms, time_ms));
                segment.times_ms = Some((first.min(time_ms), last.max(time_ms)));
            }
            FrameKind::Trigger => segment.triggers_ms.push(time_ms),
            _ => {}
        }
    }

    /// Begins the next segment in place of the oldest one that is neither protected nor the current
    /// one. Returns its number and its sequence number.
    pub(super) fn begin_next(&mut self, current: usize) -> (usize, u64) {
        let protected = self.protected();
        let is_current = |index: usize| index == current && self.0[index].sequence > 0;
        let oldest = (0..self.0.len())
            .filter(|index| !is_current(*index))
            .min_by_key(|index| (protected.contains(index), self.0[*index].sequence));
        let index = oldest.unwrap_or(current);
        let newest = self.0.iter().map(|segment| segment.sequence).max();
        // Opening refuses a ring with a number above `MAX_SEQUENCE`.
        let sequence = newest.unwrap_or(0).saturating_add(1);
        self.0[index] = SegmentSummary {
            sequence,
            ..SegmentSummary::default()
        };
        (index, sequence)
    }

    /// The segments with triggers and with the snapshots around them: those of the latest triggers,
    /// up to their share of the ring.
    fn protected(&self) -> Vec<usize> {
        let most = self.0.len() / PROTECTED_SHARE;
        let mut triggers: Vec<(u64, usize)> = self
            .0
            .iter()
            .enumerate()
            .flat_map(|(index, segment)| segment.triggers_ms.iter().map(move |time| (*time, index)))
            .collect();
        triggers.sort_unstable();
        let mut protected = Vec::new();
        for (time, holder) in triggers.into_iter().rev() {
            let from = time.saturating_sub(PROTECTED_BEFORE_MS);
            let until = time.saturating_add(PROTECTED_AFTER_MS);
            let is_around = |index: usize| {
                self.0[index]
                    .times_ms
                    .is_some_and(|(first, last)| first <= until && last >= from)
            };
            let added: Vec<usize> = (0..self.0.len())
                .filter(|index| *index == holder || is_around(*index))
                .filter(|index| !protected.contains(index))
                .collect();
            if protected.len() + added.len() > most {
                break;
            }
            protected.extend(added);
        }
        protected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(count: usize) -> RingSegments {
        RingSegments(vec![SegmentSummary::default(); count])
    }

    /// Writes a segment a minute; those in `triggers` hold a trigger.
    fn write_segments(segments: &mut RingSegments, count: u64, triggers: &[u64]) {
        let mut current = 0;
        for minute in 0..count {
            (current, _) = segments.begin_next(current);
            let time = minute * 60_000;
            segments.note_frame(current, FrameKind::View, time);
            segments.note_frame(current, FrameKind::View, time + 50_000);
            if triggers.contains(&minute) {
                segments.note_frame(current, FrameKind::Trigger, time + 10_000);
            }
        }
    }

    fn minutes(segments: &RingSegments) -> Vec<u64> {
        let mut minutes: Vec<u64> = segments
            .0
            .iter()
            .filter_map(|segment| Some(segment.times_ms?.0 / 60_000))
            .collect();
        minutes.sort_unstable();
        minutes
    }

    #[test]
    fn ring_overwrites_oldest_segment_first() {
        let mut segments = ring(8);
        write_segments(&mut segments, 8, &[]);
        assert_eq!(minutes(&segments), [0, 1, 2, 3, 4, 5, 6, 7]);
        let mut segments = ring(8);
        write_segments(&mut segments, 20, &[]);
        assert_eq!(minutes(&segments), [12, 13, 14, 15, 16, 17, 18, 19]);
    }

    #[test]
    fn segments_around_trigger_outlive_others() {
        let mut segments = ring(8);
        write_segments(&mut segments, 20, &[3]);
        // Minute 2 holds the snapshots before the trigger.
        assert_eq!(minutes(&segments), [2, 3, 14, 15, 16, 17, 18, 19]);
    }

    #[test]
    fn triggers_protect_bounded_share_of_ring() {
        let mut segments = ring(8);
        write_segments(&mut segments, 30, &[3, 9, 15]);
        assert_eq!(minutes(&segments), [14, 15, 24, 25, 26, 27, 28, 29]);
        let mut segments = ring(8);
        let all: Vec<u64> = (0..30).collect();
        write_segments(&mut segments, 30, &all);
        let left = minutes(&segments);
        assert_eq!(left[left.len() - 6..], [24, 25, 26, 27, 28, 29]);
    }
}
