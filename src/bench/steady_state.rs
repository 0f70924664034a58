//! What a drive does for good: rounds until it has settled, and where its cache ends.

mod rounds;
#[cfg(test)]
mod tests;
mod written;

use std::time::Duration;

use super::budget::Budget;
use super::common::{self, place, random_pattern};
use super::forecast::Phases;
use super::metrics::latency_metrics;
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{BlockSize, Limits, Operation, Pattern, Plan};
use crate::stats::steady_state::WINDOW;
use crate::units;
use written::Written;

/// Preconditioning and rounds by the SNIA's rule.
pub struct SteadyState;

/// Size of the preconditioning writes (SNIA SSS PTS: 128 KiB sequential).
const PRECONDITION_BLOCK: u32 = 128 << 10;

const READS: Parameter = Parameter {
    name: "reads",
    kind: Kind::Share,
    help: "share of the requests of a round that read",
    default: |_| Value::Share(0.0),
};
const PRECONDITION: Parameter = Parameter {
    name: "precondition",
    kind: Kind::Number {
        least: 0.0,
        most: 10.0,
    },
    help: "how many times the window is written sequentially before the rounds",
    default: |_| Value::Number(2.0),
};
const ROUNDS: Parameter = Parameter {
    name: "rounds",
    kind: Kind::Count {
        least: 1,
        most: 1000,
    },
    help: "rounds at most",
    default: |_| Value::Count(25),
};
const ROUND_TIME: Parameter = Parameter {
    name: "round-time",
    kind: Kind::Duration,
    help: "how long a round lasts",
    default: |target| {
        let small = matches!(target.kind, TargetKind::Scratch | TargetKind::Simulated);
        Value::Duration(Duration::from_secs(if small { 5 } else { 60 }))
    },
};

static DESCRIPTION: Description = Description {
    name: "steady-state",
    aliases: &[],
    summary: "writes until the drive has settled (SNIA rule): its lasting IOPS, the size of its cache",
    explanation: "\
A new or trimmed SSD is fast until its spare blocks and its cache are used up. This test writes the \
whole window twice in sequence, then measures the workload in rounds until five of them in a row \
agree: the largest and the smallest differ by at most 20 % of their mean, and the line through them \
rises or falls by at most 10 % (SNIA Solid State Storage Performance Test Specification). What is \
measured then is what the drive does for good.

The first chart shows IOPS round by round, with the corridor of 20 % around the last five and \
the line through them. The second shows throughput against the bytes written: where it falls off a \
cliff, a cache is full, and the bytes until there are its size.

It overwrites everything in the window, several times: how many bytes that is, and what share of the \
drive, is said beforehand. On a large drive it takes hours, and it wears an SSD a little.",
    writes: true,
    metrics: latency_metrics!["steady_state_iops", "steady_state_round", "steady_state_range", "steady_state_slope", "cache_bytes"],
    parameters: &[
        READS,
        PRECONDITION,
        ROUNDS,
        ROUND_TIME,
        common::BLOCK_SIZE,
        common::DEPTH,
        common::WORKERS,
        common::PATTERN,
        common::ZIPF,
        common::DURATION.with_default(|_| Value::Unset),
        common::BYTES.with_default(|target| {
            Value::Bytes(target.size.saturating_mul(4).max(16 << 30))
        }),
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SYNC,
        common::DATA,
        common::SEED,
        common::CACHE,
    ],
    charts: &[
        Chart::new(
            "IOPS by round, corridor and slope of the last five",
            Shape::Line,
            &["iops-by-round", "corridor-high", "corridor-low", "corridor-slope"],
        )
        .marked(&["steady_state_round"]),
        Chart::new(
            "Throughput against bytes written",
            Shape::Line,
            &["throughput-against-written"],
        )
        .marked(&["cache_bytes"]),
    ],
    headline: &[
        "steady_state_iops",
        "steady_state_round",
        "steady_state_range",
        "cache_bytes",
    ],
};

fn round_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    let reads = parameters.share("reads").unwrap_or(0.0);
    let operation = if reads > 0.0 {
        Operation::Mixed { reads }
    } else {
        Operation::Write
    };
    common::plan(target, parameters, operation, random_pattern(parameters))
}

/// Sequential writes over the window, so many times; `None` for no time.
fn precondition_plan(target: &Target, parameters: &Parameters) -> Result<Option<Plan>, BenchError> {
    let mut plan = common::plan(target, parameters, Operation::Write, Pattern::Sequential)?;
    let length = plan.window.end - plan.window.start;
    let block = PRECONDITION_BLOCK.min(u32::try_from(length / 4096 * 4096).unwrap_or(u32::MAX));
    let times = parameters.number("precondition").unwrap_or(2.0);
    let bytes = (length as f64 * times) as u64;
    plan.block_size = BlockSize::Fixed(block.max(4096));
    plan.align = u64::from(plan.block_size.largest());
    plan.depth = plan.depth.max(8);
    plan.workers = 1;
    plan.limits = Limits {
        bytes: Some(bytes),
        ..Limits::default()
    };
    Ok((bytes >= plan.align).then_some(plan))
}

/// The preconditioning, and rounds: a drive that has settled needs as many as the rule looks at.
fn phases(
    target: &Target,
    parameters: &Parameters,
    precondition: Option<Plan>,
) -> Result<Phases, BenchError> {
    let round = round_plan(target, parameters)?;
    let rounds = parameters.count("rounds").unwrap_or(25);
    let plan = Plan {
        limits: Limits {
            duration: parameters.duration("round-time"),
            ..Limits::default()
        },
        ..round.clone()
    };
    let phases = Phases::in_turn(round.limits).then_all(precondition);
    Ok(
        (0..rounds).fold(phases, |phases, number| match number < WINDOW as u64 {
            true => phases.then(plan.clone()),
            false => phases.perhaps(plan.clone()),
        }),
    )
}

impl Test for SteadyState {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let limits = round_plan(target, parameters)?.limits;
        let precondition = precondition_plan(target, parameters)?;
        let time = phases(target, parameters, precondition.clone())?.time(target);
        let first = precondition.and_then(|plan| plan.limits.bytes);
        let rounds = parameters.count("rounds").unwrap_or(25);
        let round = parameters.duration("round-time").unwrap_or_default();
        let most = limits.bytes.map_or_else(String::new, |bytes| {
            format!("; at most {} in all", common::written_share(bytes, target))
        });
        Ok(Forecast {
            sentence: format!(
                "writes {} to {} in sequence, then random requests for at most {rounds} rounds of \
                 {}{most}",
                common::written_share(first.unwrap_or(0), target),
                place(target),
                units::waiting(round),
            ),
            time,
            reads: None,
            writes: limits.bytes,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let round = round_plan(bench.target, bench.parameters)?;
        let first = precondition_plan(bench.target, bench.parameters)?;
        let mut budget = Budget::new(round.limits);
        let mut written = Written::default();
        let share = if first.is_some() { 0.4 } else { 0.0 };
        if let Some(plan) = first {
            precondition(bench, &plan, share, &mut budget, &mut written)?;
        }
        rounds::rounds(bench, &round, share, &mut budget, &mut written)
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SteadyState)
    }
}

fn precondition(
    bench: &mut Bench<'_>,
    plan: &Plan,
    share: f64,
    budget: &mut Budget,
    written: &mut Written,
) -> Result<(), BenchError> {
    let Some(limits) = budget.share(1, plan.align, plan.limits) else {
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
        &mut |findings, tally, elapsed| {
            let mut curve = Written::default();
            curve.add(&tally.write.timeline, elapsed);
            findings.put_series(curve.series());
        },
    )?;
    budget.spend(&outcome);
    written.add(&outcome.tally.write.timeline, outcome.elapsed);
    written.report(bench);
    bench.phase_finished();
    Ok(())
}
