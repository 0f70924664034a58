//! Sequential reads: throughput over the address space.

use super::sequential;
use crate::bench::framework::metric_names::latency_metrics;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
    framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// Large reads in 100 equidistant zones of the window, ascending.
pub struct SequentialRead;

static DESCRIPTION: Description = Description {
    name: "sequential-read",
    aliases: &["seqread"],
    summary: "large reads over the whole drive: MB/s, and where it is fast and slow",
    explanation: "\
Splits the window into 100 even zones and reads a large piece at the beginning of each, in \
ascending order. This is what backups, video and scans of tables do to a drive.

The chart shows throughput against the address. A hard disk is fastest at the beginning, on the \
outer tracks, and falls to about half towards the end, in steps: each step is a zone with its own \
number of sectors per track (zone bit recording). The second line shows the steps that were found. \
An SSD draws a level line; dips show worn or never-written regions. A line cut off flat from above \
is the interface, not the medium.

The queue stays full from zone to zone; the time of a zone is that between the completion that ends \
the zones before it and its own. With --duration each zone has at least its share of the time, \
and the queue stays full as well.

It only reads: by default up to 128 MiB in each zone, 12.5 GiB in all. A limit in time, bytes or \
requests is shared out evenly, so that a short test still reaches the end of the drive.",
    may_write: false,
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
        framework::CACHE,
    ],
    charts: sequential::CHARTS,
    headline_metrics: sequential::HEADLINE,
};

impl Benchmark for SequentialRead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        sequential::forecast(IoOperation::Read, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        sequential::run(IoOperation::Read, bench)
    }

    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        sequential::fio(IoOperation::Read, target, parameters)
    }
}
