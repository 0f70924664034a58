//! Changes to saved sessions, and copies of them: notes, export, deletion.

use std::path::Path;

use super::directory::{is_journal, open_private_directory};
use super::error::{StoreError, io_error};
use super::format_error::is_readable_length;
use super::read::{SessionSource, load_stored};
use super::serialize::serialize_session;
use crate::files::file_id::FileId;
use crate::files::safe_text::SafeText;
use crate::files::{input, state};

/// Maximum length of a note in characters.
pub const MAX_NOTE_CHARS: usize = 500;

/// A document with a change that is not saved yet.
#[derive(Debug)]
pub struct EditedDocument {
    /// The file that the document was read from.
    pub id: FileId,
    /// The whole document with the change.
    pub text: Vec<u8>,
}

/// A saved session with a note, or without one when `note` is empty. `None` if it is that already.
///
/// # Errors
/// If the session cannot be read, is a journal, or would be longer than this program reads.
pub fn edit_note(path: &Path, note: &str) -> Result<Option<EditedDocument>, StoreError> {
    let stored = load_stored(path)?;
    if let SessionSource::Journal { is_running } = stored.source {
        return Err(journal_error(path, is_running));
    }
    let note: String = note.trim().chars().take(MAX_NOTE_CHARS).collect();
    let note = (!note.is_empty()).then(|| SafeText::from(note));
    let mut session = stored.session;
    if note == session.note {
        return Ok(None);
    }
    session.note = note;
    let text = serialize_session(&session).map_err(io_error("edit", path))?;
    check_length(path, text.len())?;
    Ok(Some(EditedDocument {
        id: stored.id,
        text,
    }))
}

/// The document of a saved session, for a copy: the text of a document as it is, or one that holds
/// what a journal does.
///
/// # Errors
/// If the session cannot be read, or the document would be longer than this program reads.
pub fn export_document(path: &Path) -> Result<Vec<u8>, StoreError> {
    let stored = load_stored(path)?;
    match stored.source {
        SessionSource::Document(document) => Ok(document),
        SessionSource::Journal { .. } => {
            let text = serialize_session(&stored.session).map_err(io_error("write", path))?;
            check_length(path, text.len())?;
            Ok(text)
        }
    }
}

/// Deletes a saved session.
///
/// # Errors
/// If it cannot be deleted, or belongs to a run in progress.
pub fn delete_session(path: &Path) -> Result<(), StoreError> {
    if is_journal(path) && is_running(path)? {
        return Err(journal_error(path, true));
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default();
    open_private_directory(directory)?.unlink(name)?;
    Ok(())
}

/// Whether a journal belongs to a run in progress, however long ago the run has written to it.
fn is_running(journal: &Path) -> Result<bool, StoreError> {
    match input::open_input(journal, input::InputKind::RegularFile) {
        Ok((file, _)) => Ok(state::is_locked(&file)),
        // A run writes to a file, not to what somebody else has given this name.
        Err(error) if error.is_usage() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn journal_error(path: &Path, is_running: bool) -> StoreError {
    let path = path.to_owned();
    match is_running {
        true => StoreError::NotComplete { path },
        false => StoreError::Journal { path },
    }
}

fn check_length(path: &Path, bytes: usize) -> Result<(), StoreError> {
    let path = path.to_owned();
    match is_readable_length(bytes) {
        true => Ok(()),
        false => Err(StoreError::TooLong { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample;
    use crate::session::document::{RunState, Session};
    use crate::session::store::{Journal, load_session};

    fn sample_session() -> Session {
        sample::sample_session("web-07", vec![sample::sample_run("iops", 100.0, 1.0)])
    }

    fn saved(directory: &Path, name: &str) -> std::path::PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, serialize_session(&sample_session()).unwrap()).unwrap();
        path
    }

    #[test]
    fn note_is_the_only_change_of_a_document() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        let before = std::fs::read(&path).unwrap();
        let edited = |note: &str| edit_note(&path, note).unwrap().unwrap().text;
        std::fs::write(&path, edited(" after the firmware update\x1b[2J ")).unwrap();
        let session = load_session(&path).unwrap();
        let note = session.note.clone().unwrap();
        assert!(note.starts_with("after the firmware update") && !note.contains('\x1b'));
        let unnoted = Session {
            note: None,
            ..session
        };
        assert_eq!(unnoted, sample_session());
        assert!(edit_note(&path, &note).unwrap().is_none());
        assert_eq!(edited(""), before);
        assert!(edit_note(&base.path().join("gone.json"), "x").is_err());
    }

    #[test]
    fn export_keeps_every_byte_of_a_document() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"  \n");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(export_document(&path).unwrap(), text);
    }

    #[test]
    fn deletion_removes_the_file() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        delete_session(&path).unwrap();
        assert!(!path.exists());
        assert!(delete_session(&path).is_err());
    }

    /// The lock decides, not the time at which the run last wrote.
    #[test]
    fn journal_of_a_run_in_progress_is_neither_deleted_nor_edited() {
        let base = tempfile::tempdir().unwrap();
        let session = Session {
            runs: Vec::new(),
            ..sample_session()
        };
        let mut journal = Journal::create(base.path(), "one", &session).unwrap();
        let path = journal.path().to_owned();
        let run = crate::session::document::BenchmarkRun {
            state: RunState::Running,
            ..sample::sample_run("iops", 100.0, 1.0)
        };
        journal.append_progress(&run).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        for refused in [delete_session(&path), edit_note(&path, "x").map(drop)] {
            let error = refused.unwrap_err();
            assert!(matches!(error, StoreError::NotComplete { .. }), "{error}");
        }
        drop(journal);
        let error = edit_note(&path, "x").unwrap_err();
        assert!(matches!(error, StoreError::Journal { .. }), "{error}");
        let exported: Session = serde_json::from_slice(&export_document(&path).unwrap()).unwrap();
        assert_eq!(exported.runs[0].state, RunState::Interrupted);
        // Killed just now.
        delete_session(&path).unwrap();
        assert!(!path.exists());
    }
}
