//! Single requests: the block layer's trace events, read in binary from a private buffer.
//!
//! A [`TraceCapture`] creates an instance in tracefs, enables the events of
//! [`decode::ENABLED_EVENTS`] in it, and reads its buffers on a separate thread. The output is
//! [`BlockEvent`]s in order of time; the model interprets them.

mod capture;
pub mod decode;
mod error;
pub mod event;
pub mod format;
mod instance;
mod leftovers;
mod names;
pub mod page;
mod ring_reader;
mod tracefs;

pub use self::capture::{CaptureControl, CaptureSettings, EventBatch, TraceCapture};
pub use self::error::TraceError;
pub use self::event::{BlockEvent, RequestStep};
pub use self::leftovers::remove_leftovers;
