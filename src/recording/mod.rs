//! Views of the Live screen kept over time, and walked through afterwards.
//!
//! What is kept is the view that was shown, not the sample behind it: a view stands for itself, so
//! that any moment can be opened without working through those before it, and what is drawn later
//! is what was drawn then. [`frame`] says how the file is laid out.

pub mod frame;
mod inflate;
mod reader;
mod replay;
mod writer;

pub use self::frame::{FrameKind, FrameMark};
pub use self::reader::{Recording, RecordingDamage, RecordingReadError};
pub use self::replay::RecordingCursor;
pub use self::writer::{AppendResult, RecordingWriteError, RecordingWriter};
