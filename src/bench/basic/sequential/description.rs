//! Parameters and descriptions of sequential-read and sequential-write.

use std::time::Duration;

use super::fast_start::{FAST_START, NO_ZONES};
use crate::bench::framework;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::{BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, ParameterKind};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, SeriesId};

pub(crate) const BLOCK_SIZE: Parameter<u64> = framework::BLOCK_SIZE.with_default(|_| 1 << 20);
pub(crate) const DEPTH: Parameter<u32> = framework::DEPTH.with_default(|_| 4);
/// No time limit by default: every zone is measured completely.
pub(crate) const DURATION: Parameter<Option<Duration>> = framework::DURATION.with_default(|_| None);
/// Bytes transferred per zone, unless the zone is smaller.
pub(crate) const ZONE_BYTES: Parameter<u64> = Parameter {
    name: "zone-bytes",
    kind: ParameterKind::Size { min: 1 },
    help: "bytes transferred in each of the 100 zones; the other limits are divided among them",
    default: |_| 128 << 20,
};

/// The description of one direction.
pub(crate) fn of(operation: Operation) -> &'static Description {
    match operation {
        Operation::Read => &READ,
        Operation::Write => &WRITE,
    }
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
            MetricKind::ThroughputMean,
            MetricKind::ThroughputMin,
            MetricKind::ThroughputMax,
            MetricKind::ThroughputMinOffset,
            MetricKind::ThroughputMaxOffset,
            MetricKind::Zones,
            MetricKind::FullCopyTime,
        ]),
        MetricFamily::Latency,
    ],
    charts: &[ChartSpec::new(
        "Throughput against address",
        ChartShape::Steps,
        &[
            SeriesId::THROUGHPUT_OVER_ADDRESS,
            SeriesId::ZONES_OVER_ADDRESS,
        ],
    )],
    headline_metrics: &[
        MetricId::THROUGHPUT_MEAN,
        MetricId::THROUGHPUT_MIN,
        MetricId::THROUGHPUT_MAX,
        MetricId::ZONES,
        MetricId::FULL_COPY_TIME,
    ],
};

static READ: Description = Description {
    name: "sequential-read",
    aliases: &["seqread", "read"],
    group: BenchmarkGroup::Throughput,
    example: "/dev/sda",
    summary: "sequential reads of large blocks: throughput against offset",
    explanation: include_str!("sequential-read.md").trim_ascii_end(),
    parameters: &[
        &BLOCK_SIZE,
        &DEPTH,
        &ZONE_BYTES,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::CACHE,
    ],
    ..SHARED
};

static WRITE: Description = Description {
    name: "sequential-write",
    aliases: &["seqwrite", "write"],
    group: BenchmarkGroup::Throughput,
    example: "/srv --scratch-size 16GiB",
    summary: "sequential writes of large blocks: throughput against offset",
    explanation: include_str!("sequential-write.md").trim_ascii_end(),
    may_write: true,
    parameters: &[
        &BLOCK_SIZE,
        &DEPTH,
        &ZONE_BYTES,
        &DURATION,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SYNC,
        &framework::DATA,
        &framework::CACHE,
    ],
    ..SHARED
};

pub(super) const ZONE_TOO_SHORT: Check = Check::note(
    "zone-too-short",
    "A zone holds fewer than ten requests for each one in flight.",
);
pub(super) const ZONES_NOT_MEASURED: Check = Check::note(
    "zones-not-measured",
    "The time limit left no time for some of the zones.",
);
pub(super) const ZONES_UNCERTAIN: Check = Check::note(
    "zones-uncertain",
    "The measured zones hold too few requests, or the drive has too many zones, to count them reliably.",
);

/// Checks of both sequential benchmarks.
const CHECKS: &[Check] = &[
    FAST_START,
    NO_ZONES,
    ZONE_TOO_SHORT,
    ZONES_NOT_MEASURED,
    ZONES_UNCERTAIN,
];
