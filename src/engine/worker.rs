//! What every worker thread of an execution has, and what the engines implement for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::completion_recorder::CompletionRecorder;
use super::error::EngineError;
use super::request_generator::{RequestGenerator, WorkerId, saturating_nanoseconds};
use super::write_gate::{ATTEMPT_EVERY, Passage, WorkerGate};

/// How long workers wait for requests in flight after the user cancels.
pub const STOP_GRACE_PERIOD: Duration = Duration::from_millis(60);

/// State that all worker threads of an execution share.
#[derive(Debug, Default)]
pub struct ExecutionShared {
    stop: AtomicBool,
    cancelled: AtomicBool,
}

impl ExecutionShared {
    /// Whether workers must submit no more requests.
    #[inline(always)]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the user cancelled: workers do not wait for requests in flight.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Tells all workers to stop submitting.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.stop();
    }
}

/// The state of one worker thread.
#[derive(Debug)]
pub struct WorkerContext {
    /// Identity of the worker thread.
    pub id: WorkerId,
    /// Generates its requests.
    pub generator: RequestGenerator,
    /// Records its completions.
    pub recorder: CompletionRecorder,
    /// State shared with the other worker threads.
    pub shared: Arc<ExecutionShared>,
    pub(super) origin: Instant,
    /// Gate that write requests must pass; `None` where writes need no watch.
    pub(super) gate: Option<WorkerGate>,
}

impl WorkerContext {
    /// Nanoseconds since the origin.
    #[inline(always)]
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        saturating_nanoseconds(self.origin.elapsed())
    }

    /// Whether write requests may be submitted at that time. If not, call
    /// [`wait_for_poll`](Self::wait_for_poll) first.
    #[inline(always)]
    #[must_use]
    pub fn may_write(&self, now_ns: u64) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate.is_open(now_ns))
    }

    /// Waits until a poll of the target's users completes, so that write requests may be submitted.
    /// Calls `meanwhile` while it waits. Returns false when no more requests may be submitted.
    ///
    /// # Errors
    /// Errors of `meanwhile`.
    #[cold]
    pub fn wait_for_poll(
        &mut self,
        meanwhile: &mut dyn FnMut(&mut Self) -> Result<(), EngineError>,
    ) -> Result<bool, EngineError> {
        while !self.shared.is_stopped() {
            let now = self.elapsed_ns();
            let passage = self.gate.as_mut().map(|gate| gate.attempt(now));
            match passage {
                None | Some(Passage::Open) => return Ok(true),
                Some(Passage::Closed) => self.shared.stop(),
                Some(Passage::Wait) => {
                    meanwhile(self)?;
                    std::thread::sleep(ATTEMPT_EVERY);
                }
            }
        }
        Ok(false)
    }
}

/// Submits the requests of one worker thread. It is created in the thread that uses it.
pub trait Submitter {
    /// Submits requests until the generator ends, a request fails or the execution stops.
    ///
    /// # Errors
    /// The first request that failed.
    fn submit_all(&mut self, worker: &mut WorkerContext) -> Result<(), EngineError>;
}

/// Creates the [`Submitter`] of one worker thread: its ring and its buffers.
pub type WorkerFactory =
    Arc<dyn Fn(WorkerId) -> Result<Box<dyn Submitter>, EngineError> + Send + Sync>;
