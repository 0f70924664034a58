//! Single requests: the block layer's trace events, read in binary from a private buffer.
//!
//! A [`TraceCapture`] creates an instance in tracefs, enables the events of
//! [`enabled::ENABLED_EVENTS`] in it, and reads its buffers on a separate thread. The output is
//! [`BlockEvent`]s and [`FileEvent`](file_event::FileEvent)s, each in order of time; the model
//! interprets them.

mod capture;
pub mod decode;
pub mod enabled;
mod error;
pub mod event;
mod file_decode;
pub mod file_event;
pub mod format;
mod instance;
mod leftovers;
mod names;
pub mod page;
mod retained;
mod ring_reader;
mod tracefs;

pub use self::capture::{CaptureControl, CaptureDetail, CaptureSettings, EventBatch, TraceCapture};
pub use self::error::TraceError;
pub use self::event::{BlockEvent, RequestStep};
pub use self::leftovers::remove_leftovers;
pub use self::retained::{RetainedSpan, RetainedTrace};
