//! A directory for scratch files and one for what the program keeps, gone afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use diskscope::session::document::{Run, Session};
use diskscope::session::store;

use crate::requirement::{Requirement, skip};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let place = Self { directory };
        fs::create_dir_all(place.scratch()).unwrap();
        fs::create_dir_all(place.state()).unwrap();
        place
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn scratch(&self) -> PathBuf {
        self.path().join("scratch")
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Sessions and journals, the latest first.
    pub fn saved(&self) -> Vec<PathBuf> {
        store::list(&self.state().join("diskscope/sessions")).unwrap()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        command
            .args(words)
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.state())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `run TEST` on a scratch file of 16 MiB.
    pub fn run(&self, test: &str, options: &[&str]) -> Command {
        let fixed = ["run", test, "scratch", "--scratch-size", "16MiB"];
        self.command(&[&fixed[..], options].concat())
    }

    /// The one session that was kept; also a journal.
    pub fn session(&self) -> Session {
        let saved = self.saved();
        assert_eq!(saved.len(), 1, "{saved:?}");
        store::load(&saved[0]).unwrap()
    }
}

/// The process that does a program's work, the child of the one that was started; `None` while it
/// is not there yet.
pub fn worker(child: &Child) -> Option<PathBuf> {
    let id = child.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let worker = children.split_whitespace().next()?;
    Some(Path::new("/proc").join(worker))
}

/// Kills a program, and waits until its worker is gone, too.
pub fn kill(child: &mut Child) {
    let worker = worker(child);
    child.kill().unwrap();
    child.wait().unwrap();
    if let Some(worker) = worker {
        wait_until("the end of the worker", || !worker.exists());
    }
}

/// Waits until something is the case.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How much of its time a run's curve covers.
pub fn covered(run: &Run) -> Duration {
    let points = run.findings.series("iops-over-time").map(|it| &it.points);
    let last = points
        .and_then(|points| points.last())
        .map_or(0.0, |it| it[0]);
    Duration::from_nanos(last as u64)
}

/// Whether this process may mount; says why not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        let reason = "only root can mount a file system and attach a loop device";
        skip(Requirement::Root, reason);
    }
    root
}
