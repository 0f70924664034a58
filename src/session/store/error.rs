//! Errors with saved sessions, and the limits on what is read.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::error::FileError;
use crate::files::format_version::UnsupportedVersion;
use crate::files::safe_text::SafeText;
use crate::session::document::SCHEMA;
use crate::units;

/// Maximum length of a document, of a line of a journal, and of the lines of its runs together, in
/// bytes: sizes and counts in a file are those that its author chose.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 64 << 20;
/// Maximum length of a journal in bytes, superseded lines included.
pub(super) const MAX_JOURNAL_BYTES: u64 = 1 << 30;
/// Maximum size of all files of a comparison; in memory they take up to a few times as much.
pub(super) const MAX_COMPARISON_BYTES: u64 = 256 << 20;
/// Maximum number of metrics and cells of tables in one session: each of them is drawn.
pub(super) const MAX_SHOWN: usize = 500_000;

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
        /// Number of files read so far.
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
            _ => false,
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

/// Why content is not a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionFormatError {
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// It is a session of another version of the format.
    #[error("its format version is {found}")]
    OtherVersion {
        /// Version of the content.
        found: u64,
        /// Program that wrote it, if it says so.
        program: Option<SafeText>,
    },
    /// The value of `schema` is another one.
    #[error("its schema is {found:?}, not {SCHEMA:?}")]
    OtherSchema {
        /// The value.
        found: SafeText,
    },
    /// Not JSON, or a field is missing or invalid.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is too long.
    #[error("it is longer than {} MiB", .0 >> 20)]
    TooLong(u64),
    /// It holds more metrics and cells of tables than can be drawn.
    #[error("its runs have more than {MAX_SHOWN} metrics and cells together")]
    TooManyMetrics,
}
