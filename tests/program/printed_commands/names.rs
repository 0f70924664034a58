//! Targets with names that a shell or fio would read as something else.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::fio::has_fio;
use crate::printed_commands::medium::run_pasted_command;
use crate::process::wait_until;

const HOSTILE_NAMES: &[&str] = &[
    "a b",
    "it's",
    "\"quoted\"",
    "$(touch pwned)`id`${HOME}",
    "a\nb",
    "co:lon",
    "c\\:olon\\",
    "-dash",
    "gr\u{f6}\u{df}e \u{6f22}",
    "*?[a]{b,c}~!",
    "$ncpus $jobnum",
    "a=b,c",
    "tab\tx\x1b[2J",
    "a\\nb",
];

/// What diskscope says of a run on a target, started where that is.
fn reported_invocation(
    target: &str,
    test: &str,
    options: &[&str],
    directory: &Path,
    state: &Path,
) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["run", test, "--json", "-"])
        .args(options)
        .args(["--", target])
        .current_dir(directory)
        .env("XDG_STATE_HOME", state)
        .output()
        .unwrap();
    let document = serde_json::from_slice::<Value>(&output.stdout);
    let document = document.unwrap_or_else(|_| panic!("{target:?}: {output:?}"));
    assert!(output.status.success(), "{target:?}: {document}");
    document["runs"][0]["reproduce"].clone()
}

#[test]
fn fio_line_writes_only_to_named_file() {
    if !has_fio() {
        return;
    }
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let [files, empty, state] = ["files", "empty", "state"].map(|name| place.path().join(name));
    fs::create_dir(&files).unwrap();
    fs::create_dir(&empty).unwrap();
    let old = vec![0xa5; 1 << 20];
    for name in HOSTILE_NAMES {
        fs::write(files.join(name), &old).unwrap();
    }
    for name in HOSTILE_NAMES {
        // By its name alone, as somebody types it who stands in the directory.
        let overwrite = format!("--overwrite={name}");
        let options = ["--requests", "64", &overwrite];
        let message = reported_invocation(name, "random-write", &options, &files, &state);
        let line = message["fio"]
            .as_str()
            .unwrap_or_else(|| panic!("{name:?}: {message}"));
        assert_eq!(line.lines().count(), 2, "{line}");
        for line in [
            line.to_owned(),
            message["diskscope"].as_str().unwrap().to_owned(),
        ] {
            fs::write(files.join(name), &old).unwrap();
            let line = match line.strip_prefix("diskscope ") {
                Some(words) => {
                    let binary = env!("CARGO_BIN_EXE_diskscope");
                    format!("XDG_STATE_HOME='{}' {binary} {words}", state.display())
                }
                None => line,
            };
            let output = run_pasted_command(&line, &empty);
            assert!(output.status.success(), "{line}: {output:?}");
            for other in HOSTILE_NAMES {
                let changed = fs::read(files.join(other)).unwrap() != old;
                assert_eq!(changed, other == name, "{line} changed {other:?}");
            }
            fs::write(files.join(name), &old).unwrap();
        }
    }
    assert_eq!(fs::read_dir(&files).unwrap().count(), HOSTILE_NAMES.len());
}

/// A file of the same name is in the directory where the line is pasted.
#[test]
fn line_of_a_relative_target_overwrites_no_file_of_another_directory() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let [first, second, state] = ["first", "second", "state"].map(|name| place.path().join(name));
    let old = vec![0xa5; 1 << 20];
    for directory in [&first, &second] {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join("test.img"), &old).unwrap();
    }
    let options = ["--requests", "64", "--overwrite", "test.img"];
    let message = reported_invocation("test.img", "random-write", &options, &first, &state);
    let line = message["diskscope"].as_str().unwrap();
    let words = line.strip_prefix("diskscope ").unwrap();
    fs::write(first.join("test.img"), &old).unwrap();
    let binary = env!("CARGO_BIN_EXE_diskscope");
    let line = format!("XDG_STATE_HOME='{}' {binary} {words}", state.display());
    let output = run_pasted_command(&line, &second);
    assert!(output.status.success(), "{line}: {output:?}");
    let is_unchanged = |directory: &Path| fs::read(directory.join("test.img")).unwrap() == old;
    assert!(!is_unchanged(&first) && is_unchanged(&second), "{line}");
}

#[test]
fn name_that_fio_would_cut_has_no_line() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    for name in ["a#b", "a;b", "trailing "] {
        let path = place.path().join(name);
        fs::write(&path, vec![0; 1 << 20]).unwrap();
        let state = place.path().join("state");
        let options = ["--requests", "8"];
        let path = path.to_str().unwrap();
        let message = reported_invocation(path, "random-read", &options, place.path(), &state);
        assert_eq!(message["fio_gap"], "target-name", "{message}");
    }
}

/// The line of the report is that of the document, which names the file byte for byte.
#[test]
fn report_of_a_hostile_name_repeats_the_line_of_the_document() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let state = place.path().join("state");
    for name in [&b"a\\nb"[..], b"it's $(true)"] {
        let path = place.path().join(OsStr::from_bytes(name));
        fs::write(&path, vec![0; 1 << 20]).unwrap();
        let document = place.path().join("document");
        let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
            .args(["run", "random-read", "--requests", "8", "--json"])
            .args([&document, &path])
            .env("XDG_STATE_HOME", &state)
            .output()
            .unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        let document: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
        let line = document["runs"][0]["reproduce"]["diskscope"].as_str();
        assert!(report.contains(line.unwrap()), "{line:?}: {report}");
        assert!(line.unwrap().starts_with("diskscope run random-read "));
    }
}

#[test]
fn fio_directory_line_leaves_directory_unchanged() {
    if !has_fio() {
        return;
    }
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = place.path().join("it's: a $(dir)#");
    let empty = place.path().join("empty");
    fs::create_dir(&directory).unwrap();
    fs::create_dir(&empty).unwrap();
    fs::write(directory.join("mine"), "kept").unwrap();
    for test in ["random-write", "random-read", "sequential-write"] {
        let mut options = vec!["--scratch-size", "8MiB", "--block-size", "4KiB"];
        // As many blocks in each of the 100 zones.
        options.extend(["--bytes", "4096000"]);
        if test != "sequential-write" {
            options.extend(["--workers", "2"]);
        }
        let state = place.path().join("state");
        let message =
            reported_invocation(directory.to_str().unwrap(), test, &options, &empty, &state);
        let line = message["fio"]
            .as_str()
            .unwrap_or_else(|| panic!("{test}: {message}"));
        let report = place.path().join("report");
        let json = format!(
            "fio --output-format=json --output={} --name",
            report.display()
        );
        let output = run_pasted_command(&line.replacen("fio --name", &json, 1), &empty);
        assert!(output.status.success(), "{line}: {output:?}");
        let text = fs::read_to_string(&report).unwrap();
        let json: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let job = &json["jobs"][0];
        let moved = |word: &str| job[word]["io_bytes"].as_u64().unwrap();
        assert_eq!(moved("read") + moved("write"), 4_096_000, "{line}");
        let left: Vec<_> = fs::read_dir(&directory).unwrap().collect();
        assert_eq!(left.len(), 1, "{line} left {left:?}");
        assert_eq!(fs::read(directory.join("mine")).unwrap(), b"kept");
        // Neither is what a variable of the shell names, where the directory is gone.
        let gone = line.replace(place.path().to_str().unwrap(), "/nowhere");
        let output = run_pasted_command(&format!("file=mine; export file\n{gone}"), &directory);
        assert!(!output.status.success(), "{gone}: {output:?}");
    }
}

#[test]
fn fio_directory_line_interrupted_deletes_scratch_file() {
    if !has_fio() {
        return;
    }
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let [files, state] = ["files", "state"].map(|name| place.path().join(name));
    fs::create_dir(&files).unwrap();
    let options = ["--scratch-size", "8MiB", "--duration", "100ms"];
    let message = reported_invocation(
        files.to_str().unwrap(),
        "random-read",
        &options,
        &files,
        &state,
    );
    let line = message["fio"]
        .as_str()
        .unwrap()
        .replace("--runtime=100ms", "--runtime=60");
    let mut shell = Command::new("sh");
    let mut shell = std::os::unix::process::CommandExt::process_group(shell.args(["-c", &line]), 0)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let bytes = || -> Option<u64> {
        let file = fs::read_dir(&files).unwrap().next()?.ok()?;
        Some(file.metadata().ok()?.len())
    };
    // fio is there as soon as the file has its size.
    wait_until(&line, || bytes() == Some(8 << 20));
    let group = rustix::process::Pid::from_child(&shell);
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    assert!(!shell.wait().unwrap().success());
    // The outer shell ends at once, the inner one after fio.
    wait_until(&line, || bytes().is_none());
}
