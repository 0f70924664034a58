//! Waiting for programs that a test has started, and their worker processes.

#![allow(dead_code, reason = "not every test program needs all of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a condition is looked at.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until something is the case.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Runs dd(1) with these words, which must succeed; the number of its process.
#[track_caller]
pub fn run_dd(words: &[&str]) -> u32 {
    let mut dd = Command::new("dd")
        .args(words)
        .arg("status=none")
        .spawn()
        .unwrap();
    assert!(dd.wait().unwrap().success(), "dd {words:?}");
    dd.id()
}

/// The directory in /proc of the process that does a program's work, a child of the one that was
/// started; `None` while it is not there yet.
pub fn worker(child: &Child) -> Option<PathBuf> {
    worker_id(child).map(|id| Path::new("/proc").join(id.to_string()))
}

/// The number of that process.
pub fn worker_id(child: &Child) -> Option<i32> {
    let id = child.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
