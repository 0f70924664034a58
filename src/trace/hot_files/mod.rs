//! Which files the requests belong to.
//!
//! The block layer does not know files. What does is the thread that submits a bio: the kernel reports which pages
//! it has added to the page cache, for which file its direct I/O is, and which inode it writes back. `collector`
//! joins these events with the bios of the same thread, on the thread that reads them. Files and processes are
//! looked up on the caller's thread (`resolver`), as soon as they are seen: both may be gone a moment later.

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

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use self::collector::{CollectedBatch, FileTraceCollector};
pub use self::piece::Access;
use self::resolver::Resolver;
use self::sampling::TraceSampling;
use self::view::{HotFilesView, NotRecorded};
use crate::roots::SysPaths;
use crate::trace::events::{
    CaptureControl, CaptureSettings, EventBatch, EventKind, SyncCall, TraceCapture, TraceDetail,
    TraceError,
};

/// Capacity of the queue of batches. If files are looked up slower than they are used, the kernel's
/// buffer fills up next, and the events that it loses are counted.
const QUEUE_BATCHES: usize = 1024;

/// The part of the time that is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordedTime {
    /// As much as a limit of the trace's own processor time allows (see `recorded_ns` of the view).
    #[default]
    WithinCpuLimit,
    /// All of it, whatever that costs.
    All,
}

/// How far the trace has come.
#[derive(Debug, Default)]
struct TraceStatus {
    complete_since: u64,
    complete_until: u64,
    recorded_ns: u64,
    lost_events: u64,
    end_reason: Option<String>,
}

/// A trace of files in progress.
#[derive(Debug)]
pub struct FileTrace {
    batches: Receiver<(CollectedBatch, TraceStatus)>,
    capture: TraceCapture,
    found: FoundFiles,
    /// Processor time of the caller's thread for this trace, in nanoseconds.
    resolver_cpu_ns: Arc<AtomicU64>,
}

/// What was found so far.
#[derive(Debug)]
struct FoundFiles {
    resolver: Resolver,
    not_recorded: Vec<NotRecorded>,
    /// Start of recording: the preparation before it, which takes long on a slow machine, is no part
    /// of the trace.
    started_ns: Option<u64>,
    status: TraceStatus,
}

impl FoundFiles {
    fn add(&mut self, (collected, status): (CollectedBatch, TraceStatus)) {
        self.started_ns.get_or_insert(status.complete_since);
        self.status = status;
        self.resolver.add_batch(&collected);
    }

    fn view(&mut self, search_time: Duration) -> HotFilesView {
        let ended_ns = self.status.complete_until;
        let started_ns = self.started_ns.unwrap_or(ended_ns);
        HotFilesView {
            duration_ns: ended_ns.saturating_sub(started_ns),
            recorded_ns: self.status.recorded_ns,
            events_lost: self.status.lost_events,
            not_recorded: self.not_recorded.clone(),
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
        let resolver = Resolver::new(roots);
        let mut collector = FileTraceCollector::new(resolver.collector_settings());
        let settings = CaptureSettings {
            detail: TraceDetail::Files,
            ..CaptureSettings::default()
        };
        let (sender, batches) = sync_channel(QUEUE_BATCHES);
        let resolver_cpu_ns = Arc::new(AtomicU64::new(0));
        let beside = Arc::clone(&resolver_cpu_ns);
        let mut sampling = TraceSampling::default();
        let capture = TraceCapture::start(roots, &settings, move |batch: EventBatch<'_>| {
            let collected = collector.add_batch(batch.events);
            let cpu_ns = thread_cpu_ns() + beside.load(Ordering::Relaxed);
            let next = sampling.after_batch(batch.complete_since, batch.complete_until, cpu_ns);
            let status = TraceStatus {
                complete_since: batch.complete_since,
                complete_until: batch.complete_until,
                recorded_ns: sampling.recorded_ns(),
                lost_events: batch.lost_events,
                end_reason: batch.end_reason(),
            };
            // The receiver is gone once the trace was dropped.
            let _ = sender.send((collected, status));
            match recorded {
                RecordedTime::WithinCpuLimit => next,
                RecordedTime::All => CaptureControl::Continue,
            }
        })?;
        let found = FoundFiles {
            resolver,
            not_recorded: not_recorded(&capture),
            started_ns: None,
            status: TraceStatus::default(),
        };
        Ok(Self {
            batches,
            capture,
            found,
            resolver_cpu_ns,
        })
    }

    /// Processes what arrives in this time. Returns false when the kernel has ended the trace.
    pub fn follow(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.batches.recv_timeout(left) {
                Ok(batch) => {
                    let before = thread_cpu_ns();
                    self.found.add(batch);
                    let spent = thread_cpu_ns().saturating_sub(before);
                    self.resolver_cpu_ns.fetch_add(spent, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            if left.is_zero() {
                break;
            }
        }
        self.end_reason().is_none()
    }

    /// What was found so far. Directories are not searched.
    #[must_use]
    pub fn view(&mut self) -> HotFilesView {
        self.found.view(Duration::ZERO)
    }

    /// Why the kernel has ended the trace, if it did.
    #[must_use]
    pub fn end_reason(&self) -> Option<&str> {
        self.found.status.end_reason.as_deref()
    }

    /// Ends the trace. Returns the result, and why the kernel ended the trace, if it did.
    #[must_use]
    pub fn finish(self) -> (HotFilesView, Option<String>) {
        let Self {
            batches,
            capture,
            mut found,
            ..
        } = self;
        // The capture's thread delivers its last batches and must not block on a full channel.
        let stopper = std::thread::spawn(move || capture.stop());
        while let Ok(batch) = batches.recv() {
            found.add(batch);
        }
        // The thread ended with the capture, whose panic has been reported.
        let _ = stopper.join();
        (found.view(results::SEARCH_TIME), found.status.end_reason)
    }
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
