//! Reads documents and journals from any source.

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::directory::is_journal;
use super::error::{
    MAX_COMPARISON_BYTES, MAX_DOCUMENT_BYTES, MAX_JOURNAL_BYTES, MAX_SHOWN, SessionFormatError,
    StoreError, io_error,
};
use crate::files::file_id::FileId;
use crate::files::format_version::UnsupportedVersion;
use crate::files::input::{self, InputKind};
use crate::files::safe_text::SafeText;
use crate::files::state;
use crate::session::document::{BenchmarkRun, MetricTable, RunState, SCHEMA, Session, VERSION};

/// Maximum number of runs of a journal that are in progress at the same time.
const MAX_RUNS_SIDE_BY_SIDE: usize = 64;

/// The first line of a journal.
#[derive(Serialize, Deserialize)]
pub(super) struct SessionLine<T> {
    pub(super) session: T,
}

/// Every other line of a journal: a run as it was then.
#[derive(Serialize, Deserialize)]
pub(super) struct RunLine<T> {
    pub(super) run: T,
}

/// What is read of a session before its version is known.
#[derive(Deserialize)]
struct SessionHead {
    schema: SafeText,
    version: u64,
    program: Option<SafeText>,
}

/// The fields that distinguish the lines of one run from those of another.
#[derive(Deserialize)]
struct RunHead {
    test: SafeText,
    state: RunState,
    started: SafeText,
    target: TargetHead,
}

#[derive(PartialEq, Eq, Deserialize)]
struct TargetHead {
    path: SafeText,
}

/// A session as it is stored.
pub(super) struct StoredSession {
    pub(super) session: Session,
    pub(super) id: FileId,
    pub(super) kind: StoredKind,
    bytes: u64,
}

/// What a session is stored as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredKind {
    Document,
    /// The journal of a run, which may be in progress.
    Journal {
        is_running: bool,
    },
}

/// Loads a document or a journal. A run of a journal without an end counts as interrupted, unless its
/// process still runs; an incomplete last line is skipped.
///
/// # Errors
/// If the file cannot be read or is not a session.
pub fn load_session(path: &Path) -> Result<Session, StoreError> {
    load_stored(path).map(|stored| stored.session)
}

/// Loads a session with the identity of its file.
///
/// # Errors
/// As [`load_session`].
pub fn load_session_with_id(path: &Path) -> Result<(Session, FileId), StoreError> {
    load_stored(path).map(|stored| (stored.session, stored.id))
}

/// Loads sessions that are held in memory together, each with the identity of its file.
///
/// # Errors
/// If one cannot be read or is not a session, or when they have more than 256 MiB.
pub fn load_sessions(paths: &[impl AsRef<Path>]) -> Result<Vec<(Session, FileId)>, StoreError> {
    let mut left = MAX_COMPARISON_BYTES;
    let mut sessions = Vec::new();
    for path in paths {
        let stored = load_stored(path.as_ref())?;
        sessions.push((stored.session, stored.id));
        let files = sessions.len();
        let too_large = StoreError::TooLargeTogether { files };
        left = left.checked_sub(stored.bytes).ok_or(too_large)?;
    }
    Ok(sessions)
}

pub(super) fn load_stored(path: &Path) -> Result<StoredSession, StoreError> {
    let (file, id) = input::open_input(path, InputKind::FileOrPipe).map_err(StoreError::Input)?;
    let content = parse_content(BufReader::new(&file)).map_err(|error| read_error(path, error))?;
    let mut session = content.session;
    let is_running = content.is_journal && is_journal(path) && state::is_locked(&file);
    if is_running {
        let open = session.runs.iter_mut();
        for run in open.filter(|run| run.state == RunState::Interrupted) {
            run.state = RunState::Running;
        }
    }
    let kind = if content.is_journal {
        StoredKind::Journal { is_running }
    } else {
        StoredKind::Document
    };
    Ok(StoredSession {
        session,
        id,
        kind,
        bytes: content.bytes,
    })
}

fn read_error(path: &Path, error: SessionFormatError) -> StoreError {
    match error {
        SessionFormatError::Io(source) => io_error("read", path)(source),
        SessionFormatError::OtherVersion { found, program } => {
            StoreError::Version(UnsupportedVersion {
                path: path.to_owned(),
                content: "session",
                found,
                supported: VERSION,
                program,
            })
        }
        reason => StoreError::NotASession {
            path: path.to_owned(),
            reason,
        },
    }
}

/// Reads a document or a journal, as [`load_session`] does.
///
/// # Errors
/// If it cannot be read or is not a session.
pub fn parse_session(reader: impl BufRead) -> Result<Session, SessionFormatError> {
    parse_content(reader).map(|content| content.session)
}

/// What was read from a source.
struct Content {
    session: Session,
    is_journal: bool,
    bytes: u64,
}

fn parse_content(mut reader: impl BufRead) -> Result<Content, SessionFormatError> {
    let mut text = read_line(&mut reader)?;
    if text.is_empty() {
        return Err(SessionFormatError::Empty);
    }
    let head = serde_json::from_slice::<SessionLine<SessionHead>>(&text);
    let content = if let Ok(line) = head {
        // The version decides first: only this version's fields are known.
        check_version(line.session)?;
        let line: SessionLine<Session> = serde_json::from_slice(&text)?;
        replay_journal(line.session, text.len() as u64, reader)?
    } else {
        reader.take(MAX_DOCUMENT_BYTES).read_to_end(&mut text)?;
        if text.len() as u64 >= MAX_DOCUMENT_BYTES {
            return Err(SessionFormatError::TooLong(MAX_DOCUMENT_BYTES));
        }
        check_version(serde_json::from_slice(&text)?)?;
        Content {
            session: serde_json::from_slice(&text)?,
            is_journal: false,
            bytes: text.len() as u64,
        }
    };
    let runs = content.session.runs.iter();
    if runs.map(shown).sum::<usize>() > MAX_SHOWN {
        return Err(SessionFormatError::TooManyMetrics);
    }
    Ok(content)
}

fn check_version(head: SessionHead) -> Result<(), SessionFormatError> {
    if head.schema != SCHEMA {
        return Err(SessionFormatError::OtherSchema { found: head.schema });
    }
    if head.version == u64::from(VERSION) {
        return Ok(());
    }
    Err(SessionFormatError::OtherVersion {
        found: head.version,
        program: head.program,
    })
}

/// Reads one line with its end; empty at the end of the source.
fn read_line(reader: &mut impl BufRead) -> Result<Vec<u8>, SessionFormatError> {
    let mut line = Vec::new();
    let mut limited = reader.take(MAX_DOCUMENT_BYTES);
    limited.read_until(b'\n', &mut line)?;
    if line.len() as u64 == MAX_DOCUMENT_BYTES {
        return Err(SessionFormatError::TooLong(MAX_DOCUMENT_BYTES));
    }
    Ok(line)
}

/// Adds the runs of a journal to its session: of each the last line. Runs may be in progress side by side.
/// The first line that is cut or not a run ends the journal.
fn replay_journal(
    mut session: Session,
    mut bytes: u64,
    mut reader: impl BufRead,
) -> Result<Content, SessionFormatError> {
    let mut latest: Vec<(RunHead, Vec<u8>)> = Vec::new();
    let mut kept = 0;
    loop {
        let line = read_line(&mut reader)?;
        bytes += line.len() as u64;
        if bytes > MAX_JOURNAL_BYTES {
            return Err(SessionFormatError::TooLong(MAX_JOURNAL_BYTES));
        }
        let Ok(RunLine { run: head }) = serde_json::from_slice::<RunLine<RunHead>>(&line) else {
            break;
        };
        kept += line.len() as u64;
        let mut open = latest.iter_mut().rev().take(MAX_RUNS_SIDE_BY_SIDE);
        match open.find(|(last, _)| is_same_run(last, &head)) {
            Some(known) => {
                kept -= known.1.len() as u64;
                *known = (head, line);
            }
            None => latest.push((head, line)),
        }
        if kept > MAX_DOCUMENT_BYTES {
            return Err(SessionFormatError::TooLong(MAX_DOCUMENT_BYTES));
        }
    }
    for (_, line) in latest {
        let mut run = serde_json::from_slice::<RunLine<BenchmarkRun>>(&line)?.run;
        if run.state == RunState::Running {
            run.state = RunState::Interrupted;
        }
        session.runs.push(run);
    }
    Ok(Content {
        session,
        is_journal: true,
        bytes,
    })
}

/// Whether the next line is about the same run. Only a run that has not ended has another line; two runs
/// may start within the same second.
fn is_same_run(last: &RunHead, next: &RunHead) -> bool {
    matches!(last.state, RunState::Running | RunState::Interrupted)
        && last.started == next.started
        && last.test == next.test
        && last.target == next.target
}

/// Number of metrics and cells of tables that are drawn for a run.
fn shown(run: &BenchmarkRun) -> usize {
    let cells = run.findings.tables.iter().map(MetricTable::cells);
    run.findings.metrics.len() + cells.sum::<usize>()
}
