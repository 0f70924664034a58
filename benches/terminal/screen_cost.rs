//! What the screen costs a benchmark: the same with and without it, alternately.

use std::path::Path;
use std::process::Command;

use diskscope::session::document::MetricId;
use diskscope::session::document::Session;
use diskscope::session::store;

use crate::median::Median;
use crate::processor::children_cpu_us;
use crate::session::{exported_file, start_benchmark, start_diskscope, state_directory};

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
        iops: findings.metric(&MetricId::IOPS).unwrap().value,
        cpu_us_per_request: cpu_us / requests as f64,
    }
}

/// The benchmark with its screen, as it is watched.
fn shown(directory: &Path) -> Lap {
    let before = children_cpu_us();
    let mut terminal = start_diskscope(&[], directory);
    start_benchmark(&mut terminal, "4s");
    terminal.wait_for_text("JSON saved in");
    terminal.send_keys("e");
    terminal.wait_for_text("exported to");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
    let exported = exported_file(directory);
    let lap = lap(
        &store::load_session(&exported).unwrap(),
        children_cpu_us() - before,
    );
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

/// Prints what the screen costs; false where that is more than 5 % of the IOPS or of the processor
/// time.
pub fn measure() -> bool {
    let directory = state_directory();
    let laps: Vec<(Lap, Lap)> = (0..ROUNDS)
        .map(|_| (hidden(directory.path()), shown(directory.path())))
        .collect();
    let ratio = |of: fn(&Lap) -> f64| {
        Median::of(laps.iter().map(|(hidden, shown)| of(shown) / of(hidden))).unwrap()
    };
    let iops = ratio(|lap| lap.iops);
    let cpu = ratio(|lap| lap.cpu_us_per_request);
    println!("with the screen over without it: IOPS {iops}, CPU per request {cpu}");
    iops.high >= 0.95 && cpu.low <= 1.05
}
