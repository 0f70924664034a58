//! Processes that no sample has seen alive.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::live::live_sampler::{LiveSampler, MIB, RunningChild, create_file, path_text};

/// Number of short-lived processes.
const COUNT: u64 = 150;

/// Waits for a line, starts one process after the other, says so, and waits for the end of its input.
const SHELL: &str = "read go; i=0; while [ $i -lt 150 ]; do i=$((i+1)); \
    dd if=\"$0\" of=/dev/null bs=1M status=none; done; echo done; read end; exit 0";

#[test]
fn short_lived_children_are_shown_as_ended_children_and_not_as_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 4);
    let shell = Command::new("sh")
        .args(["-c", SHELL, &path_text(&source)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut shell = RunningChild(shell.unwrap());
    let pid = shell.0.id();
    let mut sampler = LiveSampler::start();
    writeln!(shell.0.stdin.as_mut().unwrap(), "go").unwrap();
    let mut answer = String::new();
    let mut output = BufReader::new(shell.0.stdout.take().unwrap());
    output.read_line(&mut answer).unwrap();
    let snapshot = sampler.next_snapshot();

    let seconds = snapshot.interval.unwrap().as_secs_f64();
    let bytes = |exited: bool| {
        let mut processes = snapshot.processes.iter();
        let found = processes.find(|process| process.pid == pid && process.exited == exited)?;
        Some(found.rchar_bytes_per_s? * seconds)
    };
    let expected = (COUNT * 4 * MIB) as f64;
    // Each of them also reads a library or two.
    let ended = bytes(true).expect("a line of ended children");
    assert!(
        ended > expected && ended < expected * 1.05,
        "{ended} of {expected}"
    );
    let own = bytes(false).unwrap_or(0.0);
    assert!(own < expected * 0.01, "{own} of the shell itself");
}
