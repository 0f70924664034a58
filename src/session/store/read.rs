//! Reads documents and journals from any source.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::directory::is_journal;
use super::error::{MAX_COMPARISON_BYTES, StoreError, io_error};
use super::format_error::{
    LONGEST_RUNS, MAX_DOCUMENT_BYTES, MAX_JOURNAL_BYTES, MAX_RUNS, MOST_SHOWN, SessionFormatError,
    is_readable_length,
};
use crate::files::file_id::FileId;
use crate::files::format_version::UnsupportedVersion;
use crate::files::safe_text::SafeText;
use crate::files::{input, state};
use crate::session::document::{BenchmarkRun, MetricTable, RunState, SCHEMA, Session, VERSION};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredLine {
    Session(Box<Session>),
    Run(Box<BenchmarkRun>),
}

/// The fields that distinguish the lines of one run from those of the next; the rest of the line is
/// skipped.
#[derive(Deserialize)]
struct RunHead {
    test: SafeText,
    state: RunState,
    started: SafeText,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum HeadLine {
    Run(RunHead),
}

/// Loads a document or a journal. A run of a journal without an end counts as interrupted, unless its
/// process still runs; an incomplete last line is skipped.
///
/// # Errors
/// If the file cannot be read or is not a session.
pub fn load_session(path: &Path) -> Result<Session, StoreError> {
    load_session_with_id(path).map(|(session, _)| session)
}

/// Bytes that may still be read for all files of a comparison. A pipe does not report its size, and
/// a file may grow: bytes are counted as they are read.
#[derive(Debug)]
pub struct ReadBudget {
    left: u64,
    files: usize,
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self {
            left: MAX_COMPARISON_BYTES,
            files: 0,
        }
    }
}

impl ReadBudget {
    /// As [`load_session_with_id`]; the bytes read count against the budget.
    ///
    /// # Errors
    /// As [`load_session`], and if all files together are too large.
    pub fn load(&mut self, path: &Path) -> Result<(Session, FileId), StoreError> {
        self.files += 1;
        let (file, id) =
            input::open_input(path, input::InputKind::FileOrPipe).map_err(StoreError::Input)?;
        let mut counted = Counted {
            inner: &file,
            left: self.left,
            is_over: false,
        };
        let read = read_stored(path, &file, BufReader::new(&mut counted));
        if counted.is_over {
            return Err(StoreError::TooLargeTogether { files: self.files });
        }
        self.left = counted.left;
        let (session, _) = read?;
        Ok((session, id))
    }
}

/// A reader that fails when more than a given number of bytes is read.
struct Counted<R> {
    inner: R,
    left: u64,
    is_over: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => {
                self.left = left;
                Ok(length)
            }
            None => {
                self.is_over = true;
                Err(io::Error::other("more bytes than may be read"))
            }
        }
    }
}

/// As [`load_session`]; also returns the file's identity.
///
/// # Errors
/// As [`load_session`].
pub fn load_session_with_id(path: &Path) -> Result<(Session, FileId), StoreError> {
    load_stored(path).map(|stored| (stored.session, stored.id))
}

/// A session, and the file that it was read from.
pub(super) struct StoredSession {
    pub(super) session: Session,
    pub(super) source: SessionSource,
    pub(super) id: FileId,
}

/// What a session was read from.
pub(super) enum SessionSource {
    /// A document: its bytes.
    Document(Vec<u8>),
    /// The journal of a run, which may still be in progress.
    Journal {
        /// Whether it is.
        is_running: bool,
    },
}

/// As [`load_session`]; also returns what the file holds.
///
/// # Errors
/// As [`load_session`].
pub(super) fn load_stored(path: &Path) -> Result<StoredSession, StoreError> {
    let (file, id) =
        input::open_input(path, input::InputKind::FileOrPipe).map_err(StoreError::Input)?;
    let (session, source) = read_stored(path, &file, BufReader::new(&file))?;
    Ok(StoredSession {
        session,
        source,
        id,
    })
}

/// Reads what `file` holds through `reader`. The last run of a journal that is being written is not
/// interrupted.
fn read_stored(
    path: &Path,
    file: &File,
    reader: impl BufRead,
) -> Result<(Session, SessionSource), StoreError> {
    let (mut session, content) = parsed(path, reader)?;
    let source = match content {
        StoredContent::Document(bytes) => SessionSource::Document(bytes),
        StoredContent::Journal => SessionSource::Journal {
            is_running: is_journal(path) && state::is_locked(file),
        },
    };
    if let SessionSource::Journal { is_running: true } = source
        && let Some(run) = session.runs.last_mut()
        && run.state == RunState::Interrupted
    {
        run.state = RunState::Running;
    }
    Ok((session, source))
}

fn parsed(path: &Path, reader: impl BufRead) -> Result<(Session, StoredContent), StoreError> {
    let path = path.to_owned();
    match parse_content(reader).map_err(io_error("read", &path))? {
        Ok(session) => Ok(session),
        Err(SessionFormatError::OtherVersion { found, program }) => {
            Err(StoreError::Version(UnsupportedVersion {
                path,
                content: "session",
                found,
                supported: VERSION,
                program,
            }))
        }
        Err(reason) => Err(StoreError::NotASession { path, reason }),
    }
}

/// The fields that every version of a session has; the rest is skipped.
#[derive(Deserialize)]
struct SessionHead {
    schema: SafeText,
    version: u64,
    program: Option<SafeText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum FirstLineHead {
    Session(SessionHead),
}

/// As [`load_session`], from any reader; the inner error states why the content is not a session.
///
/// # Errors
/// If the reader fails.
pub fn parse_session(reader: impl BufRead) -> io::Result<Result<Session, SessionFormatError>> {
    parse_content(reader).map(|parsed| parsed.map(|(session, _)| session))
}

/// What a reader of a session holds.
enum StoredContent {
    /// The bytes of a document.
    Document(Vec<u8>),
    /// The lines of a journal.
    Journal,
}

type ParsedContent = Result<(Session, StoredContent), SessionFormatError>;

fn parse_content(mut reader: impl BufRead) -> io::Result<ParsedContent> {
    let Some(first) = read_line(&mut reader)? else {
        return Ok(Err(SessionFormatError::DocumentTooLong));
    };
    if first.is_empty() {
        return Ok(Err(SessionFormatError::Empty));
    }
    // The version decides first: only this version's fields are known.
    if let Ok(FirstLineHead::Session(head)) = serde_json::from_slice(&first) {
        if let Err(error) = check_version(head) {
            return Ok(Err(error));
        }
        return match serde_json::from_slice(&first) {
            Ok(StoredLine::Session(session)) => {
                let session = replay_journal(*session, first.len() as u64, reader)?;
                Ok(session
                    .and_then(check_session)
                    .map(|session| (session, StoredContent::Journal)))
            }
            Ok(StoredLine::Run(_)) => Ok(Err(SessionFormatError::BeginsWithRun)),
            Err(error) => Ok(Err(error.into())),
        };
    }
    let mut document = first;
    let left = MAX_DOCUMENT_BYTES - document.len() as u64;
    reader.take(left).read_to_end(&mut document)?;
    if !is_readable_length(document.len()) {
        return Ok(Err(SessionFormatError::DocumentTooLong));
    }
    Ok(parse_document(document))
}

fn parse_document(document: Vec<u8>) -> ParsedContent {
    check_version(serde_json::from_slice(&document)?)?;
    let session = check_session(serde_json::from_slice(&document)?)?;
    Ok((session, StoredContent::Document(document)))
}

fn check_version(head: SessionHead) -> Result<(), SessionFormatError> {
    if head.schema != SCHEMA {
        return Err(SessionFormatError::OtherSchema { found: head.schema });
    }
    match head.version == u64::from(VERSION) {
        true => Ok(()),
        false => Err(SessionFormatError::OtherVersion {
            found: head.version,
            program: head.program,
        }),
    }
}

/// The next line; empty at the end of the file, `None` if the line is too long.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    reader
        .take(MAX_DOCUMENT_BYTES)
        .read_until(b'\n', &mut line)?;
    Ok((line.len() as u64 != MAX_DOCUMENT_BYTES).then_some(line))
}

/// Assembles the runs of a journal. Each line holds the state of a whole run: only the last line of
/// each run is parsed completely.
fn replay_journal(
    session: Session,
    head_length: u64,
    mut reader: impl BufRead,
) -> io::Result<Result<Session, SessionFormatError>> {
    let mut journal = JournalReader {
        session,
        last_line: None,
        previous_line: None,
        kept: 0,
        shown: 0,
    };
    let mut length = head_length;
    while let Some(bytes) = read_line(&mut reader)? {
        length += bytes.len() as u64;
        if length > MAX_JOURNAL_BYTES {
            return Ok(Err(SessionFormatError::JournalTooLong));
        }
        if journal.session.runs.len() >= MAX_RUNS {
            return Ok(Err(SessionFormatError::TooManyRuns));
        }
        let Ok(HeadLine::Run(head)) = serde_json::from_slice(&bytes) else {
            break;
        };
        if !journal.push_line(head, bytes) {
            break;
        }
        if journal.is_too_large() {
            break;
        }
    }
    journal.complete_run();
    if journal.is_too_large() {
        return Ok(Err(SessionFormatError::RunsTooLarge));
    }
    Ok(Ok(journal.session))
}

/// A journal while its runs are assembled.
struct JournalReader {
    session: Session,
    /// The latest line of the current run.
    last_line: Option<(RunHead, Vec<u8>)>,
    /// The line before it, of the same run.
    previous_line: Option<Vec<u8>>,
    /// Size in bytes of the lines that the runs were read from.
    kept: u64,
    /// Number of metrics and table cells of the runs.
    shown: usize,
}

impl JournalReader {
    /// Adds the next line; false if the run before it is invalid, which ends the journal.
    fn push_line(&mut self, head: RunHead, bytes: Vec<u8>) -> bool {
        match self.last_line.take() {
            Some((last, line)) if is_same_run(&last, &head) => self.previous_line = Some(line),
            last => {
                self.last_line = last;
                if !self.complete_run() {
                    return false;
                }
            }
        }
        self.last_line = Some((head, bytes));
        true
    }

    /// Parses the last line of the current run; if it is invalid, the line before it. False if both
    /// are.
    fn complete_run(&mut self) -> bool {
        let lines = [
            self.last_line.take().map(|(_, line)| line),
            self.previous_line.take(),
        ];
        let mut known = lines.iter().flatten().peekable();
        if known.peek().is_none() {
            return true;
        }
        let run = known.find_map(|line| match serde_json::from_slice(line) {
            Ok(StoredLine::Run(run)) => Some((*run, line.len() as u64)),
            _ => None,
        });
        let Some((mut run, length)) = run else {
            return false;
        };
        self.kept += length;
        self.shown += shown(&run);
        if run.state == RunState::Running {
            run.state = RunState::Interrupted;
        }
        self.session.runs.push(run);
        true
    }
}

impl JournalReader {
    fn is_too_large(&self) -> bool {
        self.kept > LONGEST_RUNS || self.shown > MOST_SHOWN
    }
}

/// Number of metrics and table cells of a run.
fn shown(run: &BenchmarkRun) -> usize {
    let findings = &run.findings;
    findings.metrics.len()
        + findings
            .tables
            .iter()
            .map(MetricTable::cells)
            .sum::<usize>()
}

/// Whether a line belongs to the run of the line before. A finished run is never continued: the
/// next may start within the same second.
fn is_same_run(last: &RunHead, next: &RunHead) -> bool {
    matches!(last.state, RunState::Running | RunState::Interrupted)
        && last.started == next.started
        && last.test == next.test
}

fn check_session(session: Session) -> Result<Session, SessionFormatError> {
    if session.runs.iter().map(shown).sum::<usize>() > MOST_SHOWN {
        return Err(SessionFormatError::TooManyMetrics);
    }
    Ok(session)
}
