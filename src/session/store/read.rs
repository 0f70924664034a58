//! Reads documents and journals, whoever wrote them.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::super::document::{Run, RunState, SCHEMA, Session, VERSION};
use super::{StoreError, io_error};
use crate::named_file::{FileId, input};
use crate::safe_text::SafeText;

/// No document, and no line of a journal, is as long as this: what is, is something else.
const LONGEST: u64 = 64 << 20;
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

/// Like [`load`], and says which file it was.
///
/// # Errors
/// As [`load`].
pub fn load_identified(path: &Path) -> Result<(Session, FileId), StoreError> {
    let (file, id) = input::open(path, input::Input::Stream)?;
    let session = parse(BufReader::new(file))
        .map_err(io_error("read", path))?
        .map_err(|reason| StoreError::Foreign {
            path: path.to_owned(),
            reason,
        })?;
    Ok((session, id))
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
    }
    journal.settle();
    Ok(Ok(journal.session))
}

/// A journal that is being put together.
struct Replay {
    session: Session,
    /// The latest line of the latest run.
    pending: Option<(RunHead, Vec<u8>)>,
    /// The line before it, of the same run.
    before: Option<Vec<u8>>,
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
            Ok(Line::Run(run)) => Some(*run),
            _ => None,
        });
        let Some(mut run) = run else {
            return false;
        };
        if run.state == RunState::Running {
            run.state = RunState::Interrupted;
        }
        self.session.runs.push(run);
        true
    }
}

/// Whether a line is about the run of the line before. A run that is over is never taken up again:
/// the next may begin within the same second.
fn goes_on(last: &RunHead, next: &RunHead) -> bool {
    matches!(last.state, RunState::Running | RunState::Interrupted)
        && last.started == next.started
        && last.test == next.test
}

fn check(session: Session) -> Result<Session, String> {
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
