//! Writes a recording that grows until it ends.

use std::io;
use std::path::{Path, PathBuf};

use super::member::{SampleMark, TRAILER_BYTES};
use super::stream::{MemberStream, line_chunks, mark_of_line};
use super::trigger::TriggerRecord;
use crate::files::error::FileError;
use crate::files::output;
use crate::snapshot::{Snapshot, snapshot_line};
use crate::units;

/// The smallest ring in bytes: a file of it has room for the largest snapshots of a busy machine.
pub(super) const MIN_RING_BYTES: u64 = 4_000_000;
/// The largest ring in bytes.
pub(super) const MAX_RING_BYTES: u64 = 64_000_000_000;
/// Uncompressed bytes of requests that are appended at a time.
pub(super) const REQUEST_CHUNK_BYTES: usize = 1 << 20;

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingWriteError {
    /// The file or directory cannot be made, exists already, or is not the user's own.
    #[error(transparent)]
    Output(#[from] FileError),
    /// A system call failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// The operation.
        tried: &'static str,
        /// The path of its file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// An existing directory is no ring.
    #[error("{} is no ring: it holds other files", .0.display())]
    NotARing(PathBuf),
    /// The size is not one of a ring.
    #[error("a ring of {0} bytes is not possible")]
    RingSize(u64),
    /// Another process writes the ring.
    #[error("another recorder writes {}", .0.display())]
    OtherRecorder(PathBuf),
}

impl RecordingWriteError {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Output(FileError::AlreadyExists(_)) => {
                "name a new file: an existing recording is never overwritten".to_owned()
            }
            Self::Output(FileError::WrongState(..)) | Self::NotARing(_) => {
                "name a new directory, or an empty one that only you can write".to_owned()
            }
            Self::Output(error) => error.advice(),
            Self::RingSize(_) => format!(
                "a ring has {} to {}, such as --ring 50MB",
                units::format_capacity(MIN_RING_BYTES as f64),
                units::format_capacity(MAX_RING_BYTES as f64)
            ),
            Self::OtherRecorder(_) => "stop it first, or name another directory".to_owned(),
            Self::Io { .. } => "the part recorded so far can be replayed".to_owned(),
        }
    }
}

/// Whether something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    /// It is in the recording.
    Written,
    /// The recording would exceed its limit: left out.
    LimitReached,
    /// The file system is almost full: left out.
    NoRoom,
}

/// Where a recording goes: a file or a ring.
pub trait Recorder {
    /// Appends whole lines: a sample with its mark, or requests without one.
    ///
    /// # Errors
    /// If they cannot be written.
    fn append(
        &mut self,
        lines: &[u8],
        mark: Option<SampleMark>,
    ) -> Result<AppendResult, RecordingWriteError>;

    /// Appends a trigger and the lines of its requests. Only a ring keeps them.
    ///
    /// # Errors
    /// If it cannot be written.
    fn append_trigger(
        &mut self,
        _trigger: TriggerRecord,
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
        let line = line_of(snapshot_line(live))?;
        self.append(&line, Some(mark_of_line(&line)))
    }

    /// Appends requests that completed since the snapshot before, as lines of JSON.
    ///
    /// # Errors
    /// If they cannot be written.
    fn append_requests(&mut self, lines: &[u8]) -> Result<AppendResult, RecordingWriteError> {
        for chunk in line_chunks(lines, REQUEST_CHUNK_BYTES) {
            let appended = self.append(chunk, None)?;
            if appended != AppendResult::Written {
                return Ok(appended);
            }
        }
        Ok(AppendResult::Written)
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
            stream: MemberStream::new(output::create_private(path)?),
            path: path.to_owned(),
            max_bytes: limit.unwrap_or(u64::MAX),
        })
    }
}

impl Recorder for FileRecorder {
    fn append(
        &mut self,
        lines: &[u8],
        mark: Option<SampleMark>,
    ) -> Result<AppendResult, RecordingWriteError> {
        let failed = |source| io_failure(&self.path, "write to", source);
        let piece = self.stream.pack(lines).map_err(failed)?;
        // Room for the end of the last member remains.
        let needed = piece.needed_bytes() + TRAILER_BYTES as u64;
        if self.stream.file_bytes() + needed > self.max_bytes {
            return Ok(AppendResult::LimitReached);
        }
        if !output::has_room(self.stream.file(), needed) {
            return Ok(AppendResult::NoRoom);
        }
        match self.stream.write(piece, lines, mark) {
            Ok(()) => Ok(AppendResult::Written),
            Err(error) if is_no_space(&error) => Ok(AppendResult::NoRoom),
            Err(error) => Err(failed(error)),
        }
    }

    fn end(&mut self) -> Result<(), RecordingWriteError> {
        self.stream
            .complete()
            .and_then(|()| self.stream.file().sync_data())
            .map_err(|source| io_failure(&self.path, "write to", source))
    }

    fn size_bytes(&self) -> u64 {
        self.stream.file_bytes()
    }
}

/// Whether a write failed because the file system, or the user's share of it, is full.
pub(super) fn is_no_space(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

pub(super) fn io_failure(
    path: &Path,
    tried: &'static str,
    source: io::Error,
) -> RecordingWriteError {
    RecordingWriteError::Io {
        tried,
        path: path.to_owned(),
        source,
    }
}

/// A line with its end.
pub(super) fn line_of(json: serde_json::Result<String>) -> Result<Vec<u8>, RecordingWriteError> {
    let json =
        json.map_err(|error| io_failure(Path::new("a sample"), "convert to JSON", error.into()))?;
    Ok((json + "\n").into_bytes())
}
