//! Recordings: views of the Live screen stored over time, and their replay.
//!
//! A recording holds the views that were shown, not the samples behind them. A view is independent
//! of others: any point in time can be opened without processing those before it, and a replay
//! shows what was shown when recording. [`frame`] describes the file format, [`ring`] that of a
//! recording that overwrites its oldest part.

pub mod frame;
mod index;
mod inflate;
mod reader;
mod replay;
pub mod ring;
#[cfg(test)]
mod ring_damage_tests;
mod ring_file;
mod ring_segments;
#[cfg(test)]
mod ring_tests;
mod ring_writer;
mod scan;
mod sync_thread;
mod trigger;
mod view_time;
mod writer;

pub use self::frame::{FrameKind, FrameMark};
pub use self::index::{RecordingDamage, RecordingReadError};
pub use self::inflate::ContentError;
pub use self::reader::Recording;
pub use self::replay::RecordingCursor;
pub use self::ring_writer::{RequestLines, RingWriter};
pub use self::trigger::{
    AFTER_TRIGGER, BEFORE_TRIGGER, BlockedThread, FurtherTrigger, KeptRequests,
    LONGEST_AFTER_TRIGGER, RecordedDiagnosis, TriggerMark, TriggerRecord,
};
pub use self::view_time::{RecordingTimes, ViewTimeError};
pub use self::writer::{AppendResult, RecordingWriteError, RecordingWriter};
