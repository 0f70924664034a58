//! Single requests: the block layer's trace events, read in binary from a buffer of our own.
//!
//! [`Capture`] makes an instance in tracefs, switches on the events of [`decode::WANTED`] in it,
//! and empties it on a thread of its own. What comes out are [`BlockEvent`]s in order of time;
//! what they mean is the model's business.

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
