//! Descriptions of random-read, random-write and mixed.

use super::workload::{LATENCY_P50, LATENCY_P99, P90, P99_9, RandomWorkload};
use crate::bench::framework;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::{BenchmarkGroup, ChartShape, ChartSpec, Description};
use crate::session::checks::{QUEUE_DEPTH_NOT_REACHED, Workload};
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, SeriesId, VariantKey};

/// The chart of random-read, random-write and mixed.
const CHART: ChartSpec = ChartSpec::new(
    "IOPS over the run",
    ChartShape::Line,
    &[SeriesId::IOPS_OVER_TIME],
);

/// The metrics of each direction of a benchmark that reads and writes.
const DIRECTION_METRICS: &[MetricFamily] = &[MetricFamily::Own(&[
    MetricKind::Iops,
    MetricKind::Throughput,
    MetricKind::LatencyMean,
    LATENCY_P50,
    MetricKind::LatencyPercentile(P90),
    LATENCY_P99,
    MetricKind::LatencyPercentile(P99_9),
])];

/// The metrics of all requests together.
const OVERALL_METRICS: MetricFamily = MetricFamily::Own(&[
    MetricKind::Iops,
    MetricKind::Throughput,
    MetricKind::DepthReached,
    MetricKind::ShareSlower,
]);

/// The parameters of all three benchmarks in their order: `$first` ones, those of every workload with
/// those of writes among them, and the limit in bytes.
macro_rules! random_parameters {
    ([$($first:ident),*], [$($of_writes:ident),*], $bytes:ident) => {
        &[
            $(&framework::$first,)*
            &framework::BLOCK_SIZES,
            &framework::DEPTH,
            &framework::WORKERS,
            &framework::PATTERN,
            &framework::ZIPF,
            &framework::RATE,
            $(&framework::$of_writes,)*
            &framework::DURATION,
            &framework::$bytes,
            &framework::REQUESTS,
            &framework::RAMP,
            &framework::WINDOW_BEGIN,
            &framework::WINDOW_END,
            &framework::ALIGN,
            &framework::SEED,
            &framework::SLOWER_THAN,
            &framework::CACHE,
        ]
    };
}

/// The description of a workload.
pub(super) fn of(workload: RandomWorkload) -> &'static Description {
    match workload {
        RandomWorkload::Read => &READ,
        RandomWorkload::Write => &WRITE,
        RandomWorkload::Mixed => &MIXED,
    }
}

/// What the workloads have in common.
const SHARED: Description = Description {
    name: "",
    aliases: &[],
    group: BenchmarkGroup::Throughput,
    example: "",
    summary: "",
    explanation: "",
    may_write: false,
    checks: CHECKS,
    workload: Workload::RANDOM,
    parameters: &[],
    metrics: &[OVERALL_METRICS, MetricFamily::Latency],
    charts: &[CHART],
    headline_metrics: &[
        MetricId::IOPS,
        MetricId::THROUGHPUT,
        MetricId::LATENCY_MEAN,
        MetricId::LATENCY_P50,
        MetricId::LATENCY_P99,
        MetricId::SHARE_SLOWER,
    ],
};

static READ: Description = Description {
    name: "random-read",
    aliases: &["rndread", "randread"],
    example: "/srv --depth 32 --duration 30s",
    summary: "random reads: IOPS and latency",
    explanation: include_str!("random-read.md").trim_ascii_end(),
    workload: Workload::RANDOM_READS,
    parameters: random_parameters!([], [], BYTES),
    ..SHARED
};

static WRITE: Description = Description {
    name: "random-write",
    aliases: &["rndwrite", "randwrite"],
    example: "/srv --depth 1 --sync dsync",
    summary: "random writes: IOPS and latency",
    explanation: include_str!("random-write.md").trim_ascii_end(),
    may_write: true,
    parameters: random_parameters!([], [SYNC, DATA], WRITTEN_BYTES),
    ..SHARED
};

static MIXED: Description = Description {
    name: "mixed",
    aliases: &["randrw"],
    example: "/srv --reads 70% --block-size 8KiB",
    summary: "mixed random reads and writes: IOPS and latency of each direction",
    explanation: include_str!("mixed.md").trim_ascii_end(),
    may_write: true,
    workload: Workload::RANDOM_READS,
    metrics: &[
        OVERALL_METRICS,
        MetricFamily::Latency,
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(VariantKey::READ),
                VariantFamily::One(VariantKey::WRITE),
            ],
            metrics: DIRECTION_METRICS,
        },
    ],
    parameters: random_parameters!([READ_FRACTION], [SYNC, DATA], WRITTEN_BYTES),
    headline_metrics: &[
        MetricId::IOPS,
        MetricId::of_variant(VariantKey::READ, MetricKind::Iops),
        MetricId::of_variant(VariantKey::WRITE, MetricKind::Iops),
        MetricId::of_variant(VariantKey::READ, LATENCY_P50),
        MetricId::of_variant(VariantKey::READ, LATENCY_P99),
        MetricId::of_variant(VariantKey::WRITE, LATENCY_P50),
        MetricId::of_variant(VariantKey::WRITE, LATENCY_P99),
        MetricId::SHARE_SLOWER,
    ],
    ..SHARED
};

/// The drive does not keep up with an open loop.
pub(super) const RATE_NOT_REACHED: Check = Check::warning(
    "rate-not-reached",
    "Fewer requests per second were completed than arrived.",
);

/// Checks of the benchmarks with random requests.
const CHECKS: &[Check] = &[RATE_NOT_REACHED, QUEUE_DEPTH_NOT_REACHED];
