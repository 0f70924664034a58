//! Mixed random reads and writes.

use super::random;
use super::random::CHART;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, Description, FioGap, FioJob, Forecast, ParameterSet,
    RunContext, framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;
use crate::session::document::{MetricId, MetricKind, VariantKey};

/// Random reads and writes, each chosen at random.
pub struct MixedReadWrite;

static DESCRIPTION: Description = Description {
    name: "mixed",
    aliases: &["randrw"],
    group: BenchmarkGroup::Throughput,
    example: "/srv --reads 70% --block-size 8KiB",
    summary: "mixed random reads and writes: IOPS and latency of each direction",
    explanation: "\
Reads or writes aligned blocks at random offsets in the window; the direction of each request is random. \
This is the workload of a busy server: 70 % reads are usual for databases.

Reads and writes are reported separately. Compare the latency of the reads with that of random-read: on an \
SSD, reads wait behind writes and erase operations, which shows in p99 first. The chart shows IOPS over \
time.

It overwrites the window, by default at most 8 GiB (--bytes, which counts reads too).",
    may_write: true,
    checks: random::description::CHECKS,
    workload: Workload::RANDOM_READS,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::Iops,
            MetricKind::Throughput,
            MetricKind::DepthReached,
            MetricKind::ShareSlower,
        ]),
        MetricFamily::Latency,
        MetricFamily::Variants {
            variants: &[
                VariantFamily::One(VariantKey::READ),
                VariantFamily::One(VariantKey::WRITE),
            ],
            metrics: random::DIRECTION_METRICS,
        },
    ],
    parameters: &[
        &framework::READ_FRACTION,
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
    charts: &[CHART],
    headline_metrics: &[
        MetricId::IOPS,
        MetricId::of_variant(VariantKey::READ, MetricKind::Iops),
        MetricId::of_variant(VariantKey::WRITE, MetricKind::Iops),
        MetricId::of_variant(VariantKey::READ, random::LATENCY_P50),
        MetricId::of_variant(VariantKey::READ, random::LATENCY_P99),
        MetricId::of_variant(VariantKey::WRITE, random::LATENCY_P50),
        MetricId::of_variant(VariantKey::WRITE, random::LATENCY_P99),
        MetricId::SHARE_SLOWER,
    ],
};

fn mixed_operation(parameters: &ParameterSet) -> IoOperation {
    IoOperation::Mixed {
        reads: parameters.get(framework::READ_FRACTION),
    }
}

impl Benchmark for MixedReadWrite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        random::forecast(mixed_operation(parameters), target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        random::run(mixed_operation(bench.parameters), bench)
    }

    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        random::fio(mixed_operation(parameters), target, parameters)
    }
}
