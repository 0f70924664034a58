//! Bytes per second to a terminal of 120x40 beside those of iotop-c, and where they go.
//!
//! ```text
//! cargo bench --bench terminal -- bytes [--baseline OTHER_DISKSCOPE]
//! ```
//!
//! The programs run side by side, each in a terminal of its own, with an interval of one second and no
//! key pressed. A round lasts [`ROUND`]: what moves on the machine in it is the same for all of them. The
//! first screens are not counted. Needs root and iotop-c.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::median::Median;
use crate::parts::{PartBytes, changed_cells};
use crate::pty::PtyTerminal;
use crate::session::state_directory;

/// Rounds under each load.
const ROUNDS: usize = 12;
const ROUND: Duration = Duration::from_secs(10);
/// Until every program has its first lists and the load has begun.
const WARM_UP: Duration = Duration::from_secs(8);
/// Between screens whose cells are compared.
const SCREEN_INTERVAL: Duration = Duration::from_millis(250);
pub const ROWS: u16 = 40;
pub const COLUMNS: u16 = 120;

/// A load, as the shell runs it in an empty directory.
struct Load {
    name: &'static str,
    script: &'static str,
}

/// `D` is the program diskscope.
const LOADS: [Load; 2] = [
    Load {
        name: "heavy",
        script: "mkdir tree; for i in $(seq 400); do head -c 65536 /dev/zero > tree/$i; done
            (while :; do rm -rf copy; cp -r tree copy; sync -f .; done) &
            (while :; do dd if=/dev/zero of=written bs=64k count=800 conv=fsync; done) &
            (while :; do \"$D\" run random-read . --scratch-size 64MiB --duration 60s --depth 4 \
                --rate 2000/s; done) &
            wait",
    },
    Load {
        name: "light",
        script: "while :; do dd if=/dev/zero of=written bs=64k count=16 conv=fsync; sleep 0.3; done",
    },
];

/// A load that runs until it is dropped.
struct RunningLoad {
    child: Child,
    _directory: tempfile::TempDir,
}

impl RunningLoad {
    fn start(load: &Load) -> Self {
        use std::os::unix::process::CommandExt;

        let directory = state_directory();
        let child = Command::new("sh")
            .args(["-c", load.script])
            .current_dir(directory.path())
            .env("D", env!("CARGO_BIN_EXE_diskscope"))
            .env("XDG_STATE_HOME", directory.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Self {
            child,
            _directory: directory,
        }
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        // What has ended needs no signal.
        let _ = kill_process_group(group, Signal::TERM);
        std::thread::sleep(Duration::from_secs(1));
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A program in its terminal.
struct Watched {
    name: &'static str,
    terminal: PtyTerminal,
    _directory: tempfile::TempDir,
    /// Bytes of each round.
    rounds: Vec<usize>,
    /// Bytes at moments at least [`SCREEN_INTERVAL`] apart.
    screen_ends: Vec<usize>,
    /// Bytes before the first round.
    first_bytes: usize,
}

impl Watched {
    fn start(name: &'static str, program: &Path, arguments: &[&str]) -> Self {
        let directory = state_directory();
        let mut terminal = PtyTerminal::start(program, arguments, directory.path());
        terminal.resize(ROWS, COLUMNS);
        Self {
            name,
            terminal,
            _directory: directory,
            rounds: Vec::new(),
            screen_ends: Vec::new(),
            first_bytes: 0,
        }
    }

    fn counted(&self) -> usize {
        self.first_bytes + self.rounds.iter().sum::<usize>()
    }

    fn bytes_per_s(&self) -> Median {
        let seconds = ROUND.as_secs_f64();
        Median::of(self.rounds.iter().map(|bytes| *bytes as f64 / seconds)).unwrap()
    }

    /// Cells of the screen that changed, per second.
    fn changed_cells_per_s(&self) -> f64 {
        let output = self.terminal.output_bytes();
        let ends = self.screen_ends.iter().copied();
        let counted = ends.filter(|end| *end >= self.first_bytes);
        let duration = ROUND * self.rounds.len() as u32;
        changed_cells(output, self.first_bytes, counted) as f64 / duration.as_secs_f64()
    }

    /// The ratios of this program's rounds to another's.
    fn ratio(&self, other: &Self) -> Median {
        let pairs = self.rounds.iter().zip(&other.rounds);
        Median::of(pairs.map(|(own, other)| *own as f64 / *other as f64)).unwrap()
    }
}

/// Takes what the programs write for that long.
fn read_for(programs: &mut [Watched], duration: Duration) {
    let end = Instant::now() + duration;
    let mut next_screen = Instant::now() + SCREEN_INTERVAL;
    while Instant::now() < end {
        for program in &mut *programs {
            while program.terminal.take_output(65_536) > 0 {}
        }
        if Instant::now() >= next_screen {
            next_screen += SCREEN_INTERVAL;
            for program in &mut *programs {
                let bytes = program.terminal.output_bytes().len();
                program.screen_ends.push(bytes);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The build to compare with, if one is named.
fn baseline() -> Option<PathBuf> {
    let mut words = std::env::args().skip_while(|word| word != "--baseline");
    words.nth(1).map(PathBuf::from)
}

/// Prints the tables; false where a load has more bytes than those of iotop-c.
pub fn measure() -> bool {
    println!("| load | program | bytes/s | ratio of diskscope | cells changed per s |");
    println!("|---|---|---|---|---|");
    let measured: Vec<_> = LOADS.iter().map(measure_load).collect();
    println!("\nbytes/s of diskscope by part of the screen:\n");
    for (load, (parts, _)) in LOADS.iter().zip(&measured) {
        println!("{} load\n\n{parts}", load.name);
    }
    measured.iter().all(|(_, within)| *within)
}

fn measure_load(load: &Load) -> (PartBytes, bool) {
    let own = Path::new(env!("CARGO_BIN_EXE_diskscope"));
    let running = RunningLoad::start(load);
    let mut programs = vec![
        Watched::start("diskscope", own, &[]),
        Watched::start("iotop-c", Path::new("iotop-c"), &[]),
    ];
    programs.extend(baseline().map(|path| Watched::start("baseline", &path, &[])));
    read_for(&mut programs, WARM_UP);
    for program in &mut programs {
        program.first_bytes = program.terminal.output_bytes().len();
    }
    for _ in 0..ROUNDS {
        read_for(&mut programs, ROUND);
        for program in &mut programs {
            let new = program.terminal.output_bytes().len() - program.counted();
            program.rounds.push(new);
        }
    }
    drop(running);
    for program in &programs {
        println!(
            "| {} | {} | {:.0} | {:.2} | {:.0} |",
            load.name,
            program.name,
            program.bytes_per_s(),
            programs[0].ratio(program),
            program.changed_cells_per_s()
        );
    }
    let parts = PartBytes::of(
        programs[0].terminal.output_bytes(),
        programs[0].first_bytes,
        ROUND * ROUNDS as u32,
    );
    (parts, programs[0].ratio(&programs[1]).value <= 1.0)
}
