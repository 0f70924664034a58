//! Effect of the block size on throughput and latency of random reads or writes.

mod description;
mod model;
#[cfg(test)]
mod tests;

use self::description::{MAX_BLOCK, MIN_BLOCK};
use self::model::BlockSizePoints;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::operation::Operation;
use crate::bench::framework::parameter_conflict::ParameterConflict;
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::sweep::SweepSchedule;
use crate::bench::{BenchError, Benchmark, Description, Forecast, ParameterSet, RunContext};
use crate::drive::Target;
use crate::engine::{AccessPattern, BlockSize, Plan, PlanLimits};
use crate::units;

/// A sweep over the block size with random requests.
pub struct BlockSizeBenchmark {
    /// Read or write.
    pub operation: Operation,
}

impl Benchmark for BlockSizeBenchmark {
    fn description(&self) -> &'static Description {
        description::of(self.operation)
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let sizes = block_sizes(target, parameters)?;
        let limits = framework::plan_limits(parameters);
        let written = limits.bytes.filter(|_| self.operation.writes());
        let amount = framework::describe_written_limit(written, target);
        let word = |size: Option<&u32>| {
            units::format_block_size(size.map_or(0.0, |size| f64::from(*size)))
        };
        let plans = sizes
            .iter()
            .map(|size| {
                Ok(without_limits(plan_for_block_size(
                    *size,
                    self.operation,
                    target,
                    parameters,
                )?))
            })
            .collect::<Result<Vec<Plan>, BenchError>>()?;
        Ok(Forecast {
            sentence: format!(
                "{} {} to {} at random offsets of {}, at depth 1, in {} steps and {DEFAULT_ROUNDS} rounds{amount}",
                self.operation.verb(),
                word(sizes.first()),
                word(sizes.last()),
                describe_target(target),
                sizes.len(),
            ),
            run_time: PlannedPhases::with_even_shares(limits)
                .add_rounds(plans)
                .run_time(target),
            max_read_bytes: limits.bytes.filter(|_| !self.operation.writes()),
            max_written_bytes: written,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let sizes = block_sizes(bench.target, bench.parameters)?;
        let seed = bench.parameters.get(framework::SEED);
        let mut schedule =
            SweepSchedule::new(sizes.len(), framework::plan_limits(bench.parameters), seed);
        let mut measured = BlockSizePoints::new(&sizes, seed);
        let own = |point: usize| (u64::from(sizes[point]), PlanLimits::default());
        while let Some(turn) = schedule.next_turn(bench, own) {
            let size = sizes[turn.point];
            let plan = turn.turn_plan(&plan_for_block_size(
                size,
                self.operation,
                bench.target,
                bench.parameters,
            )?);
            let phase = turn.phase_label(&units::format_block_size(f64::from(size)));
            let outcome = bench.execute(&phase, schedule.phase_fraction(), &plan)?;
            schedule.consume_outcome(&outcome);
            measured.add(turn, &outcome);
            measured.set_series(bench);
            if turn.ends_round {
                measured.set_model_metrics(bench);
            }
            bench.phase_finished();
        }
        measured.set_model_metrics(bench);
        bench.phase_finished();
        Ok(())
    }
}

fn block_sizes(target: &Target, parameters: &ParameterSet) -> Result<Vec<u32>, BenchError> {
    let least = parameters.get(MIN_BLOCK);
    let window = framework::plan_window(target, parameters);
    let most = parameters
        .get(MAX_BLOCK)
        .min(window.end.saturating_sub(window.start));
    let sizes: Result<Vec<u32>, BenchError> =
        std::iter::successors(Some(least), |size| size.checked_mul(2))
            .take_while(|size| *size <= most)
            .map(framework::request_bytes)
            .collect();
    let sizes = sizes?;
    if sizes.is_empty() {
        return Err(ParameterConflict::NoBlockSize { min_bytes: least }.into());
    }
    Ok(sizes)
}

fn plan_for_block_size(
    size: u32,
    operation: Operation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    let mut plan =
        framework::build_plan(target, parameters, operation.into(), AccessPattern::Random)?;
    plan.block_size = BlockSize::Fixed(size);
    plan.alignment = u64::from(size);
    Ok(plan)
}

/// The plan without limits, which are those of the whole sweep.
fn without_limits(plan: Plan) -> Plan {
    Plan {
        limits: PlanLimits::default(),
        ..plan
    }
}
