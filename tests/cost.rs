//! What watching costs beside other monitors, among 2,000 sleeping processes, one process with 5,000
//! descriptors that moves bytes, and a copy. Run by hand, as root:
//! `cargo test --release --test cost -- --ignored --nocapture`.
//!
//! Peers that are not installed are left out of the table: iotop-c, iostat, and bottom (`btm`, in the
//! path or named by the environment variable BTM). `script` of util-linux makes the terminals.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const SLEEPERS: usize = 2000;
const DESCRIPTORS: usize = 5000;
/// How long all of them watch, at an interval of a second.
const SPAN: Duration = Duration::from_secs(30);

/// A child that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes and files that there are to watch.
struct Scene {
    _sleepers: Vec<Running>,
    _open: Vec<File>,
    _directory: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    busy: Vec<JoinHandle<()>>,
}

impl Scene {
    fn set() -> Self {
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
        let mut scene = Self {
            _sleepers: (0..SLEEPERS).map(sleep).collect(),
            _open: open.collect(),
            _directory: directory,
            stop,
            busy: Vec::new(),
        };
        // This process has many descriptors and moves bytes all the time.
        scene.again_and_again(Duration::from_millis(200), {
            let source = source.clone();
            move || drop(fs::read(&source).unwrap())
        });
        scene.again_and_again(Duration::from_millis(100), move || copy(&source));
        scene
    }

    fn again_and_again(&mut self, pause: Duration, act: impl Fn() + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        self.busy.push(thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                act();
                thread::sleep(pause);
            }
        }));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.busy.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A copy that waits for the drive after each block: it goes on for a while and leaves the processors
/// to the monitors.
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
    /// Bytes that it has written.
    written: Arc<AtomicU64>,
    in_terminal: bool,
}

impl Monitor {
    /// Starts it; `None` where it is not installed. One with a screen is given a terminal of 120
    /// columns and 40 lines.
    fn start(
        name: &'static str,
        program: &Path,
        arguments: &str,
        in_terminal: bool,
    ) -> Option<Self> {
        let line = format!("{} {arguments}", program.display());
        let mut command = if in_terminal {
            let mut script = Command::new("script");
            let sized = format!("stty rows 40 cols 120; exec {line}");
            script.args(["-qfec", &sized, "/dev/null"]);
            script
        } else {
            let mut words = line.split_whitespace();
            let mut command = Command::new(words.next()?);
            command.args(words);
            command
        };
        let started = command
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else {
            println!("{name}: {} is not installed", program.display());
            return None;
        };
        let written = Arc::new(AtomicU64::new(0));
        let (count, mut output) = (Arc::clone(&written), child.stdout.take()?);
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                count.fetch_add(read as u64, Ordering::Relaxed);
            }
        });
        Some(Self {
            name,
            child: Running(child),
            written,
            in_terminal,
        })
    }

    /// Processor time that it has taken: its own, not that of the terminal around it.
    fn cpu(&self) -> Option<Duration> {
        let mut pid = self.child.0.id();
        if self.in_terminal {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
            pid = children.split_whitespace().next()?.parse().ok()?;
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
        let per_second = rustix::param::clock_ticks_per_second();
        Some(Duration::from_millis(ticks * 1000 / per_second))
    }
}

/// The path of bottom.
fn bottom() -> PathBuf {
    std::env::var_os("BTM").map_or_else(|| "btm".into(), PathBuf::from)
}

#[test]
#[ignore = "starts 2,000 processes; a measurement, not a check of every build"]
fn beside_other_monitors() {
    let scene = Scene::set();
    let own = Path::new(env!("CARGO_BIN_EXE_diskscope"));
    let monitors = [
        Monitor::start("diskscope watch", own, "watch --json --interval 1s", false),
        Monitor::start("iotop-c", Path::new("iotop-c"), "-b -d 1", false),
        Monitor::start("iostat", Path::new("iostat"), "-x 1", false),
        Monitor::start("diskscope", own, "", true),
        Monitor::start("bottom", &bottom(), "--rate 1s", true),
    ];
    thread::sleep(SPAN);
    let figures: Vec<(&str, Duration, u64)> = monitors
        .iter()
        .flatten()
        .filter_map(|it| Some((it.name, it.cpu()?, it.written.load(Ordering::Relaxed))))
        .collect();
    drop(monitors);
    drop(scene);
    println!("{:<18} {:>12} {:>14}", "", "ms CPU a s", "bytes a s");
    let seconds = SPAN.as_secs_f64();
    for (name, cpu, bytes) in &figures {
        let cpu = cpu.as_secs_f64() * 1e3 / seconds;
        println!("{name:<18} {cpu:>12.1} {:>14.0}", *bytes as f64 / seconds);
    }
    let of = |name: &str| figures.iter().find(|(known, ..)| *known == name);
    if let (Some(watch), Some(iotop)) = (of("diskscope watch"), of("iotop-c")) {
        assert!(watch.1 * 5 <= iotop.1, "more than a fifth of iotop-c");
    }
    if let (Some(screen), Some(bottom)) = (of("diskscope"), of("bottom")) {
        assert!(screen.1 * 3 <= bottom.1, "more than a third of bottom");
        assert!(screen.2 <= bottom.2, "more bytes than bottom");
    }
}
