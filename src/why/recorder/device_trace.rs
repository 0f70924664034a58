//! The trace of the requests of one device during a window.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::files::safe_text::SafeText;
use crate::probe::process::stat::parse_thread_group;
use crate::roots::SysPaths;
use crate::trace::events::{CaptureControl, TraceCapture};
use crate::trace::requests::TracedRequest;
use crate::trace::stream::{TraceDetail, TraceScope, follow_requests};
use crate::why::requests::RequestEvidence;

/// Requests that are kept at most: a second of a fast drive is enough to see who is ahead of whom.
const MAX_REQUESTS: usize = 200_000;
/// Once that many are kept, the trace rests: events cost time.
const TRACE_PAUSE: Duration = Duration::from_secs(1);

/// The trace of one device.
#[derive(Debug)]
pub(super) struct DeviceTrace {
    device: SafeText,
    requests: Arc<Mutex<Vec<TracedRequest>>>,
    capture: TraceCapture,
}

impl DeviceTrace {
    /// Starts to trace; `None` where that is refused.
    pub(super) fn start(roots: &SysPaths, device: SafeText) -> Option<Self> {
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

    /// The device.
    pub(super) fn device(&self) -> &SafeText {
        &self.device
    }

    /// Drops the requests that completed before `at` (`CLOCK_BOOTTIME`).
    pub(super) fn drop_before(&self, at: Duration) {
        let begin = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        let mut kept = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|request| request.timestamps.completed >= begin);
    }

    /// What the requests show so far.
    pub(super) fn evidence(&self, roots: &SysPaths) -> RequestEvidence {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        RequestEvidence::new(self.device.clone(), &requests, |tid| process_of(roots, tid))
    }

    /// Ends the trace.
    pub(super) fn stop(self) {
        self.capture.stop();
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
