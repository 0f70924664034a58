//! Writes a session as JSON.

use std::io;

use crate::session::document::Session;

/// Serializes a document as it is saved.
///
/// # Errors
/// If it cannot be serialized to JSON.
pub fn serialize_session(session: &Session) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(session)?;
    text.push(b'\n');
    Ok(text)
}
