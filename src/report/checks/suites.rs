//! Checks of the benchmarks that run several others.

use std::time::Duration;

use super::text::CheckText;
use crate::session::document::check::{
    BlockSizeAdvice, CopyAdvice, DepthAdvice, DepthPoint, ImplausibleThroughput, QueueThroughputs,
    SkippedBenchmark, SkippedMechanics,
};
use crate::units;

pub(super) fn nothing_written() -> CheckText {
    CheckText::new(
        "the write half is skipped",
        "add --writes yes and --overwrite PATH if the data on the target may be lost, or name a \
         directory",
    )
}

pub(super) fn sequential_lines_differ(rates: &QueueThroughputs) -> CheckText {
    CheckText::new(
        format!(
            "SEQ1M Q8 reads {}, SEQ1M Q1 {}: the medium of a disk has the same throughput for both",
            units::format_throughput(rates.depth_8),
            units::format_throughput(rates.depth_1)
        ),
        "the faster one was partly served from a cache, or the slower one lost revolutions: the \
         benchmark `sequential-read` measures the medium",
    )
}

pub(super) fn skipped(benchmark: &SkippedBenchmark) -> CheckText {
    CheckText::new(
        format!("the benchmark could not be run: {}", benchmark.error),
        String::from(&benchmark.advice),
    )
}

pub(super) fn mechanics_skipped(skipped: &SkippedMechanics) -> CheckText {
    CheckText::new(
        format!(
            "skipped because the drive does not rotate: {}",
            skipped.benchmarks.join(", ")
        ),
        "no action needed: these benchmarks measure the seek times of a disk",
    )
}

pub(super) fn throughput_above_medium(found: &ImplausibleThroughput) -> CheckText {
    CheckText::new(
        format!(
            "{} is {}, but the medium has at most {}",
            found.metric,
            units::format_throughput(found.throughput),
            units::format_throughput(found.medium)
        ),
        "a cache answered: use a larger window, or read more than the cache holds",
    )
}

/// Such as `200 IOPS at depth 4 (p90 12.0 ms)`.
fn depth_text(point: &DepthPoint) -> String {
    let p90 = point.p90_ns.map_or_else(String::new, |p90| {
        format!(" (p90 {})", units::format_latency(p90))
    });
    format!(
        "{} IOPS at depth {}{p90}",
        units::format_count(point.iops),
        point.depth
    )
}

pub(super) fn advice_queue_depth(advice: &DepthAdvice) -> CheckText {
    let (depth, optimal) = (advice.optimal.depth, depth_text(&advice.optimal));
    match &advice.max_iops {
        Some(most) => CheckText::new(
            format!("{optimal}, {}", depth_text(most)),
            format!(
                "keep about {depth} requests in flight for low latency, and up to {} for throughput",
                most.depth
            ),
        ),
        None => CheckText::new(
            format!("{optimal}; no depth has significantly more"),
            match depth > 1.0 {
                true => format!("keep about {depth} requests in flight"),
                false => {
                    "use depth 1: more requests in flight only increase the latency".to_owned()
                }
            },
        ),
    }
}

pub(super) fn advice_block_size(advice: &BlockSizeAdvice) -> CheckText {
    CheckText::new(
        format!(
            "an access takes {} before the first byte",
            units::format_latency(advice.access_ns)
        ),
        format!(
            "scan with blocks much larger than {}; nodes of a B-tree (a database index) are best near {}",
            units::format_block_size(advice.balanced_bytes.round()),
            units::format_block_size(advice.btree_node_bytes.round())
        ),
    )
}

pub(super) fn advice_full_copy(advice: &CopyAdvice) -> CheckText {
    CheckText::new(
        format!(
            "the mean read throughput over the whole drive is {}",
            units::format_throughput(advice.throughput)
        ),
        format!(
            "allow {} for a full backup or rebuild, and twice that if source and destination share the \
             drive",
            units::format_wait(Duration::from_nanos(advice.copy_ns as u64))
        ),
    )
}
