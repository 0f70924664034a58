//! Why something cannot be recorded, or a recording not be read.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::error::FileError;

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingWriteError {
    /// The file or directory cannot be made, exists already, or is not the user's own.
    #[error(transparent)]
    Output(#[from] FileError),
    /// It cannot be written.
    #[error(transparent)]
    Write(FileError),
    /// The size is not one of a ring.
    #[error("a ring of {0} bytes is not possible")]
    RingSize(u64),
}

impl RecordingWriteError {
    pub(super) fn write(path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Write(FileError::io("write to", path, error))
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Output(FileError::WrongState(..)) => {
                "name a new directory, or an empty one that only you can write".to_owned()
            }
            Self::Output(error) => error.advice(),
            Self::RingSize(_) => "a ring has 4 MB to 64 GB, such as --ring 50MB".to_owned(),
            Self::Write(_) => "the part recorded so far can be replayed".to_owned(),
        }
    }
}

/// Why a recording cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingReadError {
    /// The file cannot be opened or read, or is no regular file.
    #[error(transparent)]
    Input(#[from] FileError),
    /// The file or directory is no recording; what is wrong with it.
    #[error("{} is not a diskscope recording: {reason}", .0.display(), reason = .1)]
    NotARecording(PathBuf, &'static str),
    /// A part of it is damaged; the others can be read.
    #[error(transparent)]
    Damaged(#[from] RecordingDamage),
}

/// A part of a recording that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is damaged at byte {offset}: {reason}; {bytes} bytes are left out",
    path.display()
)]
pub struct RecordingDamage {
    /// Path of the file.
    pub path: PathBuf,
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// What is wrong.
    pub reason: String,
}
