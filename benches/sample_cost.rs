//! What a sample costs beside other monitors, among 2,000 sleeping processes, one process with 5,000
//! descriptors that moves bytes, and a slow copy:
//!
//! ```text
//! cargo bench --bench sample_cost [-- --rounds 30 --baseline OTHER_DISKSCOPE]
//! ```
//!
//! All monitors sample once a second at the same time, so that every round of one second is the same
//! for all of them; the cost is the processor time of the round (/proc/PID/task/*/schedstat, in
//! nanoseconds). Ratios are diskscope over the other within a round. Needs root; monitors that are
//! not installed are named and left out.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../tests/support/median.rs"]
mod median;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use median::Median;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const SLEEPERS: usize = 2000;
const DESCRIPTORS: usize = 5000;
/// Seconds until every monitor has opened what it keeps open.
const WARM_UP: Duration = Duration::from_secs(5);
/// Length of a round; every monitor takes one sample in each.
const ROUND: Duration = Duration::from_secs(1);

/// A child that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processes and files that the monitors watch.
struct BackgroundLoad {
    _sleepers: Vec<Running>,
    _open: Vec<File>,
    _directory: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    busy: Vec<JoinHandle<()>>,
}

impl BackgroundLoad {
    fn start() -> Self {
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
            _sleepers: (0..SLEEPERS).map(sleep).collect(),
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

/// A monitor in batch mode.
struct Monitor {
    name: &'static str,
    child: Running,
}

impl Monitor {
    /// `None` where it is not installed.
    fn start(name: &'static str, program: &Path, arguments: &[&str]) -> Option<Self> {
        let started = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(child) => Some(Self {
                name,
                child: Running(child),
            }),
            Err(error) => {
                println!("{name} is left out: {}: {error}", program.display());
                None
            }
        }
    }

    /// Processor time of all its threads so far, in nanoseconds.
    fn cpu_ns(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.child.0.id());
        let of_task = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        let tasks = fs::read_dir(&tasks).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        tasks.map(Result::unwrap).filter_map(of_task).sum()
    }
}

fn main() {
    let mut rounds = 30;
    let mut baseline = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().unwrap().parse().unwrap(),
            "--baseline" => baseline = words.next(),
            // What cargo adds.
            "--bench" => {}
            _ => panic!("usage: sample_cost [--rounds N] [--baseline PROGRAM]"),
        }
    }
    assert!(rounds >= 6, "an interval takes six rounds");
    let load = BackgroundLoad::start();
    let own = Path::new(env!("CARGO_BIN_EXE_diskscope"));
    let watch = ["watch", "--json", "--interval", "1s"];
    let monitors: Vec<Monitor> = [
        Monitor::start("diskscope watch", own, &watch),
        baseline.and_then(|path| Monitor::start("baseline", Path::new(&path), &watch)),
        Monitor::start("iotop-c", Path::new("iotop-c"), &["-b", "-d", "1"]),
        Monitor::start("iostat -x", Path::new("iostat"), &["-x", "1"]),
        Monitor::start("pidstat -d", Path::new("pidstat"), &["-d", "1"]),
    ]
    .into_iter()
    .flatten()
    .collect();
    thread::sleep(WARM_UP);
    let mut costs: Vec<Vec<f64>> = monitors.iter().map(|_| Vec::new()).collect();
    let mut before: Vec<u64> = monitors.iter().map(Monitor::cpu_ns).collect();
    for _ in 0..rounds {
        thread::sleep(ROUND);
        for ((monitor, before), costs) in monitors.iter().zip(&mut before).zip(&mut costs) {
            let now = monitor.cpu_ns();
            costs.push((now - *before) as f64 / 1e6);
            *before = now;
        }
    }
    println!("{rounds} rounds; median (95 % confidence interval)\n");
    println!("| monitor | CPU ms per sample | diskscope over it |\n|---|---|---|");
    for (monitor, theirs) in monitors.iter().zip(&costs) {
        let ratios = costs[0]
            .iter()
            .zip(theirs)
            .map(|(ours, theirs)| ours / theirs);
        println!(
            "| {} | {:.1} | {:.3} |",
            monitor.name,
            Median::of(theirs.iter().copied()).unwrap(),
            Median::of(ratios).unwrap()
        );
    }
    drop(monitors);
    drop(load);
}
