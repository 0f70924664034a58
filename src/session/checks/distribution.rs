//! Checks of the latency distribution.

use super::processors::is_machine_busy;
use super::rule::{CheckRule, is_direct};
use crate::session::document::check::{
    Bimodality, CheckEvidence, CheckId, Direction, DiskLikeLatency, FastSync, RotationalLatency,
    SampleCount,
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

/// Minimum median latency of random reads of a disk at depth 1, in nanoseconds: half a revolution at
/// 15,000 rpm (2 ms) and the mean seek of such a disk (3.5 ms). An SSD is a factor of 20 below.
const MIN_DISK_MEDIAN_NS: f64 = 5e6;
/// Minimum distance between the tenth and the 90th percentile of such reads, in nanoseconds: eight
/// tenths of a revolution at 15,000 rpm, because the rotational delay is uniformly distributed. A rate
/// limit or a distant server delays all requests by about the same time.
const MIN_DISK_SPREAD_NS: f64 = 3.2e6;
/// Minimum tenth percentile of such reads, in nanoseconds. Where a tenth of the reads are faster, a
/// cache or an SSD with interruptions answers.
const MIN_DISK_P10_NS: f64 = 1e6;
/// Minimum number of reads for these percentiles.
const MIN_DISK_READS: u64 = 100;

pub(super) const DISTRIBUTION_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::TooFewSamples, too_few_samples),
    CheckRule::new(CheckId::BimodalLatency, bimodal_latency),
    CheckRule::new(CheckId::SyncTooFast, sync_too_fast),
    CheckRule::new(CheckId::RotationalFlagDoubtful, rotational_flag_doubtful).for_random_reads(),
    CheckRule::new(CheckId::BehavesLikeDisk, behaves_like_disk).for_random_reads(),
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
fn median_latency(summary: &LatencySummary) -> Option<f64> {
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

/// The number of requests that the benchmark keeps in flight, if it is fixed.
fn total_depth(run: &BenchmarkRun) -> Option<u64> {
    let count = |name: &str| {
        run.parameters
            .get(name)
            .map_or(Some(1), |value| value.as_u64())
    };
    run.parameters.contains_key("depth").then_some(())?;
    Some(count("depth")? * count("workers")?)
}

/// Whether something else may have delayed the reads: busy processors, other users, a stopped program.
fn is_disturbed(run: &BenchmarkRun) -> bool {
    is_machine_busy(run) || !run.evidence.other_users.is_empty() || run.evidence.pauses.is_some()
}

fn behaves_like_disk(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let is_listed_as_ssd = run.target.rotational == Some(false);
    if !is_listed_as_ssd || !is_direct(run) || total_depth(run) != Some(1) || is_disturbed(run) {
        return None;
    }
    let reads = run.findings.latency.read.as_ref()?;
    let at = |percent: &str| reads.percentiles.get(percent).map(|value| *value as f64);
    let (p10_ns, median_ns, p90_ns) = (reads.tenth_percentile()?, at("50")?, at("90")?);
    let is_disk = reads.count >= MIN_DISK_READS
        && median_ns >= MIN_DISK_MEDIAN_NS
        && p10_ns >= MIN_DISK_P10_NS
        && p90_ns - p10_ns >= MIN_DISK_SPREAD_NS;
    is_disk.then_some(CheckEvidence::BehavesLikeDisk(DiskLikeLatency {
        reads: reads.count,
        p10_ns,
        median_ns,
        p90_ns,
    }))
}
