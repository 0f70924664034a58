//! A ring survives a kill, and the next recorder continues it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use diskscope::recording::{AppendResult, Recorder, Recording, RingRecorder, TriggerRecord};
use diskscope::snapshot::{Snapshot, ViewBuilder};
use serde_json::Value;

use crate::loop_device::LoopDevice;
use crate::process::run_dd;
use crate::requirement::{Requirement, skip};

fn recorder(file: &Path, options: &[&str]) -> Command {
    sized_recorder(file, "4MB", "100ms", options)
}

fn sized_recorder(file: &Path, size: &str, interval: &str, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command
        .arg("record")
        .arg(file)
        .args(["--ring", size, "--interval", interval])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn view_count(file: &Path) -> usize {
    Recording::open(file).map_or(0, |recording| recording.view_count())
}

fn wait_for_views(file: &Path, recorder: &mut Child, count: usize) {
    let began = Instant::now();
    while view_count(file) < count {
        assert!(began.elapsed() < Duration::from_secs(60), "no views");
        assert!(recorder.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ring_of_killed_recorder_is_whole_and_is_continued() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("day.ring");
    let mut counts = vec![0];
    for _ in 0..3 {
        let mut running = recorder(&file, &[]).spawn().unwrap();
        let before = counts[counts.len() - 1];
        wait_for_views(&file, &mut running, before + 3);
        running.kill().unwrap();
        running.wait().unwrap();
        let recording = Recording::open(&file).unwrap();
        assert!(recording.damage().is_none() && !recording.ended_cleanly());
        counts.push(recording.view_count());
    }
    let ended = recorder(&file, &["--duration", "300ms"]).output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{message}");
    let mut recording = Recording::open(&file).unwrap();
    assert!(recording.ended_cleanly());
    assert!(recording.view_count() > counts[3], "{counts:?}");
    let times: Vec<u64> = recording
        .view_marks()
        .iter()
        .map(|mark| mark.time_ms)
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let last = recording.view_count() - 1;
    assert!(recording.read_view(last).unwrap().is_some());
    // They hold command lines of other users.
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&file), 0o700);
    for file in std::fs::read_dir(&file).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn directory_of_others_is_never_used() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes.txt");
    std::fs::write(&notes, "mine").unwrap();
    for (path, expected) in [
        (directory.path(), "is no ring: it holds other files"),
        (&notes, "it is a symbolic link, or no directory"),
    ] {
        let refused = recorder(path, &[]).output().unwrap();
        let message = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Bytes of all files in a directory.
fn bytes_of(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

/// A snapshot that compresses to about 40 kB.
fn large_snapshot(index: u64) -> Snapshot {
    let mut live = ViewBuilder::default().update(Arc::default());
    let time = jiff::Timestamp::from_second(1_700_000_000 + index as i64).unwrap();
    live.time = time.to_string().into();
    let mut random = index + 1;
    let mut digits = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{random:016x}")
    };
    live.notices = (0..20)
        .map(|_| (0..200).map(|_| digits()).collect::<String>().into())
        .collect();
    live
}

#[test]
fn ring_deletes_its_oldest_samples_and_keeps_triggers_longest() {
    const SIZE: u64 = 4_000_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("day");
    let mut ring = RingRecorder::open(&path, SIZE).unwrap();
    let other = RingRecorder::open(&path, SIZE).unwrap_err();
    assert!(other.to_string().contains("another recorder"), "{other}");
    let trigger = |time_ms| {
        let mut trigger = TriggerRecord::default();
        let time = jiff::Timestamp::from_millisecond(time_ms).unwrap();
        trigger.first.time = time.to_string().into();
        trigger.first.condition = "await(sda)>50ms".into();
        trigger
    };
    let request = "{\"time_ns\":1,\"sector\":2}\n";
    ring.append_trigger(&trigger(7), request.as_bytes())
        .unwrap();
    for index in 0..300 {
        let appended = ring.append_snapshot(&large_snapshot(index)).unwrap();
        assert_eq!(appended, AppendResult::Written);
        let bytes = bytes_of(&path);
        assert!(bytes <= SIZE && bytes == ring.size_bytes(), "{bytes}");
    }
    let mut recording = Recording::open(&path).unwrap();
    let count = recording.view_count();
    assert!((60..290).contains(&count), "{count}");
    assert_eq!(
        recording.read_view(count - 1).unwrap(),
        Some(large_snapshot(299))
    );
    assert_eq!(
        recording.read_view(0).unwrap(),
        Some(large_snapshot(300 - count as u64))
    );
    assert_eq!(recording.read_trigger(0).unwrap(), Some(trigger(7)));
    let mut requests = 0;
    let counted = &mut |_: &str| {
        requests += 1;
        true
    };
    recording.for_each_trigger_request(0, counted).unwrap();
    assert_eq!(requests, 1);
    // Triggers take a quarter at most, each of these a twentieth.
    let lines: String = (0..3000)
        .map(|index| {
            format!(
                "{{\"time_ns\":{index},\"x\":{:?}}}\n",
                large_snapshot(index).notices[0].get(..128)
            )
        })
        .collect();
    for time_ms in 0..30 {
        ring.append_trigger(&trigger(time_ms), lines.as_bytes())
            .unwrap();
        assert!(bytes_of(&path) <= SIZE);
    }
    let triggers = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap());
    let triggers =
        triggers.filter(|file| file.file_name().to_string_lossy().starts_with("trigger-"));
    let bytes: u64 = triggers.map(|file| file.metadata().unwrap().len()).sum();
    assert!((SIZE / 8..=SIZE / 4).contains(&bytes), "{bytes}");
    let recording = Recording::open(&path).unwrap();
    assert!(recording.view_count() > 0);
    assert_eq!(
        recording.trigger_marks().last().map(|mark| mark.time_ms),
        Some(29)
    );
}

/// Reads blocks of a device, bypassing the cache.
fn read_device(device: &LoopDevice, block: &str, skip: u32, count: u32) {
    run_dd(&[
        &format!("if={}", device.path()),
        "of=/dev/null",
        "iflag=direct",
        &format!("bs={block}"),
        &format!("skip={skip}"),
        &format!("count={count}"),
    ]);
}

fn output_of(arguments: &[&str], file: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .arg(arguments[0])
        .args(&arguments[1..])
        .arg(file)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// Records reads of a device, first few of 4 KiB and then as many of 64 KiB as meet the condition.
/// Returns the recording of a recorder that was killed, with its trigger, and the time between the
/// first reads and the others.
fn record_trigger(device: &LoopDevice, file: &Path, condition: &str) -> (Recording, Duration) {
    let mut running = sized_recorder(file, "50MB", "1s", &["--on", condition])
        .spawn()
        .unwrap();
    wait_for_views(file, &mut running, 2);
    let first_reads = Instant::now();
    // Too little for the condition: it is known only because the kernel kept it.
    read_device(device, "4k", 1000, 5);
    wait_for_views(file, &mut running, 4);
    let until_condition = first_reads.elapsed();
    read_device(device, "64k", 200, 600);
    let trigger_count = || Recording::open(file).map_or(0, |it| it.trigger_marks().count());
    let began = Instant::now();
    while trigger_count() == 0 {
        assert!(began.elapsed() < Duration::from_secs(90), "no trigger");
        assert!(running.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(100));
    }
    // The next sample comes after all of the trigger.
    let views = view_count(file);
    wait_for_views(file, &mut running, views + 1);
    running.kill().unwrap();
    running.wait().unwrap();
    (Recording::open(file).unwrap(), until_condition)
}

#[test]
fn trigger_keeps_requests_from_before_it() {
    let Some(device) = LoopDevice::with(&vec![0x5a; 64 << 20]) else {
        return;
    };
    let name = device.name().to_owned();
    let directory = tempfile::tempdir().unwrap();
    let condition = format!("read_bytes_per_s({name})>1MB/s");
    let mut attempt = 0;
    // The kernel keeps a limited number of requests, of other tests too: their load may have
    // overwritten those from before the trigger.
    let (file, recording, trigger) = loop {
        attempt += 1;
        let file = directory.path().join(format!("day{attempt}.ring"));
        let (recording, until_condition) = record_trigger(&device, &file, &condition);
        let trigger = recording.read_trigger(0).unwrap().unwrap();
        let reach = trigger.requests.reach_ns.map(Duration::from_nanos);
        let is_overwritten = reach.is_some_and(|reach| reach < until_condition);
        if !is_overwritten || attempt == 6 {
            break (file, recording, trigger);
        }
    };
    if let Some(reason) = &trigger.requests.unavailable {
        skip(Requirement::Tracing, reason);
        return;
    }
    assert_eq!(trigger.first.subject.as_str(), name);
    assert!(trigger.first.value > 1e6, "{trigger:?}");
    let mut kept = Vec::new();
    recording
        .for_each_trigger_request(0, &mut |line| {
            kept.push(serde_json::from_str::<Value>(line).unwrap());
            true
        })
        .unwrap();
    assert_eq!(kept.len() as u64, trigger.requests.kept);
    let of_device = |line: &&Value| line["device"] == name.as_str();
    let before: Vec<u64> = kept
        .iter()
        .filter(of_device)
        .filter(|line| line["bytes"] == 4096)
        .filter_map(|line| line["sector"].as_u64())
        .collect();
    for sector in [8000, 8008, 8016, 8024, 8032] {
        assert!(before.contains(&sector), "{sector}: {before:?}");
    }
    let after = kept.iter().filter(of_device).count();
    assert!(after >= 600, "{after}: {:?}", trigger.requests);
    let printed = output_of(&["replay", "--triggers"], &file);
    assert!(printed.contains(&condition), "{printed}");
    let newest = std::fs::read_dir(&file).unwrap().next().unwrap();
    let newest = newest.unwrap().path();
    let before = std::fs::read(&newest).unwrap();
    let onto_itself = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["why", "-o"])
        .args([&newest, Path::new("--from"), &file])
        .output()
        .unwrap();
    assert_eq!(onto_itself.status.code(), Some(2), "{onto_itself:?}");
    assert!(std::fs::read(&newest).unwrap() == before, "it has changed");
    let found = output_of(&["why", "--json", "--from"], &file);
    let document: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(document["schema"], "diskscope-diagnosis");
    // The text wraps its lines.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = document["sentence"].as_str().unwrap();
    assert!(words(&printed).contains(&words(sentence)), "{printed}");
}

#[test]
fn packaged_unit_has_no_specifiers() {
    let unit = include_str!("../../assets/package/diskscope-recorder.service");
    // A percent sign begins a specifier in a unit (systemd.unit(5)).
    assert!(!unit.replace("%%", "").contains('%'));
}
