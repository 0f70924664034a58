//! Changes to saved sessions, and copies of them: notes, export, deletion.

use std::io;
use std::path::Path;

use super::directory::{is_journal, open_private_directory};
use super::error::{StoreError, io_error};
use super::format_error::is_readable_length;
use super::members;
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
    /// The whole text, in which nothing but the change differs.
    pub text: String,
}

/// A saved session with a note, or without one when `note` is empty. `None` if it is that already.
///
/// # Errors
/// If the session cannot be read, is a journal, or would be longer than this program reads.
pub fn edit_note(path: &Path, note: &str) -> Result<Option<EditedDocument>, StoreError> {
    let stored = load_stored(path)?;
    let document = match stored.source {
        SessionSource::Document(document) => document,
        SessionSource::Journal { is_running } => return Err(journal_error(path, is_running)),
    };
    let note: String = note.trim().chars().take(MAX_NOTE_CHARS).collect();
    let note = (!note.is_empty()).then(|| SafeText::from(note));
    if note == stored.session.note {
        return Ok(None);
    }
    let document = String::from_utf8(document)
        .map_err(|error| io_error("edit", path)(io::Error::other(error.utf8_error())))?;
    let text = members::with_note(&document, note.as_ref())
        .ok_or_else(|| io_error("edit", path)(io::ErrorKind::InvalidData.into()))?;
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

    fn edited(path: &Path, note: &str) -> String {
        edit_note(path, note).unwrap().unwrap().text
    }

    #[test]
    fn note_is_the_only_change_of_a_document() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, edited(&path, " after the firmware update\x1b[2J ")).unwrap();
        let session = load_session(&path).unwrap();
        let note = session.note.clone().unwrap();
        assert!(note.starts_with("after the firmware update") && !note.contains('\x1b'));
        // As this program writes such a session.
        let written = serialize_session(&session).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), written);
        assert!(edit_note(&path, &note).unwrap().is_none());
        assert_eq!(edited(&path, ""), before);
        assert!(edit_note(&base.path().join("gone.json"), "x").is_err());
    }

    #[test]
    fn note_and_export_keep_unknown_fields_and_layout() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        let mut document: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        document["ticket"] = "OPS-1234".into();
        document["host"]["serial"] = "SN1".into();
        document["runs"][0]["site"] = serde_json::json!({ "rack": "B7" });
        for text in [
            document.to_string(),
            serde_json::to_string_pretty(&document).unwrap(),
        ] {
            std::fs::write(&path, &text).unwrap();
            let noted = edited(&path, "new");
            let line = noted.lines().find(|line| line.contains("note")).unwrap();
            let added = match line == noted {
                true => ",\"note\":\"new\"".len(),
                false => line.len() + 1,
            };
            assert_eq!(noted.len(), text.len() + added, "{line}");
            let mut with_note = document.clone();
            with_note["note"] = "new".into();
            let parsed: serde_json::Value = serde_json::from_str(&noted).unwrap();
            assert_eq!(parsed, with_note);
            assert_eq!(export_document(&path).unwrap(), text.as_bytes());
        }
    }

    /// White space brings a document to the length of the longest that is read.
    #[test]
    fn note_that_makes_a_document_too_long_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = saved(base.path(), "a.json");
        let mut text = std::fs::read(&path).unwrap();
        text.resize((64 << 20) - 1, b' ');
        std::fs::write(&path, text).unwrap();
        load_session(&path).unwrap();
        let error = edit_note(&path, "x").unwrap_err();
        assert!(matches!(error, StoreError::TooLong { .. }), "{error}");
        assert!(error.to_string().contains("64 MiB"), "{error}");
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
