//! The interface in a pseudo-terminal, on hostile recordings and sessions.

use std::fs;
use std::path::Path;
use std::process::Command;

use diskscope::printable::is_harmless;

use crate::corpus::{everything, file_name, long, session, spoilt_recording};
use crate::directory;
use crate::pty::Terminal;
use crate::requirement::{Requirement, skip};

/// Whether setsid(1) is there; says why not.
fn possible() -> bool {
    let found = Command::new("setsid").arg("--version").output().is_ok();
    if !found {
        skip(
            Requirement::Program,
            "setsid(1) is missing, which gives the program its terminal",
        );
    }
    found
}

fn start(arguments: &[&str], directory: &Path) -> Terminal {
    Terminal::start(
        Path::new(env!("CARGO_BIN_EXE_diskscope")),
        arguments,
        directory,
    )
}

/// Asserts that what was written to the terminal draws, and does nothing else: sequences that begin
/// with `ESC [` move the cursor and set colours; all others reach beyond the screen.
fn assert_only_drawn(terminal: &Terminal) {
    let written = String::from_utf8_lossy(terminal.written());
    let mut rest = written.as_ref();
    while let Some(at) = rest.find('\u{1b}') {
        assert!(
            rest[at..].starts_with("\u{1b}["),
            "{:?}",
            rest[at..].chars().take(60).collect::<String>()
        );
        rest = &rest[at + 1..];
    }
    let stray = written
        .chars()
        .find(|letter| !"\u{1b}\r\n".contains(*letter) && !is_harmless(*letter));
    assert_eq!(stray, None);
    for line in terminal.shown().lines() {
        assert!(line.chars().all(is_harmless), "{line:?}");
    }
}

#[test]
fn hostile_recording_is_only_drawn() {
    if !possible() {
        return;
    }
    for text in [everything(), long()] {
        let directory = directory();
        let name = file_name();
        fs::write(directory.path().join(&name), spoilt_recording(&text)).unwrap();
        let mut terminal = start(&["replay", &name], directory.path());
        terminal.see("DEVICES");
        terminal.keys("j");
        terminal.keys("3");
        terminal.see("\\x1b]52");
        terminal.keys("1");
        terminal.see("DEVICES");
        terminal.keys("q");
        terminal.end();
        assert_only_drawn(&terminal);
        terminal.assert_restored();
    }
}

#[test]
fn hostile_sessions_are_only_drawn() {
    if !possible() {
        return;
    }
    for text in [everything(), long()] {
        let directory = directory();
        let sessions = directory.path().join("state/diskscope/sessions");
        fs::create_dir_all(&sessions).unwrap();
        let document = session(&text).to_string();
        fs::write(sessions.join(file_name() + ".json"), &document).unwrap();
        fs::write(sessions.join("a.json"), &document).unwrap();
        // It cannot be read, and says so with its name.
        fs::write(sessions.join(file_name() + "2.json"), &text).unwrap();
        let mut terminal = start(&[], directory.path());
        terminal.see("DEVICES");
        terminal.keys("4");
        terminal.see("unreadable");
        for key in ["\r", "j", "j", "\r"] {
            terminal.keys(key);
        }
        terminal.see("\\x1b]52");
        terminal.keys("q");
        terminal.end();
        assert_only_drawn(&terminal);
        terminal.assert_restored();
    }
}
