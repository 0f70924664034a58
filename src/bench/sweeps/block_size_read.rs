//! Effect of the request size on read throughput and latency.

use super::block_size;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
    framework,
};
use crate::drive::Target;
use crate::engine::IoOperation;
use crate::session::checks::Workload;

/// A sweep over the block size with random reads.
pub struct BlockSizeRead;

static DESCRIPTION: Description = Description {
    name: "block-size-read",
    aliases: &[],
    summary: "reads of 512 B to 16 MiB: access time, media speed, which block and tree node suit",
    explanation: "\
Reads blocks of 512 bytes (or the smallest that the drive takes) up to 16 MiB in powers of two, one at \
a time, at random places, each size in four rounds of random order (--seed). Small blocks show what an access costs, large ones how fast bytes flow.

Response time is access time plus size over throughput: a straight line, which is fitted, and from \
which the rest follows, each with the 95 % interval of its values in the four rounds. No line is named \
where one of the rounds shows none. The charts show throughput, response time with the fitted line, and \
throughput and IOPS as shares of their best: they cross near the balanced block size, which \
spends half its time on access and half on transfer. Larger blocks waste little on access, smaller \
ones answer sooner. A tree on this drive (a database's index) is fastest with nodes of the size \
given, for keys and pointers of the sizes that you set; the time of a lookup is for that node, \
nothing cached. The kernel splits requests above its limit into several: the line may bend there.

It only reads.",
    may_write: false,
    checks: block_size::CHECKS,
    workload: Workload::CONSTANT,
    metrics: &["access_time", "media_throughput", "balanced_block_size", "btree_node_size", "btree_lookup_time", "full_copy_time", "crossing_block_size"],
    parameters: &[
        block_size::MIN_BLOCK,
        block_size::MAX_BLOCK,
        block_size::KEY_SIZE,
        block_size::POINTER_SIZE,
        block_size::TREE_ENTRIES,
        block_size::DURATION,
        framework::BYTES,
        framework::REQUESTS,
        framework::WINDOW_BEGIN,
        framework::WINDOW_END,
        framework::SEED,
        framework::CACHE,
    ],
    charts: block_size::CHARTS,
    headline_metrics: block_size::HEADLINE,
};

impl Benchmark for BlockSizeRead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        block_size::forecast(IoOperation::Read, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        block_size::run(IoOperation::Read, bench)
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}
