//! Sessions on disk: the journal during a run, the document afterwards.
//!
//! A journal is a file of JSON lines: first the session without its runs, then the state of the
//! run, repeatedly; the last complete line counts. Killing the program loses what follows that
//! line. When the run ends, the document replaces the journal.

mod directory;
mod edit;
mod error;
mod format_error;
mod journal;
mod read;
mod serialize;
#[cfg(test)]
mod tests;

pub use self::directory::{list_sessions, sessions_directory};
pub use self::edit::{EditedDocument, MAX_NOTE_CHARS, delete_session, edit_note, export_document};
pub use self::error::{StoreError, TooLargeTogether, check_total_size};
pub use self::format_error::SessionFormatError;
pub use self::journal::Journal;
pub use self::read::{ReadBudget, load_session, load_session_with_id, parse_session};
pub use self::serialize::serialize_session;
