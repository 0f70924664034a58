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
use crate::roots::SysPaths;
use crate::trace::events::enabled::EventKind;
use crate::trace::events::file_event::{FileEventType, SyncCall};
use crate::trace::events::{
    CaptureControl, CaptureDetail, CaptureSettings, EventBatch, TraceCapture, TraceError,
};
use crate::trace::hot_files::view::{HotFilesView, NotRecorded};
use crate::trace::hot_files::{CollectedBatch, FileTraceCollector};

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

/// What the thread of the capture passes on.
struct TracedBatch {
    collected: CollectedBatch,
    lost_events: u64,
    complete_since: u64,
    complete_until: u64,
    recorded_ns: u64,
    end_reason: Option<String>,
}

/// The time that a trace covers, and what it lost.
#[derive(Debug, Default)]
struct TraceExtent {
    /// Start of recording: the preparation before it, which takes long on a slow machine, is no part
    /// of the trace.
    started_ns: Option<u64>,
    ended_ns: u64,
    recorded_ns: u64,
    lost_events: u64,
    end_reason: Option<String>,
}

impl TraceExtent {
    fn add(&mut self, batch: &mut TracedBatch) {
        self.started_ns.get_or_insert(batch.complete_since);
        self.ended_ns = batch.complete_until;
        self.recorded_ns = batch.recorded_ns;
        self.lost_events = batch.lost_events;
        self.end_reason = self.end_reason.take().or(batch.end_reason.take());
    }

    fn complete_view(&self, view: HotFilesView, not_recorded: Vec<NotRecorded>) -> HotFilesView {
        let started_ns = self.started_ns.unwrap_or(self.ended_ns);
        HotFilesView {
            duration_ns: self.ended_ns.saturating_sub(started_ns),
            recorded_ns: self.recorded_ns,
            events_lost: self.lost_events,
            not_recorded,
            ..view
        }
    }
}

/// A trace of files in progress.
#[derive(Debug)]
pub struct FileTrace {
    batches: Receiver<TracedBatch>,
    capture: TraceCapture,
    resolver: Resolver,
    extent: TraceExtent,
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
        let resolver = Resolver::new(roots);
        let mut collector = FileTraceCollector::new(resolver.collector_settings());
        let settings = CaptureSettings {
            detail: CaptureDetail::Files,
            ..CaptureSettings::default()
        };
        let (sender, batches) = sync_channel(QUEUE_BATCHES);
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
                complete_since: batch.complete_since,
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
        Ok(Self {
            batches,
            capture,
            resolver,
            extent: TraceExtent::default(),
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
        self.extent.end_reason.is_none()
    }

    fn add(&mut self, mut batch: TracedBatch) {
        self.extent.add(&mut batch);
        self.resolver.add_batch(batch.collected);
    }

    /// What was found so far.
    #[must_use]
    pub fn view(&mut self) -> HotFilesView {
        let view = self.resolver.interim_view();
        self.extent.complete_view(view, not_recorded(&self.capture))
    }

    /// Why the kernel has ended the trace, if it did.
    #[must_use]
    pub fn end_reason(&self) -> Option<&str> {
        self.extent.end_reason.as_deref()
    }

    /// Ends the trace. Returns the result, and why the kernel ended the trace, if it did.
    #[must_use]
    pub fn finish(self) -> (HotFilesView, Option<String>) {
        let not_recorded = not_recorded(&self.capture);
        let Self {
            batches,
            capture,
            mut resolver,
            mut extent,
            ..
        } = self;
        // The capture's thread delivers its last batches and must not block on a full channel.
        let stopper = std::thread::spawn(move || capture.stop());
        while let Ok(mut batch) = batches.recv() {
            extent.add(&mut batch);
            resolver.add_batch(batch.collected);
        }
        // The thread ended with the capture, whose panic has been reported.
        let _ = stopper.join();
        let view = extent.complete_view(resolver.into_view(), not_recorded);
        (view, extent.end_reason)
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// The view after batches that are complete in these ranges of time, and its sampled share.
    fn sampled_share(ranges: &[(u64, u64)]) -> (u64, Option<f64>) {
        let (mut extent, mut sampling) = (TraceExtent::default(), TraceSampling::default());
        for (complete_since, complete_until) in ranges.iter().copied() {
            sampling.after_batch(complete_since, complete_until, 0);
            extent.add(&mut TracedBatch {
                collected: CollectedBatch::default(),
                lost_events: 0,
                complete_since,
                complete_until,
                recorded_ns: sampling.recorded_ns(),
                end_reason: None,
            });
        }
        let view = extent.complete_view(HotFilesView::default(), Vec::new());
        (view.duration_ns, view.sampled_share())
    }

    #[test]
    fn trace_without_pause_is_not_sampled_however_long_its_start_took() {
        let ranges = [(SECOND, 2 * SECOND), (SECOND, 6 * SECOND)];
        assert_eq!(sampled_share(&ranges), (5 * SECOND, None));
    }

    #[test]
    fn trace_with_a_pause_tells_the_recorded_share() {
        let ranges = [(0, 2 * SECOND), (6 * SECOND, 8 * SECOND)];
        assert_eq!(sampled_share(&ranges), (8 * SECOND, Some(0.5)));
        assert_eq!(sampled_share(&[]), (0, None));
    }
}
