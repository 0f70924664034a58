//! Sessions on disk: the journal while a run goes on, the document afterwards.
//!
//! A journal is a file of JSON lines: first the session without its runs, then the run as it
//! stands, again and again; the last whole line counts. A kill loses what came after that line.
//! When the run is over the document takes the journal's place.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::document::Session;
use crate::named_file::InputError;
use crate::private_directory::{PrivateDirectory, PrivateDirectoryError};
use crate::units;

mod journal;
mod read;
#[cfg(test)]
mod tests;

pub use self::journal::Journal;
pub use self::read::{ReadBudget, load_session, load_session_with_id, parse_session};

/// Bytes of all files of a comparison; in memory they take up to a few times as much.
const MAX_COMPARISON_BYTES: u64 = 256 << 20;
/// Ending of a journal's name.
const JOURNAL_EXTENSION: &str = "journal";
/// Ending of a document's name.
const DOCUMENT_EXTENSION: &str = "json";
/// Sessions in the user's directory for state.
const SESSIONS_SUBDIRECTORY: &str = "diskscope/sessions";
/// A file is written in much less time than this: an older partial one was left by a kill.
const STALE_TEMPORARY_AGE: Duration = Duration::from_secs(60);

/// Files that together would take more memory than a comparison is worth.
#[derive(Debug, thiserror::Error)]
#[error("these {files} files have {} together, more than {}",
    units::format_block_size(*bytes as f64), units::format_block_size(MAX_COMPARISON_BYTES as f64))]
pub struct TooLargeTogether {
    /// How many they are.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Refuses to read files that together would take more memory than a comparison is worth.
///
/// # Errors
/// When they have more than 256 MiB.
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
    /// The directory of sessions, or a file in it.
    #[error(transparent)]
    Directory(#[from] PrivateDirectoryError),
    /// The file cannot be opened, or is none to be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// All files of a command together would take more memory than a comparison is worth.
    #[error("the first {files} files have more than {} together",
        units::format_block_size(MAX_COMPARISON_BYTES as f64))]
    TooLargeTogether {
        /// How many were opened.
        files: usize,
    },
    /// It is no session.
    #[error("{} is no diskscope session: {reason}", path.display())]
    NotASession {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// Whether the name of the file is wrong, and not its reading failed.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Input(error) => error.is_usage(),
            Self::TooLargeTogether { .. } => true,
            Self::Io { .. } | Self::Directory(_) | Self::NotASession { .. } => false,
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

/// Where sessions are kept: `sessions` in the program's state directory.
#[must_use]
pub fn sessions_directory() -> Option<PathBuf> {
    crate::roots::state_directory().map(|state| state.join("sessions"))
}

/// Opens a directory of sessions for writing and makes it where it is missing: nobody else may
/// read it.
fn open_private_directory(directory: &Path) -> Result<PrivateDirectory, StoreError> {
    // What is above the program's own directories is the user's business.
    let own = match directory.ends_with(SESSIONS_SUBDIRECTORY) {
        true => PathBuf::from(SESSIONS_SUBDIRECTORY),
        false => directory.file_name().unwrap_or_default().into(),
    };
    let base = directory.ancestors().nth(own.components().count());
    let base = base.unwrap_or(Path::new("/"));
    Ok(PrivateDirectory::create(base, &own)?)
}

/// A document as it is saved.
///
/// # Errors
/// When it cannot be put into JSON.
pub fn serialize_session(session: &Session) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(session)?;
    text.push(b'\n');
    Ok(text)
}

/// Saved sessions and journals of a directory, the newest first. A journal whose document is there
/// too, for a kill came between the two, is left out.
///
/// # Errors
/// When the directory exists but cannot be read.
pub fn list_sessions(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let ours = |path: &PathBuf| {
        path.extension().is_some_and(|ending| {
            ending == DOCUMENT_EXTENSION
                || ending == JOURNAL_EXTENSION && !path.with_extension(DOCUMENT_EXTENSION).exists()
        })
    };
    let mut paths: Vec<PathBuf> = session_files(directory)?.into_iter().filter(ours).collect();
    // Names begin with the time.
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

/// Removes what a kill in the middle of a replacement left: half-written files whose content is in
/// the journal beside them.
fn remove_stale_temporaries(directory: &PrivateDirectory, now: SystemTime) {
    for name in directory.entry_names().unwrap_or_default() {
        let age = || {
            let file =
                directory.open_file(&name, crate::private_directory::PrivateFileAccess::Read);
            now.duration_since(file.ok()?.metadata().ok()?.modified().ok()?)
                .ok()
        };
        if is_temporary(&name) && age().is_some_and(|age| age > STALE_TEMPORARY_AGE) {
            // One that stays is untidy, not wrong.
            let _ = directory.unlink(&name);
        }
    }
}

/// A file that this program was writing, also by the name that earlier versions gave: that of a
/// document with one more ending.
fn is_temporary(name: &OsStr) -> bool {
    let earlier = || name.to_str()?.strip_suffix(".json.partial");
    PrivateDirectory::is_temporary(name) || earlier().is_some_and(is_session_name)
}

/// Whether that is the name that a session gets: `2026-11-21T222619-random-read`, maybe with a
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

/// The name of a journal or document.
fn name_with_extension(name: &str, ending: &str) -> OsString {
    format!("{name}.{ending}").into()
}
