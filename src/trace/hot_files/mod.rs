//! Which files the requests belong to.
//!
//! The block layer does not know files. What does is the thread that submits a bio: the kernel reports which pages
//! it has added to the page cache, for which file its direct I/O is, and which inode it writes back. `tracker`
//! joins these events with the bios of the same thread, on the capture's thread: the kernel's buffer holds what
//! happens meanwhile, and what it loses is counted.

mod files;
mod processes;
mod results;
mod sampling;
mod threads;
mod totals;
mod tracker;
pub mod view;
mod volumes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use self::sampling::TraceSampling;
use self::tracker::FileTracker;
pub use self::view::Access;
use self::view::HotFilesView;
use self::volumes::Volumes;
use crate::roots::SysPaths;
use crate::trace::events::{
    CaptureControl, CaptureStatus, Event, EventKind, TraceCapture, TraceDetail, TraceError,
};

/// The part of the time that is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordedTime {
    /// As much as a limit of the trace's own processor time allows (see `recorded_ns` of the view).
    #[default]
    WithinCpuLimit,
    /// All of it, whatever that costs.
    All,
}

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
    sampling: TraceSampling,
    /// Start of recording: the preparation before it, which takes long on a slow machine, is no part
    /// of the trace.
    started_ns: Option<u64>,
    status: CaptureStatus,
}

impl FoundFiles {
    fn add(&mut self, events: &[Event], status: &CaptureStatus) -> CaptureControl {
        for event in events {
            self.tracker.add_event(event);
        }
        self.started_ns.get_or_insert(status.complete_since);
        self.status = status.clone();
        let (since, until) = (status.complete_since, status.complete_until);
        self.sampling.after_batch(since, until, thread_cpu_ns())
    }

    fn view(&mut self, not_recorded: &[&'static str]) -> HotFilesView {
        let ended_ns = self.status.complete_until;
        let started_ns = self.started_ns.unwrap_or(ended_ns);
        HotFilesView {
            duration_ns: ended_ns.saturating_sub(started_ns),
            recorded_ns: self.sampling.recorded_ns(),
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
    pub fn start(roots: &SysPaths, recorded: RecordedTime) -> Result<Self, TraceError> {
        let found = Arc::new(Mutex::new(FoundFiles {
            tracker: FileTracker::new(roots, Volumes::find(roots)),
            sampling: TraceSampling::default(),
            started_ns: None,
            status: CaptureStatus::default(),
        }));
        let sink = Arc::clone(&found);
        let capture =
            TraceCapture::start(roots, &[], TraceDetail::Files, move |events, status| {
                let next = lock(&sink).add(events, status);
                match recorded {
                    RecordedTime::WithinCpuLimit => next,
                    RecordedTime::All => CaptureControl::Continue,
                }
            })?;
        Ok(Self {
            not_recorded: not_recorded(capture.kinds()),
            capture,
            found,
        })
    }

    /// Waits for this time. Returns false when the kernel has ended the trace.
    #[must_use]
    pub fn follow(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        self.end_reason().is_none()
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
    let has_calls = kinds
        .iter()
        .any(|kind| matches!(kind, EventKind::CallStarted(_)));
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
        (
            has_calls,
            "system calls: fsync and similar calls are missing",
        ),
    ];
    let missing = all.into_iter().filter(|(is_recorded, _)| !is_recorded);
    missing.map(|(_, text)| text).collect()
}

fn lock(found: &Mutex<FoundFiles>) -> MutexGuard<'_, FoundFiles> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this thread in nanoseconds.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
