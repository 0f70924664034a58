//! Random reads: IOPS and latency.

use super::random;
use crate::bench::framework::metric_names::latency_metrics;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
    framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// Reads at random offsets.
pub struct RandomRead;

static DESCRIPTION: Description = Description {
    name: "random-read",
    aliases: &["rndread"],
    summary: "reads at random places: IOPS and response times",
    explanation: "\
Reads blocks at random, aligned places all over the window and keeps a fixed number of them in \
flight. This is what databases, mail servers and virtual machines do to a drive.

The chart shows the requests completed per second over the run: a level line is a drive that keeps \
its promise, a falling one gets tired or hot. The histogram shows response times on a logarithmic \
axis: one narrow hill is good; two hills mean that some requests were answered by a cache, or had \
to wait for something else. p99 is the time that 99 of 100 requests beat: the slow rest is what \
people complain about.

With --rate requests arrive at that pace whatever the drive does, as from many independent users, \
and each counts from the moment at which it should have begun: a stall is not hidden.

It only reads. A hard disk does 70 to 200 of these per second, a SATA SSD up to 90,000, an NVMe SSD \
several 100,000 with enough requests in flight.",
    may_write: false,
    checks: random::CHECKS,
    workload: Workload::RANDOM_READS,
    metrics: latency_metrics!["iops", "throughput", "depth_reached", "share_slower"],
    parameters: &[
        framework::BLOCK_SIZES,
        framework::DEPTH,
        framework::WORKERS,
        framework::PATTERN,
        framework::ZIPF,
        framework::RATE,
        framework::DURATION,
        framework::BYTES,
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

impl Benchmark for RandomRead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        random::forecast(IoOperation::Read, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        random::run(IoOperation::Read, bench)
    }

    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        random::fio(IoOperation::Read, target, parameters)
    }
}
