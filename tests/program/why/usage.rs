//! Options, exit status and output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::why;
use crate::process::{wait_until, worker};

#[test]
fn window_that_is_too_short_is_a_usage_error() {
    for duration in ["1s", "0", "soon"] {
        let output = why(&["--duration", duration]);
        assert_eq!(output.status.code(), Some(2), "{duration}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn exit_status_is_5_exactly_when_there_is_a_problem() {
    let output = why(&["--duration", "2s", "--json", "--exit-code"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = match document["problem"].as_bool().unwrap() {
        true => 5,
        false => 0,
    };
    assert_eq!(output.status.code(), Some(expected), "{document:#}");
}

#[test]
fn every_cause_is_found_ruled_out_or_not_examined() {
    let output = why(&["--duration", "2s", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["window_ns"].as_u64() >= Some(1_900_000_000));
    assert!(!document["sentence"].as_str().unwrap().is_empty());
    let mut codes: Vec<&str> = ["causes", "ruled_out", "not_examined"]
        .iter()
        .flat_map(|key| document[key].as_array().unwrap())
        .map(|entry| entry["code"].as_str().unwrap())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 18, "{codes:?}");
}

#[test]
fn text_fits_80_columns_except_commands() {
    let output = why(&["--duration", "2s"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("watched until"), "{text}");
    let long = text.lines().filter(|line| line.chars().count() > 80);
    // A command stays whole.
    let long: Vec<_> = long
        .filter(|line| !line.starts_with(&" ".repeat(17)))
        .collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn interrupt_before_the_second_sample_is_no_failure() {
    let mut why = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["why", "--duration", "60s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let handles_interrupt = |process: PathBuf| {
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let signals = u64::from_str_radix(caught.trim(), 16).ok()?;
        Some(signals & 1 << (Signal::INT.as_raw() - 1) != 0)
    };
    let parent = PathBuf::from(format!("/proc/{}", why.id()));
    wait_until("both processes handle SIGINT", || {
        let processes = [worker(&why), Some(parent.clone())];
        let handled = processes.map(|it| it.and_then(handles_interrupt));
        handled == [Some(true); 2]
    });
    kill_process(Pid::from_child(&why), Signal::INT).unwrap();
    assert_eq!(why.wait().unwrap().code(), Some(130));
}
