//! Sessions on disk: the journal while a run goes on, the document afterwards.
//!
//! A journal is a file of JSON lines: first the session without its runs, then the run as it
//! stands, again and again; the last whole line counts. A kill loses what came after that line.
//! When the run is over the document takes the journal's place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::document::Session;

mod journal;
mod read;
#[cfg(test)]
mod tests;

pub use journal::Journal;
pub use read::{load, parse};

/// Ending of a journal's name.
const JOURNAL: &str = "journal";
/// Ending of a document's name.
const DOCUMENT: &str = "json";
/// Ending of the name of a file that is being written.
const PARTIAL: &str = "partial";
/// A file is written in much less time than this: an older partial one was left by a kill.
const ABANDONED: Duration = Duration::from_secs(60);

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

/// Writes a document so that the name stands for the whole of it or for what was there before.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, session: &Session) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(session)
        .map_err(io::Error::from)
        .map_err(io_error("write", path))?;
    text.push(b'\n');
    replace(path, &text).map(drop)
}

/// Puts a file in the place of another at once, and gives it back open.
fn replace(path: &Path, text: &[u8]) -> Result<File, StoreError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".");
    partial.push(PARTIAL);
    let partial = PathBuf::from(partial);
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_data()?;
        fs::rename(&partial, path)?;
        Ok(file)
    });
    written.map_err(|error| {
        // The reason for the failure matters, not whether its remains could be cleared away.
        let _ = fs::remove_file(&partial);
        io_error("write", path)(error)
    })
}

/// Saved sessions and journals of a directory, the newest first. A journal whose document is there
/// too, for a kill came between the two, is left out.
///
/// # Errors
/// When the directory exists but cannot be read.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let ours = |path: &PathBuf| {
        path.extension().is_some_and(|ending| {
            ending == DOCUMENT || ending == JOURNAL && !path.with_extension(DOCUMENT).exists()
        })
    };
    let mut paths: Vec<PathBuf> = entries(directory)?.into_iter().filter(ours).collect();
    // Names begin with the time.
    paths.sort_by(|left, right| right.file_name().cmp(&left.file_name()));
    Ok(paths)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("list", directory)(error)),
    }
}

/// Clears away what a kill in the middle of [`replace`] left: half-written files whose content is
/// in the journal beside them.
fn sweep(directory: &Path, now: SystemTime) {
    for path in entries(directory).unwrap_or_default() {
        let is_partial = path.extension().is_some_and(|ending| ending == PARTIAL);
        let age = || {
            now.duration_since(fs::metadata(&path).ok()?.modified().ok()?)
                .ok()
        };
        if is_partial && age().is_some_and(|age| age > ABANDONED) {
            // One that stays is untidy, not wrong.
            let _ = fs::remove_file(&path);
        }
    }
}
