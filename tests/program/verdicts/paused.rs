//! A program that is stopped for a while (SIGSTOP): its latencies are not the drive's, and the run says so.

use std::process::Child;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{wait_until, worker_id};
use crate::requirement::{Requirement, skip};
use crate::verdicts::sandbox::{Run, VerdictSandbox};

const PAUSE_TIME: Duration = Duration::from_secs(2);

/// The process that measures, and the program that waits for it.
fn diskscope_processes(child: &Child) -> Vec<Pid> {
    let mut found = None;
    wait_until("the worker is there", || {
        found = worker_id(child).and_then(Pid::from_raw);
        found.is_some()
    });
    vec![Pid::from_child(child), found.unwrap()]
}

/// A run of four seconds that is stopped in its middle, as by the freezer or a suspended machine.
fn run_with_pause(options: &[&str]) -> Run {
    let sandbox = VerdictSandbox::new();
    let file = sandbox.create_random_file("disk", 16 << 20);
    let words = [&["random-read", file.to_str().unwrap()][..], options].concat();
    sandbox.run_benchmark_while(&words, |child| {
        let processes = diskscope_processes(child);
        thread::sleep(Duration::from_millis(1200));
        for process in &processes {
            kill_process(*process, Signal::STOP).unwrap();
        }
        thread::sleep(PAUSE_TIME);
        for process in processes.iter().rev() {
            kill_process(*process, Signal::CONT).unwrap();
        }
    })
}

#[test]
fn paused_run_is_flagged() {
    for options in [
        ["--depth", "4", "--engine", "uring"],
        ["--depth", "4", "--engine", "pread"],
        ["--depth", "4", "--rate", "100/s"],
    ] {
        let run = run_with_pause(&[&["--duration", "5s"][..], &options].concat());
        run.assert_check("paused", &["did not run for", "once"]);
    }
}

#[test]
fn busy_machine_is_not_reported_as_pause() {
    let sandbox = VerdictSandbox::new();
    let file = sandbox.create_random_file("disk", 16 << 20);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut hogs = Vec::new();
    for _ in 0..cores * 8 {
        let hog = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        match hog {
            Ok(hog) => hogs.push(hog),
            Err(error) => return skip(Requirement::Program, error),
        }
    }
    let run = sandbox.run_benchmark(&["random-read", file.to_str().unwrap(), "--duration", "3s"]);
    for mut hog in hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    assert!(
        !run.check_codes().contains(&"paused"),
        "{:?}",
        run.check_codes()
    );
}
