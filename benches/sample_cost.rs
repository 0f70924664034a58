//! What a sample costs beside other monitors, among 2,000 sleeping processes, one process with 5,000
//! descriptors that moves bytes, and a slow copy:
//!
//! ```text
//! cargo bench --bench sample_cost [-- --rounds 30 --baseline OTHER_DISKSCOPE]
//! ```
//!
//! All monitors sample once a second at the same time, so that every round of one second is the same
//! for all of them; the cost is the processor time of the round (/proc/PID/task/*/schedstat, in
//! nanoseconds). Ratios are `diskscope watch` over the other within a round. The interface runs beside
//! bottom (`btm`, in the path or named by the environment variable BTM), both in a terminal. Needs root;
//! monitors that are not installed are named and left out. Fails where `watch` takes more than a fifth
//! of iotop-c, or the interface more than a third of bottom or more bytes than bottom writes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../tests/support/median.rs"]
mod median;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use median::Median;

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

/// A monitor that runs.
struct Monitor {
    name: &'static str,
    child: Running,
    /// Bytes that it has written to its terminal; `None` in batch mode.
    written: Option<Arc<AtomicU64>>,
}

impl Monitor {
    /// In batch mode; `None` where it is not installed.
    fn start(name: &'static str, program: &Path, arguments: &[&str]) -> Option<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null());
        let child = spawn(name, &mut command)?;
        Some(Self {
            name,
            child,
            written: None,
        })
    }

    /// In a terminal of 120 columns and 40 lines (script(1) of util-linux).
    fn start_in_terminal(name: &'static str, program: &Path, arguments: &str) -> Option<Self> {
        // script(1) starts whatever it is given: whether that is there is asked before.
        drop(spawn(
            name,
            Command::new(program).arg("--version").stdout(Stdio::null()),
        )?);
        let line = format!(
            "stty rows 40 cols 120; exec {} {arguments}",
            program.display()
        );
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]);
        command.env("TERM", "xterm-256color").stdout(Stdio::piped());
        let mut child = spawn(name, &mut command)?;
        let written = Arc::new(AtomicU64::new(0));
        let (count, mut output) = (Arc::clone(&written), child.0.stdout.take()?);
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                count.fetch_add(read as u64, Ordering::Relaxed);
            }
        });
        Some(Self {
            name,
            child,
            written: Some(written),
        })
    }

    /// Processor time so far of all threads of the program and of those that it started, in
    /// nanoseconds; not of the terminal around it.
    fn cpu_ns(&self) -> u64 {
        let id = self.child.0.id();
        match self.written {
            None => tree_cpu_ns(id),
            Some(_) => children(id).into_iter().map(tree_cpu_ns).sum(),
        }
    }

    fn written(&self) -> u64 {
        let count = self.written.as_ref();
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

fn spawn(name: &str, command: &mut Command) -> Option<Running> {
    let started = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    match started {
        Ok(child) => Some(Running(child)),
        Err(error) => {
            println!("{name} is left out: {error}");
            None
        }
    }
}

fn children(id: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect()
}

fn tree_cpu_ns(id: u32) -> u64 {
    let of_task = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    let tasks = fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten();
    let own: u64 = tasks.filter_map(|task| of_task(task.ok()?)).sum();
    own + children(id).into_iter().map(tree_cpu_ns).sum::<u64>()
}

/// The path of bottom.
fn bottom() -> PathBuf {
    std::env::var_os("BTM").map_or_else(|| "btm".into(), PathBuf::from)
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
        Monitor::start_in_terminal("diskscope", own, ""),
        Monitor::start_in_terminal("bottom", &bottom(), "--rate 1s"),
    ]
    .into_iter()
    .flatten()
    .collect();
    thread::sleep(WARM_UP);
    let began = Instant::now();
    let written: Vec<u64> = monitors.iter().map(Monitor::written).collect();
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
    let seconds = began.elapsed().as_secs_f64();
    println!("{rounds} rounds; median (95 % confidence interval)\n");
    println!("| monitor | CPU ms per sample | first row over it | bytes/s to the terminal |");
    println!("|---|---|---|---|");
    for ((monitor, theirs), written) in monitors.iter().zip(&costs).zip(&written) {
        let cost = Median::of(theirs.iter().copied()).unwrap();
        let ratio = ratio(&costs[0], theirs);
        let bytes = (monitor.written() - written) as f64 / seconds;
        println!("| {} | {cost:.2} | {ratio:.3} | {bytes:.0} |", monitor.name);
    }
    let of = |name: &str| monitors.iter().position(|monitor| monitor.name == name);
    if let (Some(watch), Some(iotop)) = (of("diskscope watch"), of("iotop-c")) {
        let ratio = ratio(&costs[watch], &costs[iotop]);
        assert!(ratio.low <= 0.2, "more than a fifth of iotop-c");
    }
    if let (Some(screen), Some(bottom)) = (of("diskscope"), of("bottom")) {
        let ratio = ratio(&costs[screen], &costs[bottom]);
        assert!(ratio.low <= 1.0 / 3.0, "more than a third of bottom");
        let bytes = |index: usize| monitors[index].written() - written[index];
        assert!(bytes(screen) <= bytes(bottom), "more bytes than bottom");
    }
    drop(monitors);
    drop(load);
}

fn ratio(ours: &[f64], theirs: &[f64]) -> Median {
    let pairs = ours.iter().zip(theirs);
    Median::of(pairs.map(|(ours, theirs)| ours / theirs)).unwrap()
}
