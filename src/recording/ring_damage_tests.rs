//! Rings that others made up or damaged: no panic, no write outside of the segments that are written,
//! and a file of constant size.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::frame::{FRAME_HEADER_BYTES, encode_frame};
use super::ring::{
    MAX_SEQUENCE, RING_HEADER_BYTES, RING_HEADER_FIELDS_BYTES, encode_segment_header,
};
use super::ring_tests::{GEOMETRY, RingSandbox, append_views};
use super::{FrameKind, FrameMark, Recording, RecordingCursor, RingWriter, TriggerRecord};

/// A segment that somebody made up, whose checksums are right.
#[derive(Debug, Clone)]
struct InventedSegment {
    sequence: u64,
    /// Kind, whether the stream restarts, time and payload.
    frames: Vec<(FrameKind, bool, u64, Vec<u8>)>,
    /// The last frame leaves this many bytes of the segment.
    gap: Option<u64>,
}

impl InventedSegment {
    fn encode(&self) -> Vec<u8> {
        let (head, mut sum) = encode_segment_header(self.sequence);
        let mut bytes = head.to_vec();
        let size = GEOMETRY.segment_bytes as usize;
        let mut append =
            |bytes: &mut Vec<u8>, (kind, is_restart, time_ms, payload): (_, _, _, &[u8])| {
                let mark = FrameMark {
                    time_ms,
                    bytes_per_s: None,
                };
                let frame = encode_frame(kind, is_restart, mark, payload, Some(sum));
                if bytes.len() + frame.len() <= size {
                    sum = u32::from_le_bytes(frame[24..28].try_into().unwrap());
                    bytes.extend(frame);
                }
            };
        for (kind, is_restart, time_ms, payload) in &self.frames {
            append(&mut bytes, (*kind, *is_restart, *time_ms, payload));
        }
        if let Some(gap) = self.gap {
            let room = size - bytes.len();
            if let Some(length) = room.checked_sub(FRAME_HEADER_BYTES + gap as usize) {
                append(&mut bytes, (FrameKind::View, true, 1, &vec![7; length]));
            }
        }
        bytes.resize(size, 0);
        bytes
    }
}

fn invented_ring(segments: &[InventedSegment]) -> Vec<u8> {
    let mut bytes = GEOMETRY.encode();
    bytes.resize(RING_HEADER_BYTES as usize, 0);
    bytes.extend(segments.iter().flat_map(InventedSegment::encode));
    bytes.resize(GEOMETRY.file_bytes() as usize, 0);
    bytes
}

/// Segments of the file that differ; panics where another part does.
fn changed_segments(before: &[u8], after: &[u8]) -> Vec<usize> {
    assert_eq!(before.len(), after.len(), "the size is constant");
    let header = RING_HEADER_BYTES as usize;
    assert_eq!(before[..header], after[..header]);
    let size = GEOMETRY.segment_bytes as usize;
    let pairs = before[header..]
        .chunks(size)
        .zip(after[header..].chunks(size));
    let changed = pairs.enumerate().filter(|(_, (old, new))| old != new);
    changed.map(|(index, _)| index).collect()
}

/// Continues a ring that others wrote with snapshots and a trigger. Each appended frame changes the
/// segment that it is in, and the one that was ended before, and nothing else.
fn continue_ring(sandbox: &RingSandbox) -> Result<(), String> {
    let mut before = sandbox.bytes();
    let opened = RingWriter::open_with_geometry(&sandbox.path, GEOMETRY);
    let mut writer = opened.map_err(|error| error.to_string())?;
    for index in 0..12 {
        if index == 6 {
            let appended = writer.append_trigger(TriggerRecord::default(), &[]);
            appended.map_err(|error| error.to_string())?;
        }
        append_views(&mut writer, index..index + 1);
        let after = sandbox.bytes();
        assert!(changed_segments(&before, &after).len() <= 3);
        before = after;
    }
    Ok(())
}

#[test]
fn ring_whose_newest_segment_is_full_is_continued_within_its_bounds() {
    for newest in 0..GEOMETRY.segment_count as usize {
        for gap in 0..40 {
            let segments: Vec<InventedSegment> = (0..GEOMETRY.segment_count as usize)
                .map(|index| InventedSegment {
                    // The segment after the newest one in the file is the second newest.
                    sequence: 20 - ((index + 4 - newest) % 4) as u64,
                    frames: Vec::new(),
                    gap: (index == newest).then_some(gap),
                })
                .collect();
            let sandbox = RingSandbox::new();
            let before = invented_ring(&segments);
            std::fs::write(&sandbox.path, &before).unwrap();
            append_views(&mut sandbox.writer(), 0..1);
            let changed = changed_segments(&before, &sandbox.bytes());
            let oldest = (newest + 3) % 4;
            let expected = |index: &usize| [newest, oldest].contains(index);
            assert!(changed.iter().all(expected), "{newest}, {gap}: {changed:?}");
            continue_ring(&sandbox).unwrap();
        }
    }
}

#[test]
fn ring_with_impossible_sequence_number_is_refused() {
    let ring = |sequence| {
        invented_ring(&[InventedSegment {
            sequence,
            frames: Vec::new(),
            gap: None,
        }])
    };
    let sandbox = RingSandbox::new();
    for sequence in [u64::MAX, u64::MAX - 1, MAX_SEQUENCE + 1] {
        let bytes = ring(sequence);
        std::fs::write(&sandbox.path, &bytes).unwrap();
        let message = continue_ring(&sandbox).unwrap_err();
        assert!(message.contains("number of a segment"), "{message}");
        assert_eq!(sandbox.bytes(), bytes);
        assert!(Recording::open(&sandbox.path).is_ok());
    }
    std::fs::write(&sandbox.path, ring(MAX_SEQUENCE)).unwrap();
    continue_ring(&sandbox).unwrap();
}

#[test]
fn ring_of_another_length_is_restored_or_refused() {
    let sandbox = RingSandbox::new();
    append_views(&mut sandbox.writer(), 0..40);
    let bytes = sandbox.bytes();
    let longer = [&bytes[..], b"a line of somebody"].concat();
    std::fs::write(&sandbox.path, &longer).unwrap();
    let message = continue_ring(&sandbox).unwrap_err();
    assert!(message.contains("longer"), "{message}");
    assert_eq!(sandbox.bytes(), longer);
    for length in [RING_HEADER_FIELDS_BYTES, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&sandbox.path, &bytes[..length]).unwrap();
        drop(sandbox.writer());
        assert_eq!(sandbox.bytes().len(), bytes.len());
        continue_ring(&sandbox).unwrap();
    }
}

/// Reads everything that a file holds, whatever that is.
fn read_whole_recording(path: &Path) {
    let Ok(mut recording) = Recording::open(path) else {
        return;
    };
    for view in 0..recording.view_count() {
        let _ = recording.read_view(view);
        let _ = recording.for_each_request(view, &mut |_| true);
    }
    for trigger in 0..recording.trigger_marks().count() {
        let _ = recording.read_trigger(trigger);
        let _ = recording.for_each_trigger_request(trigger, &mut |_| true);
    }
    let mut cursor = RecordingCursor::new(recording);
    cursor.seek_time(u64::MAX);
    let _ = cursor.times();
    let _ = cursor.device_history();
    let _ = cursor.read_views_within(Duration::MAX, (1, 5));
}

fn any_number() -> impl Strategy<Value = u64> {
    let edges = [0, 1, MAX_SEQUENCE, MAX_SEQUENCE + 1, u64::MAX - 1, u64::MAX];
    prop_oneof![8 => 1..9_u64, 1 => prop::sample::select(edges.to_vec()), 1 => any::<u64>()]
}

fn any_segment() -> impl Strategy<Value = InventedSegment> {
    let kinds = [
        FrameKind::View,
        FrameKind::Requests,
        FrameKind::EndOfRecording,
        FrameKind::TriggerRequests,
        FrameKind::Trigger,
        FrameKind::SegmentEnd,
    ];
    let payload = prop::collection::vec(any::<u8>(), 0..700);
    let frame = (
        prop::sample::select(kinds.to_vec()),
        prop::bool::weighted(0.7),
        any_number(),
        payload,
    );
    let frames = prop::collection::vec(frame, 0..8);
    (any_number(), frames, prop::option::of(0..60_u64)).prop_map(|(sequence, frames, gap)| {
        InventedSegment {
            sequence,
            frames,
            gap,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Opened for reading and for continuing, a ring that others wrote or damaged causes no panic and
    /// no write outside of it.
    #[test]
    fn invented_and_damaged_rings_are_read_and_continued_within_their_bounds(
        segments in prop::collection::vec(any_segment(), 1..5),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        length in prop_oneof![6 => Just(usize::MAX), 1 => 0..17_000_usize],
    ) {
        let sandbox = RingSandbox::new();
        let mut bytes = invented_ring(&segments);
        for (place, value) in &edits {
            let at = place.index(bytes.len());
            bytes[at] = *value;
        }
        bytes.truncate(length);
        std::fs::write(&sandbox.path, &bytes).unwrap();
        read_whole_recording(&sandbox.path);
        // What is too short gets its size when it is opened.
        drop(RingWriter::open_with_geometry(&sandbox.path, GEOMETRY));
        match continue_ring(&sandbox) {
            Ok(()) => prop_assert_eq!(sandbox.bytes().len() as u64, GEOMETRY.file_bytes()),
            Err(_) => prop_assert!(sandbox.bytes().len() as u64 <= GEOMETRY.file_bytes()),
        }
        read_whole_recording(&sandbox.path);
    }
}
