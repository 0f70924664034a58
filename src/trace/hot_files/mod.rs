//! Which files the requests belong to.
//!
//! The block layer does not know files. What does is the thread that submits a bio: the kernel reports which pages
//! it has added to the page cache, for which file its direct I/O is, and which inode it writes back. `tracker`
//! joins these events with the bios of the same thread, on the capture's thread: the kernel's buffer holds what
//! happens meanwhile, and what it loses is counted.

mod files;
mod processes;
mod results;
mod threads;
mod totals;
mod tracker;
pub mod view;
mod volumes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::tracker::FileTracker;
pub use self::view::Access;
use self::view::HotFilesView;
use self::volumes::Volumes;
use crate::roots::SysPaths;
use crate::trace::events::{
    CaptureControl, CaptureStatus, EventKind, TraceCapture, TraceDetail, TraceError,
};

/// A trace of files in progress.
#[derive(Debug)]
pub struct FileTrace {
    capture: TraceCapture,
    found: Arc<Mutex<FoundFiles>>,
    not_recorded: Vec<&'static str>,
}

/// What was found so far.
#[derive(Debug)]
struct FoundFiles {
    tracker: FileTracker,
    status: CaptureStatus,
}

impl FoundFiles {
    fn view(&mut self, not_recorded: &[&'static str]) -> HotFilesView {
        let status = &self.status;
        HotFilesView {
            duration_ns: status.complete_until.saturating_sub(status.complete_since),
            events_lost: self.status.lost_events,
            not_recorded: not_recorded.to_vec(),
            ..self.tracker.view()
        }
    }
}

impl FileTrace {
    /// Starts a trace of all mounted file systems.
    ///
    /// # Errors
    ///
    /// When requests cannot be traced, and why.
    pub fn start(roots: &SysPaths) -> Result<Self, TraceError> {
        let found = Arc::new(Mutex::new(FoundFiles {
            tracker: FileTracker::new(roots, Volumes::find(roots)),
            status: CaptureStatus::default(),
        }));
        let sink = Arc::clone(&found);
        let capture =
            TraceCapture::start(roots, &[], TraceDetail::Files, move |events, status| {
                let mut found = lock(&sink);
                for event in events {
                    found.tracker.add_event(event);
                }
                found.status = status.clone();
                CaptureControl::Continue
            })?;
        Ok(Self {
            not_recorded: not_recorded(capture.kinds()),
            capture,
            found,
        })
    }

    /// What was found so far.
    #[must_use]
    pub fn view(&self) -> HotFilesView {
        lock(&self.found).view(&self.not_recorded)
    }

    /// Why the kernel has ended the trace, if it did.
    #[must_use]
    pub fn end_reason(&self) -> Option<String> {
        lock(&self.found).status.end_reason.clone()
    }

    /// Ends the trace. Returns the result, and why the kernel ended the trace, if it did.
    #[must_use]
    pub fn finish(self) -> (HotFilesView, Option<String>) {
        self.capture.stop();
        let mut found = lock(&self.found);
        let view = found.view(&self.not_recorded);
        (view, found.status.end_reason.take())
    }
}

/// What the kernel does not report.
fn not_recorded(kinds: &[EventKind]) -> Vec<&'static str> {
    let has = |kind: EventKind| kinds.contains(&kind);
    let all = [
        (
            has(EventKind::PageAdded),
            "buffered reads: their files are unknown",
        ),
        (
            has(EventKind::PageFault),
            "page faults: mmap reads are counted as buffered",
        ),
        (
            has(EventKind::DirectStarted),
            "direct I/O: its files are unknown",
        ),
    ];
    let missing = all.into_iter().filter(|(is_recorded, _)| !is_recorded);
    missing.map(|(_, text)| text).collect()
}

fn lock(found: &Mutex<FoundFiles>) -> MutexGuard<'_, FoundFiles> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}
