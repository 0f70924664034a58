//! Tests of journals and documents: complete, truncated and foreign ones.

use std::fs;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::directory::DOCUMENT_EXTENSION;
use super::*;
use crate::session::compare::sample;
use crate::session::document::{BenchmarkRun, RunState, SCHEMA, Session, VERSION};

fn session_of(runs: Vec<BenchmarkRun>) -> Session {
    sample::sample_session("web-07", runs)
}

fn run_after(elapsed_ns: u64, state: RunState) -> BenchmarkRun {
    BenchmarkRun {
        elapsed_ns,
        state,
        ..sample::sample_run("iops", 100.0, 1.0)
    }
}

/// A journal in a directory of its own.
struct Written {
    directory: tempfile::TempDir,
    journal: Journal,
}

impl Written {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::create(directory.path(), "one", &session_of(vec![])).unwrap();
        Self { directory, journal }
    }

    fn small() -> Self {
        let Self { directory, journal } = Self::new();
        let journal = journal.with_max_bytes(8192);
        Self { directory, journal }
    }

    fn append(&mut self, elapsed_ns: u64) -> Result<(), StoreError> {
        let run = run_after(elapsed_ns, RunState::Running);
        self.journal.append_progress(&run)
    }

    /// What is read of the journal of a killed process.
    fn kill(self) -> Vec<BenchmarkRun> {
        let path = self.journal.path();
        drop(self.journal);
        load_session(&path).unwrap().runs
    }
}

#[test]
fn finished_journal_becomes_a_private_document() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("diskscope/sessions");
    let mut journal = Journal::create(&directory, "one", &session_of(vec![])).unwrap();
    assert_eq!(mode(&base.path().join("diskscope")), 0o700);
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&journal.path()), 0o600);
    let running = run_after(1, RunState::Running);
    journal.append_progress(&running).unwrap();
    let whole = session_of(vec![run_after(2, RunState::Finished)]);
    let path = journal.finish(&whole).unwrap();
    assert_eq!(mode(&path), 0o600);
    let listed = list_sessions(&directory).unwrap();
    assert_eq!(listed, std::slice::from_ref(&path));
    assert_eq!(load_session(&path).unwrap(), whole);
}

#[test]
fn run_is_running_while_its_journal_is_open_and_interrupted_afterwards() {
    let mut written = Written::new();
    let path = written.journal.path();
    let last = || load_session(&path).unwrap().runs.pop();
    assert_eq!(last(), None);
    for elapsed_ns in 0..3 {
        written.append(elapsed_ns).unwrap();
        assert_eq!(last().unwrap().state, RunState::Running);
    }
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"{\"run\":{\"test\":\"rand").unwrap();
    assert_eq!(written.kill(), [run_after(2, RunState::Interrupted)]);
}

#[test]
fn truncated_journal_loads_or_gives_reason() {
    let mut written = Written::new();
    written.append(1).unwrap();
    let whole = fs::read(written.journal.path()).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for length in 0..whole.len() {
        let read = parse_session(&whole[..length]);
        assert_eq!(read.is_ok(), length >= first_line, "{length}");
    }
}

#[test]
fn journal_of_superseded_lines_loads_the_last_line_of_each_run() {
    let mut written = Written::new();
    for elapsed_ns in 0..5 {
        written.append(elapsed_ns).unwrap();
    }
    let finished = run_after(9, RunState::Finished);
    written.journal.append_completed(&finished).unwrap();
    written.append(1).unwrap();
    written.append(2).unwrap();
    let expected = [finished, run_after(2, RunState::Interrupted)];
    assert_eq!(written.kill(), expected);
}

#[test]
fn partially_written_journal_line_is_truncated() {
    let mut written = Written::new();
    written.append(1).unwrap();
    // A read-only descriptor fails every write; the next write succeeds.
    let read_only = File::open(written.journal.path()).unwrap();
    let writable = std::mem::replace(&mut written.journal.file, read_only);
    assert!(written.append(2).is_err());
    written.journal.file = writable;
    written.append(3).unwrap();
    assert_eq!(written.kill(), [run_after(3, RunState::Interrupted)]);
}

/// The run in progress is recognised at every moment, also before its first line and while its journal
/// is written anew.
#[test]
fn journal_is_written_anew_without_loss_and_locked_all_the_time() {
    let mut written = Written::small();
    let path = written.journal.path();
    let refused = || matches!(delete_session(&path), Err(StoreError::NotComplete { .. }));
    assert!(refused());
    for elapsed_ns in 0..50 {
        written.append(elapsed_ns).unwrap();
        let length = fs::metadata(&path).unwrap().len();
        assert!(length <= 8192, "{length}");
        let runs = load_session(&path).unwrap().runs;
        assert_eq!(runs, [run_after(elapsed_ns, RunState::Running)]);
        assert!(refused());
    }
    assert_eq!(fs::read_dir(written.directory.path()).unwrap().count(), 1);
    fs::remove_file(&path).unwrap();
    assert!(
        written
            .journal
            .finish(&session_of(vec![]))
            .unwrap()
            .exists()
    );
}

#[test]
fn journal_with_long_finished_runs_is_not_written_anew_at_every_line() {
    let mut written = Written::small();
    let mut long = run_after(1, RunState::Finished);
    long.target.path = "x".repeat(100_000).into();
    written.journal.append_completed(&long).unwrap();
    let path = written.journal.path();
    let mut inodes = std::collections::BTreeSet::new();
    for elapsed_ns in 0..50 {
        written.append(elapsed_ns).unwrap();
        inodes.insert(fs::metadata(&path).unwrap().ino());
    }
    assert!(inodes.len() <= 2, "{inodes:?}");
    assert_eq!(load_session(&path).unwrap().runs.len(), 2);
}

#[test]
fn sessions_of_many_threads_in_one_second_all_stay() {
    let directory = tempfile::tempdir().unwrap();
    let end = |_: usize| {
        let journal = Journal::create(directory.path(), "one", &session_of(vec![])).unwrap();
        journal.finish(&session_of(vec![])).unwrap()
    };
    let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..25_usize).map(end).collect::<Vec<_>>()))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.flatten().collect()
    });
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 100);
    assert_eq!(list_sessions(directory.path()).unwrap().len(), 100);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 100);
}

#[test]
fn no_session_takes_the_name_of_another() {
    let written = Written::new();
    let directory = written.directory.path();
    let file = |name: &str| directory.join(name);
    fs::write(file("one.json"), "of another run").unwrap();
    fs::write(file("one-1.journal"), "").unwrap();
    let second = Journal::create(directory, "one", &session_of(vec![])).unwrap();
    assert_eq!(second.path(), file("one-2.journal"));
    let path = written.journal.finish(&session_of(vec![])).unwrap();
    assert_eq!(path, file("one-1.json"));
    assert_eq!(
        fs::read_to_string(file("one.json")).unwrap(),
        "of another run"
    );
    assert_eq!(load_session(&path).unwrap(), session_of(vec![]));
}

#[test]
fn document_with_leftover_journal_is_listed_once() {
    let written = Written::new();
    let document = written.journal.path().with_extension(DOCUMENT_EXTENSION);
    fs::write(&document, serialize_session(&session_of(vec![])).unwrap()).unwrap();
    let listed = list_sessions(written.directory.path()).unwrap();
    assert_eq!(listed, [document]);
}

#[test]
fn session_of_other_version_is_refused_by_version_and_writer() {
    let directory = tempfile::tempdir().unwrap();
    for version in [0, u64::from(VERSION) + 1, u64::MAX] {
        // Fields that this program does not know, and none that it needs.
        let session = format!(
            "{{\"schema\":\"{SCHEMA}\",\"version\":{version},\"program\":\"diskscope 9.1\",\
             \"results\":{{\"7\":[]}}}}"
        );
        let journal = format!("{{\"session\":{session}}}\n");
        for (name, text) in [("one.json", session), ("one.journal", journal)] {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            let error = load_session(&path).unwrap_err();
            assert!(!error.is_usage() && matches!(error, StoreError::Version(_)));
            let message = error.to_string();
            for part in [
                name,
                &format!("session of format version {version}, "),
                &format!("version {VERSION} only"),
                "use diskscope 9.1, which wrote it",
            ] {
                assert!(message.contains(part), "{message}");
            }
        }
    }
}

#[test]
fn content_that_is_no_session_is_refused_with_its_reason() {
    let mut with_list =
        serde_json::to_value(session_of(vec![run_after(1, RunState::Finished)])).unwrap();
    with_list["runs"][0]["parameters"] = serde_json::json!({ "depth": [[1, 2], [3]] });
    for (text, reason) in [
        ("", "it is empty"),
        ("{}", "missing field `schema`"),
        ("hello", "expected value"),
        (
            "{\"schema\":\"fio\",\"version\":1}",
            "its schema is \"fio\"",
        ),
        (&with_list.to_string(), "a number, a word or null"),
    ] {
        let error = parse_session(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    let endless = parse_session(io::BufReader::new(io::repeat(b'0')));
    let error = endless.unwrap_err().to_string();
    assert!(error.contains("longer than 64 MiB"), "{error}");
    let error = load_session(Path::new("/dev/zero")).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("a character device"));
}

#[test]
fn note_is_the_only_change_of_a_document() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("a.json");
    let session = session_of(vec![run_after(1, RunState::Finished)]);
    let before = serialize_session(&session).unwrap();
    fs::write(&path, &before).unwrap();
    set_note(&path, " after the firmware update\x1b[2J ").unwrap();
    let mut noted = load_session(&path).unwrap();
    assert_eq!(export_document(&path).unwrap(), fs::read(&path).unwrap());
    let note = noted.note.take().unwrap();
    assert!(note.starts_with("after the firmware update") && !note.contains('\x1b'));
    assert_eq!(noted, session);
    set_note(&path, "").unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    delete_session(&path).unwrap();
    assert!(set_note(&path, "x").is_err() && delete_session(&path).is_err());
}

/// The lock decides, not the time at which the run last wrote.
#[test]
fn journal_of_a_run_in_progress_is_neither_deleted_nor_edited() {
    let mut written = Written::new();
    written.append(1).unwrap();
    let path = written.journal.path();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    for refused in [delete_session(&path), set_note(&path, "x")] {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::NotComplete { .. }), "{error}");
    }
    let directory = written.directory;
    drop(written.journal);
    let error = set_note(&path, "x").unwrap_err();
    assert!(matches!(error, StoreError::Journal { .. }), "{error}");
    let exported = parse_session(&export_document(&path).unwrap()[..]).unwrap();
    assert_eq!(exported.runs[0].state, RunState::Interrupted);
    delete_session(&path).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
