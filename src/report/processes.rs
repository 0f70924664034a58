//! Processes as text.

use std::borrow::Cow;

use crate::model::snapshot::ProcessView;

/// The command line, or whose ended children a line describes.
#[must_use]
pub fn command_text(process: &ProcessView) -> Cow<'_, str> {
    if process.is_ended_children() {
        Cow::Owned(format!("ended children of {}", process.command))
    } else {
        Cow::Borrowed(&process.command)
    }
}
