//! Which files the requests belong to.
//!
//! The block layer does not know files. What does is the thread that submits a bio: the kernel reports which pages
//! it has added to the page cache, for which file its direct I/O is, and which inode it writes back. `collector`
//! joins these events with the bios of the same thread; `resolver` looks up files and processes as soon as they are
//! seen, because both may be gone a moment later. Both run on the capture's thread: the kernel's buffer holds what
//! happens meanwhile, and what it loses is counted.

mod collector;
mod index;
mod piece;
mod processes;
mod resolver;
mod results;
mod sampling;
mod threads;
mod totals;
pub mod view;
mod volumes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use self::collector::FileTraceCollector;
pub use self::piece::Access;
use self::resolver::Resolver;
use self::sampling::TraceSampling;
use self::view::{HotFilesView, NotRecorded};
use crate::roots::SysPaths;
use crate::trace::events::{
    CaptureControl, CaptureSettings, EventBatch, EventKind, SyncCall, TraceCapture, TraceDetail,
    TraceError,
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
}

/// What was found so far.
#[derive(Debug)]
struct FoundFiles {
    collector: FileTraceCollector,
    resolver: Resolver,
    sampling: TraceSampling,
    /// Start of recording: the preparation before it, which takes long on a slow machine, is no part
    /// of the trace.
    started_ns: Option<u64>,
    ended_ns: u64,
    lost_events: u64,
    end_reason: Option<String>,
}

impl FoundFiles {
    fn new(roots: &SysPaths) -> Self {
        let resolver = Resolver::new(roots);
        Self {
            collector: FileTraceCollector::new(resolver.collector_settings()),
            resolver,
            sampling: TraceSampling::default(),
            started_ns: None,
            ended_ns: 0,
            lost_events: 0,
            end_reason: None,
        }
    }

    fn add(&mut self, batch: EventBatch<'_>) -> CaptureControl {
        self.resolver
            .add_batch(&self.collector.add_batch(batch.events));
        self.started_ns.get_or_insert(batch.complete_since);
        self.ended_ns = batch.complete_until;
        self.lost_events = batch.lost_events;
        self.end_reason = batch.end_reason();
        let (since, until) = (batch.complete_since, batch.complete_until);
        self.sampling.after_batch(since, until, thread_cpu_ns())
    }

    fn view(&mut self, not_recorded: Vec<NotRecorded>, search_time: Duration) -> HotFilesView {
        let started_ns = self.started_ns.unwrap_or(self.ended_ns);
        HotFilesView {
            duration_ns: self.ended_ns.saturating_sub(started_ns),
            recorded_ns: self.sampling.recorded_ns(),
            events_lost: self.lost_events,
            not_recorded,
            ..self.resolver.view(search_time)
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
        let found = Arc::new(Mutex::new(FoundFiles::new(roots)));
        let settings = CaptureSettings {
            detail: TraceDetail::Files,
            ..CaptureSettings::default()
        };
        let sink = Arc::clone(&found);
        let capture = TraceCapture::start(roots, &settings, move |batch| {
            let next = lock(&sink).add(batch);
            match recorded {
                RecordedTime::WithinCpuLimit => next,
                RecordedTime::All => CaptureControl::Continue,
            }
        })?;
        Ok(Self { capture, found })
    }

    /// Waits for this time. Returns false when the kernel has ended the trace.
    #[must_use]
    pub fn follow(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        self.end_reason().is_none()
    }

    /// What was found so far. Directories are not searched.
    #[must_use]
    pub fn view(&self) -> HotFilesView {
        lock(&self.found).view(not_recorded(&self.capture), Duration::ZERO)
    }

    /// Why the kernel has ended the trace, if it did.
    #[must_use]
    pub fn end_reason(&self) -> Option<String> {
        lock(&self.found).end_reason.clone()
    }

    /// Ends the trace. Returns the result, and why the kernel ended the trace, if it did.
    #[must_use]
    pub fn finish(self) -> (HotFilesView, Option<String>) {
        let not_recorded = not_recorded(&self.capture);
        self.capture.stop();
        let mut found = lock(&self.found);
        let view = found.view(not_recorded, results::SEARCH_TIME);
        (view, found.end_reason.take())
    }
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

/// What the kernel does not report.
fn not_recorded(capture: &TraceCapture) -> Vec<NotRecorded> {
    let direct = [EventKind::DirectStarted, EventKind::DirectMapped];
    let fsync = EventKind::CallStarted(SyncCall::Fsync);
    let all = [
        (
            NotRecorded::PageCache,
            capture.records(EventKind::PageAdded),
        ),
        (
            NotRecorded::PageFaults,
            capture.records(EventKind::PageFault),
        ),
        (
            NotRecorded::DirectIo,
            direct.iter().any(|kind| capture.records(*kind)),
        ),
        (NotRecorded::SystemCalls, capture.records(fsync)),
    ];
    let missing = all.into_iter().filter(|(_, is_recorded)| !is_recorded);
    missing.map(|(what, _)| what).collect()
}
