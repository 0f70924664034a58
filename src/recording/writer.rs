//! Writes a recording that grows until it ends.

use std::path::{Path, PathBuf};

use super::error::RecordingWriteError;
use super::stream::{AppendResult, MemberStream};
use super::trigger::TriggerRecord;
use crate::files::output;
use crate::snapshot::{Snapshot, snapshot_line};

/// Where a recording goes: a file or a ring.
pub trait Recorder {
    /// Appends whole lines: a sample, or some of the requests that completed since the sample before.
    ///
    /// # Errors
    /// If they cannot be written.
    fn append(&mut self, lines: &[u8]) -> Result<AppendResult, RecordingWriteError>;

    /// Appends a trigger and the lines of its requests. Only a ring keeps them.
    ///
    /// # Errors
    /// If it cannot be written.
    fn append_trigger(
        &mut self,
        _trigger: &TriggerRecord,
        _requests: &[u8],
    ) -> Result<AppendResult, RecordingWriteError> {
        Ok(AppendResult::Written)
    }

    /// Completes the recording and waits until it is on the medium.
    ///
    /// # Errors
    /// If it cannot be written.
    fn end(&mut self) -> Result<(), RecordingWriteError>;

    /// Its size in bytes.
    fn size_bytes(&self) -> u64;

    /// Appends a snapshot.
    ///
    /// # Errors
    /// If it cannot be written.
    fn append_snapshot(&mut self, live: &Snapshot) -> Result<AppendResult, RecordingWriteError> {
        self.append(&line_of(snapshot_line(live))?)
    }
}

/// A recording in one file. Its file is removed if it ends without a sample.
#[derive(Debug)]
pub struct FileRecorder {
    path: PathBuf,
    stream: MemberStream,
    max_bytes: u64,
}

impl Drop for FileRecorder {
    fn drop(&mut self) {
        if self.stream.file_bytes() == 0 {
            output::remove_created(&self.path, self.stream.file());
        }
    }
}

impl FileRecorder {
    /// Creates a recording of at most `limit` bytes; only its owner may read it.
    ///
    /// # Errors
    /// If the file exists already, or cannot be created.
    pub fn create(path: &Path, limit: Option<u64>) -> Result<Self, RecordingWriteError> {
        Ok(Self {
            stream: MemberStream::new(path.to_owned(), output::create_private(path)?),
            path: path.to_owned(),
            max_bytes: limit.unwrap_or(u64::MAX),
        })
    }
}

impl Recorder for FileRecorder {
    fn append(&mut self, lines: &[u8]) -> Result<AppendResult, RecordingWriteError> {
        let (begin, most) = (self.stream.file_bytes(), self.max_bytes);
        self.stream.append(lines, |file, end| {
            Ok(if end > most {
                AppendResult::LimitReached
            } else if output::has_room(file, end - begin) {
                AppendResult::Written
            } else {
                AppendResult::NoRoom
            })
        })
    }

    fn end(&mut self) -> Result<(), RecordingWriteError> {
        self.stream.end()
    }

    fn size_bytes(&self) -> u64 {
        self.stream.file_bytes()
    }
}

/// A line with its end.
pub(super) fn line_of(json: serde_json::Result<String>) -> Result<Vec<u8>, RecordingWriteError> {
    let json = json.map_err(|error| RecordingWriteError::write(Path::new("a sample"), error))?;
    Ok((json + "\n").into_bytes())
}
