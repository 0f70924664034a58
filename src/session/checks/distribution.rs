//! Checks of the latency distribution.

use serde_json::json;

use super::processors::is_machine_busy;
use super::rule::{Rule, Run, fraction};
use crate::session::document::check::{Check, Found};
use crate::session::document::{LatencySummary, RunState, TargetRecord};
use crate::stats::latency::bimodality::find_bimodality;
use crate::units;

/// Below this number of requests the usual percentiles are not determined.
const MIN_SAMPLES: u64 = 1000;
/// Below this duration in nanoseconds a run says nothing about lasting load.
const MIN_ELAPSED_NS: u64 = 1_000_000_000;
/// Part of a disk below which its seeks are much shorter than all over it: the random IOPS of a
/// tenth of a disk are about a half higher.
const MIN_WINDOW_FRACTION: f64 = 0.1;
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

/// Made by the benchmarks of hard disks. It is here because it explains fast synchronous writes.
pub const DOES_NOT_ROTATE: Check = Check::invalid(
    "does-not-rotate",
    "Reads of the same sector do not complete at multiples of a revolution.",
);

pub(super) const RULES: &[Rule] = &[
    Rule::note(
        "too-few-samples",
        "There are too few requests for the usual percentiles; a percentile with fewer than 10 requests \
             beyond it is not reported.",
        "fewer than 1000 requests",
        too_few_samples,
    ),
    Rule::warning(
        "too-short",
        "The run took less than a second: caches, and a drive that has not warmed up, determine its \
             metrics.",
        "a finished run of less than 1 s, preparation included, on a real drive",
        too_short,
    ),
    Rule::note(
        "narrow-window",
        "The requests go to a small part of a disk: seeks are shorter than those all over it.",
        "random requests without the page cache to less than 10 % of a rotational disk that is \
                    not virtual",
        narrow_window,
    ),
    Rule::note(
        "bimodal-latency",
        "The latency distribution is bimodal: hardly any request has the mean latency.",
        "the histogram has two modes at least a factor of 2.5 apart, each with at least 10 % of \
                    the requests, and between them less than a fifth of the lower mode's height",
        bimodal_latency,
    ),
    Rule::warning(
        "sync-too-fast",
        "Synchronous writes completed within half a revolution of the disk: they were not on the medium \
             yet.",
        "the drive is listed as rotational and not virtual, and half of the writes with --sync \
                    take less than half a revolution (of the reported speed, else of 15,000 rpm)",
        sync_too_fast,
    ),
    Rule::warning(
        "rotational-flag-doubtful",
        "The kernel lists the drive as rotational, but its latency is too low for a disk.",
        "half of the random reads without the page cache take less than half a revolution at \
                    15,000 rpm, over more bytes than a disk's cache holds (1 GB); not on a virtual disk, \
                    whose flag says nothing",
        rotational_flag_doubtful,
    ),
    Rule::warning(
        "behaves-like-disk",
        "The kernel lists the drive as an SSD, but its latency is that of a rotating disk.",
        "rotational=0, and random reads without the page cache at depth 1, at least 100 of them, \
                    have p50 >= 5 ms (half a revolution and a seek at 15,000 rpm), p10 >= 1 ms and p90 - \
                    p10 >= 3.2 ms; not with busy CPUs, other users or pauses",
        behaves_like_disk,
    ),
];

/// The latencies of reads and of writes, each with its name.
fn latency_summaries<'a>(
    run: &Run<'a>,
) -> impl Iterator<Item = (&'static str, &'a LatencySummary)> {
    let latency = &run.findings.latency;
    let both = [("read", &latency.read), ("write", &latency.write)];
    both.into_iter()
        .filter_map(|(direction, summary)| Some((direction, summary.as_ref()?)))
}

/// A percentile in nanoseconds, if there are enough requests.
fn percentile(summary: &LatencySummary, percent: &str) -> Option<f64> {
    summary.percentiles.get(percent).map(|value| *value as f64)
}

fn too_few_samples(run: &Run<'_>) -> Option<Found> {
    let (direction, summary) = latency_summaries(run).next()?;
    // A running benchmark may still reach the minimum.
    if run.state == RunState::Running || summary.count >= MIN_SAMPLES {
        return None;
    }
    Some(Found::new(
        format!(
            "{} {direction}s: percentiles with fewer than 10 requests beyond them are not reported",
            summary.count
        ),
        run.advice(
            &["use a longer --duration", "use more --requests"],
            "measure longer",
        ),
        json!({ "direction": direction, "requests": summary.count }),
    ))
}

fn bimodal_latency(run: &Run<'_>) -> Option<Found> {
    let (direction, modes) = latency_summaries(run)
        .find_map(|(direction, summary)| Some((direction, find_bimodality(&summary.histogram)?)))?;
    Some(Found::new(
        format!(
            "{} of the {direction}s take about {}, the others about {}",
            units::format_percent(modes.fast_fraction),
            units::format_latency(modes.fast_median),
            units::format_latency(modes.slow_median)
        ),
        "see the histogram; causes are a cache, two storage tiers, or reads that wait for writes",
        json!({
            "direction": direction, "fast_fraction": modes.fast_fraction,
            "fast_ns": modes.fast_median, "slow_ns": modes.slow_median,
        }),
    ))
}

fn sync_too_fast(run: &Run<'_>) -> Option<Found> {
    // The benchmark itself may have found that nothing rotates.
    let mut verdicts = run.findings.verdicts.iter();
    let is_disk = is_listed_as_disk(run) && !verdicts.any(|verdict| verdict.is_of(DOES_NOT_ROTATE));
    if !is_disk || !run.parameters.has_synchronous_writes() {
        return None;
    }
    let setup = run.evidence.drive_setup.as_ref();
    let reported = setup.and_then(|setup| setup.rotation_rate);
    let revolution = reported.map_or(MIN_REVOLUTION_NS, |rpm| 60e9 / f64::from(rpm));
    let half_revolution_ns = revolution / 2.0;
    let median_ns = percentile(run.findings.latency.write.as_ref()?, "50")?;
    if median_ns >= half_revolution_ns {
        return None;
    }
    Some(Found::new(
        format!(
            "half of the synchronous writes took less than {}; half a revolution takes {}",
            units::format_latency(median_ns),
            units::format_latency(half_revolution_ns)
        ),
        "check whether the write cache is battery-backed (`hdparm -W`, or the controller): one that is not \
         loses its data at a power cut",
        json!({ "median_ns": median_ns, "half_revolution_ns": half_revolution_ns }),
    ))
}

/// Whether the kernel lists the drive as rotational. What it says of a virtual disk means nothing:
/// most hypervisors leave the flag as it is by default.
fn is_listed_as_disk(run: &Run<'_>) -> bool {
    let setup = run.evidence.drive_setup.as_ref();
    let is_virtual = setup.is_some_and(|setup| setup.virtual_disk.is_some());
    run.target.rotational == Some(true) && !is_virtual
}

/// The latency of random reads of the device, without the page cache.
fn random_reads<'a>(run: &Run<'a>) -> Option<&'a LatencySummary> {
    let reads = run.findings.latency.read.as_ref()?;
    (run.workload.has_random_reads && run.is_direct()).then_some(reads)
}

fn rotational_flag_doubtful(run: &Run<'_>) -> Option<Found> {
    let reads = random_reads(run)?;
    let median_ns = percentile(reads, "50")?;
    let setup = run.evidence.drive_setup.as_ref();
    let is_device_latency = setup.is_none_or(|setup| setup.direct_io != Some(false));
    let is_large = run.target.size_bytes as f64 / 2.0 > MAX_DISK_CACHE_BYTES;
    let is_fast = median_ns < MIN_REVOLUTION_NS / 2.0;
    if !is_listed_as_disk(run) || !is_device_latency || !is_large || !is_fast {
        return None;
    }
    Some(Found::new(
        format!(
            "the kernel's flag is rotational=1, but half of {} random reads took less than {}",
            reads.count,
            units::format_latency(median_ns)
        ),
        "verify with the benchmark rotation, and correct /sys/block/NAME/queue/rotational: schedulers and \
         file systems use it",
        json!({ "reads": reads.count, "median_ns": median_ns }),
    ))
}

fn too_short(run: &Run<'_>) -> Option<Found> {
    let is_real = run.target.kind != *TargetRecord::SIMULATED;
    let is_short = run.state == RunState::Finished && run.elapsed_ns < MIN_ELAPSED_NS;
    if !is_real || !is_short {
        return None;
    }
    let elapsed = run.elapsed_ns as f64;
    Some(Found::new(
        format!("the whole run took {}", units::format_latency(elapsed)),
        run.advice(
            &["use a longer --duration", "use more --bytes"],
            "measure longer",
        ),
        json!({ "elapsed_ns": run.elapsed_ns }),
    ))
}

fn narrow_window(run: &Run<'_>) -> Option<Found> {
    let setup = run.evidence.drive_setup.as_ref();
    let capacity = setup.and_then(|setup| setup.capacity_bytes);
    let capacity = capacity.unwrap_or(run.target.size_bytes);
    let window = run.evidence.window_bytes?;
    let part = fraction(window, capacity)?;
    let is_disk = is_listed_as_disk(run) && run.is_direct();
    if !is_disk || !run.workload.is_random || part >= MIN_WINDOW_FRACTION {
        return None;
    }
    Some(Found::new(
        format!(
            "{} of the disk's {} were used ({})",
            units::format_capacity(window as f64),
            units::format_capacity(capacity as f64),
            units::format_percent(part)
        ),
        "read the metrics as those of data that lies together; name the whole drive for those of data all \
         over it",
        json!({ "window_bytes": window, "capacity_bytes": capacity }),
    ))
}

/// Whether something else may have delayed the reads: busy processors, other users, a stopped program.
fn is_disturbed(run: &Run<'_>) -> bool {
    is_machine_busy(run) || !run.evidence.other_users.is_empty() || run.evidence.pauses.is_some()
}

fn behaves_like_disk(run: &Run<'_>) -> Option<Found> {
    let reads = random_reads(run)?;
    let is_listed_as_ssd = run.target.rotational == Some(false);
    if !is_listed_as_ssd || run.parameters.total_depth() != Some(1) || is_disturbed(run) {
        return None;
    }
    let p10_ns = reads.tenth_percentile()?;
    let (median_ns, p90_ns) = (percentile(reads, "50")?, percentile(reads, "90")?);
    let is_disk = reads.count >= MIN_DISK_READS
        && median_ns >= MIN_DISK_MEDIAN_NS
        && p10_ns >= MIN_DISK_P10_NS
        && p90_ns - p10_ns >= MIN_DISK_SPREAD_NS;
    if !is_disk {
        return None;
    }
    Some(Found::new(
        format!(
            "the kernel's flag is rotational=0, but at depth 1 half of {} random reads took more than {}, \
             spread over {} to {} (p10 to p90): an SSD takes less than 1 ms",
            reads.count,
            units::format_latency(median_ns),
            units::format_latency(p10_ns),
            units::format_latency(p90_ns)
        ),
        "run the benchmark rotation, which tells a disk by its revolutions: USB bridges, RAID controllers \
         and virtual disks often hide the kind of drive",
        json!({
            "reads": reads.count, "p10_ns": p10_ns, "median_ns": median_ns, "p90_ns": p90_ns,
        }),
    ))
}
