//! Optimal queue depth for random reads or writes.

mod analysis;
mod description;
#[cfg(test)]
mod tests;

use self::analysis::DepthSweep;
use self::description::{ALPHA, EARLY_STOP, MAX_DEPTH};
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::operation::Operation;
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::sweep::SweepSchedule;
use crate::bench::{BenchError, Benchmark, Description, Forecast, ParameterSet, RunContext};
use crate::drive::Target;
use crate::engine::{AccessPattern, Plan, PlanLimits};

/// A sweep over the queue depth with random requests.
pub struct ConcurrencyBenchmark {
    /// Read or write.
    pub operation: Operation,
}

impl Benchmark for ConcurrencyBenchmark {
    fn description(&self) -> &'static Description {
        description::of(self.operation)
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let plan = complete_plan(self.operation, target, parameters)?;
        let depths = swept_depths(parameters);
        let written = plan.limits.bytes.filter(|_| self.operation.writes());
        let amount = framework::describe_written_limit(written, target);
        Ok(Forecast {
            sentence: format!(
                "{} {} at random offsets of {}, at queue depths 1 to {} in {} steps and {DEFAULT_ROUNDS} \
                 rounds{amount}",
                self.operation.verb(),
                framework::describe_block_size(plan.block_size),
                describe_target(target),
                depths.last().copied().unwrap_or(1),
                depths.len(),
            ),
            run_time: PlannedPhases::with_even_shares(plan.limits)
                .add_rounds(depths.iter().map(|depth| Plan {
                    depth: *depth,
                    limits: PlanLimits::default(),
                    ..plan.clone()
                }))
                .run_time(target),
            max_read_bytes: plan.limits.bytes.filter(|_| !self.operation.writes()),
            max_written_bytes: written,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let whole = complete_plan(self.operation, bench.target, bench.parameters)?;
        let depths = swept_depths(bench.parameters);
        let early = bench.parameters.get(EARLY_STOP);
        let block = u64::from(whole.block_size.max_bytes());
        let alpha = bench.parameters.get(ALPHA);
        let mut schedule = SweepSchedule::new(depths.len(), whole.limits, whole.seed);
        // All rounds take equally long: time saved by skipped depths is not spent on the others.
        let phases = u32::try_from(schedule.phase_count()).unwrap_or(u32::MAX);
        let own = PlanLimits {
            duration: whole.limits.duration.map(|time| time / phases),
            ..PlanLimits::default()
        };
        let mut sweep = DepthSweep::new(&depths, alpha, whole.seed);
        while let Some(turn) = schedule.next_turn(bench, |_| (block, own)) {
            let depth = depths[turn.point];
            let plan = Plan {
                depth,
                ..turn.turn_plan(&whole)
            };
            let phase = turn.phase_label(&format!("depth {depth}"));
            let outcome = bench.execute(&phase, schedule.phase_fraction(), &plan)?;
            schedule.consume_outcome(&outcome);
            sweep.add_phase(turn, &plan, &outcome);
            sweep.set_series(bench);
            bench.phase_finished();
            if early && turn.ends_round && turn.round == 0 {
                for point in sweep.depths_without_gain() {
                    schedule.skip_point(point);
                }
            }
        }
        sweep.set_results(bench);
        bench.phase_finished();
        Ok(())
    }
}

fn complete_plan(
    operation: Operation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    framework::build_plan(target, parameters, operation.into(), AccessPattern::Random)
}

/// 1, 2, 4 ... up to the maximum, which is always included.
fn swept_depths(parameters: &ParameterSet) -> Vec<u32> {
    let max = parameters.get(MAX_DEPTH);
    let mut depths: Vec<u32> = (0..31)
        .map(|power| 1 << power)
        .take_while(|depth| *depth < max)
        .collect();
    depths.push(max);
    depths
}
