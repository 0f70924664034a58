//! Checks of the latency distribution.

use super::rule::{CheckRule, is_direct};
use crate::session::document::check::{
    Bimodality, CheckEvidence, CheckId, Direction, FastSync, RotationalLatency, SampleCount,
};
use crate::session::document::{BenchmarkRun, LatencySummary, RunState};
use crate::stats::latency::bimodality::find_bimodality;

/// Below this number of requests the usual percentiles are not determined.
const MIN_SAMPLES: u64 = 1000;
/// Time of one revolution, in nanoseconds, of the fastest disks (15,000 rpm).
const MIN_REVOLUTION_NS: f64 = 60e9 / 15_000.0;
/// Upper bound for the size of a disk's own cache, in bytes. Fast random reads spread over more
/// than this do not come from that cache.
const MAX_DISK_CACHE_BYTES: f64 = 1e9;

pub(super) const DISTRIBUTION_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::TooFewSamples, too_few_samples),
    CheckRule::new(CheckId::BimodalLatency, bimodal_latency),
    CheckRule::new(CheckId::SyncTooFast, sync_too_fast),
    CheckRule::new(CheckId::RotationalFlagDoubtful, rotational_flag_doubtful).for_random_reads(),
];

fn latency_summaries(run: &BenchmarkRun) -> impl Iterator<Item = (Direction, &LatencySummary)> {
    let latency = &run.findings.latency;
    let both = [
        (Direction::Read, &latency.read),
        (Direction::Write, &latency.write),
    ];
    both.into_iter()
        .filter_map(|(direction, summary)| Some((direction, summary.as_ref()?)))
}

/// Median latency in nanoseconds, if there are enough requests.
pub(super) fn median_latency(summary: &LatencySummary) -> Option<f64> {
    summary.percentiles.get("50").map(|value| *value as f64)
}

fn too_few_samples(run: &BenchmarkRun) -> Option<CheckEvidence> {
    // A running benchmark may still reach the minimum.
    let (direction, summary) = latency_summaries(run)
        .next()
        .filter(|_| run.state != RunState::Running)?;
    (summary.count < MIN_SAMPLES).then_some(CheckEvidence::TooFewSamples(SampleCount {
        direction,
        requests: summary.count,
    }))
}

fn bimodal_latency(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let (direction, modes) = latency_summaries(run)
        .find_map(|(direction, summary)| Some((direction, find_bimodality(&summary.histogram)?)))?;
    Some(CheckEvidence::BimodalLatency(Bimodality {
        direction,
        fast_fraction: modes.fast_fraction,
        fast_ns: modes.fast_median,
        slow_ns: modes.slow_median,
    }))
}

fn sync_too_fast(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let synchronous = run.typed_parameters().has_synchronous_writes();
    if run.target.rotational != Some(true) || was_found_non_rotational(run) || !synchronous {
        return None;
    }
    let setup = run.evidence.drive_setup.as_ref();
    let reported = setup.and_then(|setup| setup.rotation_rate);
    let revolution = reported.map_or(MIN_REVOLUTION_NS, |rpm| 60e9 / f64::from(rpm));
    let half_revolution_ns = revolution / 2.0;
    let median_ns = median_latency(run.findings.latency.write.as_ref()?)?;
    (median_ns < half_revolution_ns).then_some(CheckEvidence::SyncTooFast(FastSync {
        median_ns,
        half_revolution_ns,
    }))
}

/// Whether the benchmark itself has already found that the drive is not rotational.
fn was_found_non_rotational(run: &BenchmarkRun) -> bool {
    let mut verdicts = run.findings.verdicts.iter();
    verdicts.any(|verdict| verdict.id() == Some(CheckId::DoesNotRotate))
}

fn rotational_flag_doubtful(run: &BenchmarkRun) -> Option<CheckEvidence> {
    if run.target.rotational != Some(true) || !is_direct(run) {
        return None;
    }
    let reads = run.findings.latency.read.as_ref()?;
    let median_ns = median_latency(reads).filter(|median| *median < MIN_REVOLUTION_NS / 2.0)?;
    let setup = run.evidence.drive_setup.as_ref()?;
    let large = run.target.size_bytes as f64 / 2.0 > MAX_DISK_CACHE_BYTES;
    let is_device_latency = setup.direct_io != Some(false);
    (is_device_latency && (large || setup.virtual_disk.is_some())).then_some(
        CheckEvidence::RotationalFlagDoubtful(RotationalLatency {
            reads: reads.count,
            median_ns,
        }),
    )
}
