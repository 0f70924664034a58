//! Single reads, one at a time, within the benchmark's limits.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};

use crate::bench::framework::budget::PhaseBudget;
use crate::bench::framework::check_window;
use crate::bench::{BenchError, RunContext, framework};
use crate::engine::{AccessPattern, LoggedRequest, Plan, PlanLimits};
use crate::stats::random::scale_to_bound;

/// Bytes of the sectors in which tracks are counted.
pub const SECTOR_BYTES: f64 = 512.0;

/// One read. Times in seconds on the clock of its phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedRead {
    /// First byte.
    pub address: u64,
    /// Submission time.
    pub start: f64,
    /// Completion time.
    pub end: f64,
}

impl TimedRead {
    /// Latency in seconds.
    pub fn response(&self) -> f64 {
        self.end - self.start
    }
}

impl From<&LoggedRequest> for TimedRead {
    fn from(request: &LoggedRequest) -> Self {
        Self {
            address: request.address,
            start: request.start_ns as f64 / 1e9,
            end: request.end_ns as f64 / 1e9,
        }
    }
}

/// Submits single reads to the target and subtracts them from the limits.
pub struct Prober<'b, 'a> {
    /// The running benchmark.
    pub context: &'b mut RunContext<'a>,
    /// Random generator of addresses.
    pub random: Xoshiro256PlusPlus,
    plan: Plan,
    budget: PhaseBudget,
    completed_fraction: f64,
    /// Run delay of the worker threads, and the reads that they submitted meanwhile.
    run_delay: (Duration, u64),
}

impl<'b, 'a> Prober<'b, 'a> {
    /// A prober with the benchmark's window, limits and seed; it reads one logical block at a time.
    ///
    /// # Errors
    /// When the window does not hold one block.
    pub fn new(bench: &'b mut RunContext<'a>) -> Result<Self, BenchError> {
        // The smallest request has the most exact position.
        let block = bench.target.logical_block_bytes.max(512);
        let window = framework::plan_window(bench.target, bench.parameters);
        let pattern = AccessPattern::AddressList(Arc::new([]));
        let mut plan = Plan::single_depth_reads(pattern, block, window);
        plan.cache_mode = framework::cache_mode(bench.parameters);
        plan.seed = bench.parameters.get(framework::SEED);
        plan.limits = framework::plan_limits(bench.parameters);
        check_window(&plan)?;
        Ok(Self {
            random: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
            budget: PhaseBudget::new(plan.limits),
            completed_fraction: 0.0,
            context: bench,
            plan,
            run_delay: (Duration::ZERO, 0),
        })
    }

    /// Bytes per read; every address is a multiple of it.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.plan.block_size.max_bytes())
    }

    /// Address range of the reads.
    pub fn window(&self) -> Range<u64> {
        self.plan.window.clone()
    }

    /// Size of the address range in bytes.
    pub fn window_bytes(&self) -> u64 {
        self.plan.window.end - self.plan.window.start
    }

    /// Mean time per read for which this program waited for a CPU; `None` in virtual time, or where the
    /// kernel does not report it.
    pub fn mean_run_delay(&self) -> Option<Duration> {
        let (delay, reads) = self.run_delay;
        (reads > 0).then(|| delay.div_f64(reads as f64))
    }

    /// Remaining limits; `None` when one is used up.
    pub fn remaining_limits(&self) -> Option<PlanLimits> {
        self.budget
            .next_phase_limits(1, self.block_bytes(), PlanLimits::default())
    }

    /// Whether the benchmark must end: stopped, failed, or at a limit.
    pub fn is_over(&self) -> bool {
        self.context.is_stopped() || self.remaining_limits().is_none()
    }

    /// The block that contains a byte offset, clamped to the window.
    pub fn align_down(&self, address: u64) -> u64 {
        let (block, window) = (self.block_bytes(), &self.plan.window);
        let first = window.start.next_multiple_of(block);
        let last = (window.end - block) / block * block;
        (address / block * block).clamp(first.min(last), last)
    }

    /// A random block from `range`.
    pub fn random_address(&mut self, range: &Range<u64>) -> u64 {
        let length = range.end.saturating_sub(range.start);
        let offset = scale_to_bound(self.random.next_u64(), length);
        self.align_down(range.start + offset)
    }

    /// Reads these addresses in this order, as far as the limits permit.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn read_addresses(
        &mut self,
        phase: &str,
        addresses: &[u64],
    ) -> Result<Vec<TimedRead>, BenchError> {
        let left = self.remaining_limits();
        let Some(left) = left.filter(|_| !self.context.is_stopped() && !addresses.is_empty())
        else {
            return Ok(Vec::new());
        };
        let share = self.fraction_of(addresses.len() as f64);
        let mut plan = self.plan.clone();
        plan.pattern = AccessPattern::AddressList(addresses.into());
        plan.log_capacity = addresses.len();
        plan.limits = left;
        let outcome = self.context.execute(phase, share, &plan)?;
        self.completed_fraction += share;
        self.budget.consume_outcome(&outcome);
        if let Some(delay) = outcome.run_delay {
            self.run_delay.0 += delay;
            self.run_delay.1 += outcome.stats.requests();
        }
        Ok(outcome.request_log.iter().map(TimedRead::from).collect())
    }

    /// The fraction of the benchmark that so many reads represent: by the limit that they exhaust
    /// first, at the time that a read takes on a usual disk.
    fn fraction_of(&self, reads: f64) -> f64 {
        const READ_SECONDS: f64 = 0.01;
        let PlanLimits {
            duration,
            bytes,
            requests,
        } = self.plan.limits;
        let by_time = duration.map(|limit| READ_SECONDS / limit.as_secs_f64());
        let by_bytes = bytes.map(|limit| self.block_bytes() as f64 / limit as f64);
        let by_requests = requests.map(|limit| 1.0 / limit as f64);
        let most = [by_time, by_bytes, by_requests].into_iter().flatten();
        (reads * most.fold(0.0, f64::max)).min(1.0 - self.completed_fraction)
    }
}
