//! The interface in a pseudo-terminal, on hostile recordings and sessions.

use std::fs;
use std::path::Path;

use diskscope::files::printable::is_printable;

use crate::hostile::corpus::{
    hostile_file_name, hostile_recording, hostile_session, hostile_text, long_hostile_text,
};
use crate::hostile::pty::{PtyTerminal, setsid_is_available};
use crate::hostile::temporary_directory;

fn start_terminal(arguments: &[&str], directory: &Path) -> PtyTerminal {
    PtyTerminal::start(
        Path::new(env!("CARGO_BIN_EXE_diskscope")),
        arguments,
        directory,
    )
}

/// Asserts that what was written to the terminal draws, and does nothing else: sequences that begin
/// with `ESC [` move the cursor and set colours; all others reach beyond the screen.
fn assert_draws_only(terminal: &PtyTerminal) {
    let written = String::from_utf8_lossy(terminal.output_bytes());
    // The program itself asks for the background, once.
    let written = written.replacen("\u{1b}]11;?\u{7}", "", 1);
    let mut rest = written.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        assert!(
            rest[at..].starts_with("\u{1b}["),
            "{:?}",
            rest[at..].chars().take(60).collect::<String>()
        );
        rest = &rest[at + 1..];
    }
    // At its end the program cancels a sequence that the terminal may have received in part.
    let written = written.replacen("\u{18}\u{1b}[", "\u{1b}[", 1);
    let stray = written
        .chars()
        .find(|letter| !"\u{1b}\r\n".contains(*letter) && !is_printable(*letter));
    assert_eq!(stray, None);
    for line in terminal.screen_text().lines() {
        assert!(line.chars().all(is_printable), "{line:?}");
    }
}

#[test]
fn hostile_recording_sends_no_terminal_commands() {
    if !setsid_is_available() {
        return;
    }
    for text in [hostile_text(), long_hostile_text()] {
        let directory = temporary_directory();
        let name = hostile_file_name();
        fs::write(directory.path().join(&name), hostile_recording(&text)).unwrap();
        let mut terminal = start_terminal(&["replay", &name], directory.path());
        terminal.wait_for_text("DEVICES");
        terminal.send_keys("j");
        terminal.send_keys("3");
        terminal.wait_for_text("\\x1b]52");
        terminal.send_keys("1");
        terminal.wait_for_text("DEVICES");
        terminal.send_keys("q");
        terminal.wait_for_exit();
        assert_draws_only(&terminal);
        terminal.assert_restored();
    }
}

#[test]
fn hostile_sessions_send_no_terminal_commands() {
    if !setsid_is_available() {
        return;
    }
    for text in [hostile_text(), long_hostile_text()] {
        let directory = temporary_directory();
        let sessions = directory.path().join("state/diskscope/sessions");
        fs::create_dir_all(&sessions).unwrap();
        let document = hostile_session(&text).to_string();
        fs::write(sessions.join(hostile_file_name() + ".json"), &document).unwrap();
        fs::write(sessions.join("a.json"), &document).unwrap();
        // It cannot be read, and says so with its name.
        fs::write(sessions.join(hostile_file_name() + "2.json"), &text).unwrap();
        let mut terminal = start_terminal(&[], directory.path());
        terminal.wait_for_text("DEVICES");
        terminal.send_keys("4");
        terminal.wait_for_text("unreadable");
        for key in ["\r", "j", "j", "\r"] {
            terminal.send_keys(key);
        }
        terminal.wait_for_text("\\x1b]52");
        terminal.send_keys("q");
        terminal.wait_for_exit();
        assert_draws_only(&terminal);
        terminal.assert_restored();
    }
}
