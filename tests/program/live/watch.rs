//! `watch --json` as scripts read it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::live::live_sampler::RunningChild;

#[test]
fn interrupted_watch_stream_ends_with_complete_line() {
    let mut watch = RunningChild(
        Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["watch", "--json", "--interval", "100ms"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut output = BufReader::new(watch.0.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    let pid = i32::try_from(watch.0.id()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    output.read_to_string(&mut text).unwrap();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        for field in [
            "time",
            "interval_ns",
            "host",
            "devices",
            "processes",
            "transfers",
        ] {
            assert!(!sample[field].is_null(), "{field} of {line}");
        }
        // For the program alone: with the process id it tells whom to send a signal.
        let processes = sample["processes"].as_array().unwrap();
        assert!(processes.iter().all(|it| it.get("start_ticks").is_none()));
    }
    assert_eq!(watch.0.wait().unwrap().code(), Some(130));
}
