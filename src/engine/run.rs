//! What the lanes of a plan are made of, and how a plan is executed with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::crew::Crew;
use super::feeder::{Feeder, LaneId, nanoseconds};
use super::outcome::{End, Outcome, Snapshot};
use super::plan::Plan;
use super::recorder::Recorder;
use super::source::Source;
use super::space::SpaceWatch;
use super::write_gate::{ATTEMPT_EVERY, Passage, WorkerGate};
use super::{Control, EngineError};

/// How long requests in flight are waited for after the user stopped.
pub const GRACE: Duration = Duration::from_millis(60);

/// What lanes have in common.
#[derive(Debug, Default)]
pub struct Shared {
    stop: AtomicBool,
    cancelled: AtomicBool,
}

impl Shared {
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
pub struct Lane {
    /// Which.
    pub id: LaneId,
    /// Its requests.
    pub feeder: Feeder,
    /// Its counts.
    pub recorder: Recorder,
    /// What all have in common.
    pub shared: Arc<Shared>,
    pub(super) origin: Instant,
    /// What its writing requests have to pass.
    pub(super) gate: Option<WorkerGate>,
}

impl Lane {
    /// Nanoseconds since the origin.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        nanoseconds(self.origin.elapsed())
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
    pub fn wait_for_look(
        &mut self,
        meanwhile: &mut dyn FnMut(&mut Self) -> Result<(), EngineError>,
    ) -> Result<bool, EngineError> {
        while !self.shared.is_stopped() {
            let now = self.now();
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
pub trait Work {
    /// Sends requests until the feeder ends, one fails, or all are stopped.
    ///
    /// # Errors
    /// The first request that failed.
    fn run(&mut self, lane: &mut Lane) -> Result<(), EngineError>;
}

/// Makes a lane's [`Work`]: rings, buffers.
pub type Maker = Arc<dyn Fn(LaneId) -> Result<Box<dyn Work>, EngineError> + Send + Sync>;

/// Executes a plan with `slots` lanes for each worker.
///
/// # Errors
/// When a lane could not be started; then nothing was sent.
pub fn execute(
    plan: &Plan,
    slots: u32,
    maker: &Maker,
    control: &Control,
    source: &Source,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Outcome, EngineError> {
    if let Some(space) = SpaceWatch::new(&source.medium, plan) {
        space.check_before(plan)?;
    }
    let gate = source.gate.as_ref().filter(|_| plan.operation.writes());
    let mut crew = Crew::spawn(plan, slots, maker, gate)?;
    crew.gather(control)?;
    let origin = crew.start();
    let cancelled = crew.watch(control, origin, observe);
    Ok(crew.conclude(cancelled, origin))
}

/// From the end of the ramp to the last completion; with a rate, requests may be rarer than the
/// end of the time asked for is near.
pub fn elapsed(plan: &Plan, last_end_ns: u64, end: &End) -> Duration {
    let counted = Duration::from_nanos(last_end_ns.saturating_sub(nanoseconds(plan.ramp)));
    match (plan.rate, plan.limits, end) {
        (Some(_), limits, End::Done) if limits.requests.is_none() && limits.bytes.is_none() => {
            counted.max(limits.duration.unwrap_or_default())
        }
        _ => counted,
    }
}
