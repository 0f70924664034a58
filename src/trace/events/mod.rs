//! Events of single requests and of files, read in binary from a private buffer of the kernel.
//!
//! A [`TraceCapture`] creates an instance in tracefs, enables events of [`catalog::EVENTS`] in it, and reads
//! its buffers on a separate thread. The output is [`Event`]s in order of time.

mod capture;
pub mod catalog;
pub mod decode;
mod error;
pub mod event;
pub mod page;
mod reader;
mod tracefs;

pub(crate) use self::capture::EventRecorder;
pub use self::capture::{CaptureControl, CaptureStatus, TraceCapture};
pub use self::catalog::TraceDetail;
pub use self::error::TraceError;
pub use self::event::{Event, EventKind};
pub use self::tracefs::remove_leftovers;
