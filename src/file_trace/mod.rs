//! Traces which files the requests belong to: passes the probe's events through the model's
//! collector, and finds the paths.
//!
//! The events are joined on the thread that reads them. Files and processes are looked up on the
//! caller's thread, as soon as they are seen: both may be gone a moment later.

mod index;
mod processes;
mod resolver;
mod results;
mod sampling;
mod volumes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use self::resolver::Resolver;
use self::sampling::TraceSampling;
use crate::model::hot_files::view::{HotFilesView, NotRecorded};
use crate::model::hot_files::{CollectedBatch, FileTraceCollector};
use crate::probe::boot_time;
use crate::probe::trace::enabled::EventKind;
use crate::probe::trace::file_event::{FileEventType, SyncCall};
use crate::probe::trace::{
    CaptureControl, CaptureDetail, CaptureSettings, EventBatch, TraceCapture, TraceError,
};
use crate::roots::SysPaths;

/// Capacity of the queue of batches. If files are looked up slower than they are used, the kernel's
/// buffer fills up next, and the events that it loses are counted.
const QUEUE_BATCHES: usize = 1024;

/// The start of a trace may take this long.
const START_ALLOWANCE_NS: u64 = 100_000_000;

/// The part of the time that is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordedTime {
    /// As much as a limit of the trace's own processor time allows (see `recorded_ns` of the view).
    #[default]
    WithinCpuLimit,
    /// All of it, whatever that costs.
    All,
}

/// What the thread of the capture passes on.
struct TracedBatch {
    collected: CollectedBatch,
    lost_events: u64,
    complete_until: u64,
    recorded_ns: u64,
    end_reason: Option<String>,
}

/// A trace of files in progress.
#[derive(Debug)]
pub struct FileTrace {
    batches: Receiver<TracedBatch>,
    capture: TraceCapture,
    resolver: Resolver,
    started_ns: u64,
    ended_ns: u64,
    recorded_ns: u64,
    lost_events: u64,
    end_reason: Option<String>,
    /// Processor time of the caller's thread for this trace, in nanoseconds.
    resolver_cpu_ns: Arc<AtomicU64>,
}

impl FileTrace {
    /// Starts a trace of all mounted file systems.
    ///
    /// # Errors
    ///
    /// When requests cannot be traced, and why.
    pub fn start(roots: &SysPaths, recorded: RecordedTime) -> Result<Self, TraceError> {
        let mut resolver = Resolver::new(roots);
        let mut collector = FileTraceCollector::new(resolver.collector_settings());
        let settings = CaptureSettings {
            detail: CaptureDetail::Files,
            ..CaptureSettings::default()
        };
        let (sender, batches) = sync_channel(QUEUE_BATCHES);
        let started_ns = nanoseconds(boot_time());
        let resolver_cpu_ns = Arc::new(AtomicU64::new(0));
        let beside = Arc::clone(&resolver_cpu_ns);
        let mut sampling = TraceSampling::default();
        let capture = TraceCapture::start(roots, &settings, move |batch: EventBatch<'_>| {
            let collected = collector.add_batch(batch.events, batch.file_events);
            let cpu_ns = thread_cpu_ns() + beside.load(Ordering::Relaxed);
            let next = sampling.after_batch(batch.complete_since, batch.complete_until, cpu_ns);
            // The receiver is gone once the trace was dropped.
            let _ = sender.send(TracedBatch {
                collected,
                lost_events: batch.lost_events,
                complete_until: batch.complete_until,
                recorded_ns: sampling.recorded_ns(),
                end_reason: batch
                    .end_error
                    .map(|error| format!("the kernel has ended the trace: {error}")),
            });
            match recorded {
                RecordedTime::WithinCpuLimit => next,
                RecordedTime::All => CaptureControl::Continue,
            }
        })?;
        let not_recorded = not_recorded(&capture);
        resolver.set_direct_io_recorded(!not_recorded.contains(&NotRecorded::DirectIo));
        Ok(Self {
            batches,
            capture,
            resolver,
            started_ns,
            ended_ns: started_ns,
            recorded_ns: 0,
            lost_events: 0,
            end_reason: None,
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
                    self.add(batch);
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
        self.end_reason.is_none()
    }

    fn add(&mut self, batch: TracedBatch) {
        self.resolver.add_batch(batch.collected);
        self.lost_events = batch.lost_events;
        self.ended_ns = batch.complete_until;
        self.recorded_ns = batch.recorded_ns;
        if batch.end_reason.is_some() {
            self.end_reason = batch.end_reason;
        }
    }

    /// What was found so far.
    #[must_use]
    pub fn view(&mut self) -> HotFilesView {
        let view = self.resolver.interim_view();
        self.complete_view(view)
    }

    /// Why the kernel has ended the trace, if it did.
    #[must_use]
    pub fn end_reason(&self) -> Option<&str> {
        self.end_reason.as_deref()
    }

    fn complete_view(&self, view: HotFilesView) -> HotFilesView {
        let duration_ns = self.ended_ns.saturating_sub(self.started_ns);
        HotFilesView {
            duration_ns,
            recorded_ns: recorded_ns(duration_ns, self.recorded_ns),
            events_lost: self.lost_events,
            not_recorded: not_recorded(&self.capture),
            ..view
        }
    }

    /// Ends the trace. Returns the result, and why the kernel ended the trace, if it did.
    #[must_use]
    pub fn finish(mut self) -> (HotFilesView, Option<String>) {
        let not_recorded = not_recorded(&self.capture);
        let Self { capture, .. } = self;
        // The capture's thread delivers its last batches and must not block on a full channel.
        let stopper = std::thread::spawn(move || capture.stop());
        while let Ok(batch) = self.batches.recv() {
            self.resolver.add_batch(batch.collected);
            self.lost_events = batch.lost_events;
            self.ended_ns = batch.complete_until;
            self.recorded_ns = batch.recorded_ns;
            self.end_reason = self.end_reason.or(batch.end_reason);
        }
        // The thread ended with the capture, whose panic has been reported.
        let _ = stopper.join();
        let duration_ns = self.ended_ns.saturating_sub(self.started_ns);
        let view = HotFilesView {
            duration_ns,
            recorded_ns: recorded_ns(duration_ns, self.recorded_ns),
            events_lost: self.lost_events,
            not_recorded,
            ..self.resolver.into_view()
        };
        (view, self.end_reason)
    }
}

/// The recorded part of a time. Starting and the last moments that are not complete yet are no
/// sampling.
fn recorded_ns(duration_ns: u64, recorded_ns: u64) -> u64 {
    match duration_ns.saturating_sub(recorded_ns) {
        left if left < duration_ns / 50 + START_ALLOWANCE_NS => duration_ns,
        _ => recorded_ns,
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
    let records = |event_type| capture.records(EventKind::File(event_type));
    let has_calls = records(FileEventType::CallStarted(SyncCall::Fsync))
        || records(FileEventType::AnyCallStarted);
    let all = [
        (NotRecorded::PageCache, records(FileEventType::PageAdded)),
        (NotRecorded::PageFaults, records(FileEventType::PageFault)),
        (NotRecorded::DirectIo, records(FileEventType::DirectStarted)),
        (NotRecorded::SystemCalls, has_calls),
    ];
    let missing = all.into_iter().filter(|(_, is_recorded)| !is_recorded);
    missing.map(|(what, _)| what).collect()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
