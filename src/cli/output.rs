//! What a command prints: the result on stdout, everything else on stderr.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ArgMatches;

use super::failure::{CommandFailure, output_refused};
use crate::benchmark_run::output;
use crate::drive::OutputSpace;
use crate::files::json;
use crate::files::printable::{ascii_lines, printable_lines, printable_str};
use crate::named_file::{self, FileId, OutputFile};
use crate::roots::SysPaths;
use crate::tui::terminal_kind::decodes_utf8;

/// Why a file that grows is not continued.
pub(super) const NO_ROOM: &str = "the file system, a quota, the memory that it is in, or an image or pool below it, is almost full";

/// Prints one line to stderr. A line break in a name is shown as `\n`, so that the rest of the name
/// cannot look like another message. A closed stderr is no error.
pub(super) fn print_status_line(line: &str) {
    let stderr = io::stderr();
    let line = printable_str(line);
    let _ = writeln!(stderr.lock(), "{}", text_for(&stderr, &line));
}

/// Printable text as a stream can take it.
pub(super) fn text_for<'t>(stream: &impl IsTerminal, text: &'t str) -> Cow<'t, str> {
    match stream.is_terminal() {
        true => terminal_text(text),
        false => Cow::Borrowed(text),
    }
}

/// Printable text as this process's terminal can take it: ASCII where it does not decode UTF-8.
pub(super) fn terminal_text(text: &str) -> Cow<'_, str> {
    match text.is_ascii() || decodes_utf8() {
        true => Cow::Borrowed(text),
        false => ascii_lines(text),
    }
}

/// Writes a result to stdout; false if the reader closed it (`| head`), which is no error. Every
/// result passes through here: the output contains only text and line ends. JSON is escaped already
/// ([`json`]) and is not changed.
pub(super) fn print_result(text: &str) -> Result<bool, CommandFailure> {
    let text = printable_lines(text);
    let stdout = io::stdout();
    let text = text_for(&stdout, &text);
    let mut stdout = stdout.lock();
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

fn json_failure(error: serde_json::Error) -> CommandFailure {
    CommandFailure::failed(format!("cannot write JSON: {error}"))
}

/// Serializes records as one JSON object per line.
pub(super) fn json_lines(
    records: impl IntoIterator<Item = impl serde::Serialize>,
) -> Result<String, CommandFailure> {
    let mut text = String::new();
    for record in records {
        text += &json::to_string(&record).map_err(json_failure)?;
        text.push('\n');
    }
    Ok(text)
}

/// A text of values that were converted to JSON on the way, as those of CSV are.
pub(super) fn converted(text: serde_json::Result<String>) -> Result<String, CommandFailure> {
    text.map_err(json_failure)
}

/// Where a complete result goes: stdout, or the file of `-o`, checked before the command starts.
pub(super) struct ResultOutput(Option<Box<OutputFile>>);

impl ResultOutput {
    /// Whether it is the same regular file as another output.
    pub(super) fn is_file(&self, other: &OutputFile) -> bool {
        self.0.as_ref().is_some_and(|own| own.is_same_file(other))
    }

    /// The output that `-o` names. `inputs` are the files that the command reads.
    pub(super) fn from_options(
        matches: &ArgMatches,
        inputs: &[FileId],
    ) -> Result<Self, CommandFailure> {
        let path = matches.get_one::<PathBuf>("output");
        path.map(|path| output::prepare_output(&SysPaths::default(), path, inputs))
            .transpose()
            .map(|file| Self(file.map(Box::new)))
            .map_err(output_refused)
    }

    /// Identity of an existing file.
    pub(super) fn id(&self) -> Option<FileId> {
        self.0.as_ref().and_then(|file| file.id())
    }

    /// Writes the complete result.
    pub(super) fn deliver(self, text: &str) -> Result<(), CommandFailure> {
        match self.0 {
            Some(file) if !file.is_stdout() => {
                let text = printable_lines(text);
                output::write_output(&SysPaths::default(), *file, text.as_bytes())
                    .map_err(|error| CommandFailure::failed(&error).with_advice(error.advice()))
            }
            _ => print_result(text).map(drop),
        }
    }
}

/// Where results go that are written one after the other: stdout, or a new file of `-o`. An existing
/// file is refused: what it contains would be lost with the first line.
pub(super) enum StreamOutput {
    Stdout,
    File(Box<StreamFile>),
}

/// A file that grows by each result.
pub(super) struct StreamFile {
    path: PathBuf,
    file: File,
    space: OutputSpace,
    /// Bytes of whole results; `None` before the first one, which may be empty.
    whole_bytes: Option<u64>,
}

impl StreamOutput {
    /// The output that `-o` names.
    pub(super) fn from_options(matches: &ArgMatches) -> Result<Self, CommandFailure> {
        match matches.get_one::<PathBuf>("output") {
            Some(path) if path != Path::new("-") => named_file::create_private(path)
                .map(|file| Self::File(Box::new(StreamFile::new(path, file))))
                .map_err(output_refused),
            _ => Ok(Self::Stdout),
        }
    }

    /// Writes some lines, or none as the whole result; false if the reader closed stdout.
    pub(super) fn write(&mut self, text: &str) -> Result<bool, CommandFailure> {
        match self {
            Self::Stdout if text.is_empty() => Ok(true),
            Self::Stdout => print_result(text),
            Self::File(file) => file.write(printable_lines(text).as_bytes()).map(|()| true),
        }
    }
}

impl StreamFile {
    fn new(path: &Path, file: File) -> Self {
        Self {
            path: path.to_owned(),
            space: OutputSpace::below_file(&file),
            file,
            whole_bytes: None,
        }
    }

    /// Appends all of the bytes, or none of them: what was written of them before an error is cut off.
    fn write(&mut self, bytes: &[u8]) -> Result<(), CommandFailure> {
        self.write_within_space(bytes).map_err(|error| {
            let path = self.path.display();
            let failure = CommandFailure::failed(format!("cannot write to {path}: {error}"));
            match self.whole_bytes {
                None => failure,
                Some(_) => failure.with_advice("what was written until then is kept"),
            }
        })
    }

    fn write_within_space(&mut self, bytes: &[u8]) -> io::Result<()> {
        let next = bytes.len() as u64;
        if next > 0 && !self.space.has_room_for_next(&self.file, next)? {
            return Err(io::Error::other(NO_ROOM));
        }
        let whole = self.whole_bytes.unwrap_or(0);
        named_file::append_whole(&self.file, bytes, whole)?;
        self.whole_bytes = Some(whole + next);
        Ok(())
    }
}

/// A command that fails before its first result leaves no file: the next one would be refused because of
/// it.
impl Drop for StreamFile {
    fn drop(&mut self) {
        if self.whole_bytes.is_none() {
            named_file::remove_created(&self.path, &self.file);
        }
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn stream_that_ends_before_its_first_result_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stream");
        for (results, stays) in [(&[][..], false), (&[""], true), (&["", "line\n"], true)] {
            let file = named_file::create_private(&path).unwrap();
            let mut output = StreamOutput::File(Box::new(StreamFile::new(&path, file)));
            for result in results {
                assert!(output.write(result).unwrap());
            }
            drop(output);
            assert_eq!(path.exists(), stays, "{results:?}");
            let _ = std::fs::remove_file(&path);
        }
    }

    #[test]
    fn stream_whose_first_result_cannot_be_written_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stream");
        drop(named_file::create_private(&path).unwrap());
        // Writing to a descriptor that only reads fails.
        let file = File::open(&path).unwrap();
        let mut output = StreamOutput::File(Box::new(StreamFile::new(&path, file)));
        let failure = output.write("line\n").unwrap_err();
        assert!(!format!("{failure:?}").contains("is kept"), "{failure:?}");
        drop(output);
        assert!(!path.exists());
    }
}
