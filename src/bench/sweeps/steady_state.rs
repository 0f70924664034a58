//! Steady-state performance of a drive, and the size of its write cache.

mod parameters;
mod rounds;
#[cfg(test)]
mod tests;
mod written;

use self::parameters::{MAX_ROUNDS, PRECONDITION_PASSES, READ_FRACTION, ROUND_DURATION};
use self::rounds::NOT_STEADY;
use self::written::{ThroughputByBytesWritten, WRITE_CLIFF};
use crate::bench::framework;
use crate::bench::framework::budget::PhaseBudget;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::{describe_target, random_pattern};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, BlockSize, IoOperation, Plan, PlanLimits};
use crate::session::checks::Workload;
use crate::session::document::{MetricId, MetricKind, SeriesId};
use crate::stats::latency::steady_state::WINDOW_ROUNDS;
use crate::units;

/// Preconditioning, then rounds until the SNIA steady-state criterion is met.
pub struct SteadyStateBenchmark;

/// Size of the preconditioning writes (SNIA SSS PTS: 128 KiB sequential).
const PRECONDITION_BLOCK: u32 = 128 << 10;

static DESCRIPTION: Description = Description {
    name: "steady-state",
    aliases: &[],
    group: BenchmarkGroup::Throughput,
    example: "/dev/sdX --overwrite /dev/sdX",
    summary: "writes until steady state (SNIA): steady-state IOPS, size of the write cache",
    explanation: include_str!("steady-state.md").trim_ascii_end(),
    may_write: true,
    checks: &[NOT_STEADY, WRITE_CLIFF],
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::SteadyStateIops,
            MetricKind::SteadyStateRound,
            MetricKind::SteadyStateRange,
            MetricKind::SteadyStateSlope,
            MetricKind::CacheBytes,
        ]),
        MetricFamily::Latency,
    ],
    parameters: &[
        &READ_FRACTION,
        &PRECONDITION_PASSES,
        &MAX_ROUNDS,
        &ROUND_DURATION,
        &framework::BLOCK_SIZE,
        &framework::DEPTH,
        &framework::WORKERS,
        &framework::PATTERN,
        &framework::ZIPF,
        &framework::DURATION.with_default(|_| None),
        &framework::BYTES
            .with_default(|target| Some(target.size_bytes.saturating_mul(4).max(16 << 30))),
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SYNC,
        &framework::DATA,
        &framework::SEED,
        &framework::CACHE,
    ],
    charts: &[
        ChartSpec::new(
            "IOPS by round, window and fit of the last five",
            ChartShape::Line,
            &[
                SeriesId::IOPS_BY_ROUND,
                SeriesId::CORRIDOR_HIGH,
                SeriesId::CORRIDOR_LOW,
                SeriesId::CORRIDOR_SLOPE,
            ],
        )
        .with_marks(&[MetricId::STEADY_STATE_ROUND]),
        ChartSpec::new(
            "Throughput against bytes written",
            ChartShape::Line,
            &[SeriesId::THROUGHPUT_AGAINST_WRITTEN],
        )
        .with_marks(&[MetricId::CACHE_BYTES]),
    ],
    headline_metrics: &[
        MetricId::STEADY_STATE_IOPS,
        MetricId::STEADY_STATE_ROUND,
        MetricId::STEADY_STATE_RANGE,
        MetricId::CACHE_BYTES,
    ],
};

fn round_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    let reads = parameters.get(READ_FRACTION);
    let operation = if reads > 0.0 {
        IoOperation::Mixed { reads }
    } else {
        IoOperation::Write
    };
    framework::build_plan(target, parameters, operation, random_pattern(parameters))
}

/// Sequential writes over the window, repeated; `None` for zero repetitions.
fn precondition_plan(
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Option<Plan>, BenchError> {
    let mut plan = framework::build_plan(
        target,
        parameters,
        IoOperation::Write,
        AccessPattern::Sequential,
    )?;
    let length = plan.window.end - plan.window.start;
    let block = PRECONDITION_BLOCK.min(u32::try_from(length / 4096 * 4096).unwrap_or(u32::MAX));
    let times = parameters.get(PRECONDITION_PASSES);
    let bytes = (length as f64 * times) as u64;
    plan.block_size = BlockSize::Fixed(block.max(4096));
    plan.alignment = u64::from(plan.block_size.max_bytes());
    plan.depth = plan.depth.max(8);
    plan.workers = 1;
    plan.limits = PlanLimits {
        bytes: Some(bytes),
        ..PlanLimits::default()
    };
    Ok((bytes >= plan.alignment).then_some(plan))
}

/// Preconditioning and rounds: a drive in steady state needs as many as the SNIA window contains.
fn planned_phases(
    target: &Target,
    parameters: &ParameterSet,
    precondition: Option<Plan>,
) -> Result<PlannedPhases, BenchError> {
    let round = round_plan(target, parameters)?;
    let rounds = parameters.get(MAX_ROUNDS);
    let plan = Plan {
        limits: PlanLimits {
            duration: Some(parameters.get(ROUND_DURATION)),
            ..PlanLimits::default()
        },
        ..round.clone()
    };
    let phases = PlannedPhases::first_come(round.limits).add_phases(precondition);
    Ok((0..rounds).fold(phases, |phases, number| {
        match number < WINDOW_ROUNDS as u64 {
            true => phases.add_phase(plan.clone()),
            false => phases.add_optional_phase(plan.clone()),
        }
    }))
}

impl Benchmark for SteadyStateBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let limits = round_plan(target, parameters)?.limits;
        let precondition = precondition_plan(target, parameters)?;
        let time = planned_phases(target, parameters, precondition.clone())?.run_time(target);
        let first = precondition.and_then(|plan| plan.limits.bytes);
        let rounds = parameters.get(MAX_ROUNDS);
        let round = parameters.get(ROUND_DURATION);
        let most = limits.bytes.map_or_else(String::new, |bytes| {
            format!(
                "; at most {} in total",
                framework::describe_written_bytes(bytes, target)
            )
        });
        Ok(Forecast {
            sentence: format!(
                "writes {} to {} sequentially, then random requests for at most {rounds} rounds of \
                 {}{most}",
                framework::describe_written_bytes(first.unwrap_or(0), target),
                describe_target(target),
                units::format_wait(round),
            ),
            run_time: time,
            max_read_bytes: None,
            max_written_bytes: limits.bytes,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let round = round_plan(bench.target, bench.parameters)?;
        let first = precondition_plan(bench.target, bench.parameters)?;
        let mut budget = PhaseBudget::new(round.limits);
        let mut written = ThroughputByBytesWritten::default();
        let share = if first.is_some() { 0.4 } else { 0.0 };
        if let Some(plan) = first {
            run_preconditioning(bench, &plan, share, &mut budget, &mut written)?;
        }
        self::rounds::run_rounds(bench, &round, share, &mut budget, &mut written)
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SteadyState)
    }
}

fn run_preconditioning(
    bench: &mut RunContext<'_>,
    plan: &Plan,
    share: f64,
    budget: &mut PhaseBudget,
    written: &mut ThroughputByBytesWritten,
) -> Result<(), BenchError> {
    let Some(limits) = budget.next_phase_limits(1, plan.alignment, plan.limits) else {
        return Ok(());
    };
    let plan = Plan {
        limits,
        ..plan.clone()
    };
    let outcome = bench.measure(
        "preconditioning",
        share,
        &plan,
        &mut |findings, stats, elapsed| {
            let mut curve = ThroughputByBytesWritten::default();
            curve.add_phase(&stats.write.counts_over_time, elapsed);
            findings.set_series(curve.series());
        },
    )?;
    budget.consume_outcome(&outcome);
    written.add_phase(&outcome.stats.write.counts_over_time, outcome.elapsed);
    written.set_results(bench);
    bench.phase_finished();
    Ok(())
}
