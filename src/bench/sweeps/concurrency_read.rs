//! Optimal queue depth for reads.

use super::concurrency;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
    framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// A sweep over the queue depth with random reads.
pub struct ConcurrencyRead;

static DESCRIPTION: Description = Description {
    name: "concurrency-read",
    aliases: &["cncread"],
    summary: "random reads with 1 to 256 in flight: which queue depth suits the drive",
    explanation: "\
Keeps 1, 2, 4, 8 ... up to 256 requests in flight, at random places, each in four rounds of random order \
(--seed), and looks at what that does to throughput and to response times. This is how a drive behaves as more and more users \
come at once, and what a queue depth, a thread pool or a database's io concurrency should be set to.

IOPS grow with the depth until the drive is busy all over; from then on only response times grow. The \
score is 1 / (alpha/T + (1 - alpha)/L) with T the throughput and L the reciprocal of p90, each as a \
share of the best of the sweep: alpha is the weight of throughput, 0.8 unless said otherwise; a lower \
one prefers quick answers. The optimal depth is the smallest whose score is at least 95 % of the best; \
iops_max is that of the smallest depth with at least 95 % of the most IOPS. Both are named only if all \
smaller depths are significantly worse (95 %, compared round by round); otherwise a check says which \
depths cannot be told apart. The knee, where the curve of IOPS bends, is named if it is the same in all \
rounds. By Little's law IOPS times mean response time is the depth that was really reached: where \
it falls short, the figures are this machine's and not the drive's.

Depths behind two doublings that bring nothing are left out from the second round on (--early-stop). It only reads.",
    may_write: false,
    checks: concurrency::CHECKS,
    workload: Workload::RANDOM_READS,
    metrics: &["optimal_depth", "optimal_depth_iops", "optimal_depth_p90", "iops_max", "iops_max_depth", "iops_max_p90", "speedup", "knee_depth"],
    parameters: &[
        framework::BLOCK_SIZE,
        concurrency::MAX_DEPTH,
        concurrency::ALPHA,
        concurrency::EARLY_STOP,
        concurrency::DURATION,
        framework::BYTES,
        framework::REQUESTS,
        framework::RAMP,
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        framework::ALIGN,
        framework::SEED,
        framework::CACHE,
    ],
    charts: concurrency::CHARTS,
    headline_metrics: concurrency::HEADLINE,
};

impl Benchmark for ConcurrencyRead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        concurrency::forecast(IoOperation::Read, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        concurrency::run(IoOperation::Read, bench)
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}
