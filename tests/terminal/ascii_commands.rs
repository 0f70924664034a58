//! Commands and errors on a terminal that does not decode UTF-8.

use std::path::Path;

use super::pty::{PtyTerminal, setsid_is_available};
use super::state_directory;

/// The option that the advice of a refusal names is copied into a shell, which reads an escape for
/// display such as `\u{f6}` as other characters.
#[test]
fn printed_option_names_the_same_file_in_ascii() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let name = "gr\u{f6}\u{df}e";
    std::fs::write(directory.path().join(name), vec![0; 1 << 20]).unwrap();
    let program = env!("CARGO_BIN_EXE_diskscope");
    let arguments = ["LC_ALL=C", program, "run", "random-write", name];
    let mut terminal = PtyTerminal::start(Path::new("/usr/bin/env"), &arguments, directory.path());
    terminal.wait_for_text(r"--overwrite $'gr\303\266\303\237e'");
    assert_eq!(terminal.wait_for_exit().code(), Some(3));
}

/// The second byte of some letters begins a control sequence on a terminal of eight bits.
#[test]
fn unknown_argument_is_ascii_on_a_terminal_without_utf8() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let program = env!("CARGO_BIN_EXE_diskscope");
    for word in ["--\u{11b}2J", "\u{11b}2J"] {
        let arguments = ["LC_ALL=C", program, "show", "x", word];
        let mut terminal =
            PtyTerminal::start(Path::new("/usr/bin/env"), &arguments, directory.path());
        terminal.wait_for_text(r"\u{11b}2J");
        assert!(!terminal.wait_for_exit().success());
        assert!(
            terminal.screen_text().is_ascii(),
            "{}",
            terminal.screen_text()
        );
    }
}
