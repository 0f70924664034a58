//! What waking up costs: the part of the latency in which the drive has answered and this machine has not
//! noticed yet.
//!
//! A short phase alternates between sleeping and spinning in turns of 20 ms. Both kinds of turns meet the
//! same drive, so that the difference of their medians is the wake-up alone.

use std::time::Duration;

use super::options::{BYTES, DEFAULT_WRITTEN_BYTES};
use super::phases::{Phase, PhaseGroup, Repetition, Sharing};
use crate::bench::{BenchError, ParameterSet, Phases, RunContext};
use crate::engine::wait::TURN;
use crate::engine::{BlockSize, CacheMode, LoggedRequest, Plan, PlanLimits, WaitMode};
use crate::session::document::{Metric, MetricId};
use crate::stats::general::robust::median;
use crate::stats::general::student::NORMAL_975;

/// More requests in flight hide the wake-up: while one is waited for, others complete.
const MAX_IN_FLIGHT: u32 = 4;
/// Length of the phase as a fraction of the benchmark's time, and at most.
const PHASE_DIVISOR: u32 = 5;
const MAX_PHASE_TIME: Duration = Duration::from_secs(2);
/// Fewer requests in a turn have no median worth comparing.
const MIN_REQUESTS_PER_TURN: usize = 4;
/// Capacity of the log: more requests than a drive answers one by one in the longest phase.
const MAX_LOGGED: usize = 400_000;

impl Phases {
    /// The same phases, and one that tells what waking up costs with this plan, where few requests are in
    /// flight, and time limits it, not a number of bytes or requests that the user gave.
    #[must_use]
    pub fn with_wakeup_phase(mut self, plan: &Plan, parameters: &ParameterSet) -> Self {
        let is_eligible = plan.depth.saturating_mul(plan.workers) <= MAX_IN_FLIGHT
            && plan.cache_mode == CacheMode::Bypass
            && plan.wait_mode == WaitMode::Sleep
            && plan.arrival_rate.is_none()
            && plan.limits.requests.is_none()
            && matches!(plan.block_size, BlockSize::Fixed(_));
        let bytes = parameters.find_set(BYTES);
        let is_default = bytes.is_none() || bytes == Some(DEFAULT_WRITTEN_BYTES);
        let Some(plan) = wakeup_plan(plan).filter(|_| is_eligible && is_default) else {
            return self;
        };
        // All phases together write no more than the limit.
        let own_bytes = plan.limits.bytes.unwrap_or(0);
        for phase in self.groups.iter_mut().flat_map(|group| &mut group.phases) {
            let limit = &mut phase.plan.limits.bytes;
            *limit = limit.map(|bytes| bytes.saturating_sub(own_bytes));
        }
        // Optional: not every engine can spin.
        self.wakeup = Some(PhaseGroup {
            limits: PlanLimits::default(),
            sharing: Sharing::FirstCome,
            repetition: Repetition::Rounds(1),
            phases: vec![Phase::optional("waking up", plan)],
        });
        self
    }
}

/// The plan of the phase; `None` where no time limits the plan.
fn wakeup_plan(plan: &Plan) -> Option<Plan> {
    let duration = plan.limits.duration? / PHASE_DIVISOR;
    Some(Plan {
        limits: PlanLimits {
            duration: Some(duration.min(MAX_PHASE_TIME)),
            bytes: plan
                .limits
                .bytes
                .map(|bytes| bytes / u64::from(PHASE_DIVISOR)),
            requests: None,
        },
        ramp_time: Duration::ZERO,
        wait_mode: WaitMode::Alternate,
        log_capacity: MAX_LOGGED,
        seed: plan.seed.wrapping_add(1 << 48),
        ..plan.clone()
    })
}

impl RunContext<'_> {
    /// Executes the phase of [`Phases::with_wakeup_phase`], if there is one and the engine can spin, and sets
    /// `wakeup_cost`.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub(crate) fn measure_wakeup(&mut self, phases: &Phases) -> Result<(), BenchError> {
        let mut group = phases.wakeup.iter().flat_map(|group| &group.phases);
        let Some(Phase { label, plan, .. }) = group.next() else {
            return Ok(());
        };
        if self.is_stopped() || !self.engine.can_spin(plan) {
            return Ok(());
        }
        // The progress is that of the measurement, which is complete.
        let outcome = self.execute(label, 0.0, plan)?;
        if let Some(metric) = wakeup_cost(&outcome.request_log) {
            self.set_metric(metric);
        }
        self.phase_finished();
        Ok(())
    }
}

/// The cost of a wake-up: the median of the differences between the median latencies of turns asleep and
/// those of the turns awake before and after them, with its 95 % interval (sign test: David and Nagaraja, Order
/// Statistics, 3rd edition, section 7.1). `None` where there are too few, or where other work of the machine
/// hides it: waking up never shortens a latency.
fn wakeup_cost(log: &[LoggedRequest]) -> Option<Metric> {
    let turn_ns = TURN.as_nanos() as u64;
    let turns = log.iter().map(|it| it.start_ns / turn_ns).max()? + 1;
    let mut latencies: Vec<Vec<u64>> = vec![Vec::new(); turns as usize];
    for request in log {
        let turn = (request.start_ns / turn_ns) as usize;
        latencies[turn].push(request.end_ns.saturating_sub(request.start_ns));
    }
    let median_of_turn = |latencies: &mut Vec<u64>| {
        let middle = latencies.len() / 2;
        (latencies.len() >= MIN_REQUESTS_PER_TURN)
            .then(|| *latencies.select_nth_unstable(middle).1 as f64)
    };
    let medians: Vec<Option<f64>> = latencies.iter_mut().map(median_of_turn).collect();
    // Turns asleep have even numbers. Both neighbours together cancel a drive that becomes slower.
    let of_turn = |turn: usize| {
        let (before, after) = (medians[turn - 1]?, (*medians.get(turn + 1)?)?);
        Some(medians[turn]? - (before + after) / 2.0)
    };
    let asleep = (2..medians.len()).step_by(2);
    let mut differences: Vec<f64> = asleep.filter_map(of_turn).collect();
    differences.sort_by(f64::total_cmp);
    let count = differences.len();
    // Normal approximation of the binomial distribution of how many are below the median.
    let rank = (count as f64 / 2.0 - NORMAL_975 * (count as f64).sqrt() / 2.0).floor();
    if rank < 1.0 {
        return None;
    }
    let [low, high] = [rank as usize - 1, count - rank as usize].map(|index| differences[index]);
    let value = median(differences.iter().copied())?;
    (high >= 0.0).then(|| {
        Metric::new(MetricId::WAKEUP_COST, value.max(0.0))
            .with_observations(count as u64)
            .with_interval(low.max(0.0), high)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests one after the other for this time: `drive_ns` each, and this much more in turns asleep.
    fn log_of(time: Duration, drive_ns: impl Fn(u64) -> u64, wakeup_ns: u64) -> Vec<LoggedRequest> {
        let (mut log, mut now_ns) = (Vec::new(), 0);
        while now_ns < time.as_nanos() as u64 {
            let wakeup = if WaitMode::Alternate.spins_at(now_ns) {
                0
            } else {
                wakeup_ns
            };
            let end_ns = now_ns + drive_ns(log.len() as u64) + wakeup;
            log.push(LoggedRequest {
                address: 0,
                bytes: 4096,
                is_write: false,
                start_ns: now_ns,
                end_ns,
            });
            now_ns = end_ns;
        }
        log
    }

    #[test]
    fn injected_wakeup_is_found_whatever_the_drive_does_between_turns() {
        let two_seconds = Duration::from_secs(2);
        // A drive of 40 us that becomes slower by a half, and has a slow answer now and then.
        let drifting = |index: u64| {
            let slow = if index.is_multiple_of(97) { 400_000 } else { 0 };
            40_000 + index + slow
        };
        for wakeup_ns in [0, 5_000, 15_000, 60_000] {
            let metric = wakeup_cost(&log_of(two_seconds, drifting, wakeup_ns)).unwrap();
            let expected = wakeup_ns as f64;
            assert!((metric.value - expected).abs() < 1500.0, "{metric:?}");
            let (low, high) = (metric.low.unwrap(), metric.high.unwrap());
            assert!(
                low <= expected + 1000.0 && expected - 1000.0 <= high,
                "{metric:?}"
            );
        }
    }

    #[test]
    fn wakeup_of_a_slow_drive_or_a_short_phase_is_unknown() {
        let disk = log_of(Duration::from_secs(2), |_| 8_000_000, 15_000);
        assert_eq!(wakeup_cost(&disk), None);
        let short = log_of(Duration::from_millis(100), |_| 40_000, 15_000);
        assert_eq!(wakeup_cost(&short), None);
        assert_eq!(wakeup_cost(&[]), None);
    }
}
