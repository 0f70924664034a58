//! What the demo shows: a recording and the sessions of its benchmarks, both inside the program.
//!
//! `tests/pictures/stage.sh` made them.

use std::fs::File;
use std::io::{self, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::app::result::ResultState;
use crate::recording::{Recording, RecordingReadError};
use crate::session::document::Session;
use crate::session::store::{SessionFormatError, parse_session};

/// What messages and the time line call the recording.
pub(super) const RECORDING_NAME: &str = "demo";

static RECORDING: &[u8] = include_bytes!("../../assets/demo/recording.rec");

/// The sessions, the one of the recorded time first, each a document compressed by gzip.
static SESSIONS: [(&str, &[u8]); 5] = [
    (
        "random-read-during-copy",
        include_bytes!("../../assets/demo/random-read-during-copy.json.gz"),
    ),
    (
        "random-read-depth-8",
        include_bytes!("../../assets/demo/random-read-depth-8.json.gz"),
    ),
    (
        "random-read-depth-1",
        include_bytes!("../../assets/demo/random-read-depth-1.json.gz"),
    ),
    (
        "write-sync-close",
        include_bytes!("../../assets/demo/write-sync-close.json.gz"),
    ),
    (
        "sequential-read",
        include_bytes!("../../assets/demo/sequential-read.json.gz"),
    ),
];

/// Why the demo cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The recording cannot be kept in memory.
    #[error("cannot keep the demo in memory (memfd_create): {0}")]
    Memory(#[from] io::Error),
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingReadError),
    /// A session cannot be read.
    #[error("session {name} of the demo: {source}")]
    Session {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        source: SessionFormatError,
    },
}

/// The content of the demo.
#[derive(Debug)]
pub struct DemoContent {
    /// The recording, at its first view with rates.
    pub cursor: Recording,
    /// The sessions.
    pub sessions: DemoSessions,
}

impl DemoContent {
    /// Decompresses the sessions, and opens the recording in a file that exists in memory only.
    ///
    /// # Errors
    /// When the kernel provides no such file, or the content does not fit this version of the
    /// program, which a test excludes.
    pub fn load() -> Result<Self, DemoError> {
        let descriptor = memfd_create("diskscope-demo", MemfdFlags::CLOEXEC);
        let mut file = File::from(descriptor.map_err(io::Error::from)?);
        file.write_all(RECORDING)?;
        file.rewind()?;
        let mut cursor = Recording::from_file(Path::new(RECORDING_NAME), file)?;
        cursor.seek(1);
        Ok(Self {
            cursor,
            sessions: DemoSessions::load()?,
        })
    }
}

/// The sessions of the demo, each with a path that no file has.
#[derive(Debug, Clone)]
pub struct DemoSessions(Vec<(PathBuf, Session)>);

impl DemoSessions {
    fn load() -> Result<Self, DemoError> {
        let load = |(name, bytes): (&'static str, &'static [u8])| {
            let reader = BufReader::new(GzDecoder::new(bytes));
            let session =
                parse_session(reader).map_err(|source| DemoError::Session { name, source })?;
            let path = Path::new("demo").join(name).with_extension("json");
            Ok((path, session))
        };
        SESSIONS
            .into_iter()
            .map(load)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// All sessions with their paths.
    pub fn iter(&self) -> impl Iterator<Item = &(PathBuf, Session)> {
        self.0.iter()
    }

    /// The session of this path.
    #[must_use]
    pub fn find(&self, path: &Path) -> Option<&Session> {
        let mut sessions = self.0.iter();
        sessions
            .find(|(known, _)| known == path)
            .map(|(_, session)| session)
    }

    /// The result of the run that the recording shows.
    #[must_use]
    pub fn first_result(&self) -> ResultState {
        match self.0.first() {
            Some((path, session)) => ResultState::new(session.runs.clone(), Some(path.clone())),
            None => ResultState::new(Vec::new(), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the machine that the recording was staged in; nothing else may occur.
    const STAGED_HOST: &str = "web-07";

    #[test]
    fn content_is_complete_small_and_names_no_other_machine() {
        let mut content = DemoContent::load().unwrap();
        let recording = &content.cursor;
        assert!(recording.damage().is_none() && recording.ended_cleanly());
        assert!(recording.view_count() >= 50 && recording.has_requests());
        let sessions: usize = SESSIONS.iter().map(|(_, bytes)| bytes.len()).sum();
        let size = RECORDING.len() + sessions;
        assert!(size < 350_000, "{size} bytes");
        for view in 0..content.cursor.view_count() {
            content.cursor.seek(view);
            let view = content.cursor.read_current().unwrap().unwrap();
            assert_eq!(view.host.name.as_deref(), Some(STAGED_HOST));
            for process in &view.processes {
                let command = &process.command;
                let known = [
                    "cp ",
                    "dd ",
                    "diskscope",
                    "[",
                    "sh ",
                    "/bin/",
                    "script",
                    "setpriv",
                    "sleep",
                ];
                assert!(
                    known.iter().any(|start| command.starts_with(start)),
                    "{command}"
                );
            }
        }
        for (path, session) in content.sessions.iter() {
            assert_eq!(session.host.name.as_deref(), Some(STAGED_HOST), "{path:?}");
            assert!(session.runs.len() == 1, "{path:?}");
        }
    }
}
