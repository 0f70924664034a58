//! Mixed random reads and writes.

use super::random;
use crate::bench::framework::metric_names::latency_metrics;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterKind, ParameterSet,
    ParameterSpec, ParameterValue, RunContext, framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// Random reads and writes, each chosen at random.
pub struct MixedReadWrite;

/// Fraction of reads (fio rwmixread).
const READ_FRACTION: ParameterSpec = ParameterSpec {
    name: "reads",
    kind: ParameterKind::Fraction,
    help: "share of the requests that read; the others write",
    default_for: |_| ParameterValue::Fraction(0.7),
};

static DESCRIPTION: Description = Description {
    name: "mixed",
    aliases: &[],
    summary: "reads and writes at random places, mixed: IOPS and response times of each",
    explanation: "\
Draws for every request by lot whether it reads or writes, at random, aligned places all over the \
window. This is what a busy server does to a drive: 70 % reads is usual for databases.

Reads and writes are reported apart, and what matters is how much slower the reads are than in \
random-read: on an SSD they wait behind writes and erasures, and the slowest per cent tells most. \
The chart shows the requests completed per second over the run.

It overwrites what is there, 8 GiB at most unless --bytes (which counts reads too) says otherwise.",
    may_write: true,
    checks: random::CHECKS,
    workload: Workload::RANDOM_READS,
    metrics: latency_metrics![
        "iops",
        "throughput",
        "depth_reached",
        "share_slower",
        "read_*",
        "write_*"
    ],
    parameters: &[
        READ_FRACTION,
        framework::BLOCK_SIZES,
        framework::DEPTH,
        framework::WORKERS,
        framework::PATTERN,
        framework::ZIPF,
        framework::RATE,
        framework::SYNC,
        framework::DATA,
        framework::DURATION,
        framework::WRITTEN_BYTES,
        framework::REQUESTS,
        framework::RAMP,
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        framework::ALIGN,
        framework::SEED,
        framework::SLOWER_THAN,
        framework::CACHE,
    ],
    charts: &[random::CHART],
    headline_metrics: &[
        "iops",
        "read_iops",
        "write_iops",
        "read_latency_p50",
        "read_latency_p99",
        "write_latency_p50",
        "write_latency_p99",
        "share_slower",
    ],
};

fn mixed_operation(parameters: &ParameterSet) -> IoOperation {
    IoOperation::Mixed {
        reads: parameters.fraction("reads").unwrap_or(0.7),
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
