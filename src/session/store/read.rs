//! Reads documents and journals, whoever wrote them.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::super::document::{Run, RunState, SCHEMA, Session, VERSION};
use super::{StoreError, io_error};
use crate::named_file::{FileId, input};

/// No document, and no line of a journal, is as long as this: what is, is something else.
const LONGEST: u64 = 64 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Session(Box<Session>),
    Run(Box<Run>),
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
        Ok(Line::Session(session)) => replay(*session, reader)?,
        _ => {
            let mut whole = first;
            reader.take(LONGEST).read_to_end(&mut whole)?;
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

fn replay(mut session: Session, mut reader: impl BufRead) -> io::Result<Session> {
    while let Some(line) = line(&mut reader)? {
        let Ok(Line::Run(mut run)) = serde_json::from_slice(&line) else {
            break;
        };
        if run.state == RunState::Running {
            run.state = RunState::Interrupted;
        }
        // A run that is over is never taken up again: the next may begin within the same second.
        let goes_on = |last: &&mut Run| {
            last.state == RunState::Interrupted
                && last.started == run.started
                && last.test == run.test
        };
        match session.runs.last_mut().filter(goes_on) {
            Some(last) => *last = *run,
            None => session.runs.push(*run),
        }
    }
    Ok(session)
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
