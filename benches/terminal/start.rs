//! How soon the first frame is there, and how much memory the program takes.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::pty::PtyTerminal;
use crate::session::state_directory;

/// Starts that are timed.
const STARTS: usize = 15;
/// Until everything that is kept between samples is there.
const SETTLED: Duration = Duration::from_secs(5);
/// The limits that `docs/install.md` holds the program to.
const FIRST_FRAME: Duration = Duration::from_millis(50);
const MEMORY_KIB: u64 = 30 * 1024;

/// Processes that do nothing, ended afterwards.
struct Idle(Vec<Child>);

impl Idle {
    fn start(count: usize) -> Self {
        let one = |_| {
            Command::new("sleep")
                .arg("600")
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        };
        Self((0..count).map(one).collect())
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program that is measured: a release build where one is named.
fn program() -> PathBuf {
    let named = std::env::var_os("DISKSCOPE_PROGRAM").map(PathBuf::from);
    named.map_or_else(
        || env!("CARGO_BIN_EXE_diskscope").into(),
        |path| path.canonicalize().unwrap(),
    )
}

/// A line of `/proc/PID/status` in KiB.
fn memory_kib(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The middle and the worst of some times.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() - 1])
}

/// Prints how soon the first frame is there and how much memory is resident; false where a limit is
/// exceeded.
pub fn measure() -> bool {
    let directory = state_directory();
    let mut within = true;
    for processes in [200, 2000] {
        let _idle = Idle::start(processes);
        let (mut frames, mut lists) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let began = Instant::now();
            let mut terminal = PtyTerminal::start(&program(), &[], directory.path());
            terminal.wait_for_text("[1 Live]");
            frames.push(began.elapsed());
            terminal.wait_for_text("DEVICES");
            lists.push(began.elapsed());
            terminal.send_keys("q");
            terminal.wait_for_exit();
        }
        let mut terminal = PtyTerminal::start(&program(), &[], directory.path());
        terminal.wait_for_text("DEVICES");
        let until = Instant::now() + SETTLED;
        terminal.wait_until("the program to settle", |_| Instant::now() > until);
        let resident = memory_kib(terminal.worker_id(), "VmHWM:");
        let own = memory_kib(terminal.worker_id(), "RssAnon:");
        terminal.send_keys("q");
        terminal.wait_for_exit();
        let (frame, list) = (spread(frames), spread(lists));
        println!(
            "{processes} idle processes more: first frame {frame:.1?}, first lists {list:.1?}, \
             resident at most {:.1} MiB, of which its own {:.1} MiB",
            resident as f64 / 1024.0,
            own as f64 / 1024.0
        );
        within &= frame.0 < FIRST_FRAME && resident < MEMORY_KIB;
    }
    within
}
