//! What a command prints: the result on stdout, everything else on stderr.

use std::io::{self, Write};

use super::failure::CommandFailure;
use crate::safe_text::json;
use crate::safe_text::printable::{printable_lines, printable_str};

/// Prints one line to stderr. A line break in a name is shown as `\n`, so that the rest of the name
/// cannot look like another message. A closed stderr is no error.
pub(super) fn print_status_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_str(line));
}

/// Writes a result to stdout; false if the reader closed it (`| head`), which is no error. Every
/// result passes through here: the output contains only text and line ends. JSON is escaped already
/// ([`json`]) and is not changed.
pub(super) fn print_result(text: &str) -> Result<bool, CommandFailure> {
    let text = printable_lines(text);
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandFailure::failed(format!(
            "cannot write to stdout: {error}"
        ))),
    }
}

/// Serializes a document as pretty-printed JSON with a newline at the end.
pub(super) fn pretty_json(document: &impl serde::Serialize) -> Result<String, CommandFailure> {
    json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| CommandFailure::failed(format!("cannot write JSON: {error}")))
}
