//! Recordings: the snapshots of the Live screen stored over time, and their replay.
//!
//! A recording is what `watch --json` prints, compressed: `zcat FILE | jq -c .` reads it. The file is a
//! row of gzip members of at most 60 samples, or 1 MiB before compression. The header of each member is
//! the index of its samples (`member.rs`), so that a reader opens any time of a large recording without
//! decompressing what is before it. The compressed data are flushed after each sample: when the recorder
//! is killed, everything before can be read. Where single requests are recorded, their lines, those of
//! `trace --json`, stand before that of the sample after them.
//!
//! A ring (`ring.rs`) is a directory of such files of which the oldest is deleted. A flight recorder
//! (`flight_recorder.rs`) watches conditions, and collects what a ring keeps around a trigger.

mod error;
mod flight_recorder;
mod line;
mod member;
mod reader;
mod recorded_file;
mod ring;
mod stream;
mod sync_thread;
mod times;
mod trigger;
mod writer;

pub use self::error::{RecordingDamage, RecordingReadError, RecordingWriteError};
pub use self::flight_recorder::{FlightRecorder, TRIGGER_SAMPLE_INTERVAL};
pub use self::member::SampleMark;
pub use self::reader::Recording;
pub use self::ring::RingRecorder;
pub use self::stream::AppendResult;
pub use self::times::{RecordingTimes, ViewTimeError};
pub use self::trigger::{
    AFTER_TRIGGER, BEFORE_TRIGGER, BlockedThread, KeptRequests, Observation, RecordedDiagnosis,
    TriggerMark, TriggerRecord,
};
pub use self::writer::{FileRecorder, Recorder};
