//! Schedule of a sweep: the order of the points, and the limits of each phase.
//!
//! Every round measures every point once, in a new random order. The limits of the sweep are
//! divided evenly among all phases, so that several rounds take no longer than one pass with the
//! same limits.

use super::budget::PhaseBudget;
use super::rounds;
use super::rounds::DEFAULT_ROUNDS;
use crate::bench::RunContext;
use crate::engine::{ExecutionOutcome, Plan, PlanLimits};

/// One phase of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepTurn {
    /// Index of the point.
    pub point: usize,
    /// Index of the round.
    pub round: usize,
    /// Whether this is the last phase of its round.
    pub ends_round: bool,
    /// Limits of this phase.
    pub limits: PlanLimits,
}

impl SweepTurn {
    /// Label for the user: `LABEL, round 2 of 4`.
    #[must_use]
    pub fn phase_label(&self, label: &str) -> String {
        format!("{label}, round {} of {DEFAULT_ROUNDS}", self.round + 1)
    }

    /// The plan with the limits of this phase and a seed of its own, so that no phase profits from
    /// data that another phase read or wrote.
    #[must_use]
    pub fn turn_plan(&self, plan: &Plan) -> Plan {
        Plan {
            limits: self.limits,
            ramp_time: rounds::ramp_time_of_round(plan.ramp_time),
            seed: plan
                .seed
                .wrapping_add((self.round as u64) << 32)
                .wrapping_add((self.point as u64) << 16),
            ..plan.clone()
        }
    }
}

/// Remaining phases of a sweep.
#[derive(Debug)]
pub struct SweepSchedule {
    order: Vec<usize>,
    position: usize,
    skipped_points: Vec<bool>,
    budget: PhaseBudget,
}

impl SweepSchedule {
    /// A sweep over this many points within these limits; the seed determines the order.
    #[must_use]
    pub fn new(points: usize, limits: PlanLimits, seed: u64) -> Self {
        Self {
            order: rounds::measurement_order(points, DEFAULT_ROUNDS, seed),
            position: 0,
            skipped_points: vec![false; points],
            budget: PhaseBudget::new(limits),
        }
    }

    /// Number of phases in the whole sweep.
    #[must_use]
    pub fn phase_count(&self) -> usize {
        self.order.len()
    }

    /// Fraction (0 to 1) of the sweep that one phase represents.
    #[must_use]
    pub fn phase_fraction(&self) -> f64 {
        1.0 / self.phase_count().max(1) as f64
    }

    /// The next phase; `None` at the end, when a limit is used up, or when the benchmark is
    /// stopped. `own` returns the bytes of a point's largest request, and the point's own limits in
    /// each round.
    pub fn next_turn(
        &mut self,
        bench: &mut RunContext<'_>,
        own: impl Fn(usize) -> (u64, PlanLimits),
    ) -> Option<SweepTurn> {
        if bench.is_stopped() {
            return None;
        }
        while self.skipped_points[*self.order.get(self.position)?] {
            self.position += 1;
            bench.skip_fraction(self.phase_fraction());
        }
        let point = self.order[self.position];
        let (block, own) = own(point);
        let to_come = self.remaining_positions(self.position);
        let limits = self
            .budget
            .next_phase_limits(to_come.len() as u64, block, own)?;
        let points = self.skipped_points.len();
        let round = self.position / points;
        let same_round = |position: &&usize| **position / points == round;
        let turn = SweepTurn {
            point,
            round,
            ends_round: to_come.iter().filter(same_round).count() == 1,
            limits,
        };
        self.position += 1;
        Some(turn)
    }

    /// Positions from this one on, without skipped points.
    fn remaining_positions(&self, from: usize) -> Vec<usize> {
        (from..self.order.len())
            .filter(|position| !self.skipped_points[self.order[*position]])
            .collect()
    }

    /// Subtracts the resources used by a phase from the limits.
    pub fn consume_outcome(&mut self, outcome: &ExecutionOutcome) {
        self.budget.consume_outcome(outcome);
    }

    /// Excludes a point from the remaining rounds.
    pub fn skip_point(&mut self, point: usize) {
        self.skipped_points[point] = true;
    }
}

#[cfg(test)]
mod tests {
    use crate::session::document::VariantKey;
    use std::time::Duration;

    use super::*;
    use crate::bench::framework::variants;
    use crate::bench::framework::variants::Variant;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::FakeDrive;
    use crate::engine::AccessPattern;

    /// Plans of a sweep over three points of random-read, run through `measure_in_rounds`.
    fn executed_plans(seed: u64, limits: PlanLimits) -> Vec<Plan> {
        let fake = FakeDrive::new(|_| Some(1_000_000));
        let variants: Vec<Variant> = (0..3)
            .map(|point| {
                let plan =
                    Plan::single_depth_reads(AccessPattern::Random, 4096 << point, 0..1 << 30);
                Variant::new(
                    format!("point {point}"),
                    VariantKey::new("p").round(point),
                    plan,
                )
            })
            .collect();
        fake::measure_on_fake(&fake, &fake::simulated_target(1 << 30), |bench| {
            variants::measure_in_rounds(bench, limits, &variants, seed, &mut variants::NoHook)
                .unwrap();
        });
        fake.executed_plans.into_inner().unwrap()
    }

    #[test]
    fn sweep_schedule_measures_every_point_per_round_within_limits() {
        let limits = PlanLimits {
            duration: Some(Duration::from_secs(12)),
            ..PlanLimits::default()
        };
        let plans = executed_plans(1, limits);
        assert_eq!(plans.len(), rounds::phase_count(3));
        for round in plans.chunks(3) {
            let mut sizes: Vec<u32> = round
                .iter()
                .map(|plan| plan.block_size.max_bytes())
                .collect();
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
    fn sweep_schedule_order_depends_on_seed_and_respects_request_limit() {
        let limits = PlanLimits {
            requests: Some(100),
            ..PlanLimits::default()
        };
        let order = |seed| -> Vec<u32> {
            let plans = executed_plans(seed, limits);
            let all: u64 = plans.iter().filter_map(|plan| plan.limits.requests).sum();
            assert_eq!(all, 100);
            plans
                .iter()
                .map(|plan| plan.block_size.max_bytes())
                .collect()
        };
        assert_eq!(order(1), order(1));
        assert!((2..10).any(|seed| order(seed) != order(1)));
    }
}
