//! Changes to saved sessions: notes, deletion.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::directory::{is_journal, open_private_directory};
use super::error::{StoreError, io_error};
use super::read::load_session;
use super::serialize::serialize_session;
use crate::safe_text::SafeText;

/// A journal that was written more recently may belong to a run in progress: a run appends to its
/// journal about once per second.
const ACTIVE_JOURNAL_AGE: Duration = Duration::from_secs(60);

/// Maximum length of a note in characters.
pub const MAX_NOTE_CHARS: usize = 500;

/// Stores a note in a saved session, or removes it when `note` is empty.
///
/// # Errors
/// If the session cannot be read or written, or is not complete yet.
pub fn set_note(path: &Path, note: &str) -> Result<(), StoreError> {
    if is_journal(path) {
        return Err(StoreError::NotComplete {
            path: path.to_owned(),
        });
    }
    let mut session = load_session(path)?;
    let note: String = note.trim().chars().take(MAX_NOTE_CHARS).collect();
    session.note = (!note.is_empty()).then(|| SafeText::from(note));
    let text = serialize_session(&session).map_err(io_error("write", path))?;
    let (directory, name) = split(path);
    open_private_directory(directory)?.replace_file(name, &text)?;
    Ok(())
}

/// Deletes a saved session.
///
/// # Errors
/// If it cannot be deleted, or may belong to a run in progress.
pub fn delete_session(path: &Path) -> Result<(), StoreError> {
    if is_journal(path) && was_written_recently(path)? {
        return Err(StoreError::NotComplete {
            path: path.to_owned(),
        });
    }
    let (directory, name) = split(path);
    open_private_directory(directory)?.unlink(name)?;
    Ok(())
}

fn was_written_recently(path: &Path) -> Result<bool, StoreError> {
    let metadata = path.symlink_metadata().map_err(io_error("examine", path))?;
    let written = metadata.modified().map_err(io_error("examine", path))?;
    let age = SystemTime::now().duration_since(written);
    Ok(age.is_ok_and(|age| age < ACTIVE_JOURNAL_AGE))
}

fn split(path: &Path) -> (&Path, &std::ffi::OsStr) {
    let directory = path.parent().unwrap_or(Path::new("/"));
    (directory, path.file_name().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample;

    fn saved(directory: &Path, name: &str) -> std::path::PathBuf {
        let run = sample::sample_run("iops", 100.0, 1.0);
        let session = sample::sample_session("web-07", vec![run]);
        let path = directory.join(name);
        std::fs::write(&path, serialize_session(&session).unwrap()).unwrap();
        path
    }

    #[test]
    fn note_is_stored_in_the_session_and_removed_when_empty() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        let before = load_session(&path).unwrap();
        assert_eq!(before.note, None);
        set_note(&path, " after the firmware update\x1b[2J ").unwrap();
        let with_note = load_session(&path).unwrap();
        let note = with_note.note.clone().unwrap();
        assert!(note.starts_with("after the firmware update") && !note.contains('\x1b'));
        assert_eq!(with_note.runs, before.runs);
        set_note(&path, "").unwrap();
        assert_eq!(load_session(&path).unwrap(), before);
        assert!(set_note(&base.path().join("gone.json"), "x").is_err());
    }

    #[test]
    fn deletion_removes_the_file_but_no_journal_in_progress() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        delete_session(&path).unwrap();
        assert!(!path.exists());
        assert!(delete_session(&path).is_err());
        let journal = saved(base.path(), "b.journal");
        assert!(matches!(
            delete_session(&journal),
            Err(StoreError::NotComplete { .. })
        ));
        assert!(matches!(
            set_note(&journal, "x"),
            Err(StoreError::NotComplete { .. })
        ));
        let long_ago = SystemTime::now() - 2 * ACTIVE_JOURNAL_AGE;
        let file = std::fs::File::options().write(true).open(&journal).unwrap();
        file.set_modified(long_ago).unwrap();
        delete_session(&journal).unwrap();
        assert!(!journal.exists());
    }
}
