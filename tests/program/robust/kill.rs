//! kill -9 at any moment: what was measured until a second before is there, and nothing else.

use std::fs;
use std::time::{Duration, Instant};

use diskscope::session::document::RunState;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::file_system::LoopFileSystem;
use crate::held_opens::HeldOpens;
use crate::robust::sandbox::{
    RunSandbox, covered_time, is_root, kill_and_wait, stderr, wait_until,
};

/// A journal is written to at least this often.
const MAX_LOSS: Duration = Duration::from_secs(1);
/// What a machine busy with other tests may add: the kernel lets nobody work just in time.
const SCHEDULING_TOLERANCE: Duration = Duration::from_secs(2);

/// Moments from the start of a program on, the same ones every time.
fn kill_times(count: usize, latest: Duration) -> Vec<Duration> {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let micros = u64::try_from(latest.as_micros()).unwrap();
    (0..count)
        .map(|_| Duration::from_micros(random.next_u64() % micros))
        .collect()
}

/// Kills a run some time after its journal began, or after its start where `early`. Returns how
/// much of it the journal lacks, if it came so far.
fn kill_run_after(moment: Duration, test: &str, early: bool) -> Option<Duration> {
    let sandbox = RunSandbox::new();
    let mut child = sandbox.run(test, &["--duration", "60s"]).spawn().unwrap();
    if !early {
        wait_until("the journal", || !sandbox.saved_sessions().is_empty());
    }
    let began = Instant::now();
    std::thread::sleep(moment);
    let killed = began.elapsed();
    kill_and_wait(&mut child);

    let left: Vec<_> = fs::read_dir(sandbox.scratch()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    // A kill in the middle of the journal's first line leaves nothing to load.
    let journal = sandbox.saved_sessions().into_iter().next()?;
    if fs::read(&journal).unwrap().is_empty() {
        return None;
    }
    let session = sandbox.session();
    let shown = sandbox
        .command(&["show", journal.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let Some(run) = session.runs.first() else {
        return (!early).then_some(killed);
    };
    assert_eq!(run.state, RunState::Interrupted);
    (!early).then(|| killed.saturating_sub(covered_time(run)))
}

#[test]
fn kill_at_any_time_loses_one_second_and_leaves_no_file() {
    let tests = ["random-read", "random-write", "mixed"];
    for (index, moment) in kill_times(12, Duration::from_millis(2500))
        .iter()
        .enumerate()
    {
        let lost = kill_run_after(*moment, tests[index % tests.len()], false);
        assert!(
            lost.is_none_or(|lost| lost < MAX_LOSS + SCHEDULING_TOLERANCE),
            "{lost:?}"
        );
    }
    for moment in kill_times(4, Duration::from_millis(300)) {
        kill_run_after(moment, "random-read", true);
    }
}

#[test]
#[ignore = "takes four minutes; run alone, for it holds the program to its second"]
fn hundred_kills_each_lose_at_most_one_second() {
    let tests = ["random-read", "random-write", "mixed", "interference"];
    let mut losses = Vec::new();
    for (index, moment) in kill_times(100, Duration::from_secs(4)).iter().enumerate() {
        losses.extend(kill_run_after(*moment, tests[index % tests.len()], false));
    }
    losses.sort();
    let worst = losses.last().unwrap();
    println!(
        "{} kills: lost {:?} in the middle, {worst:?} at worst",
        losses.len(),
        losses[losses.len() / 2]
    );
    assert!(*worst < MAX_LOSS + Duration::from_millis(100), "{worst:?}");
}

#[test]
fn setting_changed_by_killed_run_is_restored_at_next_start() {
    if !is_root() {
        return;
    }
    let sandbox = RunSandbox::new();
    let Some(file_system) = LoopFileSystem::ext4(64 << 20) else {
        return;
    };
    let (drive, target) = (file_system.device(), file_system.file_path("file"));
    fs::write(&target, vec![7; 16 << 20]).unwrap();
    let original = drive.queue("read_ahead_kb");
    let setting = format!("/sys/block/{}/queue/read_ahead_kb", drive.name());
    let words = [
        "run",
        "read-ahead",
        target.to_str().unwrap(),
        "--engine",
        "pread",
    ];
    for (index, moment) in kill_times(6, Duration::from_millis(300)).iter().enumerate() {
        let (setting, before) = (setting.clone(), original.clone());
        // The benchmark opens its target while the setting is changed.
        let is_changed = move || fs::read_to_string(&setting).unwrap() != before;
        let Some(held) = HeldOpens::of(&target, is_changed) else {
            return;
        };
        let mut child = sandbox.command(&words).spawn().unwrap();
        held.wait();
        let is_killed_before_it_opens = index % 2 == 0;
        if !is_killed_before_it_opens {
            held.release();
            std::thread::sleep(*moment);
        }
        kill_and_wait(&mut child);
        let next = sandbox.command(&["tests"]).output().unwrap();
        assert_eq!(drive.queue("read_ahead_kb"), original, "{}", stderr(&next));
    }
    let name = drive.name();
    let record = format!("/run/diskscope/settings/read-ahead@{name}.json");
    assert!(!std::path::Path::new(&record).exists());
}
