//! A program that is stopped for a while (SIGSTOP): its latencies are not the drive's.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Place, Run};
use crate::requirement::{Requirement, skip};

const STOP: Duration = Duration::from_secs(2);

/// The process that measures, and the program that waits for it.
fn processes(child: &Child) -> Vec<Pid> {
    let id = child.id();
    let path = format!("/proc/{id}/task/{id}/children");
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let children = std::fs::read_to_string(&path).unwrap();
        let worker = children.split_whitespace().next();
        if let Some(worker) = worker.and_then(|id| Pid::from_raw(id.parse().unwrap())) {
            return vec![Pid::from_child(child), worker];
        }
        assert!(Instant::now() < deadline, "no worker");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A run of four seconds that is stopped in its middle; `both` as the freezer and a suspended
/// machine do, else only the process that the shell knows.
fn stopped(options: &[&str], both: bool) -> Run {
    let place = Place::new();
    let file = place.file("disk", 16 << 20);
    let words = [&["random-read", file.to_str().unwrap()][..], options].concat();
    place.run_with(&words, |child| {
        let processes = processes(child);
        thread::sleep(Duration::from_millis(1200));
        let last = if both { processes.len() } else { 1 };
        for process in &processes[..last] {
            kill_process(*process, Signal::STOP).unwrap();
        }
        thread::sleep(STOP);
        for process in processes[..last].iter().rev() {
            kill_process(*process, Signal::CONT).unwrap();
        }
    })
}

fn figure(run: &Run, name: &str) -> f64 {
    let figures = run.at("/figures").as_array().unwrap();
    let figure = figures.iter().find(|figure| figure["name"] == name);
    figure.unwrap()["value"].as_f64().unwrap()
}

#[test]
fn a_run_that_is_stopped_for_a_while_says_so_and_its_latencies_do_not() {
    for (engine, both) in [("uring", true), ("pread", true), ("auto", false)] {
        let options = ["--duration", "5s", "--depth", "4", "--engine", engine];
        let run = stopped(&options, both);
        run.assert_found("paused", &["did not run for", "once"]);
        let slowest = figure(&run, "latency_max");
        assert!(slowest < 1e9, "{engine}: {slowest} ns");
        // The time of the pause is no time of the curve.
        let curve = run.at("/series").as_array().unwrap();
        let curve = curve
            .iter()
            .find(|series| series["name"] == "iops-over-time")
            .unwrap();
        let points = curve["points"].as_array().unwrap();
        let last = points.last().unwrap()[0].as_f64().unwrap();
        assert!(last < 4e9, "{engine}: {last} ns");
    }
}

#[test]
fn a_run_with_a_rate_that_is_stopped_is_invalid() {
    let run = stopped(&["--duration", "5s", "--rate", "100/s"], true);
    run.assert_found("paused-open-loop", &["did not run for"]);
    assert!(!run.codes().contains(&"paused"));
}

#[test]
fn a_busy_machine_is_no_pause() {
    let place = Place::new();
    let file = place.file("disk", 16 << 20);
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
    let run = place.run(&["random-read", file.to_str().unwrap(), "--duration", "3s"]);
    for mut hog in hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    assert!(!run.codes().contains(&"paused"), "{:?}", run.codes());
}
