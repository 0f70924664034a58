//! Parameters and descriptions of concurrency-read and concurrency-write.

use std::time::Duration;

use super::analysis::{BEST_IOPS_DEPTH, KNEE_DIFFERS, OPTIMAL_DEPTH, TOO_FEW_SAMPLES_AT_DEPTH};
use crate::bench::framework;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::{
    BenchmarkGroup, ChartShape, ChartSpec, Description, Keyword, Parameter, ParameterKind,
};
use crate::session::checks::{QUEUE_DEPTH_NOT_REACHED, Workload};
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, SeriesId};

pub(crate) const MAX_DEPTH: Parameter<u32> = Parameter {
    name: "max-depth",
    kind: ParameterKind::Count { min: 1, max: 1024 },
    help: "maximum depth of the sweep, which starts at 1 and doubles",
    default: |_| 256,
};

/// Weight of throughput in the score.
pub(crate) const ALPHA: Parameter<f64> = Parameter {
    name: "alpha",
    kind: ParameterKind::Number { min: 0.0, max: 1.0 },
    help: "weight of throughput in the score, 0 to 1; latency (p90) has the rest",
    default: |_| 0.8,
};

/// Whether to stop when deeper queues bring no benefit.
pub(crate) const EARLY_STOP: Parameter<bool> = Parameter {
    name: "early-stop",
    kind: ParameterKind::Choice(bool::WORDS),
    help: "from the second round on, skip depths that only raised latency in the first round",
    default: |_| true,
};

/// Time limit of the whole sweep; a hard disk needs more time for its percentiles.
pub(crate) const DURATION: Parameter<Option<Duration>> = Parameter {
    help: "time of the whole sweep, divided among depths and rounds",
    ..framework::DURATION.with_default(|target| {
        Some(Duration::from_secs(match target.is_rotational() {
            Some(true) => 60,
            _ => 27,
        }))
    })
};

/// The description of one direction.
pub(crate) fn of(operation: Operation) -> &'static Description {
    match operation {
        Operation::Read => &READ,
        Operation::Write => &WRITE,
    }
}

/// Explanation of both directions, which differ in their cost.
macro_rules! explanation {
    ($verb:literal, $cost:literal) => {
        concat!(
            "Measures random ",
            $verb,
            " at queue depths 1, 2, 4, 8 ... up to 256, each depth in four rounds in random order \
(--seed). It shows how the drive scales with the number of concurrent users, and which queue depth, thread \
pool size or database I/O concurrency to configure.

IOPS grow with the depth until the drive is saturated; from then on only latency grows. The score of a \
depth is 1 / (alpha/T + (1 - alpha)/L), where T is the throughput and L the reciprocal of p90, both \
relative to the best of the sweep. alpha is the weight of throughput, 0.8 by default; a lower value favours \
latency. The optimal depth is the smallest one whose score is at least 95 % of the best; iops_max is that \
of the smallest depth with at least 95 % of the highest IOPS. Both are reported only if all smaller depths \
are significantly worse (95 %, compared round by round); otherwise a check names the depths without a \
significant difference. The knee of the IOPS curve is reported if it is the same in all rounds. By \
Little's law, IOPS times mean latency is the mean number of requests in flight: where it is below the \
configured depth, the host was the bottleneck and not the drive.

From the second round on, depths after two doublings without a gain are skipped (--early-stop). ",
            $cost
        )
    };
}

/// What both directions have in common.
const SHARED: Description = Description {
    name: "",
    aliases: &[],
    group: BenchmarkGroup::Quick,
    example: "",
    summary: "",
    explanation: "",
    may_write: false,
    checks: CHECKS,
    workload: Workload::RANDOM,
    parameters: &[],
    metrics: &[MetricFamily::Own(&[
        MetricKind::OptimalDepth,
        MetricKind::OptimalDepthIops,
        MetricKind::OptimalDepthP90,
        MetricKind::IopsMax,
        MetricKind::IopsMaxDepth,
        MetricKind::IopsMaxP90,
        MetricKind::Speedup,
        MetricKind::KneeDepth,
    ])],
    charts: &[
        ChartSpec::new(
            "IOPS against queue depth",
            ChartShape::Line,
            &[SeriesId::IOPS_AGAINST_DEPTH],
        )
        .log_x()
        .with_marks(&[MetricId::OPTIMAL_DEPTH, MetricId::KNEE_DEPTH]),
        ChartSpec::new(
            "p90 against queue depth",
            ChartShape::Line,
            &[SeriesId::P90_AGAINST_DEPTH],
        )
        .log_x()
        .log_y()
        .with_marks(&[MetricId::OPTIMAL_DEPTH, MetricId::KNEE_DEPTH]),
        ChartSpec::new(
            "Score against queue depth",
            ChartShape::Line,
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
};

static READ: Description = Description {
    name: "concurrency-read",
    aliases: &["cncread", "qd-sweep"],
    group: BenchmarkGroup::Sweeps,
    example: "/srv --max-depth 64",
    summary: "random reads at queue depths 1 to 256: IOPS, latency, optimal depth",
    explanation: explanation!("reads", "It only reads."),
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

static WRITE: Description = Description {
    name: "concurrency-write",
    aliases: &["cncwrite", "qd-sweep-write"],
    group: BenchmarkGroup::Sweeps,
    example: "/srv --max-depth 64",
    summary: "random writes at queue depths 1 to 256: IOPS, latency, optimal depth",
    explanation: explanation!(
        "writes",
        "It overwrites the window, by default at most 8 GiB (--bytes)."
    ),
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

/// Checks of both concurrency benchmarks.
pub(crate) const CHECKS: &[Check] = &[
    OPTIMAL_DEPTH.check,
    BEST_IOPS_DEPTH.check,
    KNEE_DIFFERS,
    TOO_FEW_SAMPLES_AT_DEPTH,
    QUEUE_DEPTH_NOT_REACHED,
];
