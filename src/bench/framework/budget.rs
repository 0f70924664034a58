//! Division of a benchmark's limits among its phases.

use std::time::Duration;

use crate::engine::{ExecutionOutcome, PlanLimits};

/// Remaining limits of a benchmark.
///
/// Each phase gets an even fraction of the remainder, so that a short benchmark still reaches its
/// last phase. What a phase does not use remains available to the others.
#[derive(Debug, Clone)]
pub struct PhaseBudget {
    limits: PlanLimits,
    remaining: PlanLimits,
}

impl PhaseBudget {
    /// A budget with all of these limits unused.
    #[must_use]
    pub fn new(limits: PlanLimits) -> Self {
        Self {
            limits,
            remaining: limits,
        }
    }

    /// Fraction (0 to 1) of the limit of which most is used.
    #[must_use]
    pub fn used_fraction(&self) -> f64 {
        let used = |limit: Option<f64>, left: Option<f64>| Some(1.0 - left? / limit?.max(1e-9));
        let seconds = |limits: PlanLimits| limits.duration.map(|time| time.as_secs_f64());
        let (all, left) = (self.limits, self.remaining);
        let count = |count: Option<u64>| count.map(|count| count as f64);
        [
            used(seconds(all), seconds(left)),
            used(count(all.bytes), count(left.bytes)),
            used(count(all.requests), count(left.requests)),
        ]
        .into_iter()
        .flatten()
        .fold(0.0, f64::max)
    }

    /// Limits for the next of `phases` remaining phases: its fraction of the remainder, but no more
    /// than the phase requests. At least one block of `block` bytes while that much remains; `None`
    /// when a limit is used up.
    #[must_use]
    pub fn next_phase_limits(
        &self,
        phases: u64,
        block: u64,
        own: PlanLimits,
    ) -> Option<PlanLimits> {
        let phases = phases.max(1);
        let left = &self.remaining;
        let spent = left.duration == Some(Duration::ZERO)
            || left.bytes.is_some_and(|bytes| bytes < block)
            || left.requests == Some(0);
        if spent {
            return None;
        }
        let parts = u32::try_from(phases).unwrap_or(u32::MAX);
        let blocks = |bytes: u64| (bytes / block.max(1)).div_ceil(phases) * block.max(1);
        Some(PlanLimits {
            duration: min_of_set(left.duration.map(|time| time / parts), own.duration),
            bytes: min_of_set(left.bytes.map(blocks), own.bytes),
            requests: min_of_set(
                left.requests.map(|requests| requests.div_ceil(phases)),
                own.requests,
            ),
        })
    }

    /// Subtracts what a phase used. A phase that took almost no time still counts as one.
    pub fn consume_outcome(&mut self, outcome: &ExecutionOutcome) {
        let finish = outcome.finish_times.unwrap_or_default();
        let time = outcome.elapsed + finish.sync_time + finish.close_time;
        self.consume_time(time);
        // Bytes moved during the ramp time count as well.
        let counts = outcome.stats.all_counts();
        self.consume(
            counts.read_bytes + counts.written_bytes,
            counts.read_ios + counts.write_ios + outcome.errors.count,
        );
    }

    /// Subtracts time.
    pub fn consume_time(&mut self, time: Duration) {
        let left = &mut self.remaining;
        left.duration = left.duration.map(|left| left.saturating_sub(time));
    }

    /// Subtracts bytes and requests.
    pub fn consume(&mut self, bytes: u64, requests: u64) {
        let left = &mut self.remaining;
        left.bytes = left.bytes.map(|left| left.saturating_sub(bytes));
        left.requests = left.requests.map(|left| left.saturating_sub(requests));
    }
}

fn min_of_set<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(seconds: u64, bytes: u64, requests: u64) -> PlanLimits {
        PlanLimits {
            duration: Some(Duration::from_secs(seconds)),
            bytes: Some(bytes),
            requests: Some(requests),
        }
    }

    #[test]
    fn phase_budget_gives_even_fraction_in_whole_blocks() {
        let share = PhaseBudget::new(limits(10, 10_000, 25)).next_phase_limits(
            10,
            300,
            PlanLimits::default(),
        );
        let expected = PlanLimits {
            duration: Some(Duration::from_secs(1)),
            bytes: Some(1200),
            requests: Some(3),
        };
        assert_eq!(share, Some(expected));
    }

    #[test]
    fn phase_budget_never_exceeds_phase_limits() {
        let own = limits(1, 512, 1);
        assert_eq!(
            PhaseBudget::new(limits(10, 10_240, 100)).next_phase_limits(2, 512, own),
            Some(own)
        );
        assert_eq!(
            PhaseBudget::new(PlanLimits::default()).next_phase_limits(2, 512, own),
            Some(own)
        );
    }

    #[test]
    fn phase_budget_exhausted_gives_no_limits() {
        for spent in [limits(0, 512, 1), limits(1, 511, 1), limits(1, 512, 0)] {
            assert_eq!(
                PhaseBudget::new(spent).next_phase_limits(1, 512, PlanLimits::default()),
                None
            );
        }
    }
}
