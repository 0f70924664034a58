//! What the user was shown. A key answers a question only after a frame with this question, and a key
//! that was typed before that frame answers nothing.
//!
//! The event loop draws a frame when no earlier input is left, and reports it
//! ([`AppEvent::FrameShown`]). A question that was opened since then, or exchanged for another one, is
//! not shown. A key that arrives within a tenth of a second was typed before: the loop then reports
//! that the frame is lost, and draws another one.
//!
//! [`AppEvent::FrameShown`]: super::AppEvent::FrameShown

use std::path::PathBuf;

use super::dialog::Dialog;

/// What a frame consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnFrame {
    /// The screen.
    Screen,
    /// Only the message that the terminal is too small.
    TooSmall,
}

/// A question that a single key answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenQuestion {
    /// A dialog that confirms or chooses.
    Dialog(Dialog),
    /// Whether this session is deleted.
    Deletion(PathBuf),
}

/// What the user was shown last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownFrame {
    /// The screen, with this question if one was open.
    Screen(Option<OpenQuestion>),
    /// Only the message that the terminal is too small.
    TooSmall,
}

impl Default for ShownFrame {
    fn default() -> Self {
        Self::Screen(None)
    }
}
