//! What a command prints: the result on stdout, everything else on stderr.

use std::io::{self, IsTerminal, Write};

use super::destination::Destination;
use super::failure::CommandFailure;
use crate::files::json;
use crate::files::printable::printable_str;
use crate::tui::terminal_kind::text_for;

/// Why a file that grows is not continued.
pub(super) const NO_ROOM: &str = "the file system is almost full";

/// Prints one line to stderr. A line break in a name is shown as `\n`, so that the rest of the name
/// cannot look like another message. A closed stderr is no error.
pub(super) fn print_status_line(line: &str) {
    let stderr = io::stderr();
    let line = printable_str(line);
    let _ = writeln!(stderr.lock(), "{}", text_for(&stderr, &line));
}

/// Writes a result to stdout; false if the reader closed it.
pub(super) fn print_result(text: &str) -> Result<bool, CommandFailure> {
    Ok(Destination::stdout().write(text)?)
}

/// Columns of the terminal that a result goes to; no limit in a pipe or a file.
pub(super) fn terminal_width(output: &Destination) -> Option<usize> {
    let stdout = io::stdout();
    if !output.is_stdout() || !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Serializes a document as pretty-printed JSON with a newline at the end.
pub(super) fn pretty_json(document: &impl serde::Serialize) -> Result<String, CommandFailure> {
    Ok(json::to_string_pretty(document)? + "\n")
}

/// Serializes records as one JSON object per line.
pub(super) fn json_lines(
    records: impl IntoIterator<Item = impl serde::Serialize>,
) -> Result<String, CommandFailure> {
    let mut text = String::new();
    for record in records {
        text += &json::to_string(&record)?;
        text.push('\n');
    }
    Ok(text)
}
