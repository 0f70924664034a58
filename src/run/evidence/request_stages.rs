//! Tracing during a benchmark: Q2D and D2C times of its requests, and other processes that submit
//! requests to the device.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::sampling::TraceSampling;
use crate::engine::WORKER_THREAD_PREFIX;
use crate::files::safe_text::SafeText;
use crate::probe::process::thread_owner::{ThreadOwner, ThreadOwners};
use crate::probe::text::read_file;
use crate::roots::SysPaths;
use crate::session::document::{
    Attribution, LatencyByDirection, LatencySummary, OtherUser, StageBreakdown,
};
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

/// More other processes are not kept.
const MAX_OTHERS: usize = 4096;

/// Reads and writes.
#[derive(Default)]
struct StageTotals {
    /// Other processes by id.
    others: HashMap<u32, OtherUser>,
    q2d_latency: [LatencyHistogram; 2],
    d2c_latency: [LatencyHistogram; 2],
    request_count: u64,
    lost_events: u64,
    sampling: TraceSampling,
    /// Whether tracing was paused at any time.
    has_paused: bool,
}

impl StageTracer {
    /// Starts tracing the requests to a device, if there is one. Requests of kernel threads are those of
    /// others where they cannot be for this process.
    #[must_use]
    pub fn start(roots: &SysPaths, device: Option<&str>, counts_kernel_threads: bool) -> Self {
        let totals: Arc<Mutex<StageTotals>> = Arc::default();
        let scope = device.and_then(|device| TraceScope::of_device(roots, device).ok());
        let device = device.unwrap_or_default().to_owned();
        let mut submitters = Submitters::new(&roots.proc, counts_kernel_threads);
        let shared = Arc::clone(&totals);
        let capture = scope.and_then(|scope| {
            let add = move |batch: RequestBatch| {
                let mut totals = shared.lock().unwrap_or_else(PoisonError::into_inner);
                totals.add_batch(&batch, &mut submitters)
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
        let mut others: Vec<OtherUser> = totals.others.values().cloned().collect();
        sort_users(&mut others);
        (others, complete)
    }
}

impl StageTotals {
    fn add_batch(&mut self, batch: &RequestBatch, submitters: &mut Submitters) -> CaptureControl {
        self.lost_events = batch.status.lost_events;
        self.sampling
            .add_followed(batch.requests.len(), batch.status.complete_since);
        for request in &batch.requests {
            let direction = match request.operation {
                RequestOperation::Read => 0,
                RequestOperation::Write => 1,
                _ => continue,
            };
            let Some(actor) = request.submitter else {
                continue;
            };
            match submitters.classify(actor) {
                Submitter::Own => {}
                Submitter::Ignored => continue,
                Submitter::Other(pid) => {
                    self.add_other(pid, actor, direction == 1, request.bytes, &submitters.proc);
                    continue;
                }
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
            .next_control(batch.status.complete_until, batch.oldest_queued);
        self.has_paused |= control != CaptureControl::Continue;
        control
    }

    fn add_other(&mut self, pid: u32, actor: RequestActor, writes: bool, bytes: u64, proc: &Path) {
        if self.others.len() >= MAX_OTHERS && !self.others.contains_key(&pid) {
            return;
        }
        let other = self.others.entry(pid).or_insert_with(|| {
            let name = read_file(&proc.join(pid.to_string()).join("comm"));
            let name = name.as_ref().map(|name| name.trim_ascii());
            OtherUser {
                pid,
                command: SafeText::from_bytes(name.unwrap_or(actor.name.as_bytes())),
                read_bytes: 0,
                written_bytes: 0,
                attribution: Attribution::TracedRequests,
            }
        });
        if writes {
            other.written_bytes += bytes;
        } else {
            other.read_bytes += bytes;
        }
    }
}

/// Sorts other users by bytes, largest first.
pub(super) fn sort_users(others: &mut [OtherUser]) {
    others.sort_by_key(|it| (std::cmp::Reverse(it.read_bytes + it.written_bytes), it.pid));
}

fn by_direction([read, write]: &[LatencyHistogram; 2]) -> LatencyByDirection {
    LatencyByDirection {
        read: LatencySummary::from_histogram(read),
        write: LatencySummary::from_histogram(write),
    }
}

/// Names of threads that the kernel creates for io_uring on behalf of a process (io_uring/io-wq.c).
const RING_WORKER_PREFIX: &[u8] = b"iou-wrk-";

/// Whose request one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Submitter {
    Own,
    /// A process, or a thread that ended before its process was known.
    Other(u32),
    /// A kernel thread that may write what this process left.
    Ignored,
}

/// Tells the threads of this process from others.
struct Submitters {
    proc: PathBuf,
    owners: ThreadOwners,
    counts_kernel_threads: bool,
    known: HashMap<u32, Submitter>,
}

impl Submitters {
    fn new(proc: &Path, counts_kernel_threads: bool) -> Self {
        Self {
            proc: proc.to_owned(),
            owners: ThreadOwners::new(proc),
            counts_kernel_threads,
            known: HashMap::new(),
        }
    }

    fn classify(&mut self, actor: RequestActor) -> Submitter {
        if let Some(known) = self.known.get(&actor.pid) {
            return *known;
        }
        let name = actor.name.as_bytes();
        let own_names = [WORKER_THREAD_PREFIX.as_bytes(), RING_WORKER_PREFIX];
        let is_own = self.proc.join(format!("self/task/{}", actor.pid)).exists();
        let submitter = match self.owners.owner_of(actor.pid) {
            _ if is_own => Submitter::Own,
            ThreadOwner::Process(pid) => Submitter::Other(pid),
            ThreadOwner::Kernel if self.counts_kernel_threads => Submitter::Other(actor.pid),
            ThreadOwner::Kernel => Submitter::Ignored,
            // Worker threads end with their phase.
            ThreadOwner::Ended if own_names.iter().any(|own| name.starts_with(own)) => {
                Submitter::Own
            }
            ThreadOwner::Ended => Submitter::Other(actor.pid),
        };
        self.known.insert(actor.pid, submitter);
        submitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;

    #[test]
    fn submitters_are_told_by_thread_and_name() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        for (thread, status) in [
            ("self/task/10", ""),
            ("20", "Name:\tdd\nTgid:\t19\nPid:\t20\nPPid:\t1\n"),
            ("30", "Name:\tkworker\nTgid:\t30\nPid:\t30\nPPid:\t2\n"),
        ] {
            std::fs::create_dir_all(roots.proc.join(thread)).unwrap();
            std::fs::write(roots.proc.join(thread).join("status"), status).unwrap();
        }
        for (pid, name, expected) in [
            (10, "main", Submitter::Own),
            (40, "worker-0-1", Submitter::Own),
            (41, "iou-wrk-30", Submitter::Own),
            (42, "dd", Submitter::Other(42)),
            // Another's that lives.
            (20, "worker-0-1", Submitter::Other(19)),
            (30, "kworker/0:1", Submitter::Ignored),
        ] {
            let actor = RequestActor {
                pid,
                name: ThreadName::from_field(name.as_bytes()),
            };
            let mut submitters = Submitters::new(&roots.proc, false);
            assert_eq!(submitters.classify(actor), expected, "{name}");
        }
        let kernel = RequestActor {
            pid: 30,
            name: ThreadName::from_field(b"jbd2"),
        };
        let mut submitters = Submitters::new(&roots.proc, true);
        assert_eq!(submitters.classify(kernel), Submitter::Other(30));
    }
}
