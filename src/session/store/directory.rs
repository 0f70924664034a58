//! The directory of sessions, and the names of the files in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{StoreError, io_error};
use crate::files::state::PrivateDirectory;
use crate::stats::sorting::SortList as _;

/// File name extension of a journal.
pub(super) const JOURNAL_EXTENSION: &str = "journal";
/// File name extension of a document.
pub(super) const DOCUMENT_EXTENSION: &str = "json";
/// Directory of sessions below the user's state directory.
pub(super) const SESSIONS_SUBDIRECTORY: &str = "diskscope/sessions";
/// Writing a file takes much less time than this: an older temporary was left by a killed process, if
/// it is not locked.
pub(super) const STALE_TEMPORARY_AGE: Duration = Duration::from_secs(60);

/// Directory of sessions: `sessions` in the program's state directory.
#[must_use]
pub fn sessions_directory() -> Option<PathBuf> {
    crate::roots::state_directory().map(|state| state.join("sessions"))
}

/// Whether a file is a journal, by its name.
pub(super) fn is_journal(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending == JOURNAL_EXTENSION)
}

/// Opens a directory of sessions for writing, and creates it if missing: no other user may read it.
pub(super) fn open_private_directory(directory: &Path) -> Result<PrivateDirectory, StoreError> {
    // Permissions above the program's own directories are left to the user.
    let own = match directory.ends_with(SESSIONS_SUBDIRECTORY) {
        true => PathBuf::from(SESSIONS_SUBDIRECTORY),
        false => directory.file_name().unwrap_or_default().into(),
    };
    let base = directory.ancestors().nth(own.components().count());
    let base = base.unwrap_or(Path::new("/"));
    Ok(PrivateDirectory::create(base, &own)?)
}

/// Saved sessions and journals of a directory, newest first. A journal whose document exists too,
/// because the program was killed in between, is omitted.
///
/// # Errors
/// If the directory exists but cannot be read.
pub fn list_sessions(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let ours = |path: &PathBuf| {
        let is_document = path
            .extension()
            .is_some_and(|ending| ending == DOCUMENT_EXTENSION);
        is_document || is_journal(path) && !path.with_extension(DOCUMENT_EXTENSION).exists()
    };
    let mut paths: Vec<PathBuf> = session_files(directory)?.into_iter().filter(ours).collect();
    // Names start with the time.
    paths.sort_list_by(|left, right| right.file_name().cmp(&left.file_name()));
    Ok(paths)
}

pub(super) fn session_files(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("list", directory)(error)),
    }
}
