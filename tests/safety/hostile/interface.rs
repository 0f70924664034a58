//! The interface in a pseudo-terminal, on hostile recordings and sessions.

use std::fs;
use std::path::Path;

use diskscope::files::printable::is_printable;

use crate::hostile::corpus::{
    hostile_file_name, hostile_recording, hostile_session, hostile_text, long_hostile_text,
};
use crate::hostile::pty::{PtyTerminal, setsid_is_available};
use crate::hostile::temporary_directory;

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

/// Shows a spoilt text by these keys, and quits: the terminal got nothing but what draws.
fn assert_shown_harmlessly(directory: &Path, words: &[&str], keys: &[&str]) {
    let program = Path::new(env!("CARGO_BIN_EXE_diskscope"));
    let mut terminal = PtyTerminal::start(program, words, directory);
    terminal.wait_for_text("DEVICES");
    for key in keys {
        match key.strip_prefix("wait ") {
            Some(text) => terminal.wait_for_text(text),
            None => terminal.send_keys(key),
        }
    }
    terminal.wait_for_text("\\x1b]52");
    terminal.send_keys("q");
    terminal.wait_for_exit();
    assert_draws_only(&terminal);
    terminal.assert_restored();
}

#[test]
fn hostile_recordings_and_sessions_send_no_terminal_commands() {
    if !setsid_is_available() {
        return;
    }
    for text in [hostile_text(), long_hostile_text()] {
        let directory = temporary_directory();
        let name = hostile_file_name();
        fs::write(directory.path().join(&name), hostile_recording(&text)).unwrap();
        let sessions = directory.path().join("state/diskscope/sessions");
        fs::create_dir_all(&sessions).unwrap();
        let document = hostile_session(&text).to_string();
        fs::write(sessions.join(name.clone() + ".json"), &document).unwrap();
        fs::write(sessions.join("a.json"), &document).unwrap();
        // It cannot be read, and says so with its name.
        fs::write(sessions.join(name.clone() + "2.json"), &text).unwrap();
        assert_shown_harmlessly(directory.path(), &["replay", &name], &["j", "3"]);
        let keys = ["4", "wait unreadable", "\r", "j", "j", "\r"];
        assert_shown_harmlessly(directory.path(), &[], &keys);
    }
}
