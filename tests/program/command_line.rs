//! The program as scripts and administrators call it: real processes, real scratch files.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory for the scratch file and one for the state, gone afterwards.
struct CommandSandbox {
    directory: TempDir,
}

impl CommandSandbox {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        }
    }

    fn scratch(&self) -> PathBuf {
        let path = self.directory.path().join("scratch");
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn sessions(&self) -> PathBuf {
        self.directory.path().join("state/diskscope/sessions")
    }

    fn saved_sessions(&self, ending: &str) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.sessions()) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|it| it == ending))
            .collect()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        command
            .args(words)
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run_command(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// `run TEST SCRATCH` with a small scratch file.
    fn run(&self, test: &str, options: &[&str]) -> Output {
        self.run_command(
            &self
                .words(test, options)
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        )
    }

    fn words(&self, test: &str, options: &[&str]) -> Vec<String> {
        let scratch = self.scratch();
        let fixed = [
            "run",
            test,
            scratch.to_str().unwrap(),
            "--scratch-size",
            "32MiB",
        ];
        fixed
            .iter()
            .chain(options)
            .map(|word| (*word).to_owned())
            .collect()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn parse_document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

fn assert_fits_schema(document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn metric_value(run: &Value, name: &str) -> Option<f64> {
    let metrics = run["figures"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name)?["value"].as_f64()
}

#[test]
fn run_document_matches_schema_and_is_saved() {
    let sandbox = CommandSandbox::new();
    let output = sandbox.run(
        "rndread",
        &["--duration", "1s", "--depth", "4", "--json", "-"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = parse_document(&output);
    assert_fits_schema(&document);
    let run = &document["runs"][0];
    assert_eq!(run["test"], "random-read");
    assert_eq!(run["state"], "finished");
    assert_eq!(run["target"]["kind"], "scratch");
    assert_eq!(run["parameters"]["depth"], 4);
    assert_eq!(run["parameters"]["duration"], 1_000_000_000_u64);
    assert!(metric_value(run, "iops").unwrap() > 0.0);
    let (p50, mean) = (
        metric_value(run, "latency_p50").unwrap(),
        metric_value(run, "latency_mean").unwrap(),
    );
    assert!(p50 > 0.0 && mean > 0.0);
    let counted: u64 = run["latency"]["read"]["histogram"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin[2].as_u64().unwrap())
        .sum();
    assert_eq!(Some(counted), run["latency"]["read"]["count"].as_u64());
    let [saved] = &sandbox.saved_sessions("json")[..] else {
        panic!("one session is saved")
    };
    let kept: Value = serde_json::from_slice(&std::fs::read(saved).unwrap()).unwrap();
    assert_eq!(kept, document);
    assert!(sandbox.saved_sessions("journal").is_empty());
    assert_eq!(
        std::fs::read_dir(sandbox.scratch()).unwrap().count(),
        0,
        "no scratch file is left"
    );
}

#[test]
fn sequential_read_covers_address_space() {
    let sandbox = CommandSandbox::new();
    let output = sandbox.run("seqread", &["--block-size", "64KiB", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = parse_document(&output);
    assert_fits_schema(&document);
    let run = &document["runs"][0];
    let points = run["series"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 100);
    let (min, mean, max) = (
        metric_value(run, "throughput_min").unwrap(),
        metric_value(run, "throughput_mean").unwrap(),
        metric_value(run, "throughput_max").unwrap(),
    );
    assert!(
        0.0 < min && min <= mean && mean <= max,
        "{min} {mean} {max}"
    );
    let offset = metric_value(run, "throughput_min_offset").unwrap();
    let slowest = points
        .iter()
        .find(|point| point[0].as_f64() == Some(offset))
        .unwrap();
    assert_eq!(slowest[1].as_f64(), Some(min));
}

#[test]
fn show_prints_same_text_as_run() {
    let sandbox = CommandSandbox::new();
    let output = sandbox.run("random-read", &["--requests", "2000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for word in [
        "random-read",
        "IOPS",
        "latency p50",
        "2000",
        "diskscope run random-read",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(
        !stderr(&output).contains('\r'),
        "no progress bar without a terminal"
    );
    let saved = &sandbox.saved_sessions("json")[0];
    let shown = sandbox.run_command(&["show", saved.to_str().unwrap()]);
    assert_eq!(shown.status.code(), Some(0));
    assert!(stdout(&shown).contains(text.trim()), "{}", stdout(&shown));
}

#[test]
fn invalid_result_sets_exit_status_only_with_strict() {
    let sandbox = CommandSandbox::new();
    for (target, option, status) in [
        ("sim:ssd", "--strict", 7),
        ("sim:ssd", "--seed=1", 0),
        ("sim:hdd", "--strict", 0),
    ] {
        let run = sandbox.run_command(&["run", "rotation", target, option]);
        assert_eq!(
            run.status.code(),
            Some(status),
            "{target} {option}: {}",
            stdout(&run)
        );
    }
}

#[test]
fn missed_goal_sets_exit_status() {
    let sandbox = CommandSandbox::new();
    let short = ["--requests", "500", "--goal"];
    let goal = |text| sandbox.run("rndread", &[&short[..], &[text]].concat());
    let met = goal("iops>=1");
    assert_eq!(met.status.code(), Some(0), "{}", stderr(&met));
    let missed = goal("mean<=1ns");
    assert_eq!(missed.status.code(), Some(4));
    assert!(stdout(&missed).contains("MISSED"));
    let unreadable = goal("fast");
    assert_eq!(unreadable.status.code(), Some(2));
    assert!(
        stderr(&unreadable).contains("p95<=500ms"),
        "{}",
        stderr(&unreadable)
    );
}

#[test]
fn invalid_input_is_reported_in_one_sentence() {
    let sandbox = CommandSandbox::new();
    let empty = sandbox.directory.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let table = sandbox.directory.path().join("table.csv");
    std::fs::write(&table, "a,b\n1,2\n").unwrap();
    let table = table.to_str().unwrap();
    let (empty, scratch) = (empty.to_str().unwrap().to_owned(), sandbox.scratch());
    let scratch = scratch.to_str().unwrap();
    let missing = format!("{scratch}/missing");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["run", "rndread", &missing], 2, "missing"),
        (&["run", "rndread", &empty], 2, "empty"),
        (&["run", "rndread", "/dev/null"], 2, "character device"),
        (
            &["run", "rndread", scratch, "--scratch-size", "1000000TB"],
            1,
            "free",
        ),
        (
            &["run", "rndread", scratch, "--scratch-size", "lots"],
            2,
            "--scratch-size",
        ),
        (
            &["run", "rndread", scratch, "--block-size", "4K"],
            2,
            "4KiB",
        ),
        (
            &[
                "run",
                "rndread",
                scratch,
                "--scratch-size",
                "1MiB",
                "--block-size",
                "1000",
            ],
            2,
            "--block-size",
        ),
        (
            &[
                "run",
                "rndread",
                scratch,
                "--scratch-size",
                "1MiB",
                "--block-size",
                "4MiB",
            ],
            2,
            "--block-size",
        ),
        (
            &[
                "run",
                "rndread",
                scratch,
                "--scratch-size",
                "1MiB",
                "--align",
                "18446744073709551615",
            ],
            2,
            "--align",
        ),
        (
            &[
                "run",
                "rndread",
                scratch,
                "--scratch-size",
                "1MiB",
                "--align",
                "9223372036854775808",
                "--window-begin",
                "4KiB",
            ],
            2,
            "--block-size",
        ),
        (&["run", "rndread", scratch, "--depth", "0"], 2, "--depth"),
        (
            &["run", "rndread", scratch, "--depth", "1000000"],
            2,
            "--depth",
        ),
        (
            &["run", "rndread", scratch, "--slower-than", "10"],
            2,
            "10s",
        ),
        (&["run", "rndread", "sim:nothing"], 2, "nothing"),
        (&["run", "dance", scratch], 2, "random-read"),
        (&["run", "randred", scratch], 2, "did you mean randread?"),
        (&["run", "rndread", "sim:hddd"], 2, "did you mean hdd?"),
        (&["randread", scratch], 2, "diskscope run randread"),
        (&["wacth"], 2, "watch"),
        (
            &["run", "rndread", scratch, "--blok-size", "4KiB"],
            2,
            "--block-size",
        ),
        (&["tests", "seek-curv"], 2, "did you mean seek-curve?"),
        (
            &["watch", "--format", "json"],
            2,
            "text, ndjson, csv, openmetrics",
        ),
        (&["watch", "--format", "openmetrics"], 2, "--count 1"),
        (&["watch", "--format", "cvs"], 2, "csv"),
        (&["watch", "--json", "--format", "csv"], 2, "cannot be used"),
        (&["watch", "--count", "0"], 2, "--count"),
        (
            &["watch", "--interval", "50ms"],
            2,
            "shortest interval is 100ms",
        ),
        (&["trace", "sda", "--slower", "10"], 2, "10s"),
        (&["trace", "no-such-drive"], 2, "no-such-drive"),
        (&["files", "--duration", "2s"], 2, "--hot"),
        (&["files", "0"], 2, "PID"),
        (
            &["record", &missing, "--on", "io_errors(any)>0"],
            2,
            "--ring",
        ),
        (
            &["record", &missing, "--ring", "8MB", "--limit", "8MB"],
            2,
            "--limit",
        ),
        (&["record", &missing, "--limit", "8M"], 2, "8MB"),
        (&["replay", &missing], 2, "missing"),
        (
            &["replay", table, "--triggers", "--at", "12:00:00"],
            2,
            "--at",
        ),
        (&["why", "--at", "12:00:00"], 2, "--from"),
        (&["config", "--theme", "drak"], 2, "'dark'"),
        (&["compare", &missing], 2, "2"),
        (&["report", &missing], 2, "--output"),
        (&["completions", "tcsh"], 2, "bash"),
        (
            &["run", "rndread", scratch, "--format", "ndjson"],
            2,
            "text, json, csv, openmetrics",
        ),
        (
            &["run", "rndread", scratch, "--json", "-", "-o", &missing],
            2,
            "--format json -o",
        ),
        (&["show", &missing], 2, "missing"),
        (&["show", &empty], 2, "not a diskscope session"),
        (&["show", table], 2, "not a diskscope session"),
        (&["compare", table, table], 2, "not a diskscope session"),
    ];
    for (words, exit, hint) in cases {
        let output = sandbox.run_command(words);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(*exit), "{words:?}: {message}");
        assert!(message.contains(hint), "{words:?}: {message}");
        assert!(output.stdout.is_empty(), "{words:?}: nothing on stdout");
        assert!(!message.contains("panicked"), "{message}");
    }
}

/// Starts a run of 30 s and waits until its journal has a measured line.
fn start_long_run(sandbox: &CommandSandbox) -> Child {
    let words = sandbox.words("rndread", &["--duration", "30s"]);
    let child = sandbox
        .command(&words.iter().map(String::as_str).collect::<Vec<_>>())
        .spawn()
        .unwrap();
    let measured = || {
        sandbox.saved_sessions("journal").iter().any(|path| {
            let lines = BufReader::new(std::fs::File::open(path).unwrap()).lines();
            lines
                .map_while(Result::ok)
                .any(|line| line.contains("\"iops\""))
        })
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !measured() {
        assert!(
            std::time::Instant::now() < deadline,
            "the journal never came"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child
}

fn send_signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn interrupted_run_keeps_partial_results() {
    use rustix::process::Signal;
    for one in [Signal::INT, Signal::TERM, Signal::HUP] {
        let sandbox = CommandSandbox::new();
        let child = start_long_run(&sandbox);
        send_signal(&child, one);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(
            stdout(&output).contains("INTERRUPTED"),
            "{}",
            stdout(&output)
        );
        assert!(stdout(&output).contains("IOPS"));
        assert_eq!(sandbox.saved_sessions("json").len(), 1);
        assert_eq!(std::fs::read_dir(sandbox.scratch()).unwrap().count(), 0);
    }
}

#[test]
fn killed_run_leaves_loadable_journal_and_no_scratch_file() {
    let sandbox = CommandSandbox::new();
    let mut child = start_long_run(&sandbox);
    send_signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let journal = &sandbox.saved_sessions("journal")[0];
    let shown = sandbox.run_command(&["show", journal.to_str().unwrap(), "--json"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let document = parse_document(&shown);
    assert_fits_schema(&document);
    assert_eq!(document["runs"][0]["state"], "interrupted");
    assert!(metric_value(&document["runs"][0], "iops").unwrap() > 0.0);
    assert_eq!(std::fs::read_dir(sandbox.scratch()).unwrap().count(), 0);
}

#[test]
fn list_commands_print_json_with_switch() {
    let sandbox = CommandSandbox::new();
    let tests: Value = parse_document(&sandbox.run_command(&["tests", "--json"]));
    let first = &tests.as_array().unwrap()[0];
    assert!(first["name"].is_string() && first["parameters"].is_array());
    assert!(stdout(&sandbox.run_command(&["tests"])).contains("random-read (rndread, randread)"));
    let devices = sandbox.run_command(&["devices", "--json"]);
    assert_eq!(devices.status.code(), Some(0));
    assert!(parse_document(&devices).is_array());
}

#[test]
fn watch_prints_one_object_per_line() {
    let sandbox = CommandSandbox::new();
    let output = sandbox.run_command(&["watch", "--json", "--interval", "200ms", "--count", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(line["interval_ns"].as_u64().unwrap() >= 150_000_000);
        assert!(
            line["devices"].is_array()
                && line["processes"].is_array()
                && line["transfers"].is_array()
        );
    }
}

#[test]
fn file_with_signature_is_overwritten_with_both_options_only() {
    let sandbox = CommandSandbox::new();
    let path = sandbox.scratch().join("image.qcow2");
    let content = b"QFI\xfb".repeat(1 << 18);
    std::fs::write(&path, &content).unwrap();
    let name = path.to_str().unwrap();
    let words = ["run", "random-write", name, "--requests", "20"];
    let words = [
        &words[..],
        &["--cache", "keep", "--ramp", "0s", "--bytes", "512KiB"],
    ]
    .concat();
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    let alone = sandbox.run_command(&[&words[..], &["--overwrite-signatures"]].concat());
    assert_eq!(alone.status.code(), Some(2), "{}", stderr(&alone));
    let without = sandbox.run_command(&[&words[..], &["--overwrite", name]].concat());
    assert_eq!(without.status.code(), Some(3), "{}", stderr(&without));
    for expected in ["holds qcow2", "--overwrite-signatures"] {
        assert!(stderr(&without).contains(expected), "{}", stderr(&without));
    }
    assert!(std::fs::read(&path).unwrap() == content, "nothing written");

    let both = ["--overwrite", name, "--overwrite-signatures", "--json", "-"];
    let done = sandbox.run_command(&[&words[..], &both[..]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let session: Value = serde_json::from_slice(&done.stdout).unwrap();
    let line = session["runs"][0]["reproduce"]["diskscope"]
        .as_str()
        .unwrap();
    assert!(line.ends_with("--overwrite-signatures"), "{line}");
    for expected in [
        "overwriting ",
        "1 MiB",
        "holds qcow2",
        "writes up to 80 KiB (7.8 % of the target), takes",
    ] {
        assert!(
            stderr(&done).contains(expected),
            "{expected}: {}",
            stderr(&done)
        );
    }
}

#[test]
fn overwrite_path_must_equal_target_exactly() {
    let sandbox = CommandSandbox::new();
    let directory = sandbox.scratch();
    let (file, link) = (directory.join("file"), directory.join("link"));
    std::fs::write(&file, vec![7; 1 << 20]).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let [file, link] = [&file, &link].map(|path| path.to_str().unwrap());
    for (target, named) in [(file, link), (link, file)] {
        let words = ["run", "random-write", target, "--overwrite", named];
        let output = sandbox.run_command(&words);
        assert_eq!(output.status.code(), Some(3));
    }
    assert!(std::fs::read(file).unwrap() == vec![7; 1 << 20]);
}

#[test]
fn goal_for_missing_metric_is_refused_before_run() {
    let sandbox = CommandSandbox::new();
    for (goal, hint) in [
        ("iops>=5", "throughput_mean"),
        ("throughput_mena>=5MB/s", "did you mean throughput_mean?"),
        ("throughput_mean>=5ms", "70MB/s"),
        ("web-server", "throughput_mean"),
    ] {
        let refused = sandbox.run("sequential-read", &["--goal", goal]);
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{goal}: {message}");
        assert!(message.contains(hint), "{goal}: {message}");
    }
    assert!(
        sandbox.saved_sessions("json").is_empty(),
        "nothing was measured"
    );
    let unknown = sandbox.run("sequental-read", &[]);
    let message = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        message.contains("did you mean sequential-read?"),
        "{message}"
    );
    let unknown = sandbox.run("sequential-read", &["--depht", "3"]);
    assert_eq!(unknown.status.code(), Some(2));
}

/// Seconds of `takes about 12 s, at most 1m02s`: the first and the last.
fn forecast_seconds(message: &str) -> (f64, f64) {
    let line = message
        .split_once("; takes ")
        .expect(message)
        .1
        .lines()
        .next()
        .unwrap();
    let seconds = |text: &str| {
        let text = text.trim();
        let parsed: jiff::SignedDuration = text.parse().expect(text);
        parsed.as_secs_f64()
    };
    match line
        .strip_prefix("about ")
        .and_then(|rest| rest.split_once(", at most "))
    {
        Some((about, at_most)) => (seconds(about), seconds(at_most)),
        None => {
            let at_most = seconds(line.strip_prefix("at most ").expect(line));
            (at_most, at_most)
        }
    }
}

#[test]
fn forecast_on_scratch_file_includes_fill_time() {
    let sandbox = CommandSandbox::new();
    let file = sandbox.scratch().join("file");
    std::fs::write(&file, vec![7; 64 << 20]).unwrap();
    let file = file.to_str().unwrap();
    let forecast = |target: &str, benchmark: &str, options: &[&str]| {
        let words = ["run", benchmark, target];
        let output = sandbox.run_command(&[&words[..], options].concat());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{message}");
        forecast_seconds(&message)
    };
    let directory = sandbox.scratch();
    let directory = directory.to_str().unwrap();
    for (benchmark, own) in [
        ("random-write", &["--duration", "700ms", "--ramp", "0s"][..]),
        ("mixed", &["--duration", "700ms"]),
        (
            "block-size-write",
            &["--duration", "700ms", "--max-block", "16KiB"],
        ),
    ] {
        // The same medium, work and size: only the scratch file has to be filled.
        let in_file = forecast(file, benchmark, &[own, &["--overwrite", file]].concat());
        let size = ["--scratch-size", "64MiB"];
        let in_directory = forecast(directory, benchmark, &[own, &size].concat());
        assert!(in_file.0 >= 0.7, "{benchmark}: {in_file:?}");
        // The upper limit assumes a slow medium, which needs more than that to write 64 MiB.
        let later = in_directory.1 - in_file.1;
        assert!(later > 0.05, "{benchmark}: {in_file:?} {in_directory:?}");
    }
}

#[test]
fn help_of_one_benchmark_is_the_same_by_both_commands() {
    let sandbox = CommandSandbox::new();
    let help = sandbox.run_command(&["run", "randread", "--help"]);
    assert_eq!(help.status.code(), Some(0), "{}", stderr(&help));
    let text = stdout(&help);
    for part in [
        "random-read (rndread, randread)",
        "--rate <RATE>",
        "[default: 32]",
        "Example:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for words in [["tests", "rndread"], ["benchmarks", "random-read"]] {
        assert_eq!(stdout(&sandbox.run_command(&words)), text);
    }
    let general = sandbox.run_command(&["run", "--help"]);
    assert!(stdout(&general).contains("diskscope run <BENCHMARK> --help"));
    let unknown = sandbox.run_command(&["run", "randred", "--help"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn bare_duration_is_seconds_and_fio_block_size_is_binary() {
    let sandbox = CommandSandbox::new();
    let options = [
        "--bs",
        "8k",
        "--iodepth",
        "2",
        "--runtime",
        "1",
        "--json",
        "-",
    ];
    let output = sandbox.run("randread", &options);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("--bs 8k is read as in fio: 8KiB"));
    let run = &parse_document(&output)["runs"][0];
    assert_eq!(run["parameters"]["block-size"], 8192);
    assert_eq!(run["parameters"]["depth"], 2);
    assert_eq!(run["parameters"]["duration"], 1_000_000_000_u64);
}

#[test]
fn result_formats_contain_the_same_value_on_stdout_and_in_a_file() {
    let sandbox = CommandSandbox::new();
    let output = sandbox.run("randread", &["--requests", "2000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let saved = sandbox.saved_sessions("json")[0]
        .to_str()
        .unwrap()
        .to_owned();
    let document: Value = serde_json::from_slice(&std::fs::read(&saved).unwrap()).unwrap();
    let iops = metric_value(&document["runs"][0], "iops")
        .unwrap()
        .to_string();
    let csv = sandbox.run_command(&["show", &saved, "--format", "csv"]);
    let row = stdout(&csv);
    let row = row.lines().find(|line| line.contains(",iops,")).unwrap();
    assert!(row.contains(&format!(",iops,{iops},1/s,")), "{row}");
    let exposition = stdout(&sandbox.run_command(&["show", &saved, "--format", "openmetrics"]));
    assert!(exposition.contains(&format!("}} {iops}\n")), "{exposition}");
    assert!(exposition.ends_with("# EOF\n"));
    let file = sandbox.directory.path().join("out.csv");
    let written = [
        "show",
        &saved,
        "--format",
        "csv",
        "-o",
        file.to_str().unwrap(),
    ];
    let written = sandbox.run_command(&written);
    assert!(written.stdout.is_empty());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), stdout(&csv));
    let input = sandbox.run_command(&["show", &saved, "-o", &saved]);
    assert_eq!(input.status.code(), Some(2), "{}", stderr(&input));
}

#[test]
fn watch_writes_every_format() {
    let sandbox = CommandSandbox::new();
    let file = sandbox.directory.path().join("devices.csv");
    let file = file.to_str().unwrap();
    let watch = |options: &[&str]| {
        let fixed = ["watch", "--count", "1", "--interval", "0.1"];
        sandbox.run_command(&[&fixed[..], options].concat())
    };
    let sample: Value = serde_json::from_slice(&watch(&["--format", "ndjson"]).stdout).unwrap();
    let names: Vec<&str> = sample["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| device["name"].as_str().unwrap())
        .collect();
    let written = watch(&["--format", "csv", "-o", file]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let rows = std::fs::read_to_string(file).unwrap();
    assert!(
        rows.starts_with("time,name,label,read_ios_per_s,"),
        "{rows}"
    );
    let exposition = stdout(&watch(&["--format", "openmetrics"]));
    assert!(exposition.ends_with("# EOF\n"), "{exposition}");
    for name in names {
        assert!(rows.contains(&format!(",{name},")), "{name}: {rows}");
        assert!(
            exposition.contains(&format!("device=\"{name}\"")),
            "{exposition}"
        );
    }
    let again = watch(&["--format", "csv", "-o", file]);
    assert_eq!(again.status.code(), Some(2), "an existing file is kept");
}

#[test]
fn schema_is_that_of_the_documents() {
    let sandbox = CommandSandbox::new();
    let printed: Value = serde_json::from_slice(&sandbox.run_command(&["schema"]).stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.schema.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(printed, kept);
}

/// The same fault has the same exit status, whether the file is to be measured or shown.
#[test]
fn run_and_show_have_the_same_exit_status_for_the_same_fault() {
    let sandbox = CommandSandbox::new();
    let directory = sandbox.directory.path();
    let named = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    std::fs::write(named("empty"), "").unwrap();
    let faults = [
        (named("missing"), 2),
        (named("missing/file"), 2),
        (named("empty"), 2),
        (named("empty/file"), 2),
        ("/dev/null".to_owned(), 2),
    ];
    for (path, exit) in faults {
        for words in [&["run", "rndread", &path][..], &["show", &path]] {
            let output = sandbox.run_command(words);
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(exit), "{words:?}: {message}");
        }
    }
}
