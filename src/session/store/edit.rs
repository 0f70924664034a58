//! Changes to saved sessions, and copies of them: notes, export, deletion.

use std::path::Path;

use super::directory::{is_journal, open_private_directory};
use super::error::{StoreError, io_error};
use super::read::{StoredKind, load_stored};
use crate::files::input::{self, InputKind};
use crate::files::safe_text::SafeText;
use crate::files::{output, state};
use crate::session::document::Session;

/// Maximum length of a note in characters.
pub const MAX_NOTE_CHARS: usize = 500;

/// The text of a session file.
///
/// # Errors
/// If a value cannot be written as JSON.
pub fn serialize_session(session: &Session) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(session)?;
    text.push(b'\n');
    Ok(text)
}

/// Stores a note in a saved session, or removes it when `note` is empty. The file is replaced as every
/// output that the user names; nothing is written if the note is there already.
///
/// # Errors
/// If the session cannot be read or written, or is a journal.
pub fn set_note(path: &Path, note: &str) -> Result<(), StoreError> {
    let stored = load_stored(path)?;
    if let StoredKind::Journal { is_running } = stored.kind {
        let path = path.to_owned();
        return Err(if is_running {
            StoreError::NotComplete { path }
        } else {
            StoreError::Journal { path }
        });
    }
    let note: String = note.trim().chars().take(MAX_NOTE_CHARS).collect();
    let note = (!note.is_empty()).then(|| SafeText::from(note));
    let mut session = stored.session;
    if note == session.note {
        return Ok(());
    }
    session.note = note;
    let text = serialize_session(&session).map_err(io_error("edit", path))?;
    Ok(output::replace_file(path, stored.id, &text)?)
}

/// The document of a saved session or of what a journal holds, for a copy.
///
/// # Errors
/// If the session cannot be read.
pub fn export_document(path: &Path) -> Result<Vec<u8>, StoreError> {
    serialize_session(&load_stored(path)?.session).map_err(io_error("write", path))
}

/// Deletes a saved session.
///
/// # Errors
/// If it cannot be deleted, or belongs to a run in progress.
pub fn delete_session(path: &Path) -> Result<(), StoreError> {
    if is_journal(path) && is_running(path)? {
        let path = path.to_owned();
        return Err(StoreError::NotComplete { path });
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default();
    open_private_directory(directory)?.unlink(name)?;
    Ok(())
}

/// Whether a journal belongs to a run in progress, however long ago the run has written to it.
fn is_running(journal: &Path) -> Result<bool, StoreError> {
    match input::open_input(journal, InputKind::RegularFile) {
        Ok((file, _)) => Ok(state::is_locked(&file)),
        // A run writes to a file, not to what somebody else has given this name.
        Err(error) if error.is_usage() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
