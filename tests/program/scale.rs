//! Long runs, many workers, large drives, large documents and large machines: memory and documents stay
//! bounded, everything still opens, and the cost of a sample grows in proportion at most.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::large_machine::{Crowd, sample_cost};

/// A document of a run of any length is at most this long: its series are thinned out.
const DOCUMENT_BYTES: u64 = 400_000;
/// Runs of the large document.
const RUN_COUNT: usize = 1000;

fn diskscope(directory: &Path, arguments: &[&str]) -> Output {
    complete(
        directory,
        Command::new(env!("CARGO_BIN_EXE_diskscope")),
        arguments,
    )
}

/// The same with the limit of open files that most logins have.
fn diskscope_with_usual_limit(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("prlimit");
    command.args(["--nofile=1024:4096", env!("CARGO_BIN_EXE_diskscope")]);
    complete(directory, command, arguments)
}

fn complete(directory: &Path, mut command: Command, arguments: &[&str]) -> Output {
    let output = command
        .args(arguments)
        .current_dir(directory)
        .env("XDG_STATE_HOME", directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn document(directory: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(directory.join(name)).unwrap()).unwrap()
}

fn requests_of(run: &Value) -> u64 {
    run["evidence"]["issued"]["reads"].as_u64().unwrap()
}

#[test]
fn document_of_a_day_is_as_short_as_that_of_an_hour() {
    let directory = tempfile::tempdir().unwrap();
    let target = "sim:constant,latency=100ms,size=1TB";
    let run = |duration: &str, name: &str| {
        let options = ["--depth", "1", "--duration", duration, "--json", name];
        diskscope(
            directory.path(),
            &[&["run", "random-read", target], &options[..]].concat(),
        );
        fs::metadata(directory.path().join(name)).unwrap().len()
    };
    let (hour, day) = (run("1h", "hour.json"), run("24h", "day.json"));
    assert!(day <= DOCUMENT_BYTES, "{day} bytes");
    assert!(
        day as f64 <= hour as f64 * 1.5,
        "{day} bytes beside {hour} of an hour"
    );
    let run = &document(directory.path(), "day.json")["runs"][0];
    assert_eq!(requests_of(run), 24 * 3600 * 10);
}

#[test]
fn many_workers_deep_queues_and_a_petabyte_are_measured() {
    let directory = tempfile::tempdir().unwrap();
    let target = "sim:constant,latency=100us,size=1PB";
    for (depth, workers) in [("1", "512"), ("4096", "1")] {
        let options = ["--depth", depth, "--workers", workers];
        let rest = ["--requests", "20000", "--json", "run.json"];
        diskscope(
            directory.path(),
            &[&["run", "random-read", target], &options[..], &rest].concat(),
        );
        let run = &document(directory.path(), "run.json")["runs"][0];
        assert!(requests_of(run) >= 20_000, "{}", requests_of(run));
        assert_eq!(run["target"]["size_bytes"], 1_000_000_000_000_000_u64);
    }
}

#[test]
fn file_is_measured_by_512_workers() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = [
        "--scratch-size",
        "16MiB",
        "--workers",
        "512",
        "--depth",
        "1",
    ];
    let rest = ["--requests", "4096", "--json", "run.json"];
    for (benchmark, direction) in [("random-read", "reads"), ("random-write", "writes")] {
        diskscope_with_usual_limit(
            directory.path(),
            &[&["run", benchmark, "."], &options[..], &rest].concat(),
        );
        let run = &document(directory.path(), "run.json")["runs"][0];
        let requests = run["evidence"]["issued"][direction].as_u64().unwrap();
        assert!(requests >= 4096, "{benchmark}: {requests}");
    }
}

#[test]
fn document_of_a_thousand_runs_is_shown_compared_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let run = ["run", "random-read", "sim:ssd", "--duration", "1s"];
    diskscope(path, &[&run[..], &["--json", "one.json"]].concat());
    let mut session = document(path, "one.json");
    let runs = vec![session["runs"][0].clone(); RUN_COUNT];
    session["runs"] = Value::Array(runs);
    fs::write(path.join("large.json"), session.to_string()).unwrap();

    let shown = diskscope(path, &["show", "large.json"]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.matches("\nMETRICS").count(), RUN_COUNT);
    let compared = diskscope(path, &["compare", "large.json", "large.json"]);
    assert!(!compared.stdout.is_empty());
    diskscope(path, &["report", "large.json", "-o", "large.html"]);
    let page = fs::read_to_string(path.join("large.html")).unwrap();
    assert!(page.contains("</html>"), "the page ends");
}

/// Ten times as much of anything costs at most this many times as much per sample: in proportion, with
/// reserve for a machine that does other work. What grows with the square costs a hundred times as much.
const MAX_GROWTH: f64 = 20.0;
/// Rounds of which the least cost counts: other work only adds to it.
const COST_ROUNDS: usize = 3;

/// The least costs of the first sample and of later ones, in seconds.
fn least_cost(crowd: Crowd, count: usize) -> (f64, f64) {
    let rounds = (0..COST_ROUNDS).map(|_| sample_cost(crowd, count));
    rounds.fold((f64::INFINITY, f64::INFINITY), |least, cost| {
        let (first, later) = (cost.first.as_secs_f64(), cost.later.as_secs_f64());
        (least.0.min(first), least.1.min(later))
    })
}

#[test]
fn cost_of_a_sample_grows_in_proportion_at_most() {
    for (crowd, count) in Crowd::ALL {
        let (few, many) = (least_cost(crowd, count / 10), least_cost(crowd, count));
        let growth = (many.0 / few.0, many.1 / few.1);
        assert!(
            growth.0 <= MAX_GROWTH && growth.1 <= MAX_GROWTH,
            "{count} {}: {few:?} s became {many:?} s",
            crowd.describe()
        );
    }
}
