//! Sessions on disk: the journal during a run, the document afterwards.
//!
//! A journal is a file of JSON lines: first the session without its runs, then the state of the
//! run, repeatedly; the last complete line counts. Killing the program loses what follows that
//! line. When the run ends, the document replaces the journal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::document::Session;
use crate::format_version::UnsupportedVersion;
use crate::named_file::InputError;
use crate::private_directory::{PrivateDirectory, PrivateDirectoryError};
use crate::units;

mod journal;
mod read;
#[cfg(test)]
mod tests;

pub use self::journal::Journal;
pub use self::read::{
    ReadBudget, SessionFormatError, load_session, load_session_with_id, parse_session,
};

/// Maximum size of all files of a comparison; in memory they take up to a few times as much.
const MAX_COMPARISON_BYTES: u64 = 256 << 20;
/// File name extension of a journal.
const JOURNAL_EXTENSION: &str = "journal";
/// File name extension of a document.
const DOCUMENT_EXTENSION: &str = "json";
/// Directory of sessions below the user's state directory.
const SESSIONS_SUBDIRECTORY: &str = "diskscope/sessions";
/// Writing a file takes much less time than this: an older temporary was left by a killed process.
const STALE_TEMPORARY_AGE: Duration = Duration::from_secs(60);

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
    Directory(#[from] PrivateDirectoryError),
    /// The file cannot be opened or is not a regular file.
    #[error(transparent)]
    Input(#[from] InputError),
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
    /// The file is not a session.
    #[error("{} is not a diskscope session: {reason}", path.display())]
    NotASession {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with its content.
        reason: String,
    },
}

impl StoreError {
    /// Whether the path itself is wrong, as opposed to a failure to read the file.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Input(error) => error.is_usage(),
            Self::TooLargeTogether { .. } => true,
            Self::Io { .. } | Self::Directory(_) | Self::Version(_) | Self::NotASession { .. } => {
                false
            }
        }
    }
}

fn io_error(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        tried,
        path,
        source,
    }
}

/// Directory of sessions: `sessions` in the program's state directory.
#[must_use]
pub fn sessions_directory() -> Option<PathBuf> {
    crate::roots::state_directory().map(|state| state.join("sessions"))
}

/// Opens a directory of sessions for writing, and creates it if missing: no other user may read it.
fn open_private_directory(directory: &Path) -> Result<PrivateDirectory, StoreError> {
    // Permissions above the program's own directories are left to the user.
    let own = match directory.ends_with(SESSIONS_SUBDIRECTORY) {
        true => PathBuf::from(SESSIONS_SUBDIRECTORY),
        false => directory.file_name().unwrap_or_default().into(),
    };
    let base = directory.ancestors().nth(own.components().count());
    let base = base.unwrap_or(Path::new("/"));
    Ok(PrivateDirectory::create(base, &own)?)
}

/// Serializes a document as it is saved.
///
/// # Errors
/// If it cannot be serialized to JSON.
pub fn serialize_session(session: &Session) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(session)?;
    text.push(b'\n');
    Ok(text)
}

/// Saved sessions and journals of a directory, newest first. A journal whose document exists too,
/// because the program was killed in between, is omitted.
///
/// # Errors
/// If the directory exists but cannot be read.
pub fn list_sessions(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let ours = |path: &PathBuf| {
        path.extension().is_some_and(|ending| {
            ending == DOCUMENT_EXTENSION
                || ending == JOURNAL_EXTENSION && !path.with_extension(DOCUMENT_EXTENSION).exists()
        })
    };
    let mut paths: Vec<PathBuf> = session_files(directory)?.into_iter().filter(ours).collect();
    // Names start with the time.
    paths.sort_by(|left, right| right.file_name().cmp(&left.file_name()));
    Ok(paths)
}

fn session_files(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("list", directory)(error)),
    }
}

/// Removes the temporaries of replacements that were killed: partial files whose content is in the
/// journal next to them.
fn remove_stale_temporaries(directory: &PrivateDirectory, now: SystemTime) {
    for name in directory.entry_names().unwrap_or_default() {
        let age = || {
            let file =
                directory.open_file(&name, crate::private_directory::PrivateFileAccess::Read);
            now.duration_since(file.ok()?.metadata().ok()?.modified().ok()?)
                .ok()
        };
        if is_temporary(&name) && age().is_some_and(|age| age > STALE_TEMPORARY_AGE) {
            // A temporary that remains is harmless.
            let _ = directory.unlink(&name);
        }
    }
}

/// Whether the name is that of a temporary, also in the form that earlier versions used: a
/// document's name with one more extension.
fn is_temporary(name: &OsStr) -> bool {
    let earlier = || name.to_str()?.strip_suffix(".json.partial");
    PrivateDirectory::is_temporary(name) || earlier().is_some_and(is_session_name)
}

/// Whether the name has the form of a session's: `2026-11-21T222619-random-read`, optionally with a
/// number.
fn is_session_name(name: &str) -> bool {
    const TIME: &[u8] = b"0000-00-00T000000-";
    let (time, rest) = name.as_bytes().split_at(TIME.len().min(name.len()));
    let is_time = time.iter().zip(TIME).all(|(letter, like)| match like {
        b'0' => letter.is_ascii_digit(),
        _ => letter == like,
    });
    let is_word = |letter: &u8| letter.is_ascii_lowercase() || matches!(letter, b'0'..=b'9' | b'-');
    is_time && !rest.is_empty() && rest.iter().all(is_word)
}

/// File name of a journal or document.
fn name_with_extension(name: &str, ending: &str) -> OsString {
    format!("{name}.{ending}").into()
}
