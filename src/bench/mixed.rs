//! Random reads and writes together.

use super::metrics::latency_metrics;
use super::{
    Bench, BenchError, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters, Test,
    Value, common, random,
};
use crate::drive::Target;
use crate::engine::Operation;

/// Reads and writes at random places, drawn by lot.
pub struct Mixed;

/// Share of reads.
const READS: Parameter = Parameter {
    name: "reads",
    kind: Kind::Share,
    help: "share of the requests that read; the others write",
    default: |_| Value::Share(0.7),
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
    writes: true,
    metrics: latency_metrics![
        "iops",
        "throughput",
        "depth_reached",
        "share_slower",
        "read_*",
        "write_*"
    ],
    parameters: &[
        READS,
        common::BLOCK_SIZES,
        common::DEPTH,
        common::WORKERS,
        common::PATTERN,
        common::ZIPF,
        common::RATE,
        common::SYNC,
        common::DATA,
        common::DURATION,
        common::WRITTEN_BYTES,
        common::REQUESTS,
        common::RAMP,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::ALIGN,
        common::SEED,
        common::SLOWER_THAN,
        common::CACHE,
    ],
    charts: &[random::CHART],
    headline: &[
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

fn operation(parameters: &Parameters) -> Operation {
    Operation::Mixed {
        reads: parameters.share("reads").unwrap_or(0.7),
    }
}

impl Test for Mixed {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        random::forecast(operation(parameters), target, parameters)
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        random::run(operation(bench.parameters), bench)
    }

    fn fio(&self, target: &Target, parameters: &Parameters) -> Result<FioJob, FioGap> {
        random::fio(operation(parameters), target, parameters)
    }
}
