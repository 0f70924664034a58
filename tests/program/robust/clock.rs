//! The calendar's clock is set while the program runs: forwards by a month, back by an hour. No
//! rate, duration or order may depend on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use diskscope::recording::Recording;
use diskscope::session::document::RunState;
use serde_json::Value;

use crate::requirement::{Requirement, skip};
use crate::robust::sandbox::{RunSandbox, covered_time, stderr, stdout};

/// Seconds.
const CLOCK_STEPS: [&str; 2] = ["2678400", "-3600"];

/// The library that steps the clock; `None`, and why, where there is no C compiler.
fn clock_step_library(sandbox: &RunSandbox) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/robust/clock.c");
    let library = sandbox.path().join("clock.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .output();
    match built {
        Ok(output) if output.status.success() => Some(library),
        refused => {
            let reason = format!("cc(1) cannot build what steps the clock: {refused:?}");
            skip(Requirement::Program, reason);
            None
        }
    }
}

fn run_with_clock_step(mut command: Command, library: &Path, step: &str) -> Output {
    command
        .env("LD_PRELOAD", library)
        .env("CLOCK_STEP", step)
        .output()
        .unwrap()
}

/// Calendar time in seconds.
fn unix_seconds(time: &Value) -> i64 {
    let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_second()
}

#[test]
fn run_duration_is_unaffected_by_clock_steps() {
    for step in CLOCK_STEPS {
        let sandbox = RunSandbox::new();
        let Some(library) = clock_step_library(&sandbox) else {
            return;
        };
        let run = sandbox.run("random-read", &["--duration", "2s"]);
        let output = run_with_clock_step(run, &library, step);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let session = sandbox.session();
        let run = &session.runs[0];
        assert_eq!(run.state, RunState::Finished);
        assert!(
            (2..20).contains(&(run.elapsed_ns / 1_000_000_000)),
            "{step}"
        );
        assert!((1..3).contains(&covered_time(run).as_secs()), "{step}");
    }
}

#[test]
fn watch_rates_are_unaffected_by_clock_steps() {
    for step in CLOCK_STEPS {
        let sandbox = RunSandbox::new();
        let Some(library) = clock_step_library(&sandbox) else {
            return;
        };
        let watch = ["watch", "--json", "--interval", "300ms", "--count", "6"];
        let output = run_with_clock_step(sandbox.command(&watch), &library, step);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let views: Vec<Value> = stdout(&output)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let moved = unix_seconds(&views[5]["time"]) - unix_seconds(&views[0]["time"]);
        let wanted: i64 = step.parse().unwrap();
        assert!(
            (moved - wanted).abs() < 60,
            "the clock was not stepped: {moved}"
        );
        for view in views {
            let interval = view["interval_ns"].as_u64().unwrap();
            // After a sample that came late on a busy machine the next interval is shorter.
            assert!(
                (100_000_000..20_000_000_000).contains(&interval),
                "{interval}"
            );
        }
    }
}

#[test]
fn replay_order_is_unaffected_by_clock_steps() {
    for step in CLOCK_STEPS {
        let sandbox = RunSandbox::new();
        let Some(library) = clock_step_library(&sandbox) else {
            return;
        };
        let record = [
            "record",
            "day.rec",
            "--interval",
            "200ms",
            "--duration",
            "1500ms",
        ];
        let output = run_with_clock_step(sandbox.command(&record), &library, step);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut replay = Recording::open(&sandbox.path().join("day.rec")).unwrap();
        assert!(replay.damage().is_none() && replay.view_count() >= 7);
        let times: Vec<u64> = replay
            .view_marks()
            .iter()
            .map(|mark| mark.time_ms)
            .collect();
        for view in 0..times.len() {
            assert_eq!(
                (replay.position(), replay.read_current().unwrap().is_some()),
                (view, true)
            );
            replay.seek_time(times[view]);
            assert_eq!(times[replay.position()], times[view]);
            replay.seek(view);
            replay.step(1);
        }
        replay.seek(usize::MAX);
        replay.device_history();
    }
}
