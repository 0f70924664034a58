//! Which files the requests belong to.
//!
//! The block layer does not know files. What does is the thread that submits a bio: the kernel
//! reports which pages it has added to the page cache, for which file its direct I/O is, and which
//! inode it writes back. [`FileTraceCollector`] joins these events with the bios of the same thread
//! to [`CompletedPiece`]s. [`HotFileTable`] sums them up by file, [`SyncTable`] the system calls
//! that wait for writeback. Pure: paths are found by `trace::files`.

mod collector;
mod in_flight;
mod latency_samples;
mod piece;
mod sync_table;
mod table;
mod thread_state;
pub mod view;

pub use self::collector::{
    CollectedBatch, CollectorSettings, FileTraceCollector, JournalChange, Sighting,
};
pub use self::piece::{Access, CompletedPiece, FileHint, FileSystemHint, SyncRecord, Transfer};
pub use self::sync_table::{SyncKey, SyncTable};
pub use self::table::{FileId, FileTotals, HotFileTable};
