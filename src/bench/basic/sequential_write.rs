//! Sequential writes: throughput over the address space.

use super::sequential;
use crate::bench::framework::metric_names::latency_metrics;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
    framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// Large writes in 100 equidistant zones of the window, ascending.
pub struct SequentialWrite;

static DESCRIPTION: Description = Description {
    name: "sequential-write",
    aliases: &["seqwrite"],
    summary: "large writes over the whole drive: MB/s, and where it is fast and slow",
    explanation: "\
Splits the window into 100 even zones and writes a large piece at the beginning of each, in \
ascending order. This is what copying, backups and video recording do to a drive.

The chart shows throughput against the address. A hard disk falls from its outer to its inner tracks \
in steps. An SSD that starts high and falls to a lower level after some gigabytes has filled its \
cache: steady-state says how large that is. Shingled disks (SMR) collapse to a few MB/s.

The queue stays full from zone to zone; the time of a zone is that between the completion that ends \
the zones before it and its own. With --duration each zone has at least its share of the time, \
and the queue stays full as well.

It overwrites what is there: by default up to 128 MiB in each zone, 12.5 GiB in all, which is said \
beforehand. A limit in time, bytes or requests is shared out evenly, so that a short test still reaches \
the end of the drive.",
    may_write: true,
    checks: sequential::CHECKS,
    workload: Workload::CONSTANT,
    metrics: latency_metrics!["throughput_mean", "throughput_min", "throughput_max", "throughput_min_offset", "throughput_max_offset", "zones", "full_copy_time"],
    parameters: &[
        sequential::BLOCK_SIZE,
        sequential::DEPTH,
        sequential::ZONE_BYTES,
        sequential::DURATION,
        framework::BYTES,
        framework::REQUESTS,
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        framework::SYNC,
        framework::DATA,
        framework::CACHE,
    ],
    charts: sequential::CHARTS,
    headline_metrics: sequential::HEADLINE,
};

impl Benchmark for SequentialWrite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        sequential::forecast(IoOperation::Write, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        sequential::run(IoOperation::Write, bench)
    }

    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        sequential::fio(IoOperation::Write, target, parameters)
    }
}
