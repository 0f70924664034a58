//! Shared by block-size-read and block-size-write: a sweep over the request size.

mod model;
#[cfg(test)]
mod tests;

pub(crate) use self::model::CHECKS;
use std::time::Duration;

use self::model::BlockSizePoints;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::sweep::SweepSchedule;
use crate::bench::{
    BenchError, ChartShape, ChartSpec, Forecast, ParameterKind, ParameterSet, ParameterSpec,
    ParameterValue, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, BlockSize, IoOperation, Plan, PlanLimits};
use crate::units;

pub(crate) const MIN_BLOCK: ParameterSpec = ParameterSpec {
    name: "min-block",
    kind: ParameterKind::Size { least: 1 },
    help: "smallest request; the sweep doubles it",
    default_for: |target| ParameterValue::Size(u64::from(target.logical_block_bytes.max(512))),
};
pub(crate) const MAX_BLOCK: ParameterSpec = ParameterSpec {
    name: "max-block",
    kind: ParameterKind::Size { least: 1 },
    help: "largest request",
    default_for: |target| ParameterValue::Size((16 << 20).min(target.size_bytes.max(1))),
};
/// Key size of the B-tree model.
pub(crate) const KEY_SIZE: ParameterSpec = ParameterSpec {
    name: "key-size",
    kind: ParameterKind::Size { least: 1 },
    help: "bytes of a key, for the tree's node",
    default_for: |_| ParameterValue::Size(12),
};
/// Pointer size of the B-tree model.
pub(crate) const POINTER_SIZE: ParameterSpec = ParameterSpec {
    name: "pointer-size",
    kind: ParameterKind::Size { least: 1 },
    help: "bytes of a pointer; an entry of the tree is a key and two pointers",
    default_for: |_| ParameterValue::Size(8),
};
/// Number of entries in the B-tree model.
pub(crate) const TREE_ENTRIES: ParameterSpec = ParameterSpec {
    name: "entries",
    kind: ParameterKind::Count {
        least: 2,
        most: u64::MAX,
    },
    help: "entries in the tree, for the time of a lookup",
    default_for: |_| ParameterValue::Count(1_000_000_000),
};
/// Time limit of the whole sweep.
pub(crate) const DURATION: ParameterSpec = ParameterSpec {
    help: "time for the whole sweep, shared out to the sizes and rounds",
    ..framework::DURATION.with_default(|_| ParameterValue::Duration(Duration::from_secs(32)))
};

pub(crate) const CHARTS: &[ChartSpec] = &[
    ChartSpec::new(
        "Throughput against block size",
        ChartShape::Line,
        &["throughput-against-block-size"],
    )
    .log_x()
    .with_marks(&["balanced_block_size"]),
    ChartSpec::new(
        "Response time against block size, and the fitted line",
        ChartShape::Line,
        &["response-against-block-size", "response-model"],
    )
    .log_x()
    .log_y(),
    ChartSpec::new(
        "Throughput and IOPS as shares of their best",
        ChartShape::Line,
        &["throughput-share", "iops-share"],
    )
    .log_x()
    .with_marks(&["crossing_block_size"]),
    ChartSpec::new(
        "IOPS against block size",
        ChartShape::Line,
        &["iops-against-block-size"],
    )
    .log_x()
    .log_y(),
];

pub(crate) const HEADLINE: &[&str] = &[
    "access_time",
    "media_throughput",
    "balanced_block_size",
    "btree_node_size",
    "btree_lookup_time",
    "full_copy_time",
];

fn block_sizes(target: &Target, parameters: &ParameterSet) -> Result<Vec<u32>, BenchError> {
    let least = parameters.bytes("min-block").unwrap_or(512);
    let window = framework::plan_window(target, parameters);
    let most = parameters
        .bytes("max-block")
        .unwrap_or(16 << 20)
        .min(window.end.saturating_sub(window.start));
    let sizes: Result<Vec<u32>, BenchError> =
        std::iter::successors(Some(least), |size| size.checked_mul(2))
            .take_while(|size| *size <= most)
            .map(framework::request_bytes)
            .collect();
    let sizes = sizes?;
    if sizes.is_empty() {
        return Err(BenchError::InvalidParameters(format!(
            "--min-block {least} is more than --max-block or the window holds: make it smaller"
        )));
    }
    Ok(sizes)
}

fn plan_for_block_size(
    size: u32,
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    let mut plan = framework::build_plan(target, parameters, operation, AccessPattern::Random)?;
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

pub(crate) fn forecast(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Forecast, BenchError> {
    let sizes = block_sizes(target, parameters)?;
    let does = if operation.writes() {
        "writes"
    } else {
        "reads"
    };
    let limits = framework::plan_limits(parameters);
    let written = limits.bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(
            ", at most {}",
            framework::describe_written_bytes(bytes, target)
        )
    });
    let word =
        |size: Option<&u32>| units::format_block_size(size.map_or(0.0, |size| f64::from(*size)));
    let plans = sizes
        .iter()
        .map(|size| {
            Ok(without_limits(plan_for_block_size(
                *size, operation, target, parameters,
            )?))
        })
        .collect::<Result<Vec<Plan>, BenchError>>()?;
    Ok(Forecast {
        sentence: format!(
            "{does} {} to {} at random places of {}, one at a time, in {} steps and {DEFAULT_ROUNDS} rounds{amount}",
            word(sizes.first()),
            word(sizes.last()),
            describe_target(target),
            sizes.len(),
        ),
        run_time: PlannedPhases::with_even_shares(limits)
            .add_rounds(plans)
            .run_time(target),
        max_read_bytes: limits.bytes.filter(|_| !operation.writes()),
        max_written_bytes: written,
    })
}

pub(crate) fn run(operation: IoOperation, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let sizes = block_sizes(bench.target, bench.parameters)?;
    let seed = bench.parameters.count("seed").unwrap_or(1);
    let mut schedule =
        SweepSchedule::new(sizes.len(), framework::plan_limits(bench.parameters), seed);
    let mut measured = BlockSizePoints::new(&sizes, seed);
    let own = |point: usize| (u64::from(sizes[point]), PlanLimits::default());
    while let Some(turn) = schedule.next_turn(bench, own) {
        let size = sizes[turn.point];
        let plan = turn.turn_plan(&plan_for_block_size(
            size,
            operation,
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
