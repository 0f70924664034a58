//! What the lanes of a plan are made of, and how a plan is executed with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::completion_recorder::CompletionRecorder;
use super::io_target::IoTarget;
use super::outcome::{EndReason, ExecutionOutcome, ExecutionSnapshot};
use super::plan::Plan;
use super::request_generator::{RequestGenerator, WorkerId, saturating_nanoseconds};
use super::space::SpaceWatch;
use super::worker_pool::WorkerPool;
use super::write_gate::{ATTEMPT_EVERY, Passage, WorkerGate};
use super::{CancellationToken, EngineError};

/// How long requests in flight are waited for after the user stopped.
pub const STOP_GRACE_PERIOD: Duration = Duration::from_millis(60);

/// What lanes have in common.
#[derive(Debug, Default)]
pub struct ExecutionShared {
    stop: AtomicBool,
    cancelled: AtomicBool,
}

impl ExecutionShared {
    /// Whether nothing more may be sent.
    #[inline]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the user wants it to end at once, requests in flight or not.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Has everybody stop sending.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.stop();
    }
}

/// What a lane works with.
#[derive(Debug)]
pub struct WorkerContext {
    /// Which.
    pub id: WorkerId,
    /// Its requests.
    pub generator: RequestGenerator,
    /// Its counts.
    pub recorder: CompletionRecorder,
    /// What all have in common.
    pub shared: Arc<ExecutionShared>,
    pub(super) origin: Instant,
    /// What its writing requests have to pass.
    pub(super) gate: Option<WorkerGate>,
}

impl WorkerContext {
    /// Nanoseconds since the origin.
    #[inline]
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        saturating_nanoseconds(self.origin.elapsed())
    }

    /// Whether requests that write may be submitted at that time; otherwise
    /// [`wait_for_look`](Self::wait_for_look) comes first.
    #[inline]
    #[must_use]
    pub fn may_write(&self, now_ns: u64) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate.is_open(now_ns))
    }

    /// Waits for a look at the uses of the target to complete, so that requests that write may be
    /// submitted; `meanwhile` is called all the time. False when nothing may be submitted any more.
    ///
    /// # Errors
    /// Those of `meanwhile`.
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

/// What sends the requests of one lane. Made in the thread that uses it.
pub trait Submitter {
    /// Sends requests until the feeder ends, one fails, or all are stopped.
    ///
    /// # Errors
    /// The first request that failed.
    fn submit_all(&mut self, lane: &mut WorkerContext) -> Result<(), EngineError>;
}

/// Makes a lane's [`Work`]: rings, buffers.
pub type WorkerFactory =
    Arc<dyn Fn(WorkerId) -> Result<Box<dyn Submitter>, EngineError> + Send + Sync>;

/// Executes a plan with `slots` lanes for each worker.
///
/// # Errors
/// When a lane could not be started; then nothing was sent.
pub fn execute_plan(
    plan: &Plan,
    slots: u32,
    maker: &WorkerFactory,
    control: &CancellationToken,
    source: &IoTarget,
    observe: &mut dyn FnMut(&ExecutionSnapshot),
) -> Result<ExecutionOutcome, EngineError> {
    if let Some(space) = SpaceWatch::new(&source.medium, plan) {
        space.check_before(plan)?;
    }
    let gate = source.gate.as_ref().filter(|_| plan.operation.writes());
    let mut crew = WorkerPool::spawn(plan, slots, maker, gate)?;
    crew.wait_until_ready(control)?;
    let origin = crew.start();
    let cancelled = crew.observe_until_done(control, origin, observe);
    Ok(crew.join(cancelled, origin))
}

/// From the end of the ramp to the last completion; with a rate, requests may be rarer than the
/// end of the time asked for is near.
pub fn measured_time(plan: &Plan, last_end_ns: u64, end: &EndReason) -> Duration {
    let counted =
        Duration::from_nanos(last_end_ns.saturating_sub(saturating_nanoseconds(plan.ramp_time)));
    match (plan.arrival_rate, plan.limits, end) {
        (Some(_), limits, EndReason::Completed)
            if limits.requests.is_none() && limits.bytes.is_none() =>
        {
            counted.max(limits.duration.unwrap_or_default())
        }
        _ => counted,
    }
}
