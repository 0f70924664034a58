//! Sessions on disk: the journal while a run goes on, the document afterwards.
//!
//! A journal is a file of JSON lines: first the session without its runs, then the run as it
//! stands, again and again; the last whole line counts. A kill loses what came after that line.
//! When the run is over the document takes the journal's place.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::document::{Run, RunState, SCHEMA, Session, VERSION};

/// Ending of a journal's name.
const JOURNAL: &str = "journal";
/// Ending of a document's name.
const DOCUMENT: &str = "json";

/// What went wrong with a saved session.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried.
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is no session.
    #[error("{} is no diskscope session: {reason}", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

fn io_error(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        tried,
        path,
        source,
    }
}

/// Where sessions are kept: `sessions` in the program's state directory.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    crate::roots::state_directory().map(|state| state.join("sessions"))
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Session(&'a Session),
    Run(&'a Run),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum OwnedLine {
    Session(Box<Session>),
    Run(Box<Run>),
}

/// The journal of a run that goes on.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins a journal in a directory, which is made if it is missing. `session` has no runs yet.
    ///
    /// # Errors
    /// When the directory or the file cannot be made.
    pub fn create(directory: &Path, name: &str, session: &Session) -> Result<Self, StoreError> {
        fs::create_dir_all(directory).map_err(io_error("make the directory", directory))?;
        for attempt in 0_u32.. {
            let suffix = if attempt == 0 {
                String::new()
            } else {
                format!("-{attempt}")
            };
            let path = directory.join(format!("{name}{suffix}.{JOURNAL}"));
            // Two runs that begin within one second share a name: neither may take the other's.
            if path.with_extension(DOCUMENT).exists() {
                continue;
            }
            match File::create_new(&path) {
                Ok(file) => {
                    let mut journal = Self { path, file };
                    journal.line(&Line::Session(session))?;
                    return Ok(journal);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("make the journal", &path)(error)),
            }
        }
        unreachable!("there is always another number")
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(line)
            .map_err(io::Error::from)
            .map_err(io_error("write", &self.path))?;
        text.push(b'\n');
        self.file
            .write_all(&text)
            .map_err(io_error("append to", &self.path))
    }

    /// Appends the run as it stands.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, run: &Run) -> Result<(), StoreError> {
        self.line(&Line::Run(run))
    }

    /// Takes the journal away: there is nothing to keep.
    pub fn discard(self) {
        // An empty journal that stays is untidy, not wrong.
        let _ = fs::remove_file(&self.path);
    }

    /// Puts the whole document in the journal's place and says where it is.
    ///
    /// # Errors
    /// When it cannot be written; the journal is kept then.
    pub fn finish(self, session: &Session) -> Result<PathBuf, StoreError> {
        let document = self.path.with_extension(DOCUMENT);
        write(&document, session)?;
        fs::remove_file(&self.path).map_err(io_error("remove", &self.path))?;
        Ok(document)
    }
}

/// Writes a document so that the name stands for the whole of it or for what was there before.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, session: &Session) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(session)
        .map_err(io::Error::from)
        .map_err(io_error("write", path))?;
    text.push(b'\n');
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = File::create(&partial)
        .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_data()))
        .and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        // The reason for the failure matters, not whether its remains could be cleared away.
        let _ = fs::remove_file(&partial);
        io_error("write", path)(error)
    })
}

/// Loads a document or a journal. A journal's run that never ended counts as interrupted; a last
/// line that a kill cut off is passed over.
///
/// # Errors
/// When the file cannot be read or is no session.
pub fn load(path: &Path) -> Result<Session, StoreError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let mut reader = BufReader::new(file);
    let mut first = String::new();
    reader
        .read_line(&mut first)
        .map_err(io_error("read", path))?;
    let session = match serde_json::from_str(&first) {
        Ok(OwnedLine::Session(session)) => replay(*session, reader),
        _ => {
            let whole = fs::read_to_string(path).map_err(io_error("read", path))?;
            serde_json::from_str(&whole).map_err(|error| foreign(path, error))?
        }
    };
    check(path, session)
}

fn foreign(path: &Path, reason: impl ToString) -> StoreError {
    StoreError::Foreign {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn replay(mut session: Session, reader: BufReader<File>) -> Session {
    for line in reader.lines().map_while(Result::ok) {
        let Ok(OwnedLine::Run(mut run)) = serde_json::from_str(&line) else {
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
    session
}

fn check(path: &Path, session: Session) -> Result<Session, StoreError> {
    if session.schema != SCHEMA {
        return Err(foreign(path, format!("its schema is {:?}", session.schema)));
    }
    if session.version > VERSION {
        return Err(foreign(
            path,
            format!(
                "its version {} is newer than this program's {VERSION}: update diskscope",
                session.version
            ),
        ));
    }
    Ok(session)
}

/// Saved sessions and journals of a directory, the newest first.
///
/// # Errors
/// When the directory exists but cannot be read.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error("list", directory)(error)),
    };
    let ours = |path: &PathBuf| {
        path.extension()
            .is_some_and(|ending| ending == DOCUMENT || ending == JOURNAL)
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(ours)
        .collect();
    // Names begin with the time.
    paths.sort_by(|left, right| right.file_name().cmp(&left.file_name()));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::super::document::{Evidence, Findings, Host, Reproduce, TargetRecord};
    use super::*;

    fn session() -> Session {
        Session {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            program: "diskscope 0.1.0".to_owned(),
            started: "2026-01-02T03:04:05+00:00".to_owned(),
            host: Host::default(),
            runs: Vec::new(),
        }
    }

    fn run(elapsed_ns: u64, state: RunState) -> Run {
        Run {
            test: "random-read".to_owned(),
            state,
            error: None,
            started: "2026-01-02T03:04:06+00:00".to_owned(),
            elapsed_ns,
            target: TargetRecord {
                path: "/tmp".to_owned(),
                kind: "scratch".to_owned(),
                size_bytes: 1,
                logical_block_bytes: 512,
                physical_block_bytes: 4096,
                device: None,
                model: None,
                serial: None,
                firmware: None,
                transport: None,
                rotational: None,
                file_system: None,
            },
            parameters: std::collections::BTreeMap::new(),
            parameter_units: std::collections::BTreeMap::new(),
            engine: super::super::document::EngineRecord::default(),
            findings: Findings::default(),
            kernel: None,
            stages: None,
            cpu: None,
            evidence: Evidence::default(),
            reproduce: Reproduce::default(),
        }
    }

    #[test]
    fn a_finished_journal_becomes_a_document() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path(), "one", &session()).unwrap();
        journal.append(&run(1, RunState::Running)).unwrap();
        let whole = Session {
            runs: vec![run(2, RunState::Finished)],
            ..session()
        };
        let path = journal.finish(&whole).unwrap();
        assert_eq!(list(directory.path()).unwrap(), std::slice::from_ref(&path));
        assert_eq!(load(&path).unwrap(), whole);
    }

    #[test]
    fn a_killed_journal_keeps_its_last_whole_line() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path(), "one", &session()).unwrap();
        journal.append(&run(1, RunState::Running)).unwrap();
        journal.append(&run(2, RunState::Running)).unwrap();
        journal
            .file
            .write_all(b"{\"run\":{\"test\":\"rand")
            .unwrap();
        let loaded = load(&journal.path).unwrap();
        assert_eq!(loaded.runs, [run(2, RunState::Interrupted)]);
    }

    #[test]
    fn a_journal_cut_anywhere_still_loads_or_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path(), "one", &session()).unwrap();
        journal.append(&run(1, RunState::Running)).unwrap();
        let whole = fs::read(&journal.path).unwrap();
        let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap();
        for length in 0..whole.len() {
            let path = directory.path().join("cut.journal");
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(load(&path).is_ok(), length >= first_line, "{length}");
        }
    }

    #[test]
    fn two_runs_in_one_second_keep_their_own_files() {
        let directory = tempfile::tempdir().unwrap();
        let first = Journal::create(directory.path(), "one", &session()).unwrap();
        let second = Journal::create(directory.path(), "one", &session()).unwrap();
        assert_ne!(first.path, second.path);
        let (one, two) = (
            first.finish(&session()).unwrap(),
            second.finish(&session()).unwrap(),
        );
        assert_ne!(one, two);
        assert_ne!(
            Journal::create(directory.path(), "one", &session())
                .unwrap()
                .path
                .with_extension("json"),
            one
        );
    }

    #[test]
    fn what_is_no_session_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.json");
        for text in ["", "{}", "hello", "{\"schema\":\"fio\"}"] {
            fs::write(&path, text).unwrap();
            let message = load(&path).unwrap_err().to_string();
            assert!(
                message.contains("other.json") && message.contains("no diskscope session"),
                "{message}"
            );
        }
        let newer = Session {
            version: VERSION + 1,
            ..session()
        };
        write(&path, &newer).unwrap();
        assert!(
            load(&path)
                .unwrap_err()
                .to_string()
                .contains("update diskscope")
        );
    }
}
