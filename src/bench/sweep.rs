//! The course of a sweep: which point is measured when, and how much of the limits it may use.
//!
//! Every point is measured once in each of [`ROUNDS`] rounds, in an order that each round draws anew.
//! The limits of the whole sweep are shared out evenly to all phases, so that four rounds take no
//! longer than one pass with the same limits.

use super::Bench;
use super::budget::Budget;
use super::rounds::{self, ROUNDS};
use crate::engine::{Limits, Outcome, Plan};

/// One phase of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Which point, counted from 0.
    pub point: usize,
    /// Which round, counted from 0.
    pub round: usize,
    /// Whether the round is over with this phase.
    pub ends_round: bool,
    /// What this phase may use.
    pub limits: Limits,
}

impl Turn {
    /// `LABEL, round 2 of 4`: the phase for people.
    #[must_use]
    pub fn phase(&self, label: &str) -> String {
        format!("{label}, round {} of {ROUNDS}", self.round + 1)
    }

    /// The plan with the limits of this phase, and addresses that no other phase has: what one has
    /// read or written must not help another.
    #[must_use]
    pub fn plan(&self, plan: &Plan) -> Plan {
        Plan {
            limits: self.limits,
            seed: plan
                .seed
                .wrapping_add((self.round as u64) << 32)
                .wrapping_add((self.point as u64) << 16),
            ..plan.clone()
        }
    }
}

/// The phases that a sweep still has to do.
#[derive(Debug)]
pub struct SweepSchedule {
    order: Vec<usize>,
    position: usize,
    left_out: Vec<bool>,
    budget: Budget,
}

impl SweepSchedule {
    /// A sweep over so many points within these limits, in the order that the seed draws.
    #[must_use]
    pub fn new(points: usize, limits: Limits, seed: u64) -> Self {
        Self {
            order: rounds::order(points, ROUNDS, seed),
            position: 0,
            left_out: vec![false; points],
            budget: Budget::new(limits),
        }
    }

    /// Phases of the whole sweep.
    #[must_use]
    pub fn phases(&self) -> usize {
        self.order.len()
    }

    /// How much of the whole sweep a phase stands for, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        1.0 / self.phases().max(1) as f64
    }

    /// The next phase; `None` at the end, when a limit is used up, or when the benchmark is to stop.
    /// `own` gives the bytes of a point's largest request, and the limits that the point has for
    /// itself in each round.
    pub fn next(
        &mut self,
        bench: &mut Bench<'_>,
        own: impl Fn(usize) -> (u64, Limits),
    ) -> Option<Turn> {
        if bench.stopped() {
            return None;
        }
        while self.left_out[*self.order.get(self.position)?] {
            self.position += 1;
            bench.skip(self.share());
        }
        let point = self.order[self.position];
        let (block, own) = own(point);
        let to_come = self.to_come(self.position);
        let limits = self.budget.share(to_come.len() as u64, block, own)?;
        let points = self.left_out.len();
        let round = self.position / points;
        let same_round = |position: &&usize| **position / points == round;
        let turn = Turn {
            point,
            round,
            ends_round: to_come.iter().filter(same_round).count() == 1,
            limits,
        };
        self.position += 1;
        Some(turn)
    }

    /// Positions from this one on that are not left out.
    fn to_come(&self, from: usize) -> Vec<usize> {
        (from..self.order.len())
            .filter(|position| !self.left_out[self.order[*position]])
            .collect()
    }

    /// Takes what a phase used from the limits.
    pub fn spend(&mut self, outcome: &Outcome) {
        self.budget.spend(outcome);
    }

    /// Measures this point no more.
    pub fn leave_out(&mut self, point: usize) {
        self.left_out[point] = true;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::passes::{self, Pass};
    use crate::bench::tests::fake::{self, Fake};
    use crate::engine::Pattern;

    /// Plans of a sweep over three points of a random-read, run through [`passes::in_rounds`].
    fn plans(seed: u64, limits: Limits) -> Vec<Plan> {
        let fake = Fake::new(|_| Some(1_000_000));
        let passes: Vec<Pass> = (0..3)
            .map(|point| {
                let plan = Plan::reading(Pattern::Random, 4096 << point, 0..1 << 30);
                Pass::new(format!("point {point}"), format!("p{point}"), plan)
            })
            .collect();
        fake::bench(&fake, &fake::target(1 << 30), |bench| {
            passes::in_rounds(bench, limits, &passes, seed, &mut passes::Nothing).unwrap();
        });
        fake.plans.into_inner().unwrap()
    }

    #[test]
    fn every_point_has_its_turn_in_each_round_within_the_limits() {
        let limits = Limits {
            duration: Some(Duration::from_secs(12)),
            ..Limits::default()
        };
        let plans = plans(1, limits);
        assert_eq!(plans.len(), rounds::phases(3));
        for round in plans.chunks(3) {
            let mut sizes: Vec<u32> = round.iter().map(|plan| plan.block_size.largest()).collect();
            sizes.sort_unstable();
            assert_eq!(sizes, [4096, 8192, 16384]);
        }
        let time: Duration = plans.iter().filter_map(|plan| plan.limits.duration).sum();
        assert!(time <= Duration::from_millis(12_001), "{time:?}");
        let mut seeds: Vec<u64> = plans.iter().map(|plan| plan.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), plans.len());
    }

    #[test]
    fn order_follows_from_the_seed_and_limits_in_requests_hold() {
        let limits = Limits {
            requests: Some(100),
            ..Limits::default()
        };
        let order = |seed| -> Vec<u32> {
            let plans = plans(seed, limits);
            let all: u64 = plans.iter().filter_map(|plan| plan.limits.requests).sum();
            assert_eq!(all, 100);
            plans.iter().map(|plan| plan.block_size.largest()).collect()
        };
        assert_eq!(order(1), order(1));
        assert!((2..10).any(|seed| order(seed) != order(1)));
    }
}
