//! A directory for scratch files and one for what the program keeps, gone afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use diskscope::session::document::{BenchmarkRun, SeriesId, Session};
use diskscope::session::store;

pub use crate::process::{wait_until, worker};
pub use crate::requirement::is_root;

pub struct RunSandbox {
    directory: tempfile::TempDir,
    /// In memory: how long a session takes to be durable must not depend on what other tests write.
    state: tempfile::TempDir,
}

impl RunSandbox {
    pub fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let state = tempfile::tempdir_in("/dev/shm").unwrap();
        let sandbox = Self { directory, state };
        fs::create_dir_all(sandbox.scratch()).unwrap();
        sandbox
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn scratch(&self) -> PathBuf {
        self.path().join("scratch")
    }

    pub fn state(&self) -> PathBuf {
        self.state.path().to_owned()
    }

    /// Sessions and journals, the latest first.
    pub fn saved_sessions(&self) -> Vec<PathBuf> {
        store::list_sessions(&self.state().join("diskscope/sessions")).unwrap()
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
        let saved = self.saved_sessions();
        assert_eq!(saved.len(), 1, "{saved:?}");
        store::load_session(&saved[0]).unwrap()
    }
}

/// Kills a program, and waits until its worker is gone, too.
pub fn kill_and_wait(child: &mut Child) {
    let worker = worker(child);
    child.kill().unwrap();
    child.wait().unwrap();
    if let Some(worker) = worker {
        wait_until("the end of the worker", || !worker.exists());
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How much of its time a run's curve covers.
pub fn covered_time(run: &BenchmarkRun) -> Duration {
    let points = run
        .findings
        .series(&SeriesId::IOPS_OVER_TIME)
        .map(|it| &it.points);
    let last = points
        .and_then(|points| points.last())
        .map_or(0.0, |it| it[0]);
    Duration::from_nanos(last as u64)
}
