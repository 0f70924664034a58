//! A ring loses at most its last frame, wherever it is cut off or damaged.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::ring::{RING_HEADER_BYTES, RING_HEADER_FIELDS_BYTES, RingGeometry};
use super::{AppendResult, RecordedDiagnosis, Recording, RequestLines, RingWriter, TriggerRecord};
use crate::files::safe_text::SafeText;
use crate::snapshot::{Snapshot, ViewBuilder};

pub(super) const GEOMETRY: RingGeometry = RingGeometry {
    segment_bytes: 3072,
    segment_count: 4,
};
const FIRST_SECOND: i64 = 1_700_000_000;

fn view(index: usize) -> Snapshot {
    let mut live = ViewBuilder::default().update(Arc::default());
    let time = jiff::Timestamp::from_second(FIRST_SECOND + 10 * index as i64).unwrap();
    live.time = time.to_string().into();
    // Incompressible enough that a segment holds some views only.
    live.notices = (0..4)
        .map(|part: u64| format!("{:x}", mixed(index as u64 * 4 + part)).into())
        .collect();
    live
}

/// A number without a pattern (splitmix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

pub(super) struct RingSandbox {
    _directory: tempfile::TempDir,
    pub(super) path: PathBuf,
}

impl RingSandbox {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ring");
        Self {
            _directory: directory,
            path,
        }
    }

    pub(super) fn writer(&self) -> RingWriter {
        RingWriter::open_with_geometry(&self.path, GEOMETRY).unwrap()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    /// The indices of the views in a file with these bytes, each compared with what was written.
    fn views_in(&self, bytes: &[u8]) -> Vec<usize> {
        let (found, mut recording) = self.marks_in(bytes);
        for (at, index) in found.iter().enumerate() {
            assert_eq!(recording.read_view(at).unwrap().unwrap(), view(*index));
        }
        found
    }

    /// The indices of the views in a file with these bytes. The first is compared with what was
    /// written, the checksums cover the others.
    fn marks_in(&self, bytes: &[u8]) -> (Vec<usize>, Recording) {
        let path = self.path.with_extension("copy");
        std::fs::write(&path, bytes).unwrap();
        let mut recording = Recording::open(&path).unwrap();
        let marks: Vec<u64> = recording.view_marks().map(|mark| mark.time_ms).collect();
        let index = |time_ms: u64| (time_ms / 1000 - FIRST_SECOND as u64) as usize / 10;
        let found: Vec<usize> = marks.into_iter().map(index).collect();
        assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        if let Some(first) = found.first() {
            assert_eq!(recording.read_view(0).unwrap().unwrap(), view(*first));
        }
        (found, recording)
    }
}

pub(super) fn append_views(writer: &mut RingWriter, views: std::ops::Range<usize>) {
    for index in views {
        assert_eq!(
            writer.append_view(&view(index)).unwrap(),
            AppendResult::Written
        );
    }
}

#[test]
fn ring_keeps_newest_views_at_constant_size() {
    let sandbox = RingSandbox::new();
    let mut writer = sandbox.writer();
    append_views(&mut writer, 0..200);
    assert_eq!(sandbox.bytes().len() as u64, GEOMETRY.file_bytes());
    let found = sandbox.views_in(&sandbox.bytes());
    assert!(found.len() > 20, "{found:?}");
    let expected: Vec<usize> = (200 - found.len()..200).collect();
    assert_eq!(found, expected, "without gaps");
    assert!(Recording::open(&sandbox.path).unwrap().damage().is_none());
}

#[test]
fn ring_is_continued_after_kill_and_after_regular_end() {
    let sandbox = RingSandbox::new();
    let mut writer = sandbox.writer();
    append_views(&mut writer, 0..3);
    drop(writer);
    let mut writer = sandbox.writer();
    append_views(&mut writer, 3..5);
    writer.end_recording(1, "of a signal").unwrap();
    assert!(Recording::open(&sandbox.path).unwrap().ended_cleanly());
    let mut writer = sandbox.writer();
    append_views(&mut writer, 5..7);
    assert_eq!(sandbox.views_in(&sandbox.bytes()), [0, 1, 2, 3, 4, 5, 6]);
    assert!(!Recording::open(&sandbox.path).unwrap().ended_cleanly());
}

#[test]
fn ring_of_another_recorder_size_or_kind_is_refused() {
    let sandbox = RingSandbox::new();
    let writer = sandbox.writer();
    let refusal = |geometry| {
        let refused = RingWriter::open_with_geometry(&sandbox.path, geometry);
        refused.unwrap_err().to_string()
    };
    assert!(refusal(GEOMETRY).contains("another recorder writes"));
    drop(writer);
    let before = sandbox.bytes();
    let other = RingGeometry {
        segment_count: 5,
        ..GEOMETRY
    };
    assert!(refusal(other).contains("is a ring of"));
    assert_eq!(sandbox.bytes(), before);
    for content in [&b"a text file that is longer than a header"[..], b"short"] {
        std::fs::write(&sandbox.path, content).unwrap();
        assert!(refusal(GEOMETRY).contains("no recording made with --ring"));
        assert_eq!(sandbox.bytes(), content);
    }
    // As a power cut right after the file was created leaves it.
    for size in [0, GEOMETRY.file_bytes()] {
        std::fs::write(&sandbox.path, vec![0; size as usize]).unwrap();
        append_views(&mut sandbox.writer(), 0..2);
        assert_eq!(sandbox.views_in(&sandbox.bytes()), [0, 1]);
    }
}

#[test]
fn file_of_ring_size_that_begins_with_zeros_is_kept() {
    let sandbox = RingSandbox::new();
    let size = GEOMETRY.file_bytes() as usize;
    // An ext4 image begins with 1024 zeros.
    for at in [1024, RING_HEADER_BYTES as usize, size - 1] {
        let mut content = vec![0; size];
        content[at] = 0x53;
        std::fs::write(&sandbox.path, &content).unwrap();
        let refused = RingWriter::open_with_geometry(&sandbox.path, GEOMETRY);
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("no recording made with --ring"),
            "{at}: {message}"
        );
        assert_eq!(sandbox.bytes(), content);
    }
}

#[test]
fn ring_in_a_file_that_was_empty_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = RingSandbox::new();
    std::fs::write(&sandbox.path, "").unwrap();
    std::fs::set_permissions(&sandbox.path, PermissionsExt::from_mode(0o644)).unwrap();
    drop(sandbox.writer());
    let mode = std::fs::metadata(&sandbox.path)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn ring_cut_at_any_byte_opens_with_valid_views_only() {
    let sandbox = RingSandbox::new();
    let mut writer = sandbox.writer();
    append_views(&mut writer, 0..80);
    let bytes = sandbox.bytes();
    let all = sandbox.views_in(&bytes);
    let mut most = 0;
    for length in RING_HEADER_FIELDS_BYTES..bytes.len() {
        let (found, _) = sandbox.marks_in(&bytes[..length]);
        assert!(found.iter().all(|index| all.contains(index)), "{length}");
        assert!(found.len() >= most, "{length}: {found:?}");
        most = found.len();
    }
    assert!(most + 1 >= all.len(), "only the last segment's end was cut");
}

#[test]
fn damage_at_any_byte_costs_views_of_its_segment_only() {
    let sandbox = RingSandbox::new();
    let mut writer = sandbox.writer();
    append_views(&mut writer, 0..80);
    let bytes = sandbox.bytes();
    let all = sandbox.views_in(&bytes);
    for at in RING_HEADER_BYTES as usize..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let (found, recording) = sandbox.marks_in(&damaged);
        let lost: Vec<usize> = all
            .iter()
            .copied()
            .filter(|index| !found.contains(index))
            .collect();
        assert!(found.iter().all(|index| all.contains(index)), "{at}");
        // The views of a segment follow each other.
        let is_run = lost.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert!(is_run && lost.len() * 2 < all.len(), "{at}: {lost:?}");
        if lost.last().is_some_and(|last| *last < all[all.len() / 2]) {
            assert!(recording.damage().is_some(), "{at}: {lost:?}");
        }
    }
}

#[test]
fn trigger_keeps_its_requests_and_views_while_ring_goes_round() {
    let sandbox = RingSandbox::new();
    let mut writer = sandbox.writer();
    append_views(&mut writer, 0..5);
    let trigger = TriggerRecord {
        time_ms: (FIRST_SECOND as u64 + 40) * 1000,
        condition: "await(sda)>50ms".into(),
        ..TriggerRecord::default()
    };
    let chunk = RequestLines {
        lines: b"{\"sector\":1}\n{\"sector\":2}\n".to_vec(),
        count: 2,
    };
    writer.append_trigger(trigger.clone(), &[chunk]).unwrap();
    append_views(&mut writer, 5..300);
    let mut recording = Recording::open(&sandbox.path).unwrap();
    let marks: Vec<_> = recording.trigger_marks().collect();
    assert_eq!(marks.len(), 1);
    assert_eq!((marks[0].view, marks[0].time_ms), (4, trigger.time_ms));
    let mut expected = trigger;
    expected.requests.kept = 2;
    assert_eq!(recording.read_trigger(0).unwrap(), Some(expected));
    assert!(recording.has_requests());
    let mut lines = Vec::new();
    recording
        .for_each_request(4, &mut |line| {
            lines.push(line.to_owned());
            true
        })
        .unwrap();
    assert_eq!(lines, ["{\"sector\":1}", "{\"sector\":2}"]);
    let found = sandbox.views_in(&sandbox.bytes());
    assert_eq!(found[..5], [0, 1, 2, 3, 4]);
    assert_eq!(found.last(), Some(&299));
}

#[test]
fn commands_for_a_process_or_a_mount_that_a_ring_of_an_earlier_version_has_are_left_out() {
    let line = |text: &str| SafeText::from(text);
    let sandbox = RingSandbox::new();
    let advice = [
        "pauses it, until kill -CONT 7 continues it:",
        "kill -STOP 7",
        "(cd /proc/7/task && ionice -c 3 -p *)   # I/O class idle",
        "who uses the memory:",
        "umount -f -l -- /mnt/a",
    ];
    let trigger = TriggerRecord {
        diagnosis: Some(RecordedDiagnosis {
            text: vec![
                line("  do           kill -STOP 7   # until kill -CONT 7"),
                line("                 ps -L -p 7 -o lwp= | xargs -n 1 ionice -c 3 -p"),
                line("  do           messages of the kernel:"),
                line("                 umount -f -l -- /mnt/a"),
            ],
            document: json!({ "causes": [{ "advice": advice }, {}, 3] }),
            ..RecordedDiagnosis::default()
        }),
        ..TriggerRecord::default()
    };
    sandbox.writer().append_trigger(trigger, &[]).unwrap();
    let mut recording = Recording::open(&sandbox.path).unwrap();
    let read = recording.read_trigger(0).unwrap().unwrap();
    let read = read.diagnosis.unwrap();
    let left_out = "(left out: another process may have the number now)";
    let other_mount = "(left out: another file system may be mounted there now)";
    assert_eq!(
        read.text,
        [
            line(&format!("  {left_out}")),
            line(&format!("                 {left_out}")),
            line("  do           messages of the kernel:"),
            line(&format!("                 {other_mount}")),
        ]
    );
    let read = &read.document["causes"][0]["advice"];
    let expected = json!([advice[0], left_out, left_out, advice[3], other_mount]);
    assert_eq!(*read, expected);
}

#[test]
fn requests_beyond_share_of_ring_are_counted_as_left_out() {
    let sandbox = RingSandbox::new();
    let mut writer = sandbox.writer();
    let chunk = |seed: u64| RequestLines {
        lines: (0..10_u64)
            .map(|line| format!("{{\"a\":{}}}\n", mixed(seed + line)))
            .collect::<String>()
            .into_bytes(),
        count: 10,
    };
    let chunks: Vec<RequestLines> = (0..40).map(|seed| chunk(seed * 10)).collect();
    writer
        .append_trigger(TriggerRecord::default(), &chunks)
        .unwrap();
    let mut recording = Recording::open(&sandbox.path).unwrap();
    let kept = recording.read_trigger(0).unwrap().unwrap().requests;
    assert!(kept.kept > 0 && kept.left_out > 0, "{kept:?}");
    assert_eq!(kept.kept + kept.left_out, 400);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// After a power cut, each sector that was written since the last sync has its old or its new
    /// content.
    #[test]
    fn power_cut_loses_at_most_the_unsynced_view(
        synced in 1_usize..60, unsynced in 1_usize..3, seed: u64
    ) {
        let sandbox = RingSandbox::new();
        let mut writer = sandbox.writer();
        append_views(&mut writer, 0..synced);
        let before = sandbox.bytes();
        append_views(&mut writer, synced..synced + unsynced);
        drop(writer);
        let after = sandbox.bytes();
        let mut state = seed | 1;
        let mut cut = before.clone();
        for (old, new) in cut.chunks_mut(512).zip(after.chunks(512)) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 63 == 1 {
                old.copy_from_slice(new);
            }
        }
        let (found, _) = sandbox.marks_in(&cut);
        // A new segment replaces the oldest one, whose views may go.
        let (kept, _) = sandbox.marks_in(&after);
        for index in kept.iter().filter(|index| **index < synced) {
            prop_assert!(found.contains(index), "{index}: {found:?}");
        }
        // The ring is continued after it.
        std::fs::write(&sandbox.path, &cut).unwrap();
        let mut writer = sandbox.writer();
        append_views(&mut writer, 100..103);
        let (found, _) = sandbox.marks_in(&sandbox.bytes());
        prop_assert!(found.ends_with(&[100, 101, 102]), "{found:?}");
    }
}
