//! How far an execution is.

use std::time::Duration;

use super::address::Schedule;
use super::feeder::nanoseconds;
use super::outcome::{Snapshot, Tally};
use super::plan::{Limits, Plan};
use super::recorder::{self, Slot};

/// Makes snapshots of an execution, always in the same memory.
#[derive(Debug)]
pub struct Progress {
    limits: Limits,
    ramp_ns: u64,
    /// Requests until the plan's own end, where it has one.
    requests: Option<u64>,
    snapshot: Snapshot,
}

impl Progress {
    /// For one plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let pass: Option<u64> = (0..plan.workers)
            .map(|worker| Schedule::new(plan, worker).pass())
            .sum();
        let listed = Schedule::new(plan, 0).ends_with_pass();
        let pass = pass.filter(|_| listed || plan.limits == Limits::default());
        Self {
            limits: plan.limits,
            ramp_ns: nanoseconds(plan.ramp),
            requests: plan.limits.requests.into_iter().chain(pass).min(),
            snapshot: Snapshot::default(),
        }
    }

    /// The state at a time in nanoseconds since the origin.
    pub fn look(&mut self, now_ns: u64, slots: &[Slot]) -> &Snapshot {
        recorder::clear(&mut self.snapshot.tally);
        for slot in slots {
            recorder::add(&mut self.snapshot.tally, slot);
        }
        self.snapshot.ramping = now_ns < self.ramp_ns;
        self.snapshot.elapsed = Duration::from_nanos(now_ns.saturating_sub(self.ramp_ns));
        self.snapshot.fraction = self.fraction();
        &self.snapshot
    }

    /// The share of the limit that will be reached first.
    fn fraction(&self) -> Option<f64> {
        let tally: &Tally = &self.snapshot.tally;
        let share = |done: f64, whole: f64| if whole > 0.0 { done / whole } else { 1.0 };
        let time = self.limits.duration.map(|whole| {
            let elapsed = self.snapshot.elapsed.as_secs_f64();
            share(elapsed, whole.as_secs_f64())
        });
        let bytes = self
            .limits
            .bytes
            .map(|whole| share(tally.bytes() as f64, whole as f64));
        let requests = self
            .requests
            .map(|whole| share(tally.requests() as f64, whole as f64));
        [time, bytes, requests]
            .into_iter()
            .flatten()
            .reduce(f64::max)
            .map(|share| share.min(1.0))
    }
}
