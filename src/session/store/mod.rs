//! Journals and documents of sessions: written, read, listed, changed, deleted.

mod directory;
mod edit;
mod error;
mod journal;
mod read;
#[cfg(test)]
mod tests;

pub use self::directory::{list_sessions, sessions_directory};
pub use self::edit::{
    MAX_NOTE_CHARS, delete_session, export_document, serialize_session, set_note,
};
pub use self::error::{SessionFormatError, StoreError};
pub use self::journal::Journal;
pub use self::read::{load_session, load_session_with_id, load_sessions, parse_session};
