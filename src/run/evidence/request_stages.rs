//! Tracing during a benchmark: Q2D and D2C times of its requests, and other processes that submit
//! requests to the device.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::sampling::TraceSampling;
use super::traced_competitors::TracedCompetitors;
use crate::engine::WORKER_THREAD_PREFIX;
use crate::roots::SysPaths;
use crate::session::document::{LatencyByDirection, LatencySummary, OtherUser, StageBreakdown};
use crate::stats::latency::histogram::LatencyHistogram;
use crate::trace::events::{CaptureControl, TraceCapture};
use crate::trace::requests::{RequestActor, RequestOperation};
use crate::trace::stream::{RequestBatch, TraceDetail, TraceScope, follow_requests};

/// Traces the requests, or a sample of them, that this process submits to the device under test,
/// where the kernel allows it; does nothing otherwise. Dropping it ends the trace.
pub struct StageTracer {
    device: String,
    totals: Arc<Mutex<StageTotals>>,
    capture: Option<TraceCapture>,
    is_permitted: bool,
}

/// Reads and writes.
#[derive(Default)]
struct StageTotals {
    competitors: TracedCompetitors,
    q2d_latency: [LatencyHistogram; 2],
    d2c_latency: [LatencyHistogram; 2],
    request_count: u64,
    lost_events: u64,
    sampling: TraceSampling,
    /// Whether tracing was paused at any time.
    has_paused: bool,
}

impl StageTracer {
    /// Starts tracing the requests to a device, if there is one.
    #[must_use]
    pub fn start(roots: &SysPaths, device: Option<&str>) -> Self {
        let totals: Arc<Mutex<StageTotals>> = Arc::default();
        let scope = device.and_then(|device| TraceScope::of_device(roots, device).ok());
        let device = device.unwrap_or_default().to_owned();
        let mut own_threads = OwnThreads::new(roots);
        let proc = roots.proc.clone();
        let shared = Arc::clone(&totals);
        let capture = scope.and_then(|scope| {
            let add = move |batch: RequestBatch| {
                let mut totals = shared.lock().unwrap_or_else(PoisonError::into_inner);
                totals.add_batch(&batch, &mut own_threads, &proc)
            };
            // Without root or tracefs there is no breakdown; the session records this by omitting
            // it.
            follow_requests(roots, scope, TraceDetail::QueueAndDrive, add).ok()
        });
        Self {
            device,
            totals,
            is_permitted: capture.is_some(),
            capture,
        }
    }

    /// Waits for the requests that the kernel still holds, and ends the trace.
    pub fn stop_and_drain(&mut self) {
        if let Some(capture) = self.capture.take() {
            capture.stop();
        }
    }

    /// The breakdown so far; `None` when no request was traced.
    #[must_use]
    pub fn breakdown_so_far(&self) -> Option<StageBreakdown> {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        (totals.request_count > 0).then(|| StageBreakdown {
            device: self.device.clone().into(),
            requests: totals.request_count,
            lost_events: totals.lost_events,
            q2d: by_direction(&totals.q2d_latency),
            d2c: by_direction(&totals.d2c_latency),
        })
    }
}

impl StageTracer {
    /// The other users of the device, and whether the list is complete: everything was traced from
    /// the start, and no event was lost.
    #[must_use]
    pub fn other_users(&self) -> (Vec<OtherUser>, bool) {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = self.is_permitted && !totals.has_paused && totals.lost_events == 0;
        (totals.competitors.sorted_users(), complete)
    }
}

impl StageTotals {
    fn add_batch(
        &mut self,
        batch: &RequestBatch,
        own_threads: &mut OwnThreads,
        proc: &Path,
    ) -> CaptureControl {
        self.lost_events = batch.lost_events;
        self.sampling
            .add_followed(batch.requests.len(), batch.complete_since);
        for request in &batch.requests {
            let direction = match request.operation {
                RequestOperation::Read => 0,
                RequestOperation::Write => 1,
                _ => continue,
            };
            match request.submitter {
                Some(actor) if own_threads.includes(actor) => {}
                Some(actor) => {
                    self.competitors
                        .add_request(proc, actor, direction == 1, request.bytes);
                    continue;
                }
                None => continue,
            }
            let queued = request.timestamps.queued;
            if !queued.is_some_and(|queued| self.sampling.includes(queued)) {
                continue;
            }
            let stages = request.timestamps.stages();
            if let (Some(queue), Some(drive)) = (stages.q2d, stages.d2c) {
                self.request_count += 1;
                self.q2d_latency[direction].record(queue);
                self.d2c_latency[direction].record(drive);
            }
        }
        let control = self
            .sampling
            .next_control(batch.complete_until, batch.oldest_queued);
        self.has_paused |= control != CaptureControl::Continue;
        control
    }
}

fn by_direction([read, write]: &[LatencyHistogram; 2]) -> LatencyByDirection {
    LatencyByDirection {
        read: LatencySummary::from_histogram(read),
        write: LatencySummary::from_histogram(write),
    }
}

/// Names of threads that the kernel creates for io_uring on behalf of a process (io_uring/io-wq.c).
const RING_WORKER_PREFIX: &[u8] = b"iou-wrk-";

/// The threads that belong to this process.
struct OwnThreads {
    proc: PathBuf,
    known_threads: HashMap<u32, bool>,
}

impl OwnThreads {
    fn new(roots: &SysPaths) -> Self {
        Self {
            proc: roots.proc.clone(),
            known_threads: HashMap::new(),
        }
    }

    /// Looks each thread up once, at its first request. A thread that has ended by then, as after a
    /// phase of a few milliseconds, is identified by its name.
    fn includes(&mut self, actor: RequestActor) -> bool {
        let proc = &self.proc;
        *self.known_threads.entry(actor.pid).or_insert_with(|| {
            let thread = actor.pid.to_string();
            let name = actor.name.as_bytes();
            proc.join("self/task").join(&thread).exists()
                || !proc.join(&thread).exists()
                    && (name.starts_with(WORKER_THREAD_PREFIX.as_bytes())
                        || name.starts_with(RING_WORKER_PREFIX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;

    #[test]
    fn ended_own_threads_are_recognized_by_name() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        for thread in ["self/task/10", "10", "20"] {
            std::fs::create_dir_all(roots.proc.join(thread)).unwrap();
        }
        let mut own_threads = OwnThreads::new(&roots);
        let mut includes = |pid: u32, name: &str| {
            own_threads.includes(RequestActor {
                pid,
                name: ThreadName::from_field(name.as_bytes()),
            })
        };
        assert!(includes(10, "main"));
        assert!(includes(30, "worker-0-1") && includes(31, "iou-wrk-30"));
        assert!(!includes(20, "worker-0-1"), "another's that lives");
        assert!(!includes(40, "dd"));
    }
}
