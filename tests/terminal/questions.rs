//! Questions in a terminal: what is typed before they are on the screen answers nothing.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::pty::PtyTerminal;
use crate::{setsid_is_available, start_diskscope, state_directory};

/// A saved session in the directory of the sessions.
fn save_session(directory: &Path) -> PathBuf {
    let sessions = directory.join("state/diskscope/sessions");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&sessions)
        .unwrap();
    let path = sessions.join("2026-01-17T091244-random-read.json");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/nvme-random.json");
    std::fs::copy(sample, &path).unwrap();
    path
}

fn wait_for_question(terminal: &mut PtyTerminal, is_open: bool) {
    terminal.wait_until("the question", |screen| {
        screen.contents().contains("y delete") == is_open
    });
    // Until a key counts as typed after it.
    std::thread::sleep(Duration::from_millis(200));
}

#[test]
fn session_is_deleted_only_by_a_key_after_the_question() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let path = save_session(directory.path());
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("4");
    terminal.wait_for_text("random-read");
    // In one burst: the second key was typed before the question was there. A frame is due at once
    // when nothing happened for a while.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(200));
        terminal.send_keys("dy");
        wait_for_question(&mut terminal, true);
        terminal.send_keys("n");
        wait_for_question(&mut terminal, false);
    }
    assert!(path.exists());
    terminal.send_keys("d");
    wait_for_question(&mut terminal, true);
    // Typed as a word: the second letter is no answer.
    terminal.send_keys("a");
    wait_for_question(&mut terminal, false);
    terminal.send_keys("dyyy");
    wait_for_question(&mut terminal, true);
    terminal.send_keys("n");
    wait_for_question(&mut terminal, false);
    assert!(path.exists());
    // In a terminal that shows no question, none is answered.
    terminal.resize(10, 50);
    terminal.wait_for_text("too small");
    for key in ["d", "y"] {
        terminal.send_keys(key);
        std::thread::sleep(Duration::from_millis(100));
    }
    terminal.resize(24, 80);
    terminal.wait_for_text("random-read");
    assert!(path.exists());
    terminal.send_keys("d");
    wait_for_question(&mut terminal, true);
    terminal.send_keys("y");
    terminal.wait_for_text("session deleted");
    assert!(!path.exists());
    terminal.resize(10, 50);
    terminal.wait_for_text("q quits");
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}
