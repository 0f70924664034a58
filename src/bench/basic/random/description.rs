//! Descriptions of random-read and random-write.

use crate::bench::framework;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::{BenchmarkGroup, ChartShape, ChartSpec, Description};
use crate::session::checks::Workload;
use crate::session::document::check::CheckId;
use crate::session::document::{MetricId, MetricKind, SeriesId};

/// The chart of random-read, random-write and mixed.
pub(crate) const CHART: ChartSpec = ChartSpec::new(
    "IOPS over the run",
    ChartShape::Line,
    &[SeriesId::IOPS_OVER_TIME],
);

/// The description of one direction.
pub(crate) fn of(operation: Operation) -> &'static Description {
    match operation {
        Operation::Read => &READ,
        Operation::Write => &WRITE,
    }
}

/// Explanation of both directions: what the benchmark does, how to read the chart, what it costs.
macro_rules! explanation {
    ($operation:literal, $chart:literal, $cost:literal) => {
        concat!(
            $operation,
            " aligned blocks at random offsets in the window and keeps a constant number of requests \
in flight (--depth times --workers). This is the access pattern of databases, mail servers and virtual \
machines.

The chart shows IOPS over time. ",
            $chart,
            "

With --rate, requests arrive at a constant rate that does not depend on the drive (open loop), as from \
many independent users. Latency then counts from the scheduled arrival, so that a stall is not hidden \
(no coordinated omission).

",
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
    workload: Workload::CONSTANT,
    parameters: &[],
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::Iops,
            MetricKind::Throughput,
            MetricKind::DepthReached,
            MetricKind::ShareSlower,
        ]),
        MetricFamily::Latency,
    ],
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
    group: BenchmarkGroup::Throughput,
    example: "/srv --depth 32 --duration 30s",
    summary: "random reads: IOPS and latency",
    explanation: explanation!(
        "Reads",
        "A level line is a constant rate; a falling line is a drive that throttles or runs out of \
cache. The histogram shows latencies on a logarithmic axis: two peaks mean that some requests were served \
from a cache, or waited for something else. 99 of 100 requests complete within p99; the slower ones are \
those that users notice.",
        "It only reads. Typical: 70 to 200 IOPS for a hard disk, up to 90,000 for a SATA SSD, several \
100,000 for an NVMe SSD at a sufficient depth."
    ),
    workload: Workload::RANDOM_READS,
    parameters: &[
        &framework::BLOCK_SIZES,
        &framework::DEPTH,
        &framework::WORKERS,
        &framework::PATTERN,
        &framework::ZIPF,
        &framework::RATE,
        &framework::DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::RAMP,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::ALIGN,
        &framework::SEED,
        &framework::SLOWER_THAN,
        &framework::CACHE,
    ],
    ..SHARED
};

static WRITE: Description = Description {
    name: "random-write",
    aliases: &["rndwrite", "randwrite"],
    group: BenchmarkGroup::Throughput,
    example: "/srv --depth 1 --sync dsync",
    summary: "random writes: IOPS and latency",
    explanation: explanation!(
        "Writes",
        "Most drives accept writes into a cache: a curve that falls after some seconds shows when the \
cache is full, and only the level after that is sustained. With --sync dsync a write completes when its \
data is durable, as for a database log: a hard disk then completes one write per revolution, an SSD \
without power-loss protection a few thousand per second. Higher rates mean that a cache acknowledges \
writes that a power failure would lose.",
        "The data is random and different in every request unless --data says otherwise, because some \
drives compress. It overwrites the window, by default at most 8 GiB (--bytes)."
    ),
    may_write: true,
    parameters: &[
        &framework::BLOCK_SIZES,
        &framework::DEPTH,
        &framework::WORKERS,
        &framework::PATTERN,
        &framework::ZIPF,
        &framework::RATE,
        &framework::SYNC,
        &framework::DATA,
        &framework::DURATION,
        &framework::WRITTEN_BYTES,
        &framework::REQUESTS,
        &framework::RAMP,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::ALIGN,
        &framework::SEED,
        &framework::SLOWER_THAN,
        &framework::CACHE,
    ],
    ..SHARED
};

/// Checks of the benchmarks with random requests.
pub(crate) const CHECKS: &[CheckId] = &[CheckId::RateNotReached, CheckId::QueueDepthNotReached];
