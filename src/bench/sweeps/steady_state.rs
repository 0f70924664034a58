//! Steady-state performance of a drive, and the size of its write cache.

#[cfg(test)]
mod tests;
mod written;

use std::time::Duration;

use self::written::{ThroughputByBytesWritten, WRITE_CLIFF};
use crate::bench::framework;
use crate::bench::framework::budget::PhaseBudget;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::{describe_target, random_pattern};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartSpec, Description, FioGap, Parameter,
    ParameterKind, ParameterSet, Phase, Phases, RunContext, Sharing,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{AccessPattern, BlockSize, ExecutionOutcome, IoOperation, Plan, PlanLimits};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind, Verdict,
};
use crate::stats::latency::steady_state::{MAX_RANGE, SteadyStateWindow, WINDOW_ROUNDS};
use crate::units;

/// Preconditioning, then rounds until the SNIA steady-state criterion is met.
pub struct SteadyStateBenchmark;

/// Size of the preconditioning writes (SNIA SSS PTS: 128 KiB sequential).
const PRECONDITION_BLOCK: u32 = 128 << 10;
/// Fraction of the progress that the preconditioning represents.
const PRECONDITION_SHARE: f64 = 0.4;

const NOT_STEADY: Check = Check::warning("not-steady", "The rounds did not reach a steady state.");

const READ_FRACTION: Parameter<f64> = Parameter {
    help: "percentage of reads in a round (fio rwmixread)",
    ..framework::READ_FRACTION.with_default(|_| 0.0)
};
const PRECONDITION_PASSES: Parameter<f64> = Parameter {
    name: "precondition",
    kind: ParameterKind::Number {
        min: 0.0,
        max: 10.0,
    },
    help: "sequential writes of the whole window before the rounds, 0 to 10 times",
    default: |_| 2.0,
};
const MAX_ROUNDS: Parameter<u64> = Parameter {
    name: "rounds",
    kind: ParameterKind::Count { min: 1, max: 1000 },
    help: "maximum number of rounds",
    default: |_| 25,
};
const ROUND_DURATION: Parameter<Duration> = Parameter {
    name: "round-time",
    kind: ParameterKind::Duration,
    help: "duration of a round",
    default: |target| {
        let small = matches!(target.kind, TargetKind::ScratchFile | TargetKind::Simulated);
        Duration::from_secs(if small { 5 } else { 60 })
    },
};

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
        &framework::DEPTH_OF_MEDIUM,
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
        ChartSpec::line(
            "IOPS by round, window and fit of the last five",
            &[
                SeriesId::IOPS_BY_ROUND,
                SeriesId::CORRIDOR_HIGH,
                SeriesId::CORRIDOR_LOW,
                SeriesId::CORRIDOR_SLOPE,
            ],
        )
        .with_marks(&[MetricId::STEADY_STATE_ROUND]),
        ChartSpec::line(
            "Throughput against bytes written",
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

impl Benchmark for SteadyStateBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// Preconditioning and rounds: a drive in steady state needs as many as the SNIA window contains.
    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let precondition = precondition_plan(target, parameters)?;
        let first = precondition.as_ref().and_then(|plan| plan.limits.bytes);
        let (rounds, time) = (parameters.get(MAX_ROUNDS), parameters.get(ROUND_DURATION));
        let sentence = format!(
            "writes {} to {} sequentially, then random requests for at most {rounds} rounds of {}",
            framework::describe_written_bytes(first.unwrap_or(0), target),
            describe_target(target),
            units::format_wait(time),
        );
        let plan = round_plan(target, parameters)?;
        let mut phases: Vec<Phase> = precondition
            .map(|plan| Phase::new("preconditioning", plan))
            .into_iter()
            .collect();
        for number in 1..=rounds {
            let plan = Plan {
                seed: plan.seed.wrapping_add(number),
                limits: PlanLimits {
                    duration: Some(time),
                    ..PlanLimits::default()
                },
                ..plan.clone()
            };
            phases.push(Phase {
                is_expected: number <= WINDOW_ROUNDS as u64,
                ..Phase::new(format!("round {number} of at most {rounds}"), plan)
            });
        }
        let phases = Phases::new(sentence, plan.limits, Sharing::FirstCome, phases);
        Ok(phases.without_fio(FioGap::SteadyState))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let phases = self.phases(bench.target, bench.parameters)?;
        let (limits, phases) = (phases.groups[0].limits, &phases.groups[0].phases);
        let mut budget = PhaseBudget::new(limits);
        let mut written = ThroughputByBytesWritten::new(has_precondition(phases));
        let share = if has_precondition(phases) {
            PRECONDITION_SHARE
        } else {
            0.0
        };
        let share_of_round = (1.0 - share) / bench.parameters.get(MAX_ROUNDS) as f64;
        let mut rates = Vec::new();
        for phase in phases {
            let block = u64::from(phase.plan.block_size.max_bytes());
            let Some(limits) = budget.next_phase_limits(1, block, phase.plan.limits) else {
                break;
            };
            let plan = Plan {
                limits,
                ..phase.plan.clone()
            };
            let is_round = phase.plan.pattern != AccessPattern::Sequential;
            let outcome = if is_round {
                bench.execute(&phase.label, share_of_round, &plan)?
            } else {
                precondition(bench, &phase.label, &plan)?
            };
            budget.consume_outcome(&outcome);
            if is_round && (bench.is_stopped() || outcome.stats.requests() == 0) {
                return Ok(());
            }
            written.add_phase(&outcome.stats.write.counts_over_time, outcome.elapsed);
            written.set_results(bench);
            let mut is_steady = false;
            if is_round {
                rates.extend(outcome.per_second(outcome.stats.requests()));
                is_steady = set_round_results(bench, &rates, &outcome);
            }
            bench.phase_finished();
            if is_steady || bench.is_stopped() {
                return Ok(());
            }
        }
        bench.set_check(steady_state_not_reached(&rates));
        Ok(())
    }
}

fn has_precondition(phases: &[Phase]) -> bool {
    let first = phases.first();
    first.is_some_and(|phase| phase.plan.pattern == AccessPattern::Sequential)
}

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

fn precondition(
    bench: &mut RunContext<'_>,
    label: &str,
    plan: &Plan,
) -> Result<ExecutionOutcome, BenchError> {
    bench.measure(
        label,
        PRECONDITION_SHARE,
        plan,
        &mut |findings, stats, elapsed| {
            let mut curve = ThroughputByBytesWritten::new(true);
            curve.add_phase(&stats.write.counts_over_time, elapsed);
            findings.set_series(curve.series());
        },
    )
}

/// Sets the results of the rounds so far; returns whether the drive is in steady state.
fn set_round_results(
    bench: &mut RunContext<'_>,
    values: &[f64],
    outcome: &ExecutionOutcome,
) -> bool {
    let count = values.len();
    let numbered = values.iter().enumerate();
    let points = numbered
        .map(|(index, value)| [(index + 1) as f64, *value])
        .collect();
    bench.set_series(Series::new(SeriesKind::IopsByRound, points));
    let Some(corridor) = SteadyStateWindow::of_last_rounds(values) else {
        return false;
    };
    let (begin, end) = ((count - WINDOW_ROUNDS + 1) as f64, count as f64);
    let half = corridor.mean * MAX_RANGE / 2.0;
    let (high, low) = (corridor.mean + half, corridor.mean - half);
    let (first, last) = (corridor.fit_at_begin, corridor.fit_at_end);
    for (kind, from, to) in [
        (SeriesKind::CorridorHigh, high, high),
        (SeriesKind::CorridorLow, low, low),
        (SeriesKind::CorridorSlope, first, last),
    ] {
        bench.set_series(Series::new(kind, vec![[begin, from], [end, to]]));
    }
    let (range, slope) = (corridor.relative_range, corridor.relative_slope);
    bench.set_metric(Metric::new(MetricId::STEADY_STATE_RANGE, range));
    bench.set_metric(Metric::new(MetricId::STEADY_STATE_SLOPE, slope));
    if !corridor.is_steady() {
        return false;
    }
    bench.set_metric(Metric::new(MetricId::STEADY_STATE_ROUND, count as f64));
    bench.set_metric(
        Metric::new(MetricId::STEADY_STATE_IOPS, corridor.mean)
            .with_observations(WINDOW_ROUNDS as u64),
    );
    framework::report_latencies(&mut bench.findings, &outcome.stats);
    true
}

fn steady_state_not_reached(values: &[f64]) -> Verdict {
    let rounds = values.len();
    let window = SteadyStateWindow::of_last_rounds(values);
    let sentence = match &window {
        Some(window) => format!(
            "after {rounds} rounds the range of the last {WINDOW_ROUNDS} is {} of their mean, and their \
             slope {}",
            units::format_percent(window.relative_range),
            units::format_percent(window.relative_slope)
        ),
        None => format!(
            "{rounds} rounds were measured, the steady-state criterion needs {WINDOW_ROUNDS}"
        ),
    };
    NOT_STEADY.found(
        sentence,
        "use more --rounds, or a longer --round-time, --duration or --bytes",
        serde_json::json!({
            "rounds": rounds,
            "window_rounds": WINDOW_ROUNDS,
            "relative_range": window.as_ref().map(|window| window.relative_range),
            "relative_slope": window.as_ref().map(|window| window.relative_slope),
        }),
    )
}
