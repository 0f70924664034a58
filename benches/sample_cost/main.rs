//! What a sample costs beside other monitors, among 2,000 sleeping processes, one process with 5,000
//! descriptors that moves bytes, and a slow copy:
//!
//! ```text
//! cargo bench --bench sample_cost [-- --processes 2000 --rounds 30 --baseline OTHER_DISKSCOPE]
//! cargo bench --bench sample_cost -- --scale
//! ```
//!
//! `--scale` prints what a sample of large machines costs, which exist as files only ([`scale`]).
//!
//! All monitors sample once a second at the same time, so that every round of one second is the same
//! for all of them; the cost is the processor time of the round (/proc/PID/task/*/schedstat, in
//! nanoseconds). Ratios are diskscope over the other within a round. The interface runs beside
//! bottom (`btm`, in the path or named by the environment variable BTM), both in a terminal. Needs root;
//! monitors that are not installed are named and left out. Fails where `watch` or the interface takes
//! more of iotop-c's time than [`largest_share_of_iotop`], or the interface more than a third of bottom
//! or more bytes than bottom writes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod background_load;
#[path = "../../tests/support/large_machine.rs"]
mod large_machine;
#[path = "../../tests/support/median.rs"]
mod median;
#[path = "../../tests/support/processor.rs"]
mod processor;
mod scale;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use background_load::{BackgroundLoad, Running};
use median::Median;
use processor::{children, tree_cpu_ns};

/// Rows of the table.
const WATCH: &str = "diskscope watch";
const SCREEN: &str = "diskscope";
const IOTOP: &str = "iotop-c";
const BOTTOM: &str = "bottom";

/// Seconds until every monitor has opened what it keeps open.
const WARM_UP: Duration = Duration::from_secs(5);
/// Length of a round; every monitor takes one sample in each.
const ROUND: Duration = Duration::from_secs(1);

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

/// The largest share of iotop-c's processor time that a sample may cost: less where there are many
/// processes, because the cost of a sample grows less than that of iotop-c.
fn largest_share_of_iotop(processes: usize) -> f64 {
    if processes >= 10_000 { 0.10 } else { 0.15 }
}

/// The path of bottom.
fn bottom() -> PathBuf {
    std::env::var_os("BTM").map_or_else(|| "btm".into(), PathBuf::from)
}

struct Options {
    rounds: usize,
    processes: usize,
    baseline: Option<String>,
    scale: bool,
}

fn options() -> Options {
    let mut options = Options {
        rounds: 30,
        processes: 2000,
        baseline: None,
        scale: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => options.rounds = words.next().unwrap().parse().unwrap(),
            "--processes" => options.processes = words.next().unwrap().parse().unwrap(),
            "--baseline" => options.baseline = words.next(),
            "--scale" => options.scale = true,
            // What cargo adds.
            "--bench" => {}
            _ => panic!(
                "usage: sample_cost [--rounds N] [--processes N] [--baseline PROGRAM] | --scale"
            ),
        }
    }
    assert!(options.rounds >= 6, "an interval takes six rounds");
    options
}

fn main() {
    let options = options();
    if options.scale {
        scale::print_table(options.rounds);
    } else {
        compare_monitors(options);
    }
}

/// Lets all monitors run side by side, and prints a row for each.
fn compare_monitors(options: Options) {
    let Options {
        rounds,
        processes,
        baseline,
        ..
    } = options;
    let load = BackgroundLoad::start(processes);
    let own = Path::new(env!("CARGO_BIN_EXE_diskscope"));
    let watch = ["watch", "--json", "--interval", "1s"];
    let monitors: Vec<Monitor> = [
        Monitor::start(WATCH, own, &watch),
        baseline.and_then(|path| Monitor::start("baseline", Path::new(&path), &watch)),
        Monitor::start(IOTOP, Path::new("iotop-c"), &["-b", "-d", "1"]),
        Monitor::start("iostat -x", Path::new("iostat"), &["-x", "1"]),
        Monitor::start("pidstat -d", Path::new("pidstat"), &["-d", "1"]),
        Monitor::start_in_terminal(SCREEN, own, ""),
        Monitor::start_in_terminal(BOTTOM, &bottom(), "--rate 1s"),
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
    let written = monitors
        .iter()
        .zip(&written)
        .map(|(monitor, before)| monitor.written() - before)
        .collect();
    let results = Results {
        names: monitors.iter().map(|monitor| monitor.name).collect(),
        costs,
        written,
    };
    drop(monitors);
    drop(load);
    results.print(processes, seconds);
    results.check(largest_share_of_iotop(processes));
}

/// What was measured of each monitor.
struct Results {
    names: Vec<&'static str>,
    /// Milliseconds of processor time in each round.
    costs: Vec<Vec<f64>>,
    /// Bytes to the terminal.
    written: Vec<u64>,
}

impl Results {
    fn index_of(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == name)
    }

    /// The cost of one over that of another in the same round.
    fn ratio(&self, ours: usize, theirs: usize) -> Median {
        let pairs = self.costs[ours].iter().zip(&self.costs[theirs]);
        Median::of(pairs.map(|(ours, theirs)| ours / theirs)).unwrap()
    }

    fn print(&self, processes: usize, seconds: f64) {
        let rounds = self.costs[0].len();
        println!("{processes} processes, {rounds} rounds; median (95 % confidence interval)\n");
        println!(
            "| monitor | CPU ms per sample | `watch` over it | interface over it | bytes/s to the terminal |"
        );
        println!("|---|---|---|---|---|");
        let screen = self.index_of(SCREEN);
        for (row, name) in self.names.iter().enumerate() {
            let cost = Median::of(self.costs[row].iter().copied()).unwrap();
            let over = |ours| format!("{:.3}", self.ratio(ours, row));
            println!(
                "| {name} | {cost:.2} | {} | {} | {:.0} |",
                over(0),
                screen.map_or_else(|| "-".to_owned(), over),
                self.written[row] as f64 / seconds
            );
        }
    }

    fn check(&self, share: f64) {
        for name in [WATCH, SCREEN] {
            if let (Some(own), Some(iotop)) = (self.index_of(name), self.index_of(IOTOP)) {
                let ratio = self.ratio(own, iotop);
                assert!(ratio.low <= share, "{name}: more than {share} of iotop-c");
            }
        }
        if let (Some(screen), Some(bottom)) = (self.index_of(SCREEN), self.index_of(BOTTOM)) {
            let ratio = self.ratio(screen, bottom);
            assert!(ratio.low <= 1.0 / 3.0, "more than a third of bottom");
            let written = &self.written;
            assert!(written[screen] <= written[bottom], "more bytes than bottom");
        }
    }
}
