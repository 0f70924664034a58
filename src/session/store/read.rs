//! Reads documents and journals, whoever wrote them.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::super::document::{Run, RunState, SCHEMA, Session, Table, VERSION};
use super::{MOST_TOGETHER, StoreError, io_error};
use crate::named_file::{FileId, input};
use crate::safe_text::SafeText;

/// No document, and no line of a journal, is as long as this: what is, is something else.
const LONGEST: u64 = 64 << 20;
/// Bytes of the runs of a journal that are kept, each by its last line: as many as a document has.
const LONGEST_RUNS: u64 = LONGEST;
/// Figures, and cells of tables, of all runs together: each takes a line, or the width of its column,
/// when it is printed.
const MOST_SHOWN: usize = 500_000;
/// No journal is: this program begins them anew at a small part of it.
const LONGEST_JOURNAL: u64 = 1 << 30;
/// Runs of one journal.
const MOST_RUNS: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Session(Box<Session>),
    Run(Box<Run>),
}

/// What tells the lines of one run from those of the next; the rest of the line is passed over.
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

/// Loads a document or a journal. A journal's run that never ended counts as interrupted; a last
/// line that a kill cut off is passed over.
///
/// # Errors
/// When the file cannot be read or is no session.
pub fn load(path: &Path) -> Result<Session, StoreError> {
    load_identified(path).map(|(session, _)| session)
}

/// Bytes that may still be read of all files of a comparison. A pipe does not tell its size, and a
/// file may grow: the bytes are counted as they are read.
#[derive(Debug)]
pub struct ReadBudget {
    left: u64,
    files: usize,
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self {
            left: MOST_TOGETHER,
            files: 0,
        }
    }
}

impl ReadBudget {
    /// Like [`load_identified`], and counts what is read.
    ///
    /// # Errors
    /// As [`load`], and when all files together are too large.
    pub fn load(&mut self, path: &Path) -> Result<(Session, FileId), StoreError> {
        self.files += 1;
        let (file, id) = input::open(path, input::Input::Stream)?;
        let mut counted = Counted {
            inner: file,
            left: self.left,
            is_over: false,
        };
        let read = parsed(path, BufReader::new(&mut counted));
        if counted.is_over {
            return Err(StoreError::TooLargeTogether { files: self.files });
        }
        self.left = counted.left;
        Ok((read?, id))
    }
}

/// Reads no more than so many bytes; an attempt to read more is an error.
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

/// Like [`load`], and says which file it was.
///
/// # Errors
/// As [`load`].
pub fn load_identified(path: &Path) -> Result<(Session, FileId), StoreError> {
    let (file, id) = input::open(path, input::Input::Stream)?;
    Ok((parsed(path, BufReader::new(file))?, id))
}

fn parsed(path: &Path, reader: impl BufRead) -> Result<Session, StoreError> {
    parse(reader)
        .map_err(io_error("read", path))?
        .map_err(|reason| StoreError::Foreign {
            path: path.to_owned(),
            reason,
        })
}

/// Like [`load`], from anything that can be read; the inner error says why it is no session.
///
/// # Errors
/// When it cannot be read.
pub fn parse(mut reader: impl BufRead) -> io::Result<Result<Session, String>> {
    let Some(first) = line(&mut reader)? else {
        return Ok(Err(too_long()));
    };
    let session = match serde_json::from_slice(&first) {
        Ok(Line::Session(session)) => match replay(*session, first.len() as u64, reader)? {
            Ok(session) => session,
            Err(reason) => return Ok(Err(reason)),
        },
        _ => {
            let mut whole = first;
            let left = LONGEST - whole.len() as u64;
            reader.take(left).read_to_end(&mut whole)?;
            if whole.len() as u64 >= LONGEST {
                return Ok(Err(too_long()));
            }
            match serde_json::from_slice(&whole) {
                Ok(session) => session,
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
    };
    Ok(check(session))
}

fn too_long() -> String {
    format!("it is longer than {} MiB", LONGEST >> 20)
}

/// The next line; empty at the end, `None` when it is too long to be one.
fn line(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    reader.take(LONGEST).read_until(b'\n', &mut line)?;
    Ok((line.len() as u64 != LONGEST).then_some(line))
}

/// Puts the journal's runs together. Each line holds all of a run as it stood: only the last one of
/// each is looked at more closely.
fn replay(
    session: Session,
    head_length: u64,
    mut reader: impl BufRead,
) -> io::Result<Result<Session, String>> {
    let mut journal = Replay {
        session,
        pending: None,
        before: None,
        kept: 0,
        shown: 0,
    };
    let mut length = head_length;
    while let Some(bytes) = line(&mut reader)? {
        length += bytes.len() as u64;
        if length > LONGEST_JOURNAL {
            let most = LONGEST_JOURNAL >> 20;
            return Ok(Err(format!("it is a journal of more than {most} MiB")));
        }
        if journal.session.runs.len() >= MOST_RUNS {
            return Ok(Err(format!("it holds more than {MOST_RUNS} runs")));
        }
        let Ok(HeadLine::Run(head)) = serde_json::from_slice(&bytes) else {
            break;
        };
        if !journal.take(head, bytes) {
            break;
        }
        if journal.is_too_large() {
            break;
        }
    }
    journal.settle();
    if journal.is_too_large() {
        let most = LONGEST_RUNS >> 20;
        return Ok(Err(format!(
            "its runs have more than {most} MiB, or {MOST_SHOWN} figures and cells, together"
        )));
    }
    Ok(Ok(journal.session))
}

/// A journal that is being put together.
struct Replay {
    session: Session,
    /// The latest line of the latest run.
    pending: Option<(RunHead, Vec<u8>)>,
    /// The line before it, of the same run.
    before: Option<Vec<u8>>,
    /// Bytes of the lines that the runs were read from.
    kept: u64,
    /// Figures and cells of the runs.
    shown: usize,
}

impl Replay {
    /// Takes the next line; false when the run before it makes no sense, which ends the journal.
    fn take(&mut self, head: RunHead, bytes: Vec<u8>) -> bool {
        match self.pending.take() {
            Some((last, line)) if goes_on(&last, &head) => self.before = Some(line),
            last => {
                self.pending = last;
                if !self.settle() {
                    return false;
                }
            }
        }
        self.pending = Some((head, bytes));
        true
    }

    /// Takes up the run whose last line has been seen; where that line makes no sense, the one
    /// before it counts. False when neither does.
    fn settle(&mut self) -> bool {
        let lines = [
            self.pending.take().map(|(_, line)| line),
            self.before.take(),
        ];
        let mut known = lines.iter().flatten().peekable();
        if known.peek().is_none() {
            return true;
        }
        let run = known.find_map(|line| match serde_json::from_slice(line) {
            Ok(Line::Run(run)) => Some((*run, line.len() as u64)),
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

impl Replay {
    fn is_too_large(&self) -> bool {
        self.kept > LONGEST_RUNS || self.shown > MOST_SHOWN
    }
}

/// Figures and cells of a run.
fn shown(run: &Run) -> usize {
    let findings = &run.findings;
    findings.figures.len() + findings.tables.iter().map(Table::cells).sum::<usize>()
}

/// Whether a line is about the run of the line before. A run that is over is never taken up again:
/// the next may begin within the same second.
fn goes_on(last: &RunHead, next: &RunHead) -> bool {
    matches!(last.state, RunState::Running | RunState::Interrupted)
        && last.started == next.started
        && last.test == next.test
}

fn check(session: Session) -> Result<Session, String> {
    if session.runs.iter().map(shown).sum::<usize>() > MOST_SHOWN {
        return Err(format!(
            "its runs have more than {MOST_SHOWN} figures and cells together"
        ));
    }
    if session.schema != SCHEMA {
        return Err(format!("its schema is {:?}", session.schema));
    }
    if session.version > VERSION {
        return Err(format!(
            "its version {} is newer than this program's {VERSION}: update diskscope",
            session.version
        ));
    }
    Ok(session)
}
