//! What the lanes of a plan are made of, and how a plan is executed with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::crew::Crew;
use super::feeder::{Feeder, LaneId, nanoseconds};
use super::outcome::{End, Outcome, Snapshot};
use super::plan::Plan;
use super::recorder::Recorder;
use super::space::SpaceWatch;
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
}

impl Lane {
    /// Nanoseconds since the origin.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        nanoseconds(self.origin.elapsed())
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
    space: Option<&SpaceWatch>,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Outcome, EngineError> {
    if let Some(space) = space {
        space.check_before(plan)?;
    }
    let mut crew = Crew::spawn(plan, slots, maker)?;
    crew.gather(control)?;
    let shared = crew.shared();
    let origin = crew.start();
    let mut shortage = None;
    let cancelled = crew.watch(control, origin, &mut |snapshot| {
        if shortage.is_none() {
            shortage = space.and_then(SpaceWatch::shortage);
            if shortage.is_some() {
                shared.stop();
            }
        }
        observe(snapshot);
    });
    let mut outcome = crew.conclude(cancelled, origin);
    if let Some(shortage) = shortage {
        outcome.end = End::Failed(shortage.into());
    }
    Ok(outcome)
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
