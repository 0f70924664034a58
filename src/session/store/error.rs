//! Errors with saved sessions, and the limit on what a comparison reads.

use std::io;
use std::path::{Path, PathBuf};

use super::format_error::{MAX_DOCUMENT_BYTES, SessionFormatError};
use crate::files::error::FileError;
use crate::files::format_version::UnsupportedVersion;
use crate::units;

/// Maximum size of all files of a comparison; in memory they take up to a few times as much.
pub(super) const MAX_COMPARISON_BYTES: u64 = 256 << 20;
/// The error for files that together need too much memory for a comparison.
#[derive(Debug, thiserror::Error)]
#[error("these {files} files have {} together, more than {}",
    units::format_block_size(*bytes as f64), units::format_block_size(MAX_COMPARISON_BYTES as f64))]
pub struct TooLargeTogether {
    /// Number of files.
    pub files: usize,
    /// Size of the files in bytes.
    pub bytes: u64,
}

/// An error with a saved session.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file system operation failed.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// The operation.
        tried: &'static str,
        /// The path of its file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// An error of the directory of sessions, or of a file in it.
    #[error(transparent)]
    Directory(#[from] FileError),
    /// The file cannot be opened or is not a regular file.
    #[error(transparent)]
    Input(FileError),
    /// All files of a command together need too much memory for a comparison.
    #[error("the first {files} files have more than {} together",
        units::format_block_size(MAX_COMPARISON_BYTES as f64))]
    TooLargeTogether {
        /// Number of files opened so far.
        files: usize,
    },
    /// The file is a session of another version of the format.
    #[error(transparent)]
    Version(#[from] UnsupportedVersion),
    /// The session belongs to a run in progress.
    #[error("{} belongs to a run that has not ended: try again when it has ended", path.display())]
    NotComplete {
        /// Path of the journal.
        path: PathBuf,
    },
    /// The file is the journal of a run that did not end: it is no document that could be changed.
    #[error(
        "{} is the journal of an interrupted run, which has no note: export it, and edit the copy",
        path.display()
    )]
    Journal {
        /// Path of the journal.
        path: PathBuf,
    },
    /// The session would be longer than this program reads.
    #[error(
        "{} would have more than {} MiB, the longest that diskscope reads: nothing was written",
        path.display(),
        MAX_DOCUMENT_BYTES >> 20
    )]
    TooLong {
        /// Path of the session.
        path: PathBuf,
    },
    /// The file is not a session.
    #[error("{} is not a diskscope session: {reason}", path.display())]
    NotASession {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with its content.
        reason: SessionFormatError,
    },
}

impl StoreError {
    /// Whether the path itself is wrong, as opposed to a failure to read the file.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Input(error) => error.is_usage(),
            // As for `run`: a file of another kind.
            Self::TooLargeTogether { .. } | Self::NotASession { .. } => true,
            Self::Io { .. }
            | Self::Directory(_)
            | Self::Version(_)
            | Self::NotComplete { .. }
            | Self::Journal { .. }
            | Self::TooLong { .. } => false,
        }
    }
}

pub(super) fn io_error(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        tried,
        path,
        source,
    }
}

/// Refuses to read files that together need too much memory for a comparison.
///
/// # Errors
/// If the files have more than 256 MiB.
pub fn check_total_size(paths: &[impl AsRef<Path>]) -> Result<(), TooLargeTogether> {
    let sizes = paths
        .iter()
        .filter_map(|path| Some(path.as_ref().metadata().ok()?.len()));
    let bytes: u64 = sizes.fold(0, u64::saturating_add);
    if bytes <= MAX_COMPARISON_BYTES {
        return Ok(());
    }
    let files = paths.len();
    Err(TooLargeTogether { files, bytes })
}
