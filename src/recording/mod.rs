//! Recordings: views of the Live screen stored over time, and their replay.
//!
//! A recording holds the views that were shown, not the samples behind them. A view is independent
//! of others: any point in time can be opened without processing those before it, and a replay
//! shows what was shown when recording. [`frame`] describes the file format.

pub mod frame;
mod inflate;
mod reader;
mod replay;
mod view_time;
mod writer;

pub use self::frame::{FrameKind, FrameMark};
pub use self::inflate::ContentError;
pub use self::reader::{Recording, RecordingDamage, RecordingReadError};
pub use self::replay::RecordingCursor;
pub use self::view_time::{RecordingTimes, ViewTimeError};
pub use self::writer::{AppendResult, RecordingWriteError, RecordingWriter};
