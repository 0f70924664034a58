//! Random writes: IOPS and latency.

use super::random;
use crate::bench::framework::metric_names::latency_metrics;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
    framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// Writes at random offsets.
pub struct RandomWrite;

static DESCRIPTION: Description = Description {
    name: "random-write",
    aliases: &["rndwrite"],
    summary: "writes at random places: IOPS and response times",
    explanation: "\
Writes blocks at random, aligned places all over the window and keeps a fixed number of them in \
flight. This is what databases, mail servers and virtual machines do to a drive.

The chart shows the requests completed per second over the run. Most drives take writes into a cache \
first: a curve that falls after some seconds shows where that is full, and only the level after it \
lasts. --sync dsync asks for every write to be safe before it counts, as a database's log does: a \
disk then does one per revolution, an SSD without a capacitor a few thousand a second. \
Figures beyond that mean that somebody promises what a power cut would break.

The bytes are random and different in every request unless --data says otherwise, because many \
drives compress. It overwrites what is there, 8 GiB at most unless --bytes says otherwise.",
    may_write: true,
    checks: random::CHECKS,
    workload: Workload::CONSTANT,
    metrics: latency_metrics!["iops", "throughput", "depth_reached", "share_slower"],
    parameters: &[
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
    headline_metrics: random::HEADLINE,
};

impl Benchmark for RandomWrite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        random::forecast(IoOperation::Write, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        random::run(IoOperation::Write, bench)
    }

    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        random::fio(IoOperation::Write, target, parameters)
    }
}
