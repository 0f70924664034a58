//! A ring survives a kill, and the next recorder continues it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use diskscope::recording::Recording;

const SIZE: &str = "4MB";

fn recorder(file: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command
        .arg("record")
        .arg(file)
        .args(["--ring", SIZE, "--interval", "100ms"])
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
    let times: Vec<u64> = recording.view_marks().map(|mark| mark.time_ms).collect();
    assert!(times.is_sorted(), "{times:?}");
    let last = recording.view_count() - 1;
    assert!(recording.read_view(last).unwrap().is_some());
    let size = std::fs::metadata(&file).unwrap().len();
    assert!(size <= 4_000_000, "{size}");
}

#[test]
fn file_that_is_no_ring_is_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    let content = "not a ring, and nobody's to overwrite";
    std::fs::write(&file, content).unwrap();
    let refused = recorder(&file, &[]).output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains("no recording made with --ring"),
        "{message}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
}
