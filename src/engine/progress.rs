//! Progress of an execution.

use std::time::Duration;

use super::address::RequestSchedule;
use super::completion_recorder;
use super::completion_recorder::SharedStats;
use super::outcome::{EndReason, ExecutionSnapshot, IoStats};
use super::plan::{Plan, PlanLimits};
use super::request_generator::saturating_nanoseconds;

/// Takes snapshots of an execution into the same memory.
#[derive(Debug)]
pub struct SnapshotPublisher {
    limits: PlanLimits,
    ramp_ns: u64,
    /// Requests until the plan's own end; `None` where it has none.
    planned_requests: Option<u64>,
    snapshot: ExecutionSnapshot,
}

impl SnapshotPublisher {
    /// For one plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let pass: Option<u64> = (0..plan.workers)
            .map(|worker| RequestSchedule::new(plan, worker).requests_per_pass())
            .sum();
        let listed = RequestSchedule::new(plan, 0).ends_after_one_pass();
        let pass = pass.filter(|_| listed || plan.limits == PlanLimits::default());
        Self {
            limits: plan.limits,
            ramp_ns: saturating_nanoseconds(plan.ramp_time),
            planned_requests: plan.limits.requests.into_iter().chain(pass).min(),
            snapshot: ExecutionSnapshot::default(),
        }
    }

    /// Snapshot at a time in nanoseconds since the origin.
    pub fn take_snapshot(&mut self, now_ns: u64, slots: &[SharedStats]) -> &ExecutionSnapshot {
        completion_recorder::clear_stats(&mut self.snapshot.stats);
        for slot in slots {
            completion_recorder::add_shared_stats(&mut self.snapshot.stats, slot);
        }
        self.snapshot.in_ramp_time = now_ns < self.ramp_ns;
        self.snapshot.elapsed = Duration::from_nanos(now_ns.saturating_sub(self.ramp_ns));
        self.snapshot.completed_fraction = self.completed_fraction();
        &self.snapshot
    }

    /// Completed fraction of the limit that will be reached first.
    fn completed_fraction(&self) -> Option<f64> {
        let stats: &IoStats = &self.snapshot.stats;
        let share = |done: f64, limit: f64| if limit > 0.0 { done / limit } else { 1.0 };
        let time = self.limits.duration.map(|limit| {
            let elapsed = self.snapshot.elapsed.as_secs_f64();
            share(elapsed, limit.as_secs_f64())
        });
        let bytes = self
            .limits
            .bytes
            .map(|limit| share(stats.bytes() as f64, limit as f64));
        let requests = self
            .planned_requests
            .map(|limit| share(stats.requests() as f64, limit as f64));
        [time, bytes, requests]
            .into_iter()
            .flatten()
            .reduce(f64::max)
            .map(|share| share.min(1.0))
    }
}

/// Time from the end of ramp_time to the last completion. With an arrival rate, the last completion
/// can precede the end of the requested duration by a whole interval; the requested duration counts
/// then.
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
