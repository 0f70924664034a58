//! What the screen takes from a benchmark: the same with and without it, in turns.
//!
//! Run by hand, in release, on a machine that has nothing else to do:
//!
//! ```text
//! cargo test --release --test terminal -- --ignored --nocapture
//! ```

use std::path::Path;
use std::process::Command;

use diskscope::session::document::Session;
use diskscope::session::store;

use crate::processor::{children_cpu_us, median};
use crate::{directory, diskscope, exports, possible, start_benchmark};

/// Rounds of the pair.
const ROUNDS: usize = 7;

/// What one lap showed.
struct Lap {
    iops: f64,
    cpu_us_per_request: f64,
}

fn lap(session: &Session, cpu_us: f64) -> Lap {
    let findings = &session.runs[0].findings;
    let requests = findings.latency.read.as_ref().unwrap().count;
    Lap {
        iops: findings.figure("iops").unwrap().value,
        cpu_us_per_request: cpu_us / requests as f64,
    }
}

/// The benchmark with its screen, as it is watched.
fn shown(directory: &Path) -> Lap {
    let before = children_cpu_us();
    let mut terminal = diskscope(&[], directory);
    start_benchmark(&mut terminal, "4s");
    terminal.see("JSON saved in");
    terminal.keys("e");
    terminal.see("exported to");
    terminal.keys("q");
    assert!(terminal.end().success());
    let exported = exports(directory);
    let lap = lap(&store::load(&exported).unwrap(), children_cpu_us() - before);
    std::fs::remove_file(exported).unwrap();
    lap
}

/// The same without a terminal.
fn hidden(directory: &Path) -> Lap {
    let before = children_cpu_us();
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["run", "random-read", "--scratch-size", "64MiB"])
        .args(["--duration", "4s", "--json", "-"])
        .arg(directory)
        .env("XDG_STATE_HOME", directory.join("state"))
        .output()
        .unwrap();
    assert!(output.status.success());
    let session = serde_json::from_slice(&output.stdout).unwrap();
    lap(&session, children_cpu_us() - before)
}

#[test]
#[ignore = "takes a minute and wants a quiet machine"]
fn the_screen_beside_a_benchmark() {
    if !possible() {
        return;
    }
    let directory = directory();
    let laps: Vec<(Lap, Lap)> = (0..ROUNDS)
        .map(|_| (hidden(directory.path()), shown(directory.path())))
        .collect();
    println!("| | IOPS | CPU us/request |\n|---|---|---|");
    let row = |name, of: fn(&(Lap, Lap)) -> &Lap| {
        let iops = median(laps.iter().map(|pair| of(pair).iops));
        let cpu = median(laps.iter().map(|pair| of(pair).cpu_us_per_request));
        println!("| {name} | {iops:.0} | {cpu:.2} |");
    };
    row("without the screen", |pair| &pair.0);
    row("with the screen", |pair| &pair.1);
    let ratio =
        |of: fn(&Lap) -> f64| median(laps.iter().map(|(hidden, shown)| of(shown) / of(hidden)));
    println!(
        "| with : without | {:.3} | {:.3} |",
        ratio(|lap| lap.iops),
        ratio(|lap| lap.cpu_us_per_request)
    );
}
