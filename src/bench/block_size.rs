//! What block-size-read and block-size-write share: a sweep over the size of a request.

mod model;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::common::{self, place};
use super::forecast::Phases;
use super::rounds::ROUNDS;
use super::sweep::SweepSchedule;
use super::{Bench, BenchError, Chart, Forecast, Kind, Parameter, Parameters, Shape, Value};
use crate::drive::Target;
use crate::engine::{BlockSize, Limits, Operation, Pattern, Plan};
use crate::units;
use model::Sizes;

/// Smallest request.
pub(super) const MIN_BLOCK: Parameter = Parameter {
    name: "min-block",
    kind: Kind::Size { least: 1 },
    help: "smallest request; the sweep doubles it",
    default: |target| Value::Bytes(u64::from(target.logical_block.max(512))),
};
/// Largest request.
pub(super) const MAX_BLOCK: Parameter = Parameter {
    name: "max-block",
    kind: Kind::Size { least: 1 },
    help: "largest request",
    default: |target| Value::Bytes((16 << 20).min(target.size.max(1))),
};
/// Key of the tree.
pub(super) const KEY_SIZE: Parameter = Parameter {
    name: "key-size",
    kind: Kind::Size { least: 1 },
    help: "bytes of a key, for the tree's node",
    default: |_| Value::Bytes(12),
};
/// Pointer of the tree.
pub(super) const POINTER_SIZE: Parameter = Parameter {
    name: "pointer-size",
    kind: Kind::Size { least: 1 },
    help: "bytes of a pointer; an entry of the tree is a key and two pointers",
    default: |_| Value::Bytes(8),
};
/// Entries of the tree.
pub(super) const ENTRIES: Parameter = Parameter {
    name: "entries",
    kind: Kind::Count {
        least: 2,
        most: u64::MAX,
    },
    help: "entries in the tree, for the time of a lookup",
    default: |_| Value::Count(1_000_000_000),
};
/// Time for the whole sweep.
pub(super) const DURATION: Parameter = Parameter {
    help: "time for the whole sweep, shared out to the sizes and rounds",
    ..common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(32)))
};

/// The charts of both.
pub(super) const CHARTS: &[Chart] = &[
    Chart::new(
        "Throughput against block size",
        Shape::Line,
        &["throughput-against-block-size"],
    )
    .log_x()
    .marked(&["balanced_block_size"]),
    Chart::new(
        "Response time against block size, and the fitted line",
        Shape::Line,
        &["response-against-block-size", "response-model"],
    )
    .log_x()
    .log_y(),
    Chart::new(
        "Throughput and IOPS as shares of their best",
        Shape::Line,
        &["throughput-share", "iops-share"],
    )
    .log_x()
    .marked(&["crossing_block_size"]),
    Chart::new(
        "IOPS against block size",
        Shape::Line,
        &["iops-against-block-size"],
    )
    .log_x()
    .log_y(),
];

/// The headline of both.
pub(super) const HEADLINE: &[&str] = &[
    "access_time",
    "media_throughput",
    "balanced_block_size",
    "btree_node_size",
    "btree_lookup_time",
    "full_copy_time",
];

fn sizes(target: &Target, parameters: &Parameters) -> Result<Vec<u32>, BenchError> {
    let least = parameters.bytes("min-block").unwrap_or(512);
    let window = common::window(target, parameters);
    let most = parameters
        .bytes("max-block")
        .unwrap_or(16 << 20)
        .min(window.end.saturating_sub(window.start));
    let sizes: Result<Vec<u32>, BenchError> =
        std::iter::successors(Some(least), |size| size.checked_mul(2))
            .take_while(|size| *size <= most)
            .map(common::request_bytes)
            .collect();
    let sizes = sizes?;
    if sizes.is_empty() {
        return Err(BenchError::Parameters(format!(
            "--min-block {least} is more than --max-block or the window holds: make it smaller"
        )));
    }
    Ok(sizes)
}

fn plan_for(
    size: u32,
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    let mut plan = common::plan(target, parameters, operation, Pattern::Random)?;
    plan.block_size = BlockSize::Fixed(size);
    plan.align = u64::from(size);
    Ok(plan)
}

/// The limits are those of the whole sweep.
fn plan_of_step(plan: Plan) -> Plan {
    Plan {
        limits: Limits::default(),
        ..plan
    }
}

pub(super) fn forecast(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Forecast, BenchError> {
    let sizes = sizes(target, parameters)?;
    let does = if operation.writes() {
        "writes"
    } else {
        "reads"
    };
    let limits = common::limits(parameters);
    let written = limits.bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(", at most {}", common::written_share(bytes, target))
    });
    let word = |size: Option<&u32>| units::block_size(size.map_or(0.0, |size| f64::from(*size)));
    let plans = sizes
        .iter()
        .map(|size| {
            Ok(plan_of_step(plan_for(
                *size, operation, target, parameters,
            )?))
        })
        .collect::<Result<Vec<Plan>, BenchError>>()?;
    Ok(Forecast {
        sentence: format!(
            "{does} {} to {} at random places of {}, one at a time, in {} steps and {ROUNDS} rounds{amount}",
            word(sizes.first()),
            word(sizes.last()),
            place(target),
            sizes.len(),
        ),
        time: Phases::sharing(limits).then_rounds(plans).time(target),
        reads: limits.bytes.filter(|_| !operation.writes()),
        writes: written,
    })
}

pub(super) fn run(operation: Operation, bench: &mut Bench<'_>) -> Result<(), BenchError> {
    let sizes = sizes(bench.target, bench.parameters)?;
    let seed = bench.parameters.count("seed").unwrap_or(1);
    let mut schedule = SweepSchedule::new(sizes.len(), common::limits(bench.parameters), seed);
    let mut measured = Sizes::new(&sizes, seed);
    let own = |point: usize| (u64::from(sizes[point]), Limits::default());
    while let Some(turn) = schedule.next(bench, own) {
        let size = sizes[turn.point];
        let plan = turn.plan(&plan_for(size, operation, bench.target, bench.parameters)?);
        let phase = turn.phase(&units::block_size(f64::from(size)));
        let outcome = bench.execute(&phase, schedule.share(), &plan)?;
        schedule.spend(&outcome);
        measured.add(turn, &outcome);
        measured.curves(bench);
        if turn.ends_round {
            measured.model(bench);
        }
        bench.phase_finished();
    }
    measured.model(bench);
    bench.phase_finished();
    Ok(())
}
