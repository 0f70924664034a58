//! Effect of the block size on throughput and latency of random reads or writes.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, SweepRounds, metric_of_repetitions};
use crate::bench::framework::sweep::{Point, Sweep};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartSpec, Description, Parameter, ParameterKind,
    ParameterSet, Phases, RunContext,
};
use crate::drive::{BlockDevice, Target};
use crate::engine::{AccessPattern, BlockSize};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, Series, SeriesId, SeriesKind};
use crate::stats::latency::response_model::{ResponseModel, crossing_point};
use crate::units;

/// A sweep over the block size with random requests.
pub struct BlockSizeBenchmark {
    /// Read or write.
    pub operation: Operation,
}

/// Minimum number of requests for a mean.
const MIN_REQUESTS: u64 = 5;

/// Metrics derived from the fitted line.
const DERIVED_METRICS: [MetricId; 6] = [
    MetricId::ACCESS_TIME,
    MetricId::MEDIA_THROUGHPUT,
    MetricId::BALANCED_BLOCK_SIZE,
    MetricId::BTREE_NODE_SIZE,
    MetricId::BTREE_LOOKUP_TIME,
    MetricId::FULL_COPY_TIME,
];

const NO_RESPONSE_MODEL: Check = Check::note(
    "no-response-model",
    "The latency does not grow with the block size as access time plus transfer time.",
);
const KERNEL_SPLITS: Check = Check::note(
    "kernel-splits",
    "Some of the block sizes exceed max_sectors_kb or max_segments.",
);

const MIN_BLOCK: Parameter<u64> = Parameter {
    name: "min-block",
    kind: ParameterKind::Size { min: 1 },
    help: "smallest block size of the sweep, which doubles it",
    default: |target| u64::from(target.logical_block_bytes.max(512)),
};
const MAX_BLOCK: Parameter<u64> = Parameter {
    name: "max-block",
    kind: ParameterKind::Size { min: 1 },
    help: "largest block size of the sweep",
    default: |target| (16 << 20).min(target.size_bytes.max(1)),
};
/// Key size of the B-tree model.
const KEY_SIZE: Parameter<u64> = Parameter {
    name: "key-size",
    kind: ParameterKind::Size { min: 1 },
    help: "key size of the B-tree",
    default: |_| 12,
};
/// Pointer size of the B-tree model.
const POINTER_SIZE: Parameter<u64> = Parameter {
    name: "pointer-size",
    kind: ParameterKind::Size { min: 1 },
    help: "pointer size of the B-tree; an entry is a key and two pointers",
    default: |_| 8,
};
/// Number of entries in the B-tree model.
const TREE_ENTRIES: Parameter<u64> = Parameter {
    name: "entries",
    kind: ParameterKind::Count {
        min: 2,
        max: u64::MAX,
    },
    help: "number of entries in the B-tree, for its lookup time",
    default: |_| 1_000_000_000,
};
/// Time limit of the whole sweep.
const DURATION: Parameter<Option<Duration>> = Parameter {
    help: "time of the whole sweep, divided among block sizes and rounds",
    ..framework::DURATION.with_default(|_| Some(Duration::from_secs(32)))
};

/// What both directions have in common.
const SHARED: Description = Description {
    group: BenchmarkGroup::Sweeps,
    checks: &[NO_RESPONSE_MODEL, KERNEL_SPLITS],
    workload: Workload::RANDOM,
    metrics: &[MetricFamily::Own(&[
        MetricKind::AccessTime,
        MetricKind::MediaThroughput,
        MetricKind::BalancedBlockSize,
        MetricKind::BtreeNodeSize,
        MetricKind::BtreeLookupTime,
        MetricKind::FullCopyTime,
        MetricKind::CrossingBlockSize,
    ])],
    charts: &[
        ChartSpec::line(
            "Throughput against block size",
            &[SeriesId::THROUGHPUT_AGAINST_BLOCK_SIZE],
        )
        .log_x()
        .with_marks(&[MetricId::BALANCED_BLOCK_SIZE]),
        ChartSpec::line(
            "Latency against block size, with the fitted line",
            &[
                SeriesId::RESPONSE_AGAINST_BLOCK_SIZE,
                SeriesId::RESPONSE_MODEL,
            ],
        )
        .log_x()
        .log_y(),
        ChartSpec::line(
            "Throughput and IOPS relative to their maximum",
            &[SeriesId::THROUGHPUT_SHARE, SeriesId::IOPS_SHARE],
        )
        .log_x()
        .with_marks(&[MetricId::CROSSING_BLOCK_SIZE]),
        ChartSpec::line(
            "IOPS against block size",
            &[SeriesId::IOPS_AGAINST_BLOCK_SIZE],
        )
        .log_x()
        .log_y(),
    ],
    headline_metrics: &[
        MetricId::ACCESS_TIME,
        MetricId::MEDIA_THROUGHPUT,
        MetricId::BALANCED_BLOCK_SIZE,
        MetricId::BTREE_NODE_SIZE,
        MetricId::BTREE_LOOKUP_TIME,
        MetricId::FULL_COPY_TIME,
    ],
    ..Description::BLANK
};

static READ: Description = Description {
    name: "block-size-read",
    aliases: &["bs-sweep"],
    example: "/srv --max-block 4MiB",
    summary: "random reads of 512 B to 16 MiB: access time, media throughput, balanced block size",
    explanation: include_str!("block-size-read.md").trim_ascii_end(),
    parameters: &[
        &MIN_BLOCK,
        &MAX_BLOCK,
        &KEY_SIZE,
        &POINTER_SIZE,
        &TREE_ENTRIES,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ],
    ..SHARED
};

static WRITE: Description = Description {
    name: "block-size-write",
    aliases: &["bs-sweep-write"],
    example: "/srv --max-block 4MiB",
    summary: "random writes of 512 B to 16 MiB: access time, media throughput, balanced block size",
    explanation: include_str!("block-size-write.md").trim_ascii_end(),
    may_write: true,
    parameters: &[
        &MIN_BLOCK,
        &MAX_BLOCK,
        &KEY_SIZE,
        &POINTER_SIZE,
        &TREE_ENTRIES,
        &DURATION,
        &framework::WRITTEN_BYTES,
        &framework::REQUESTS,
        &framework::SYNC,
        &framework::DATA,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ],
    ..SHARED
};

impl Benchmark for BlockSizeBenchmark {
    fn description(&self) -> &'static Description {
        match self.operation {
            Operation::Read => &READ,
            Operation::Write => &WRITE,
        }
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sweep = sweep(self.operation, target, parameters)?;
        let label =
            |point: Option<&Point>| point.map_or(String::new(), |point| point.label.clone());
        let sentence = format!(
            "{} {} to {} at random offsets of {}, at depth 1, in {} steps and {DEFAULT_ROUNDS} rounds",
            self.operation.verb(),
            label(sweep.points.first()),
            label(sweep.points.last()),
            describe_target(target),
            sweep.points.len(),
        );
        Ok(sweep.phases(sentence))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = sweep(self.operation, bench.target, bench.parameters)?;
        while let Some(turn) = sweep.next_turn(bench) {
            sweep.execute(bench, &turn)?;
            set_curves(bench, &sweep);
            if turn.ends_round {
                set_model(bench, &sweep);
            }
            bench.phase_finished();
        }
        set_model(bench, &sweep);
        set_splits(bench, &sweep);
        bench.phase_finished();
        Ok(())
    }
}

/// One point per power of two from the smallest size to the largest one that fits the window.
fn sweep(
    operation: Operation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Sweep, BenchError> {
    let least = parameters.get(MIN_BLOCK);
    let window = framework::plan_window(target, parameters);
    let most = parameters
        .get(MAX_BLOCK)
        .min(window.end.saturating_sub(window.start));
    let sizes = std::iter::successors(Some(least), |size| size.checked_mul(2));
    let mut points = Vec::new();
    for size in sizes.take_while(|size| *size <= most) {
        let bytes = framework::request_bytes(size)?;
        let pattern = AccessPattern::Random;
        let mut plan = framework::build_plan(target, parameters, operation.into(), pattern)?;
        plan.block_size = BlockSize::Fixed(bytes);
        plan.alignment = size;
        let position = f64::from(bytes);
        points.push(Point::at(
            position,
            units::format_block_size(position),
            plan,
        ));
    }
    if points.is_empty() {
        return Err(BenchError::InvalidParameters(format!(
            "--min-block {least} is more than --max-block or the window holds: make it smaller"
        )));
    }
    Sweep::new(target, parameters, points)
}

/// Indices of the sizes with enough requests.
fn sizes_with_enough_requests(sweep: &Sweep) -> Vec<usize> {
    (0..sweep.points.len())
        .filter(|point| sweep.totals[*point].latency.count() >= MIN_REQUESTS)
        .collect()
}

/// Sets the curves over the block size: means and intervals of the rounds.
fn set_curves(bench: &mut RunContext<'_>, sweep: &Sweep) {
    let known = sizes_with_enough_requests(sweep);
    let positions: Vec<f64> = known
        .iter()
        .map(|point| sweep.points[*point].value)
        .collect();
    let curve = |kind, rounds: &SweepRounds| {
        rounds
            .select_points(&known)
            .series_of_means(kind, &positions)
    };
    let relative = |kind, rounds| {
        let mut series = curve(kind, rounds);
        let most = series
            .points
            .iter()
            .map(|point| point[1])
            .fold(0.0, f64::max);
        series.points.iter_mut().for_each(|point| point[1] /= most);
        let intervals = series.intervals.iter_mut().flatten();
        intervals.for_each(|limits| *limits = limits.map(|limit| limit / most));
        series
    };
    let (rates, iops) = (&sweep.throughputs, &sweep.iops);
    for series in [
        curve(SeriesKind::ThroughputAgainstBlockSize, rates),
        curve(SeriesKind::IopsAgainstBlockSize, iops),
        curve(SeriesKind::ResponseAgainstBlockSize, &sweep.mean_latencies),
        relative(SeriesKind::ThroughputShare, rates),
        relative(SeriesKind::IopsShare, iops),
    ] {
        bench.set_series(series);
    }
}

/// One block size: its bytes, mean latency in nanoseconds and IOPS.
type Measured = [f64; 3];

/// The means of every size with enough requests, then the values of each round that has all of them.
fn measured_sizes(sweep: &Sweep) -> (Vec<Measured>, Vec<Vec<Measured>>) {
    let known = sizes_with_enough_requests(sweep);
    let collect = |value: &dyn Fn(&SweepRounds, usize) -> Option<f64>| -> Option<Vec<Measured>> {
        let measured = known.iter().map(|point| {
            let (latency, iops) = (
                value(&sweep.mean_latencies, *point)?,
                value(&sweep.iops, *point)?,
            );
            Some([sweep.points[*point].value, latency, iops])
        });
        measured.collect()
    };
    let means = collect(&|rounds, point| rounds.mean(point)).unwrap_or_default();
    let round = |round| collect(&|rounds, point| rounds.value_in_round(point, round));
    (means, (0..DEFAULT_ROUNDS).filter_map(round).collect())
}

/// Sets the metrics of the fitted line and of the crossing; their confidence intervals come from the
/// same metrics of each round.
fn set_model(bench: &mut RunContext<'_>, sweep: &Sweep) {
    let findings = &mut bench.findings;
    findings.metrics.clear();
    findings
        .series
        .retain(|it| it.id != SeriesId::RESPONSE_MODEL);
    findings.remove_check(NO_RESPONSE_MODEL);
    let (means, rounds) = measured_sizes(sweep);
    let crossings: Vec<f64> = rounds
        .iter()
        .filter_map(|round| efficiency_crossing(round))
        .collect();
    if let Some(value) = efficiency_crossing(&means) {
        let id = MetricId::CROSSING_BLOCK_SIZE;
        bench.set_metric(metric_of_repetitions(id, value, &crossings));
    }
    // The kernel submits the pieces of larger requests in parallel.
    let drive = bench.target.drive.as_ref();
    let limit = drive.and_then(BlockDevice::largest_request);
    let limit = limit.map_or(f64::INFINITY, |(limit, _)| limit as f64);
    let unsplit = |points: &[Measured]| -> Vec<[f64; 2]> {
        let unsplit = points.iter().filter(|point| point[0] <= limit);
        unsplit.map(|point| [point[0], point[1]]).collect()
    };
    let fit = |points: &[Measured]| ResponseModel::fit(&unsplit(points));
    // A line must fit in every round.
    let models: Option<Vec<ResponseModel>> = rounds.iter().map(|round| fit(round)).collect();
    if let Some((model, models)) = fit(&means).zip(models) {
        set_fitted_line(bench, &model, &models, &means);
    } else if unsplit(&means).len() >= 3 {
        bench.set_check(NO_RESPONSE_MODEL.found(
            "the latency does not grow with the block size as access time plus transfer time",
            "a cache answers, or the drive has other users: use --cache bypass, a larger window \
             and an idle drive",
            Value::Null,
        ));
    }
}

/// Size at which throughput and IOPS, as fractions of their maxima, cross.
fn efficiency_crossing(points: &[Measured]) -> Option<f64> {
    let most = |value: fn(&Measured) -> f64| points.iter().map(value).fold(0.0, f64::max);
    let (rate, iops) = (most(|point| point[0] * point[2]), most(|point| point[2]));
    let shares: Vec<[f64; 3]> = points
        .iter()
        .map(|point| [point[0], point[0] * point[2] / rate, point[2] / iops])
        .collect();
    crossing_point(&shares)
}

/// Values of the metrics in [`DERIVED_METRICS`], in that order.
fn derived_metrics(bench: &RunContext<'_>, model: &ResponseModel) -> [f64; 6] {
    let [key, pointer, entries] =
        [KEY_SIZE, POINTER_SIZE, TREE_ENTRIES].map(|size| bench.parameters.get(size) as f64);
    let node = model.best_btree_node(key, pointer, entries);
    [
        model.access_ns,
        model.bytes_per_second,
        model.balanced_bytes(),
        node.node_bytes,
        node.lookup_ns,
        framework::underlying_capacity(bench.target) as f64 / model.bytes_per_second * 1e9,
    ]
}

/// Sets the fitted line and the metrics derived from it.
fn set_fitted_line(
    bench: &mut RunContext<'_>,
    model: &ResponseModel,
    rounds: &[ResponseModel],
    points: &[Measured],
) {
    let line = points
        .iter()
        .map(|point| [point[0], model.response_ns(point[0])]);
    bench.set_series(Series::new(SeriesKind::ResponseModel, line.collect()));
    let values = derived_metrics(bench, model);
    let rounds: Vec<[f64; 6]> = rounds
        .iter()
        .map(|model| derived_metrics(bench, model))
        .collect();
    for (index, (metric, value)) in DERIVED_METRICS.into_iter().zip(values).enumerate() {
        let repeated: Vec<f64> = rounds.iter().map(|round| round[index]).collect();
        bench.set_metric(metric_of_repetitions(metric, value, &repeated));
    }
}

/// The check for sizes that the kernel splits.
fn set_splits(bench: &mut RunContext<'_>, sweep: &Sweep) {
    let drive = bench.target.drive.as_ref();
    let Some((limit, attribute)) = drive.and_then(BlockDevice::largest_request) else {
        return;
    };
    let (limit, sizes) = (limit as f64, sizes_with_enough_requests(sweep));
    if sizes.iter().any(|point| sweep.points[*point].value > limit) {
        bench.set_check(KERNEL_SPLITS.found(
            format!(
                "the kernel splits requests above {} ({attribute})",
                units::format_block_size(limit)
            ),
            "larger blocks only save system calls on this drive",
            json!({ "limit_bytes": limit, "attribute": attribute }),
        ));
    }
}
