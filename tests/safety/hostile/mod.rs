//! Files and names made to drive the terminal, or to use up the memory of whoever looks at them.

mod commands;
mod corpus;
mod interface;
mod limits;
#[path = "../../support/pty.rs"]
#[allow(dead_code, reason = "not every test needs all of it")]
mod pty;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use diskscope::files::printable::is_printable;

/// A directory of a test's own.
pub fn temporary_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The program, in a directory that it keeps its state in.
pub fn diskscope(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command
        .args(arguments)
        .current_dir(directory)
        .env("XDG_STATE_HOME", directory.join("state"))
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Asserts that neither stream holds anything but text and line ends.
pub fn assert_clean(what: &str, output: &Output) {
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{what}: {name}"));
        let stray = text
            .char_indices()
            .find(|(_, character)| *character != '\n' && !is_printable(*character));
        if let Some((at, character)) = stray {
            let from = text[..at].rfind('\n').unwrap_or(0);
            panic!(
                "{what}: {name} holds {character:?}: {:?}",
                text[from..].chars().take(200).collect::<String>()
            );
        }
    }
}
