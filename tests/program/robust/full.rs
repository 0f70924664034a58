//! A full file system: under the scratch file, the sessions, a recording, a document.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use diskscope::recording::Recording;
use diskscope::session::document::RunState;
use diskscope::session::store;

use crate::requirement::{Requirement, skip};
use crate::robust::sandbox::{RunSandbox, covered_time, is_root, stderr, stdout, wait_until};
use crate::slow_disk::SlowDisk;

/// A small file system in memory, unmounted afterwards.
struct Small {
    at: PathBuf,
}

impl Small {
    fn with_size(at: PathBuf, size: &str) -> Option<Self> {
        if !is_root() {
            return None;
        }
        fs::create_dir_all(&at).unwrap();
        let options = format!("size={size}");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(&at)
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Self { at });
        }
        skip(Requirement::Tmpfs, "no tmpfs can be mounted here");
        None
    }

    /// Takes all but a few bytes.
    fn fill_leaving(&self, leave: u64) -> PathBuf {
        let path = self.at.join("filler");
        let mut filler = fs::File::create(&path).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
        let length = filler.metadata().unwrap().len();
        filler.set_len(length - leave).unwrap();
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let status = Command::new("umount").arg("-l").arg(&self.at).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

fn assert_no_partial_file(directory: &Path) {
    let left: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.') || name.ends_with(".partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn scratch_file_keeps_reserve_free() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.path().join("small"), "64m") else {
        return;
    };
    let output = sandbox
        .command(&["run", "random-read", "small", "--scratch-size", "40MiB"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("small") && message.contains("--scratch-size 32MiB fits"),
        "{message}"
    );
    assert_eq!(fs::read_dir(&small.at).unwrap().count(), 0);
}

#[test]
fn write_without_space_fails_run_and_keeps_results() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.path().join("small"), "200m") else {
        return;
    };
    let file = small.at.join("sparse");
    fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
    let name = file.to_str().unwrap();
    let options = "--cache keep --duration 60s --ramp 0s --rate 200/s --overwrite";
    let mut words = vec!["run", "random-write", name];
    words.extend(options.split(' ').chain([name]));
    let child = sandbox.command(&words).spawn().unwrap();
    wait_until("something was measured", || {
        let journal = sandbox
            .saved_sessions()
            .first()
            .map(|path| store::load_session(path));
        let run = journal.and_then(|session| session.ok()?.runs.into_iter().next());
        run.is_some_and(|run| !run.findings.series.is_empty())
    });
    let _filler = small.fill_leaving(0);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let session = sandbox.session();
    let run = &session.runs[0];
    assert_eq!(run.state, RunState::Failed);
    let error = run.error.as_ref().unwrap();
    assert!(error.message.contains("sparse"), "{}", error.message);
    assert!(error.advice.contains("free some space"), "{}", error.advice);
    assert!(!run.findings.series.is_empty(), "{}", stdout(&output));
}

#[test]
fn run_continues_without_space_for_session() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.state(), "64k") else {
        return;
    };
    small.fill_leaving(0);
    let output = sandbox
        .run("random-read", &["--duration", "300ms", "--json", "-"])
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(
        message.contains("not saved") && message.contains("No space"),
        "{message}"
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["runs"][0]["state"], "finished");
}

#[test]
fn journal_on_temporarily_full_disk_becomes_document() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.state(), "256k") else {
        return;
    };
    let child = sandbox
        .run("random-read", &["--duration", "4s"])
        .spawn()
        .unwrap();
    let journal = || {
        sandbox
            .saved_sessions()
            .first()
            .map(|path| fs::metadata(path).unwrap())
    };
    wait_until("the journal", || journal().is_some_and(|it| it.len() > 0));
    let filler = small.fill_leaving(0);
    let length = || journal().map(|it| it.len());
    let mut before = (length(), Instant::now());
    // A line is written at least once a second.
    wait_until("a line that found no room", || {
        if length() != before.0 {
            before = (length(), Instant::now());
        }
        before.1.elapsed() >= Duration::from_secs(2)
    });
    fs::remove_file(filler).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(message.contains("saved: "), "{message}");
    assert!(message.contains("cannot append to"), "{message}");
    assert_eq!(sandbox.session().runs[0].state, RunState::Finished);
    assert!(covered_time(&sandbox.session().runs[0]).as_secs() >= 3);
}

#[test]
fn journal_leaves_the_reserve_of_its_file_system() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.state(), "4m") else {
        return;
    };
    // 5 % stay free, which is enough for the document.
    small.fill_leaving(216 << 10);
    let output = sandbox
        .run("random-read", &["--duration", "6s"])
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(message.contains("saved: "), "{message}");
    assert!(message.contains("almost full"), "{message}");
    assert_eq!(sandbox.session().runs[0].state, RunState::Finished);
}

#[test]
fn document_without_space_keeps_previous_file() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.path().join("small"), "64k") else {
        return;
    };
    let document = small.at.join("out.json");
    fs::write(&document, "before").unwrap();
    small.fill_leaving(0);
    let json = document.to_str().unwrap();
    let output = sandbox
        .run("random-read", &["--duration", "300ms", "--json", json])
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("out.json") && message.contains("No space"),
        "{message}"
    );
    assert!(
        stdout(&output).contains("IOPS"),
        "it is printed all the same"
    );
    assert_eq!(fs::read_to_string(&document).unwrap(), "before");
    assert_no_partial_file(&small.at);
    assert_eq!(sandbox.session().runs[0].state, RunState::Finished);
}

#[test]
fn recording_on_full_disk_can_be_replayed_until_then() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.path().join("small"), "64k") else {
        return;
    };
    let file = small.at.join("day.rec");
    let filler = small.fill_leaving(16 * 1024);
    let options = ["--interval", "100ms", "--duration", "60s"];
    let output = sandbox
        .command(&[&["record", file.to_str().unwrap()], &options[..]].concat())
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("day.rec") && message.contains("almost full"),
        "{message}"
    );
    assert!(message.contains("can be replayed"), "{message}");
    fs::remove_file(filler).unwrap();
    let mut recording = Recording::open(&file).unwrap();
    assert!(recording.view_count() > 0);
    let last = recording.view_count() - 1;
    assert!(recording.read_view(last).unwrap().is_some());
}

#[test]
fn output_of_lines_beyond_a_limit_on_the_file_size_ends_with_whole_lines() {
    let sandbox = RunSandbox::new();
    let directory = sandbox.path();
    let watch = |limit: u64, output: &str| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--fsize={limit}"));
        command.arg(env!("CARGO_BIN_EXE_diskscope"));
        command.args(["watch", "--json", "--interval", "0.1", "--count", "5"]);
        command.args(["-o", output]).current_dir(directory);
        command.env("XDG_STATE_HOME", directory).output().unwrap()
    };
    let output = watch(1 << 30, "all");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let all = std::fs::read_to_string(directory.join("all")).unwrap();
    let mean = all.len() as u64 / 5;
    let output = watch(mean / 2, "none");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!directory.join("none").exists());
    let output = watch(mean * 5 / 2, "some");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let some = std::fs::read_to_string(directory.join("some")).unwrap();
    assert!(some.ends_with('\n'), "{some:?}");
}

#[test]
fn recording_that_has_no_room_for_its_first_snapshot_leaves_no_file() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.path().join("small"), "64k") else {
        return;
    };
    let file = small.at.join("day.rec");
    let _filler = small.fill_leaving(4096);
    let output = sandbox
        .command(&["record", file.to_str().unwrap(), "--duration", "60s"])
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("nothing is recorded"), "{message}");
    assert!(!file.exists());
}

#[test]
fn ring_on_full_disk_deletes_its_oldest_and_goes_on() {
    let sandbox = RunSandbox::new();
    let Some(small) = Small::with_size(sandbox.path().join("small"), "1m") else {
        return;
    };
    let ring = small.at.join("day");
    let words = [
        "record",
        ring.to_str().unwrap(),
        "--ring",
        "4MB",
        "--interval",
        "100ms",
    ];
    // Ended recorders leave files that can be deleted.
    for _ in 0..3 {
        let mut short = sandbox.command(&[&words[..], &["--duration", "300ms"]].concat());
        assert_eq!(short.output().unwrap().status.code(), Some(0));
    }
    let _filler = small.fill_leaving(0);
    let mut long = sandbox.command(&[&words[..], &["--duration", "3s"]].concat());
    let output = long.output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(
        !ring.join("samples-00000001.ndjson.gz").exists(),
        "{message}"
    );
    let mut recording = Recording::open(&ring).unwrap();
    assert!(recording.damage().is_none());
    let last = recording.view_count() - 1;
    let age_ms =
        jiff::Timestamp::now().as_millisecond() as u64 - recording.view_marks()[last].time_ms;
    assert!(age_ms < 2000, "{age_ms}: {message}");
    assert!(recording.read_view(last).unwrap().is_some());
}

#[test]
fn unprintable_result_is_still_saved() {
    let sandbox = RunSandbox::new();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = sandbox
        .run("random-read", &["--duration", "300ms"])
        .stdout(full)
        .output()
        .unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write to stdout"), "{message}");
    let saved = sandbox.saved_sessions();
    assert_eq!(
        store::load_session(&saved[0]).unwrap().runs[0].state,
        RunState::Finished
    );
}

#[test]
fn scratch_file_works_on_a_file_system_that_loses_removed_files() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    disk.lose_removed_files();
    let sandbox = RunSandbox::new();
    let directory = disk.directory();
    let run = |benchmark, size| {
        let words = ["run", benchmark, directory.to_str().unwrap()];
        let options = ["--scratch-size", size, "--requests", "20", "--ramp", "0s"];
        let mut command = sandbox.command(&words);
        command.args(options).output().unwrap()
    };
    for benchmark in ["random-read", "random-write"] {
        let output = run(benchmark, "32MiB");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let output = run("random-read", "60GiB");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("has 100 GiB free"), "{message}");
}
