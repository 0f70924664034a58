//! Recordings are read as they were written, up to where they are damaged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use diskscope::recording::{AppendResult, FrameMark, Recording, RecordingCursor, RecordingWriter};
use diskscope::snapshot::view::DeviceView;
use diskscope::snapshot::{Snapshot, ViewBuilder};

/// Views of a busy day, all different.
fn views(count: usize) -> Vec<Snapshot> {
    (0..count).map(view).collect()
}

fn view(index: usize) -> Snapshot {
    let mut live = ViewBuilder::default().update(Arc::default());
    let time = jiff::Timestamp::from_second(1_700_000_000 + 10 * index as i64).unwrap();
    live.time = time.to_string().into();
    live.interval = (index > 0).then(|| std::time::Duration::from_nanos(10_000_000_001));
    live.devices = (0..3)
        .map(|device| DeviceView {
            name: format!("sd{device}").into(),
            parent: (device == 2).then(|| "sd1".to_owned()).map(Into::into),
            read_bytes_per_s: Some((index * 7919 % 1000) as f64 / 3.0),
            write_bytes_per_s: Some(0.1 + device as f64),
            ..DeviceView::default()
        })
        .collect();
    live
}

struct RecordingSandbox {
    directory: tempfile::TempDir,
}

impl RecordingSandbox {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn record(path: &Path, views: &[Snapshot]) {
    let mut recorder = RecordingWriter::create(path, None).unwrap();
    for live in views {
        assert_eq!(recorder.append_view(live).unwrap(), AppendResult::Written);
    }
    recorder.end_recording(1, "enough").unwrap();
    let size = std::fs::metadata(path).unwrap().len();
    assert!(size > 0);
}

#[test]
fn views_come_back_exactly_in_any_order() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    let written = views(200);
    record(&path, &written);
    let mut recording = Recording::open(&path).unwrap();
    assert_eq!(recording.view_count(), 200);
    assert!(recording.damage().is_none() && recording.ended_cleanly());
    for index in [0, 199, 59, 60, 61, 61, 3, 150, 149] {
        assert_eq!(
            recording.read_view(index).unwrap().as_ref(),
            Some(&written[index])
        );
    }
    assert_eq!(recording.read_view(200).unwrap(), None);
}

#[test]
fn a_replay_steps_jumps_and_finds_the_busiest_moment() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    record(&path, &views(100));
    let mut replay = RecordingCursor::new(Recording::open(&path).unwrap());
    assert!(!replay.step(-1));
    assert!(replay.step(5));
    assert_eq!(replay.position(), 5);
    replay.seek(1000);
    assert_eq!(replay.position(), 99);
    assert!(!replay.step(1));
    replay.seek_time(1_700_000_100_999);
    assert_eq!(replay.position(), 10);
    replay.seek_time(0);
    assert_eq!(replay.position(), 0);
    assert!(replay.seek_busiest());
    let busiest = (0..100).max_by_key(|index| index * 7919 % 1000).unwrap();
    assert_eq!(replay.position(), busiest);
    // The third device lies on the second and does not count again.
    let rate = (busiest * 7919 % 1000) as f64 / 3.0 * 2.0 + 1.2;
    assert_eq!(
        replay.current_mark().unwrap().bytes_per_s,
        Some(rate as u64)
    );
    let history = replay.device_history().unwrap();
    assert_eq!(history.points_of("sd0").unwrap().len(), busiest + 1);
}

#[test]
fn requests_belong_to_the_view_after_them() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    let mut recorder = RecordingWriter::create(&path, None).unwrap();
    let mark = FrameMark {
        time_ms: 1,
        bytes_per_s: None,
    };
    recorder.append_view(&view(0)).unwrap();
    recorder.append_requests(mark, b"{\"sector\":1}\n").unwrap();
    recorder.append_requests(mark, b"{\"sector\":2}\n").unwrap();
    recorder.append_view(&view(1)).unwrap();
    recorder.append_view(&view(2)).unwrap();
    drop(recorder);
    let mut recording = Recording::open(&path).unwrap();
    assert!(!recording.ended_cleanly(), "as after a kill");
    let requests = |recording: &mut Recording, view: usize, most: usize| {
        let mut lines = Vec::new();
        let mut each = |line: &str| {
            lines.push(line.to_owned());
            lines.len() < most
        };
        let went_on = recording.for_each_request(view, &mut each).unwrap();
        (lines, went_on)
    };
    let both = ["{\"sector\":1}", "{\"sector\":2}"].map(str::to_owned);
    assert_eq!(requests(&mut recording, 0, 9), (vec![], true));
    assert_eq!(requests(&mut recording, 1, 9), (both.to_vec(), true));
    assert_eq!(requests(&mut recording, 1, 1), (both[..1].to_vec(), false));
    assert_eq!(requests(&mut recording, 2, 9), (vec![], true));
    assert_eq!(recording.read_view(2).unwrap(), Some(view(2)));
}

#[test]
fn the_limit_holds_and_leaves_a_whole_recording() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("small");
    let mut recorder = RecordingWriter::create(&path, Some(3000)).unwrap();
    let mut written = 0;
    while recorder.append_view(&view(written)).unwrap() == AppendResult::Written {
        written += 1;
    }
    assert_eq!(
        recorder.append_view(&view(written)).unwrap(),
        AppendResult::LimitReached
    );
    recorder.end_recording(1, "the limit was reached").unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() <= 3000);
    let mut recording = Recording::open(&path).unwrap();
    assert!(written > 0 && recording.view_count() == written && recording.ended_cleanly());
    assert!(recording.read_view(written - 1).unwrap().is_some());
}

#[test]
fn a_file_cut_anywhere_opens_up_to_the_cut() {
    let sandbox = RecordingSandbox::new();
    let whole = sandbox.file("whole");
    let written = views(70);
    record(&whole, &written);
    let bytes = std::fs::read(&whole).unwrap();
    let cut = sandbox.file("cut");
    let mut most = 0;
    for length in (0..bytes.len()).step_by(37) {
        std::fs::write(&cut, &bytes[..length]).unwrap();
        let Ok(mut recording) = Recording::open(&cut) else {
            assert!(length < 16, "only without a head is it no recording");
            continue;
        };
        assert!(recording.view_count() >= most);
        most = recording.view_count();
        if let Some(damage) = recording.damage() {
            assert_eq!(damage.intact_bytes + damage.damaged_bytes, length as u64);
        }
        if most > 0 {
            let last = recording.read_view(most - 1).unwrap();
            assert_eq!(last.as_ref(), Some(&written[most - 1]));
        }
    }
    assert_eq!(most, 70);
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let sandbox = RecordingSandbox::new();
    let whole = sandbox.file("whole");
    let written = views(20);
    record(&whole, &written);
    let bytes = std::fs::read(&whole).unwrap();
    let flipped = sandbox.file("flipped");
    for at in (16..bytes.len()).step_by(11) {
        let mut copy = bytes.clone();
        copy[at] ^= 1 << (at % 8);
        std::fs::write(&flipped, &copy).unwrap();
        let mut recording = Recording::open(&flipped).unwrap();
        let damage = recording.damage().expect("it is noticed").clone();
        assert!(damage.intact_bytes <= at as u64);
        assert!(damage.to_string().contains("damaged at byte"));
        for (index, live) in written.iter().take(recording.view_count()).enumerate() {
            assert_eq!(recording.read_view(index).unwrap().as_ref(), Some(live));
        }
    }
}

#[test]
fn file_that_is_not_recording_is_refused_by_name() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("other");
    for content in [&b""[..], b"hello, this is a text file"] {
        std::fs::write(&path, content).unwrap();
        let message = Recording::open(&path).unwrap_err().to_string();
        assert!(
            message.contains("other is not a diskscope recording"),
            "{message}"
        );
    }
    assert!(Recording::open(&sandbox.file("missing")).is_err());
    let message = RecordingWriter::create(&path, None)
        .unwrap_err()
        .to_string();
    assert!(message.contains("exists already"), "{message}");
}

#[test]
fn recording_of_other_version_is_refused_with_both_versions() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("other");
    for (version, remedy) in [(99_u8, "use a later diskscope"), (0, "use the earlier")] {
        std::fs::write(
            &path,
            [b"DSKSCOPE", &[version, 0, 0, 0, 0, 0, 0, 0][..]].concat(),
        )
        .unwrap();
        let message = Recording::open(&path).unwrap_err().to_string();
        let expected = format!("recording of format version {version}, and this diskscope reads");
        assert!(message.contains(&expected), "{message}");
        assert!(message.contains(remedy), "{message}");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .arg("replay")
            .arg(&path)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&expected), "{stderr}");
        assert_eq!(output.status.code(), Some(2), "as for any other file");
    }
}
