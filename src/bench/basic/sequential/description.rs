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

/// Explanation of both directions: what the benchmark does, how to read the chart, what it costs.
macro_rules! explanation {
    ($verb:literal, $use:literal, $chart:literal, $cost:literal) => {
        concat!(
            "Divides the window into 100 equal zones and ",
            $verb,
            " large blocks at the beginning of each zone, in ascending order. This is the access \
pattern of ",
            $use,
            ".

The chart shows throughput against offset. ",
            $chart,
            "

The queue stays full across zones. The time of a zone runs from the last completion of the previous \
zones to its own last completion. With --duration, each zone gets at least an equal share of the time.

",
            $cost,
            " --duration, --bytes and --requests are divided evenly among the zones, so that a short \
run still reaches the end of the drive."
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
    explanation: explanation!(
        "reads",
        "backups, video streaming and full table scans",
        "A hard disk is fastest at the beginning, on its outer tracks, and falls to about half at the \
end, in steps: each step is a zone with its own number of sectors per track (zone bit recording). The \
second line shows the zones that were found. An SSD yields a level line; dips are worn or never-written \
regions. A flat top is the limit of the interface, not of the medium.",
        "It only reads: by default up to 128 MiB in each zone, 12.5 GiB in total."
    ),
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
    explanation: explanation!(
        "writes",
        "copying files, backups and video recording",
        "A hard disk becomes slower from its outer to its inner tracks, in steps. An SSD whose \
throughput drops to a lower level after some gigabytes has filled its write cache: steady-state measures \
its size. Shingled disks (SMR) drop to a few MB/s.",
        "It overwrites the window: by default up to 128 MiB in each zone, 12.5 GiB in total."
    ),
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
