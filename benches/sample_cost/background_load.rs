//! What the monitors watch: sleeping processes, one with many descriptors that moves bytes, a slow copy.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors of this process.
const DESCRIPTORS: usize = 5000;

/// A child that does not outlive the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processes and files that the monitors watch.
pub struct BackgroundLoad {
    _sleepers: Vec<Running>,
    _open: Vec<File>,
    _directory: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    busy: Vec<JoinHandle<()>>,
}

impl BackgroundLoad {
    /// Starts `processes` sleeping processes, and this one with many descriptors.
    pub fn start(processes: usize) -> Self {
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            ..limit
        };
        setrlimit(Resource::Nofile, raised).unwrap();
        let sleep = |_| {
            let mut sleep = Command::new("sleep");
            Running(sleep.arg("600").stdin(Stdio::null()).spawn().unwrap())
        };
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        fs::write(&source, vec![7; 128 << 20]).unwrap();
        let open = (0..DESCRIPTORS).map(|_| File::open(&source).unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let mut load = Self {
            _sleepers: (0..processes).map(sleep).collect(),
            _open: open.collect(),
            _directory: directory,
            stop,
            busy: Vec::new(),
        };
        // This process has many descriptors and moves bytes all the time.
        load.repeat(Duration::from_millis(200), {
            let source = source.clone();
            move || drop(fs::read(&source).unwrap())
        });
        load.repeat(Duration::from_millis(100), move || copy(&source));
        load
    }

    fn repeat(&mut self, pause: Duration, act: impl Fn() + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        self.busy.push(thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                act();
                thread::sleep(pause);
            }
        }));
    }
}

impl Drop for BackgroundLoad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.busy.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A copy that waits for the drive after each block: it takes a while and leaves the processors to
/// the monitors.
fn copy(source: &Path) {
    let status = Command::new("dd")
        .arg(format!("if={}", source.display()))
        .arg(format!("of={}", source.with_extension("copy").display()))
        .args(["bs=4k", "oflag=dsync", "status=none"])
        .status();
    assert!(status.unwrap().success());
}
