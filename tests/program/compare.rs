//! The commands that read sessions: compare and report.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn sample_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name)
}

fn diskscope(arguments: &[&str], files: &[PathBuf]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    let output = command.args(arguments).args(files).output();
    output.unwrap_or_else(|error| panic!("cannot start the program: {error}"))
}

fn both_samples() -> Vec<PathBuf> {
    vec![
        sample_path("nvme-random.json"),
        sample_path("nvme-random-slower.json"),
    ]
}

#[test]
fn two_sessions_are_compared_as_text_and_json() {
    let text = diskscope(&["compare"], &both_samples());
    assert_eq!(text.status.code(), Some(0));
    let words = String::from_utf8(text.stdout).unwrap();
    assert!(words.contains("slower"), "{words}");
    let json = diskscope(&["compare", "--json"], &both_samples());
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["schema"], "diskscope-comparison");
    let iops = &document["tests"][0]["figures"][0]["samples"][1]["against_baseline"];
    assert_eq!(iops["judgement"], "slower");
}

#[test]
fn incomparable_sessions_are_named_with_failure_status() {
    let other = vec![
        sample_path("nvme-random.json"),
        sample_path("hdd-sequential.json"),
    ];
    let output = diskscope(&["compare"], &other);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.contains("A has it, B has no run of it"), "{words}");
}

#[test]
fn fleet_comparison_lists_readable_files() {
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.json");
    std::fs::write(&broken, "{").unwrap();
    let files: Vec<PathBuf> = both_samples().into_iter().chain([broken]).collect();
    let output = diskscope(&["compare", "--by", "latency_p99"], &files);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stdout).unwrap();
    let (fast, slow) = (words.find("web-07").unwrap(), words.find("web-11").unwrap());
    assert!(fast < slow, "the lower time is better: {words}");
    assert!(words.contains("broken.json"), "{words}");
}

#[test]
fn html_report_is_single_file() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("report.html");
    let output = diskscope(&["report", "-o", page.to_str().unwrap()], &both_samples());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    assert!(html.contains("<h1>Comparison of web-07, web-11</h1>"));
    let refused = diskscope(
        &["report", "-o", "/no/such/directory/x.html"],
        &both_samples(),
    );
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn sample_sessions_match_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/session.schema.json");
    let schema = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for name in [
        "nvme-random.json",
        "nvme-random-slower.json",
        "hdd-sequential.json",
    ] {
        let text = std::fs::read_to_string(sample_path(name)).unwrap();
        let document = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn repeated_runs_are_saved_in_one_session_with_summary() {
    let state = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args([
                "run",
                "random-read",
                "sim:given,latencies=100us*9+5ms",
                "--repeat",
                "3",
            ])
            .args(["--duration", "2s"])
            .args(words)
            .env("XDG_STATE_HOME", state.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    assert!(text.contains("ALL 3 RUNS OF RANDOM-READ"), "{text}");
    assert!(
        text.contains("CHECKS"),
        "what is found in one run is told: {text}"
    );
    assert_eq!(text.matches("\nMETRICS").count(), 0, "{text}");
    let pages = run(&["--verbose"]);
    assert!(pages.contains("ALL 3 RUNS OF RANDOM-READ"), "{pages}");
    assert_eq!(pages.matches("\nMETRICS").count(), 3, "{pages}");
    let session: serde_json::Value = serde_json::from_str(&run(&["--json", "-"])).unwrap();
    let runs = session["runs"].as_array().unwrap();
    let seeds: Vec<_> = runs.iter().map(|run| &run["parameters"]["seed"]).collect();
    assert_eq!(seeds, [1, 2, 3]);
    // What was saved is the same.
    let saved = std::fs::read_dir(state.path().join("diskscope/sessions")).unwrap();
    assert_eq!(saved.count(), 3);
}

/// The sample session with another depth, in a file of its own.
fn sample_with_depth(directory: &Path, name: &str, depth: u64) -> PathBuf {
    let text = std::fs::read_to_string(sample_path("nvme-random.json")).unwrap();
    let mut session: serde_json::Value = serde_json::from_str(&text).unwrap();
    session["runs"][0]["parameters"]["depth"] = depth.into();
    let path = directory.join(name);
    std::fs::write(&path, session.to_string()).unwrap();
    path
}

fn stdout(arguments: &[&str], files: &[PathBuf]) -> String {
    String::from_utf8(diskscope(arguments, files).stdout).unwrap()
}

#[test]
fn ignored_parameter_shows_both_values_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let files = [("a.json", 1), ("b.json", 2)];
    let files = files.map(|(name, depth)| sample_with_depth(directory.path(), name, depth));
    let text = stdout(&["compare", "--ignore", "depth"], &files);
    assert!(text.contains("ignored: depth 1 (A), 2 (B)"), "{text}");
    let json = stdout(&["compare", "--ignore", "depth", "--json"], &files);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let test = &document["tests"][0];
    let wanted = serde_json::json!([{ "parameter": "depth", "values": [["1"], ["2"]] }]);
    assert_eq!(test["differing"], wanted);
    let parameters = test["parameters"].as_array().unwrap();
    let depth = |it: &&serde_json::Value| it.as_str().unwrap().starts_with("depth ");
    assert_eq!(parameters.iter().find(depth), None);
    let page = stdout(&["report", "-o", "-", "--ignore", "depth"], &files);
    assert!(page.contains("ignored: depth 1 ("), "{page}");
    let page = stdout(&["report", "-o", "-"], &files);
    assert!(page.contains("Not compared") && !page.contains("ignored:"));
}

#[test]
fn files_matching_each_other_but_not_first_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let files = [("a.json", 1), ("b.json", 2), ("c.json", 2)];
    let files = files.map(|(name, depth)| sample_with_depth(directory.path(), name, depth));
    let text = stdout(&["compare"], &files);
    assert!(text.contains("C/B"), "{text}");
    assert!(text.contains("no significant difference"), "{text}");
    let mismatch = "depth 1 (A) is not 2 (B, C)";
    assert_eq!(text.matches(mismatch).count(), 1, "{text}");
    assert_eq!(text.matches(" is not ").count(), 1, "{text}");
    let output = diskscope(&["compare", "--json"], &files);
    assert_eq!(output.status.code(), Some(0));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["tests"][0]["baseline"], 1);
    assert_eq!(
        document["mismatches"][0]["present_in"],
        serde_json::json!([0])
    );
    assert_eq!(
        document["mismatches"][0]["missing_in"],
        serde_json::json!([1, 2])
    );
    let metric = &document["tests"][0]["figures"][0];
    assert_eq!(
        metric["samples"][2]["against_baseline"]["judgement"],
        "no-significant-difference"
    );
}

#[test]
fn session_without_interval_is_not_determined_with_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("short.json");
    let text = std::fs::read_to_string(sample_path("nvme-random.json")).unwrap();
    let mut session: serde_json::Value = serde_json::from_str(&text).unwrap();
    session["runs"][0]["elapsed_ns"] = 1_000_000_000_u64.into();
    for metric in session["runs"][0]["figures"].as_array_mut().unwrap() {
        metric["low"] = serde_json::Value::Null;
        metric["high"] = serde_json::Value::Null;
    }
    std::fs::write(&path, session.to_string()).unwrap();
    let files = [sample_path("nvme-random.json"), path];
    let text = stdout(&["compare"], &files);
    assert!(
        text.contains("not determined, run too short (B): IOPS"),
        "{text}"
    );
    assert!(!text.contains("no significant difference"), "{text}");
    let json = stdout(&["compare", "--json"], &files);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let against = &document["tests"][0]["figures"][0]["samples"][1]["against_baseline"];
    assert_eq!(against["judgement"], "not-determined");
    let reason = serde_json::json!([{ "session": 1, "missing_interval_of": "too-short" }]);
    assert_eq!(against["not_determined"], reason);
    let page = stdout(&["report", "-o", "-"], &files);
    assert!(page.contains("not determined, run too short (B): IOPS"));
}

#[test]
fn misspelt_metric_suggests_nearest_name() {
    let output = diskscope(&["compare", "--by", "iosp"], &both_samples());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("did you mean iops?"), "{message}");
}

#[test]
fn session_of_other_version_is_refused_by_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.json");
    let text = std::fs::read_to_string(sample_path("nvme-random.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["version"] = 7.into();
    std::fs::write(&other, document.to_string()).unwrap();
    let page = directory.path().join("page.html");
    let page = page.to_str().unwrap();
    let sample = sample_path("nvme-random-slower.json");
    let commands: [(&[&str], &[PathBuf]); 6] = [
        (&["show"], std::slice::from_ref(&other)),
        (&["show", "--json"], std::slice::from_ref(&other)),
        (&["compare"], &[sample.clone(), other.clone()]),
        (&["compare", "--json"], &[other.clone(), sample.clone()]),
        (&["report", "-o", page], std::slice::from_ref(&other)),
        (&["report", "-o", page], &[sample.clone(), other.clone()]),
    ];
    let sentence = "other.json is a diskscope session of format version 7, and this diskscope \
                    reads version 1 only: use diskscope 0.1.0, which wrote it";
    for (arguments, files) in commands {
        let output = diskscope(arguments, files);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(sentence), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(!Path::new(page).exists());
    // Among many drives, the others are compared.
    let output = diskscope(&["compare", "--by", "iops"], &[sample, other]);
    let stdout = String::from_utf8_lossy(&output.stdout).replace("\n  ", " ");
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.contains("of format version 7"), "{stdout}");
}

#[test]
fn fail_if_slower_changes_the_exit_status_only() {
    let (fast, slow) = (
        sample_path("nvme-random.json"),
        sample_path("nvme-random-slower.json"),
    );
    for (files, exit) in [
        ([fast.clone(), slow.clone()], 6),
        ([slow, fast.clone()], 0),
        ([fast.clone(), fast], 0),
    ] {
        let plain = diskscope(&["compare"], &files);
        assert_eq!(plain.status.code(), Some(0), "{files:?}");
        let output = diskscope(&["compare", "--fail-if-slower"], &files);
        assert_eq!(output.status.code(), Some(exit), "{files:?}");
        assert_eq!(output.stdout, plain.stdout);
    }
}

#[test]
fn session_of_other_version_is_listed_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(sample_path("nvme-random.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["version"] = 7.into();
    let path = directory.path().join("2026-01-02T030405-random-read.json");
    std::fs::write(&path, document.to_string()).unwrap();
    let listed = diskscope::tui::session_archive::list_sessions(directory.path()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        listed[0].status,
        diskscope::tui::screens::sessions::SessionStatus::Unreadable
    );
    assert!(
        listed[0].summary.contains("session of format version 7"),
        "{}",
        listed[0].summary
    );
    let opened = diskscope::tui::session_archive::open_session(path)
        .unwrap_err()
        .to_string();
    assert!(opened.contains("reads version 1 only"), "{opened}");
}
