//! Single reads, one after the other, within the test's limits.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::bench::budget::Budget;
use crate::bench::common;
use crate::bench::{Bench, BenchError, check_window};
use crate::drive::random::Random;
use crate::engine::{Limits, Pattern, Plan, Request};

/// One read. Times in seconds on the clock of its phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// First byte.
    pub address: u64,
    /// When it was handed over.
    pub start: f64,
    /// When its completion was seen.
    pub end: f64,
}

impl Probe {
    /// How long it took, in seconds.
    #[must_use]
    pub fn response(&self) -> f64 {
        self.end - self.start
    }
}

impl From<&Request> for Probe {
    fn from(request: &Request) -> Self {
        Self {
            address: request.address,
            start: request.start_ns as f64 / 1e9,
            end: request.end_ns as f64 / 1e9,
        }
    }
}

/// Sends single reads to the target and keeps account of what the limits leave.
pub struct Prober<'b, 'a> {
    /// The running test.
    pub bench: &'b mut Bench<'a>,
    /// Where addresses come from.
    pub random: Random,
    plan: Plan,
    budget: Budget,
}

impl<'b, 'a> Prober<'b, 'a> {
    /// A prober with the test's window, limits and seed; it reads one logical block at a time.
    ///
    /// # Errors
    /// When the window does not hold one block.
    pub fn new(bench: &'b mut Bench<'a>) -> Result<Self, BenchError> {
        // The smallest request: its place is the most exact.
        let block = bench.target.logical_block.max(512);
        let window = common::window(bench.target, bench.parameters);
        let mut plan = Plan::reading(Pattern::Addresses(Arc::new([])), block, window);
        plan.cache = common::cache_mode(bench.parameters);
        plan.seed = bench.parameters.count("seed").unwrap_or(1);
        check_window(&plan)?;
        Ok(Self {
            random: Random::new(plan.seed),
            budget: Budget::new(common::limits(bench.parameters)),
            bench,
            plan,
        })
    }

    /// Bytes of one read: every address is a multiple of it.
    #[must_use]
    pub fn block(&self) -> u64 {
        u64::from(self.plan.block_size.largest())
    }

    /// The part of the target that may be read.
    #[must_use]
    pub fn window(&self) -> Range<u64> {
        self.plan.window.clone()
    }

    /// What the duration leaves; `None` without such a limit.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.left()?.duration
    }

    /// What the limits leave; `None` when one is used up.
    fn left(&self) -> Option<Limits> {
        self.budget.share(1, self.block(), Limits::default())
    }

    /// Whether the test shall come to its end: stopped, failed, or a limit reached.
    #[must_use]
    pub fn over(&self) -> bool {
        self.bench.stopped() || self.left().is_none()
    }

    /// The block at or before a byte, within the window.
    #[must_use]
    pub fn aligned(&self, address: u64) -> u64 {
        let (block, window) = (self.block(), &self.plan.window);
        let first = window.start.next_multiple_of(block);
        let last = (window.end - block) / block * block;
        (address / block * block).clamp(first.min(last), last)
    }

    /// A random block from `range`.
    pub fn anywhere(&mut self, range: &Range<u64>) -> u64 {
        let offset = self.random.below(range.end.saturating_sub(range.start));
        self.aligned(range.start + offset)
    }

    /// Reads these addresses in this order, as many as the limits allow. `share` is the part of
    /// the whole test that this phase stands for.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn read(
        &mut self,
        phase: &str,
        share: f64,
        addresses: &[u64],
    ) -> Result<Vec<Probe>, BenchError> {
        let Some(left) = self
            .left()
            .filter(|_| !self.bench.stopped() && !addresses.is_empty())
        else {
            return Ok(Vec::new());
        };
        let mut plan = self.plan.clone();
        plan.pattern = Pattern::Addresses(addresses.into());
        plan.log = addresses.len();
        plan.limits = left;
        let outcome = self.bench.execute(phase, share, &plan)?;
        self.budget.spend(&outcome);
        Ok(outcome.log.iter().map(Probe::from).collect())
    }
}
