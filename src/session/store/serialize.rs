//! Writes a session as JSON.

use std::io;

use super::format_error::is_readable_length;
use crate::session::document::Session;

/// Serializes a document as it is saved: indented, or on one line where the indented text would be
/// longer than this program reads.
///
/// # Errors
/// If it cannot be serialized to JSON.
pub fn serialize_session(session: &Session) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(session)?;
    text.push(b'\n');
    if !is_readable_length(text.len()) {
        text = serde_json::to_vec(session)?;
        text.push(b'\n');
    }
    Ok(text)
}
