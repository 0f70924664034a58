//! Parameters, checks and descriptions of concurrency-read and concurrency-write.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::rounds::SoughtOptimum;
use crate::bench::{BenchmarkGroup, ChartSpec, Description, Keyword, Parameter, ParameterKind};
use crate::session::checks::{QUEUE_DEPTH_NOT_REACHED, Workload};
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, SeriesId};

pub(super) const MAX_DEPTH: Parameter<u32> = Parameter {
    name: "max-depth",
    kind: ParameterKind::Count { min: 1, max: 1024 },
    help: "maximum depth of the sweep, which starts at 1 and doubles",
    default: |_| 256,
};

/// Weight of throughput in the score.
pub(super) const ALPHA: Parameter<f64> = Parameter {
    name: "alpha",
    kind: ParameterKind::Number { min: 0.0, max: 1.0 },
    help: "weight of throughput in the score, 0 to 1; latency (p90) has the rest",
    default: |_| 0.8,
};

/// Whether to stop when deeper queues bring no benefit.
pub(super) const EARLY_STOP: Parameter<bool> = Parameter {
    name: "early-stop",
    kind: ParameterKind::Choice(bool::WORDS),
    help: "from the second round on, skip depths that only raised latency in the first round",
    default: |_| true,
};

/// Time limit of the whole sweep; a hard disk needs more time for its percentiles.
pub(super) const DURATION: Parameter<Option<Duration>> = Parameter {
    help: "time of the whole sweep, divided among depths and rounds",
    ..framework::DURATION.with_default(|target| {
        Some(Duration::from_secs(match target.is_rotational() {
            Some(true) => 60,
            _ => 27,
        }))
    })
};

const DEPTH_ADVICE: &str =
    "use a longer --duration for narrower intervals, or the smaller of these depths";

pub(super) const OPTIMAL_DEPTH: SoughtOptimum = SoughtOptimum {
    check: Check::note(
        "no-optimal-depth",
        "The differences between the queue depths do not determine the optimal one.",
    ),
    optimum: "optimal depth",
    points: "depths",
    format: |depth| depth.to_string(),
    advice: DEPTH_ADVICE,
    equal_is_first: true,
};
pub(super) const BEST_IOPS_DEPTH: SoughtOptimum = SoughtOptimum {
    check: Check::note(
        "no-best-iops-depth",
        "The differences between the queue depths do not determine the one with the most IOPS.",
    ),
    optimum: "depth with the most IOPS",
    ..OPTIMAL_DEPTH
};
pub(super) const KNEE_DIFFERS: Check = Check::note(
    "knee-differs",
    "The knee of the IOPS curve is at another depth in each round.",
);
pub(super) const TOO_FEW_SAMPLES_AT_DEPTH: Check = Check::warning(
    "too-few-samples-at-depth",
    "There are too few requests at some depths to estimate p90.",
);

/// What both directions have in common.
const SHARED: Description = Description {
    group: BenchmarkGroup::Sweeps,
    checks: &[
        OPTIMAL_DEPTH.check,
        BEST_IOPS_DEPTH.check,
        KNEE_DIFFERS,
        TOO_FEW_SAMPLES_AT_DEPTH,
        QUEUE_DEPTH_NOT_REACHED,
    ],
    workload: Workload::RANDOM,
    metrics: &[MetricFamily::Own(&[
        MetricKind::OptimalDepth,
        MetricKind::OptimalDepthIops,
        MetricKind::OptimalDepthP90,
        MetricKind::IopsMax,
        MetricKind::IopsMaxDepth,
        MetricKind::IopsMaxP90,
        MetricKind::Speedup,
        MetricKind::KneeDepth,
        MetricKind::WakeupCost,
    ])],
    charts: &[
        ChartSpec::line("IOPS against queue depth", &[SeriesId::IOPS_AGAINST_DEPTH])
            .log_x()
            .with_marks(&[MetricId::OPTIMAL_DEPTH, MetricId::KNEE_DEPTH]),
        ChartSpec::line("p90 against queue depth", &[SeriesId::P90_AGAINST_DEPTH])
            .log_x()
            .log_y()
            .with_marks(&[MetricId::OPTIMAL_DEPTH, MetricId::KNEE_DEPTH]),
        ChartSpec::line(
            "Score against queue depth",
            &[SeriesId::SCORE_AGAINST_DEPTH],
        )
        .log_x()
        .with_marks(&[MetricId::OPTIMAL_DEPTH]),
    ],
    headline_metrics: &[
        MetricId::OPTIMAL_DEPTH,
        MetricId::OPTIMAL_DEPTH_IOPS,
        MetricId::SPEEDUP,
        MetricId::KNEE_DEPTH,
        MetricId::IOPS_MAX,
    ],
    ..Description::BLANK
};

pub(super) static READ: Description = Description {
    name: "concurrency-read",
    aliases: &["cncread", "qd-sweep"],
    example: "/srv --max-depth 64",
    summary: "random reads at queue depths 1 to 256: IOPS, latency, optimal depth",
    explanation: include_str!("../concurrency-read.md").trim_ascii_end(),
    workload: Workload::RANDOM_READS,
    parameters: &[
        &framework::BLOCK_SIZE,
        &MAX_DEPTH,
        &ALPHA,
        &EARLY_STOP,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::RAMP,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::ALIGN,
        &framework::SEED,
        &framework::CACHE,
    ],
    ..SHARED
};

pub(super) static WRITE: Description = Description {
    name: "concurrency-write",
    aliases: &["cncwrite", "qd-sweep-write"],
    example: "/srv --max-depth 64",
    summary: "random writes at queue depths 1 to 256: IOPS, latency, optimal depth",
    explanation: include_str!("../concurrency-write.md").trim_ascii_end(),
    may_write: true,
    parameters: &[
        &framework::BLOCK_SIZE,
        &MAX_DEPTH,
        &ALPHA,
        &EARLY_STOP,
        &framework::SYNC,
        &framework::DATA,
        &DURATION,
        &framework::WRITTEN_BYTES,
        &framework::REQUESTS,
        &framework::RAMP,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::ALIGN,
        &framework::SEED,
        &framework::CACHE,
    ],
    ..SHARED
};
