//! Records the evidence of a window for the diagnosis: snapshots, scans of the tasks, facts, and,
//! where root allows, the requests of the busiest device.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::diagnosis::EvidenceWindow;
use crate::diagnosis::requests::RequestEvidence;
use crate::drive::DriveKind;
use crate::model::Snapshot;
use crate::model::requests::TracedRequest;
use crate::probe::facts::{FactsReader, FactsSample};
use crate::probe::process::stat::parse_thread_group;
use crate::probe::trace::{CaptureControl, TraceCapture};
use crate::request_trace::{TraceDetail, TraceScope, follow_requests};
use crate::roots::SysPaths;
use crate::safe_text::SafeText;

/// Time between two scans of the tasks; a scan that takes long is repeated less often.
pub const SCAN_INTERVAL: Duration = Duration::from_millis(200);
/// Requests that are kept at most: a second of a fast drive is enough to see who is ahead of whom.
const MAX_REQUESTS: usize = 200_000;
/// Once that many are kept, the trace rests: events cost time.
const TRACE_PAUSE: Duration = Duration::from_secs(1);
/// Requests in flight, mean of a snapshot, from which the busiest device is traced.
const MIN_QUEUE: f64 = 0.5;
/// Snapshots before the busiest device is chosen.
const SNAPSHOTS_BEFORE_TRACE: usize = 2;
/// Blocked tasks that are examined further at most.
const MAX_EXAMINED: usize = 16;

/// Records one window.
#[derive(Debug)]
pub struct WindowRecorder {
    roots: SysPaths,
    facts: FactsReader,
    begin: FactsSample,
    window: EvidenceWindow,
    trace: Option<DeviceTrace>,
    may_trace: bool,
}

/// The trace of one device.
#[derive(Debug)]
struct DeviceTrace {
    device: SafeText,
    requests: Arc<Mutex<Vec<TracedRequest>>>,
    capture: TraceCapture,
}

impl WindowRecorder {
    /// Begins a window; `may_trace` is whether requests may be traced, where the kernel permits it.
    #[must_use]
    pub fn begin(roots: SysPaths, may_trace: bool) -> Self {
        let mut facts = FactsReader::new(roots.clone());
        Self {
            begin: facts.read(),
            facts,
            window: EvidenceWindow::default(),
            trace: None,
            may_trace,
            roots,
        }
    }

    /// Adds a snapshot; the first one of a sampler, which has no rates, is ignored.
    pub fn add_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        if snapshot.interval.is_none() {
            return;
        }
        self.window.snapshots.push(snapshot);
        if self.may_trace
            && self.trace.is_none()
            && self.window.snapshots.len() >= SNAPSHOTS_BEFORE_TRACE
        {
            self.start_trace();
        }
    }

    /// Scans the tasks, unless the last scan was too recent.
    pub fn scan(&mut self) {
        self.window.scans.extend(self.facts.scan());
    }

    /// Ends the window.
    #[must_use]
    pub fn finish(mut self) -> EvidenceWindow {
        self.scan();
        let end = self.facts.read();
        for task in self.window.still_blocked().into_iter().take(MAX_EXAMINED) {
            let details = self.facts.examine_blocked(&end, task);
            self.window.blocked.push(details);
        }
        self.window.facts = Some((self.begin, end));
        self.window.requests = self.trace.map(|trace| trace.finish(&self.roots));
        self.window
    }

    /// Traces the drive with the most requests in flight.
    fn start_trace(&mut self) {
        let Some(last) = self.window.snapshots.last() else {
            return;
        };
        let busiest = last
            .devices
            .iter()
            .filter(|view| {
                matches!(view.kind, Some(DriveKind::Disk | DriveKind::Loop))
                    && view.queue_size.is_some_and(|queue| queue >= MIN_QUEUE)
            })
            .max_by(|a, b| {
                a.queue_size
                    .partial_cmp(&b.queue_size)
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        let Some(name) = busiest.map(|view| view.name.clone()) else {
            return;
        };
        self.trace = DeviceTrace::start(&self.roots, name);
        // One attempt: what is refused once is refused again.
        self.may_trace = self.trace.is_some();
    }
}

impl DeviceTrace {
    fn start(roots: &SysPaths, device: SafeText) -> Option<Self> {
        let scope = TraceScope::of_device(roots, &device).ok()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&requests);
        let capture = follow_requests(roots, scope, TraceDetail::Full, move |batch| {
            let mut kept = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MAX_REQUESTS.saturating_sub(kept.len());
            kept.extend(batch.requests.into_iter().take(room));
            match kept.len() >= MAX_REQUESTS {
                true => CaptureControl::Pause(TRACE_PAUSE),
                false => CaptureControl::Continue,
            }
        })
        .ok()?;
        Some(Self {
            device,
            requests,
            capture,
        })
    }

    fn finish(self, roots: &SysPaths) -> RequestEvidence {
        self.capture.stop();
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        RequestEvidence::new(self.device, &requests, |tid| process_of(roots, tid))
    }
}

/// The process of a thread; the thread itself if it has ended.
pub(crate) fn process_of(roots: &SysPaths, tid: u32) -> u32 {
    let status = std::fs::read(roots.proc.join(format!("{tid}/status")));
    status
        .ok()
        .and_then(|text| parse_thread_group(&text))
        .unwrap_or(tid)
}
