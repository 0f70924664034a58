//! Parameters and descriptions of block-size-read and block-size-write.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::framework::operation::Operation;
use crate::bench::{BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, ParameterKind};
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, SeriesId};

pub(crate) const MIN_BLOCK: Parameter<u64> = Parameter {
    name: "min-block",
    kind: ParameterKind::Size { min: 1 },
    help: "smallest block size of the sweep, which doubles it",
    default: |target| u64::from(target.logical_block_bytes.max(512)),
};
pub(crate) const MAX_BLOCK: Parameter<u64> = Parameter {
    name: "max-block",
    kind: ParameterKind::Size { min: 1 },
    help: "largest block size of the sweep",
    default: |target| (16 << 20).min(target.size_bytes.max(1)),
};
/// Key size of the B-tree model.
pub(crate) const KEY_SIZE: Parameter<u64> = Parameter {
    name: "key-size",
    kind: ParameterKind::Size { min: 1 },
    help: "key size of the B-tree",
    default: |_| 12,
};
/// Pointer size of the B-tree model.
pub(crate) const POINTER_SIZE: Parameter<u64> = Parameter {
    name: "pointer-size",
    kind: ParameterKind::Size { min: 1 },
    help: "pointer size of the B-tree; an entry is a key and two pointers",
    default: |_| 8,
};
/// Number of entries in the B-tree model.
pub(crate) const TREE_ENTRIES: Parameter<u64> = Parameter {
    name: "entries",
    kind: ParameterKind::Count {
        min: 2,
        max: u64::MAX,
    },
    help: "number of entries in the B-tree, for its lookup time",
    default: |_| 1_000_000_000,
};
/// Time limit of the whole sweep.
pub(crate) const DURATION: Parameter<Option<Duration>> = Parameter {
    help: "time of the whole sweep, divided among block sizes and rounds",
    ..framework::DURATION.with_default(|_| Some(Duration::from_secs(32)))
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
    workload: Workload::RANDOM,
    parameters: &[],
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
        ChartSpec::new(
            "Throughput against block size",
            ChartShape::Line,
            &[SeriesId::THROUGHPUT_AGAINST_BLOCK_SIZE],
        )
        .log_x()
        .with_marks(&[MetricId::BALANCED_BLOCK_SIZE]),
        ChartSpec::new(
            "Latency against block size, with the fitted line",
            ChartShape::Line,
            &[
                SeriesId::RESPONSE_AGAINST_BLOCK_SIZE,
                SeriesId::RESPONSE_MODEL,
            ],
        )
        .log_x()
        .log_y(),
        ChartSpec::new(
            "Throughput and IOPS relative to their maximum",
            ChartShape::Line,
            &[SeriesId::THROUGHPUT_SHARE, SeriesId::IOPS_SHARE],
        )
        .log_x()
        .with_marks(&[MetricId::CROSSING_BLOCK_SIZE]),
        ChartSpec::new(
            "IOPS against block size",
            ChartShape::Line,
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
};

static READ: Description = Description {
    name: "block-size-read",
    aliases: &["bs-sweep"],
    group: BenchmarkGroup::Sweeps,
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
    group: BenchmarkGroup::Sweeps,
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

pub(super) const NO_RESPONSE_MODEL: Check = Check::note(
    "no-response-model",
    "The latency does not grow with the block size as access time plus transfer time.",
);
pub(super) const KERNEL_SPLITS: Check = Check::note(
    "kernel-splits",
    "Some of the block sizes exceed max_sectors_kb.",
);

/// Checks of both block size benchmarks.
pub(crate) const CHECKS: &[Check] = &[NO_RESPONSE_MODEL, KERNEL_SPLITS];
