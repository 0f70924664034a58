//! Outputs on file systems that lack calls which every Unix file system has.

use std::fs;
use std::os::unix::fs::DirBuilderExt;

use crate::outputs::sandbox::{OutputSandbox, SHORT_RUN, assert_document, exit_code, stderr};
use crate::share::{Lacks, Share};

/// Runs the program with an output on the share.
#[track_caller]
fn assert_success(sandbox: &OutputSandbox, words: &[&str]) {
    let output = sandbox.command(words).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{words:?}: {}", stderr(&output));
}

/// Writes a new output and an existing one, and leaves nothing else on the share.
#[track_caller]
fn assert_outputs_are_written(share: &Share) {
    let sandbox = OutputSandbox::new();
    fs::write(share.join("existing"), "x".repeat(100_000)).unwrap();
    for name in ["existing", "new"] {
        let path = share.join(name);
        let output = sandbox.run_to(path.to_str().unwrap());
        assert_eq!(exit_code(&output), 0, "{name}: {}", stderr(&output));
        assert_document(&fs::read_to_string(&path).unwrap());
    }
    assert_eq!(share.file_names(), ["existing", "new"]);
}

#[test]
fn recordings_are_made_on_a_share_that_refuses_chmod() {
    if let Some(share) = Share::mount(Lacks::Chmod) {
        assert_recordings_are_made(&share);
    }
}

#[test]
fn recordings_are_made_on_a_share_that_keeps_the_names_of_open_files() {
    if let Some(share) = Share::mount(Lacks::ChangesOfOpenNames) {
        assert_recordings_are_made(&share);
    }
}

/// Makes a recording and a ring, continues the ring, and leaves nothing else on the share.
#[track_caller]
fn assert_recordings_are_made(share: &Share) {
    let sandbox = OutputSandbox::new();
    let [recording, ring] = ["a.rec", "a.ring"].map(|name| share.join(name));
    let [recording, ring] = [&recording, &ring].map(|path| path.to_str().unwrap());
    let seconds = ["--duration", "1s"];
    assert_success(&sandbox, &[&["record", recording], &seconds[..]].concat());
    let ring_words = ["record", ring, "--ring", "4MB"];
    // It is continued, although it belongs to another user, as a new one would.
    for _ in 0..2 {
        assert_success(&sandbox, &[&ring_words[..], &seconds].concat());
    }
    assert_eq!(share.file_names(), ["a.rec", "a.ring"]);
    assert!(fs::metadata(recording).unwrap().len() > 0);
}

#[test]
fn outputs_on_a_share_that_refuses_chmod_are_written_and_leave_no_other_file() {
    if let Some(share) = Share::mount(Lacks::Chmod) {
        assert_outputs_are_written(&share);
    }
}

#[test]
fn outputs_on_a_share_without_links_are_written() {
    if let Some(share) = Share::mount(Lacks::Links) {
        assert_outputs_are_written(&share);
    }
}

#[test]
fn outputs_on_a_share_that_keeps_the_names_of_open_files_are_written_and_leave_no_other_file() {
    if let Some(share) = Share::mount(Lacks::ChangesOfOpenNames) {
        assert_outputs_are_written(&share);
    }
}

#[test]
fn session_on_a_share_that_keeps_the_names_of_open_files_is_saved_and_leaves_no_other_file() {
    let sandbox = OutputSandbox::new();
    let state = tempfile::tempdir().unwrap();
    let sessions = state.path().join("diskscope/sessions");
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&sessions)
        .unwrap();
    let Some(share) = Share::mount_private(Lacks::ChangesOfOpenNames, sessions) else {
        return;
    };
    for number in 1..=2 {
        let mut command = sandbox.command(&SHORT_RUN);
        let output = command
            .env("XDG_STATE_HOME", state.path())
            .output()
            .unwrap();
        let message = stderr(&output);
        assert_eq!(exit_code(&output), 0, "{message}");
        assert!(!message.contains("not saved"), "{message}");
        let names = share.file_names();
        assert_eq!(names.len(), number, "{names:?}");
        assert!(
            names.iter().all(|name| name.ends_with(".json")),
            "{names:?}"
        );
    }
}
