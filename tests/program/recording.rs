//! Recordings are read as they were written, by this program and by zcat, up to where they are damaged.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use diskscope::recording::{AppendResult, FileRecorder, Recorder, Recording};
use diskscope::snapshot::view::{DeviceView, ProcessView};
use diskscope::snapshot::{Snapshot, ViewBuilder, snapshot_line};

/// Views of a busy day, all different, with nothing to round.
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
            read_bytes_per_s: Some((index * 7919 % 1000) as f64),
            write_bytes_per_s: Some(device as f64),
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
    let mut recorder = FileRecorder::create(path, None).unwrap();
    for live in views {
        let appended = recorder.append_snapshot(live).unwrap();
        assert_eq!(appended, AppendResult::Written);
    }
    recorder.end().unwrap();
}

fn replay(arguments: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.arg("replay").args(arguments).arg(path);
    command.output().unwrap()
}

#[test]
fn views_come_back_exactly_in_any_order() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    let written = views(150);
    record(&path, &written);
    let mut recording = Recording::open(&path).unwrap();
    assert!(recording.damage().is_none() && recording.ended_cleanly());
    assert_eq!(recording.view_count(), written.len());
    for index in [0, 149, 59, 60, 61, 3, 120, 119, 2, 148] {
        let read = recording.read_view(index).unwrap();
        assert_eq!(read.as_ref(), Some(&written[index]), "{index}");
    }
    assert_eq!(recording.read_view(150).unwrap(), None);
}

#[test]
fn recording_is_the_json_of_watch_in_gzip() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    let written = views(130);
    record(&path, &written);
    let lines: Vec<String> = written
        .iter()
        .map(|live| snapshot_line(live).unwrap())
        .collect();
    let expected = lines.join("\n") + "\n";
    let unpacked = Command::new("zcat").arg(&path).output().unwrap();
    assert!(
        unpacked.status.success() && unpacked.stderr.is_empty(),
        "{unpacked:?}"
    );
    assert!(unpacked.stdout == expected.as_bytes());
    assert!(replay(&["--json"], &path).stdout == expected.as_bytes());
}

#[test]
fn replay_seeks_by_time_and_by_throughput() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    record(&path, &views(100));
    let mut replay = Recording::open(&path).unwrap();
    for (time_ms, expected) in [
        (1_700_000_000_000 + 123_456, 12),
        (1_700_000_000_000 + 120_000, 12),
        (1_700_000_000_000 + 119_999, 11),
        (0, 0),
        (u64::MAX, 99),
    ] {
        replay.seek_time(time_ms);
        assert_eq!(replay.position(), expected, "{time_ms}");
    }
    assert!(replay.seek_busiest());
    let busiest = (0..100).max_by_key(|index| index * 7919 % 1000).unwrap();
    assert_eq!(replay.position(), busiest);
    // The third device lies on the second and does not count again.
    let rate = (busiest * 7919 % 1000) as u64 * 2 + 1;
    assert_eq!(replay.current_mark().unwrap().bytes_per_s, Some(rate));
    let history = replay.device_history();
    assert_eq!(history.points_of("sd0").unwrap().len(), busiest + 1);
}

#[test]
fn requests_belong_to_the_view_after_them() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    let mut recorder = FileRecorder::create(&path, None).unwrap();
    // More than a member holds.
    let request = |sector: usize| format!("{{\"time_ns\":{sector},\"sector\":\"{sector:0>300}\"}}");
    let counts = [0, 2, 0, 10_000, 1];
    for (index, count) in counts.into_iter().enumerate() {
        let lines: Vec<String> = (0..count).map(|sector| request(sector) + "\n").collect();
        for lines in lines.chunks(1000) {
            recorder.append(lines.concat().as_bytes()).unwrap();
        }
        recorder.append_snapshot(&view(index)).unwrap();
    }
    drop(recorder);
    let mut recording = Recording::open(&path).unwrap();
    assert!(!recording.ended_cleanly(), "as after a kill");
    assert!(recording.has_requests());
    for (index, count) in counts.into_iter().enumerate() {
        let mut sectors = 0;
        let each = &mut |line: &str| {
            assert_eq!(line, request(sectors));
            sectors += 1;
            sectors < 9000
        };
        recording.seek(index);
        let went_on = recording.for_each_request(0, each).unwrap();
        assert_eq!(
            (sectors, went_on),
            (count.min(9000), count < 9000),
            "{index}"
        );
        assert_eq!(recording.read_view(index).unwrap(), Some(view(index)));
    }
    let printed = replay(&["--requests"], &path).stdout;
    assert_eq!(
        printed.iter().filter(|byte| **byte == b'\n').count(),
        10_003
    );
}

#[test]
fn the_limit_holds_and_leaves_a_whole_recording() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("small");
    let mut recorder = FileRecorder::create(&path, Some(3000)).unwrap();
    let mut written = 0;
    while recorder.append_snapshot(&view(written)).unwrap() == AppendResult::Written {
        written += 1;
    }
    let appended = recorder.append_snapshot(&view(written)).unwrap();
    assert_eq!(appended, AppendResult::LimitReached);
    recorder.end().unwrap();
    assert!(fs::metadata(&path).unwrap().len() <= 3000);
    let mut recording = Recording::open(&path).unwrap();
    assert!(written > 0 && recording.view_count() == written && recording.ended_cleanly());
    assert!(recording.read_view(written - 1).unwrap().is_some());
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_the_cut() {
    let sandbox = RecordingSandbox::new();
    let whole = sandbox.file("whole");
    let written = views(70);
    record(&whole, &written);
    let bytes = fs::read(&whole).unwrap();
    let cut = sandbox.file("cut");
    let mut most = 0;
    for length in (0..bytes.len()).step_by(37) {
        fs::write(&cut, &bytes[..length]).unwrap();
        let Ok(mut recording) = Recording::open(&cut) else {
            assert!(length < 1000, "only without a header is it no recording");
            continue;
        };
        let count = recording.view_count();
        // What zcat reads is the measure.
        let mut text = String::new();
        let _ = flate2::read::MultiGzDecoder::new(&bytes[..length]).read_to_string(&mut text);
        assert_eq!(count, text.matches('\n').count(), "{length}");
        let is_boundary = count == 60 && recording.ended_cleanly();
        assert!(count >= most && (is_boundary || !recording.ended_cleanly()));
        most = count;
        if most > 0 {
            let last = recording.read_view(most - 1).unwrap();
            assert_eq!(last.as_ref(), Some(&written[most - 1]));
        }
    }
    assert_eq!(most, 70);
}

#[test]
fn a_flipped_bit_anywhere_is_noticed_and_changes_no_view() {
    let sandbox = RecordingSandbox::new();
    let whole = sandbox.file("whole");
    let written = views(130);
    record(&whole, &written);
    let bytes = fs::read(&whole).unwrap();
    let flipped = sandbox.file("flipped");
    for at in (0..bytes.len()).step_by(61) {
        let mut copy = bytes.clone();
        copy[at] ^= 1 << (at % 8);
        fs::write(&flipped, &copy).unwrap();
        let Ok(mut recording) = Recording::open(&flipped) else {
            assert!(
                at < 16,
                "byte {at}: without the begin of its header it is no recording"
            );
            continue;
        };
        let mut read = 0;
        for index in 0..recording.view_count() {
            if let Ok(Some(live)) = recording.read_view(index) {
                assert!(written.contains(&live), "byte {at}, view {index}");
                read += 1;
            }
        }
        // The views of one member are lost, or all from one on whose header does not begin.
        let is_cut = recording.view_count() < 130;
        assert!(read >= if is_cut { 60 } else { 70 }, "byte {at}: {read}");
        let is_told = recording.damage().is_some() || read < recording.view_count();
        assert!(is_told || read == 130, "byte {at}: {read}");
    }
}

#[test]
fn damage_is_told_and_the_rest_is_printed() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("day");
    record(&path, &views(130));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&path, &bytes).unwrap();
    let output = replay(&["--json"], &path);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(
        message.matches("is damaged at byte").count(),
        1,
        "{message}"
    );
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    assert!((70..130).contains(&lines), "{lines}");
}

#[test]
fn file_that_is_no_recording_is_refused_by_name() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("other");
    for (content, expected) in [
        (&b""[..], "other contains no view"),
        (
            b"hello, this is a text file",
            "other is not a diskscope recording",
        ),
        (&[0; 5000], "other is not a diskscope recording"),
    ] {
        fs::write(&path, content).unwrap();
        let output = replay(&["--json"], &path);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(expected), "{message}");
        assert_ne!(output.status.code(), Some(0));
    }
    assert!(Recording::open(&sandbox.file("missing")).is_err());
    let message = FileRecorder::create(&path, None).unwrap_err().to_string();
    assert!(message.contains("exists already"), "{message}");
}

/// A number of which nothing is known but its range.
fn noise(state: &mut u64, range: f64) -> Option<f64> {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    Some((*state >> 11) as f64 / (1_u64 << 53) as f64 * range)
}

#[test]
fn sample_of_a_busy_machine_takes_at_most_5_kb() {
    let sandbox = RecordingSandbox::new();
    let path = sandbox.file("busy");
    let mut recorder = FileRecorder::create(&path, None).unwrap();
    let mut state = 7;
    let samples = 120;
    for index in 0..samples {
        let mut live = view(index);
        live.devices = (0..6)
            .map(|device| DeviceView {
                name: format!("nvme{device}n1").into(),
                label: "SAMSUNG MZVL2512HCJQ-00B00".into(),
                read_ios_per_s: noise(&mut state, 1e5),
                write_ios_per_s: noise(&mut state, 1e5),
                read_bytes_per_s: noise(&mut state, 1e9),
                write_bytes_per_s: noise(&mut state, 1e9),
                read_await_ns: noise(&mut state, 1e7),
                write_await_ns: noise(&mut state, 1e7),
                queue_size: noise(&mut state, 32.0),
                request_bytes: noise(&mut state, 1e5),
                read_request_bytes: noise(&mut state, 1e5),
                write_request_bytes: noise(&mut state, 1e5),
                busy: noise(&mut state, 1.0),
                read_merged_fraction: noise(&mut state, 1.0),
                write_merged_fraction: noise(&mut state, 1.0),
                ..DeviceView::default()
            })
            .collect();
        live.processes = (0..50)
            .map(|process| ProcessView {
                pid: 1000 + 37 * process,
                tid: 1000 + 37 * process,
                command: format!("/usr/lib/postgresql/15/bin/postgres -D /srv/{process}").into(),
                read_bytes_per_s: noise(&mut state, 1e8),
                write_bytes_per_s: noise(&mut state, 1e8),
                rchar_bytes_per_s: noise(&mut state, 1e8),
                wchar_bytes_per_s: noise(&mut state, 1e8),
                read_syscalls_per_s: noise(&mut state, 1e5),
                write_syscalls_per_s: noise(&mut state, 1e5),
                io_wait: noise(&mut state, 1.0),
                cache_fraction: noise(&mut state, 1.0),
                read_total_bytes: noise(&mut state, 1e12).map(|it| it as u64),
                write_total_bytes: noise(&mut state, 1e12).map(|it| it as u64),
                ..ProcessView::default()
            })
            .collect();
        recorder.append_snapshot(&live).unwrap();
    }
    let bytes = recorder.size_bytes() / samples as u64;
    assert!(bytes <= 5000, "{bytes} bytes for each");
    assert!(bytes > 500, "the samples differ: {bytes}");
}
