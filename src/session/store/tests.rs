//! Tests of journals and documents: complete, truncated and foreign ones.

use std::fs;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::directory::*;
use super::*;
use crate::session::document::{
    BenchmarkRun, EngineRecord, Findings, HostRecord, Invocation, RunEvidence, RunState, SCHEMA,
    Session, TargetRecord, VERSION,
};

fn test_session() -> Session {
    Session {
        schema: SCHEMA.into(),
        version: VERSION,
        program: "diskscope 0.1.0".into(),
        started: "2026-01-02T03:04:05+00:00".into(),
        host: HostRecord::default(),
        note: None,
        runs: Vec::new(),
    }
}

fn test_run(elapsed_ns: u64, state: RunState) -> BenchmarkRun {
    BenchmarkRun {
        test: "random-read".into(),
        state,
        error: None,
        started: "2026-01-02T03:04:06+00:00".into(),
        elapsed_ns,
        target: TargetRecord {
            path: "/tmp".into(),
            kind: "scratch".into(),
            size_bytes: 1,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            device: None,
            model: None,
            serial: None,
            firmware: None,
            transport: None,
            rotational: None,
            file_system: None,
        },
        parameters: std::collections::BTreeMap::new(),
        parameter_units: std::collections::BTreeMap::new(),
        engine: EngineRecord::default(),
        findings: Findings::default(),
        kernel: None,
        stages: None,
        cpu: None,
        evidence: RunEvidence::default(),
        reproduce: Invocation::default(),
    }
}

#[test]
fn finished_journal_becomes_document() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    journal
        .append_progress(&test_run(1, RunState::Running))
        .unwrap();
    let whole = Session {
        note: None,
        runs: vec![test_run(2, RunState::Finished)],
        ..test_session()
    };
    let path = journal.finish(&whole).unwrap();
    assert_eq!(
        list_sessions(directory.path()).unwrap(),
        std::slice::from_ref(&path)
    );
    assert_eq!(load_session(&path).unwrap(), whole);
}

#[test]
fn killed_journal_keeps_last_complete_line() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    journal
        .append_progress(&test_run(1, RunState::Running))
        .unwrap();
    journal
        .append_progress(&test_run(2, RunState::Running))
        .unwrap();
    journal
        .file
        .write_all(b"{\"run\":{\"test\":\"rand")
        .unwrap();
    let loaded = load_session(&kill(journal)).unwrap();
    assert_eq!(loaded.runs, [test_run(2, RunState::Interrupted)]);
}

/// The path of a journal whose process was killed.
fn kill(journal: Journal) -> PathBuf {
    let path = journal.path.clone();
    drop(journal);
    path
}

#[test]
fn run_is_running_while_its_journal_is_open_and_interrupted_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let path = journal.path.clone();
    let state = || {
        load_session(&path)
            .unwrap()
            .runs
            .last()
            .map(|run| run.state)
    };
    assert_eq!(state(), None);
    for elapsed_ns in 0..3 {
        journal
            .append_progress(&test_run(elapsed_ns, RunState::Running))
            .unwrap();
        assert_eq!(state(), Some(RunState::Running));
    }
    kill(journal);
    assert_eq!(state(), Some(RunState::Interrupted));
}

#[test]
fn truncated_journal_loads_or_gives_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    journal
        .append_progress(&test_run(1, RunState::Running))
        .unwrap();
    let whole = fs::read(&journal.path).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for length in 0..whole.len() {
        let path = directory.path().join("cut.journal");
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(
            load_session(&path).is_ok(),
            length >= first_line,
            "{length}"
        );
    }
}

#[test]
fn sessions_started_in_same_second_get_separate_files() {
    let directory = tempfile::tempdir().unwrap();
    let first = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let second = Journal::create(directory.path(), "one", &test_session()).unwrap();
    assert_ne!(first.path, second.path);
    let (one, two) = (
        first.finish(&test_session()).unwrap(),
        second.finish(&test_session()).unwrap(),
    );
    assert_ne!(one, two);
    assert_ne!(
        Journal::create(directory.path(), "one", &test_session())
            .unwrap()
            .path
            .with_extension("json"),
        one
    );
}

#[test]
fn file_that_is_not_session_is_refused_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.json");
    for text in ["", "{}", "hello", "{\"schema\":\"fio\"}"] {
        fs::write(&path, text).unwrap();
        let message = load_session(&path).unwrap_err().to_string();
        assert!(
            message.contains("other.json") && message.contains("not a diskscope session"),
            "{message}"
        );
    }
}

/// A session of another version: fields that this program does not know, and none that it needs.
fn session_of_version(version: u64) -> String {
    format!(
        "{{\"schema\":\"{SCHEMA}\",\"version\":{version},\"program\":\"diskscope 9.1\",\
         \"results\":{{\"7\":[]}}}}"
    )
}

#[test]
fn session_of_other_version_is_refused_by_version_and_writer() {
    let directory = tempfile::tempdir().unwrap();
    for version in [0, u64::from(VERSION) + 1, u64::MAX] {
        let session = session_of_version(version);
        for (name, text) in [
            ("one.json", session.clone()),
            ("one.journal", format!("{{\"session\":{session}}}\n")),
        ] {
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
fn oversized_journal_is_rewritten_without_loss() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let mut journal = journal.with_max_bytes(4096);
    for elapsed_ns in 0..50 {
        journal
            .append_progress(&test_run(elapsed_ns, RunState::Running))
            .unwrap();
        let length = fs::metadata(&journal.path).unwrap().len();
        assert!(length <= 4096, "{length}");
        let loaded = load_session(&journal.path).unwrap();
        assert_eq!(loaded.runs, [test_run(elapsed_ns, RunState::Running)]);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// The run in progress is recognised at every moment, also before its first line and while its journal
/// is rewritten.
#[test]
fn journal_is_locked_from_its_creation_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let mut journal = journal.with_max_bytes(4096);
    let path = journal.path.clone();
    let refused = || matches!(delete_session(&path), Err(StoreError::NotComplete { .. }));
    assert!(refused());
    for elapsed_ns in 0..50 {
        journal
            .append_progress(&test_run(elapsed_ns, RunState::Running))
            .unwrap();
        assert!(refused());
    }
    fs::remove_file(&path).unwrap();
    assert!(journal.finish(&test_session()).unwrap().exists());
}

#[test]
fn partially_written_journal_line_is_truncated() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    journal
        .append_progress(&test_run(1, RunState::Running))
        .unwrap();
    // A read-only descriptor fails every write; the next write succeeds.
    let writable = std::mem::replace(&mut journal.file, File::open(&journal.path).unwrap());
    assert!(
        journal
            .append_progress(&test_run(2, RunState::Running))
            .is_err()
    );
    journal.file = writable;
    journal
        .append_progress(&test_run(3, RunState::Running))
        .unwrap();
    let loaded = load_session(&kill(journal)).unwrap();
    assert_eq!(loaded.runs, [test_run(3, RunState::Interrupted)]);
}

#[test]
fn document_with_leftover_journal_is_listed_once() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let document = journal.path.with_extension(DOCUMENT_EXTENSION);
    fs::write(&document, serialize_session(&test_session()).unwrap()).unwrap();
    assert_eq!(list_sessions(directory.path()).unwrap(), [document]);
}

#[test]
fn endless_input_is_refused_as_session() {
    let endless = io::BufReader::new(io::repeat(b'0'));
    let error = parse_session(endless).unwrap().unwrap_err();
    assert!(error.to_string().contains("longer than 64 MiB"), "{error}");
}

#[test]
fn character_device_as_session_input_is_refused_unread() {
    let error = load_session(Path::new("/dev/zero")).unwrap_err();
    assert!(error.is_usage());
    assert!(error.to_string().contains("a character device"), "{error}");
}

#[test]
fn sessions_written_by_journal_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("diskscope/sessions");
    let mut journal = Journal::create(&directory, "one", &test_session()).unwrap();
    assert_eq!(mode(&base.path().join("diskscope")), 0o700);
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&journal.path), 0o600);
    journal
        .append_progress(&test_run(1, RunState::Running))
        .unwrap();
    assert_eq!(mode(&journal.finish(&test_session()).unwrap()), 0o600);
}

#[test]
fn journal_of_superseded_lines_loads_the_last_line_of_each_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    for elapsed_ns in 0..5 {
        journal
            .append_progress(&test_run(elapsed_ns, RunState::Running))
            .unwrap();
    }
    journal
        .append_progress(&test_run(9, RunState::Finished))
        .unwrap();
    journal
        .append_progress(&test_run(1, RunState::Running))
        .unwrap();
    journal
        .append_progress(&test_run(2, RunState::Running))
        .unwrap();
    // The head of this line is valid, the rest is not.
    let head =
        r#"{"run":{"test":"random-read","state":"running","started":"2026-01-02T03:04:06+00:00"}}"#;
    journal.file.write_all(head.as_bytes()).unwrap();
    let expected = [
        test_run(9, RunState::Finished),
        test_run(2, RunState::Interrupted),
    ];
    assert_eq!(load_session(&kill(journal)).unwrap().runs, expected);
}

#[test]
fn journal_with_too_many_runs_is_refused() {
    let mut text =
        serde_json::to_string(&serde_json::json!({ "session": test_session() })).unwrap();
    for number in 0..10_002_u64 {
        let run = BenchmarkRun {
            elapsed_ns: number,
            ..test_run(1, RunState::Finished)
        };
        text.push('\n');
        text.push_str(&serde_json::to_string(&serde_json::json!({ "run": run })).unwrap());
    }
    let reason = parse_session(text.as_bytes()).unwrap().unwrap_err();
    assert!(
        reason.to_string().contains("more than 10000 runs"),
        "{reason}"
    );
}

#[test]
fn parameter_that_is_a_list_is_refused() {
    let mut document = serde_json::to_value(Session {
        note: None,
        runs: vec![test_run(1, RunState::Finished)],
        ..test_session()
    })
    .unwrap();
    document["runs"][0]["parameters"] = serde_json::json!({ "depth": [[1, 2], [3]] });
    let reason = parse_session(document.to_string().as_bytes())
        .unwrap()
        .unwrap_err();
    assert!(
        reason.to_string().contains("a number, a word or null"),
        "{reason}"
    );
}

/// Two runs start in the same second; one checks the names in use before the other ends.
#[test]
fn finished_session_is_never_replaced_by_another_of_the_same_second() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let other = directory.path().join("one.json");
    fs::write(&other, "of another run").unwrap();
    let path = journal.finish(&test_session()).unwrap();
    assert_eq!(path, directory.path().join("one-1.json"));
    assert_eq!(fs::read_to_string(&other).unwrap(), "of another run");
    assert_eq!(load_session(&path).unwrap(), test_session());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn journal_never_begins_beside_a_document_of_its_name() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one.json"), "").unwrap();
    fs::write(directory.path().join("one-1.journal"), "").unwrap();
    let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    assert!(journal.path.ends_with("one-2.journal"));
    assert!(!directory.path().join("one.journal").exists());
}

#[test]
fn sessions_of_many_threads_in_one_second_all_stay() {
    let directory = tempfile::tempdir().unwrap();
    let ends = |_: usize| {
        let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
        journal.finish(&test_session()).unwrap()
    };
    let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..25_usize).map(ends).collect::<Vec<_>>()))
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
fn journal_takes_a_small_part_of_the_free_space_only() {
    let (most, mib) = (32 << 20, 1 << 20);
    assert_eq!(journal::max_size(most, 0, None), most);
    assert_eq!(journal::max_size(most, 0, Some(1 << 40)), most);
    assert_eq!(journal::max_size(most, 0, Some(80 * mib)), 5 * mib);
    // What it takes itself does not count as taken.
    assert_eq!(journal::max_size(most, 5 * mib, Some(75 * mib)), 5 * mib);
    assert_eq!(journal::max_size(most, 0, Some(0)), 0);
}

#[test]
fn journal_with_long_finished_runs_is_not_written_anew_at_every_line() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::create(directory.path(), "one", &test_session()).unwrap();
    let mut journal = journal.with_max_bytes(4096);
    let mut long = test_run(1, RunState::Finished);
    long.target.path = "x".repeat(100_000).into();
    journal.append_completed(&long).unwrap();
    let inode = |journal: &Journal| fs::metadata(&journal.path).unwrap().ino();
    let (mut anew, mut before) = (0, inode(&journal));
    for elapsed_ns in 0..50 {
        journal
            .append_progress(&test_run(elapsed_ns, RunState::Running))
            .unwrap();
        let now = inode(&journal);
        anew += usize::from(now != before);
        before = now;
    }
    assert!(anew <= 1, "{anew}");
    assert_eq!(load_session(&journal.path).unwrap().runs.len(), 2);
}
