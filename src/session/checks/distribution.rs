//! Checks of the latency distribution.

use super::ProvokedBy::ByIntegrationTest;
use super::{CheckRule, is_direct, parameter_word};
use crate::session::document::{BenchmarkRun, LatencySummary, RunState, Severity, Verdict};
use crate::stats::latency::bimodality::{BimodalSplit, find_bimodality};
use crate::units;

/// Below this number of requests the usual percentiles are not determined.
const MIN_SAMPLES: u64 = 1000;
/// Time of one revolution, in nanoseconds, of the fastest disks (15,000 rpm).
const MIN_REVOLUTION_NS: f64 = 60e9 / 15_000.0;
/// Upper bound for the size of a disk's own cache, in bytes. Fast random reads spread over more
/// than this do not come from that cache.
const MAX_DISK_CACHE_BYTES: f64 = 1e9;

pub(super) const DISTRIBUTION_RULES: &[CheckRule] = &[
    CheckRule {
        code: "too-few-samples",
        severity: Severity::Note,
        meaning: "There are too few requests for the percentiles that people ask for; those that \
                fewer than 10 lie beyond are left out.",
        condition: "fewer than 1000 requests",
        advice: "measure longer, or with a smaller block size",
        provoked: ByIntegrationTest("run_of_hundred_requests_is_flagged_as_too_short"),
        find_evidence: too_few_samples,
    },
    CheckRule {
        code: "two-speeds",
        severity: Severity::Note,
        meaning: "Requests fall into two kinds, fast and slow; hardly one takes as long as the mean \
                says.",
        condition: "the histogram has two hills at least a factor of 2.5 apart, each of at least 10 % of \
               the requests, and between them less than a fifth of the lower one's height",
        advice: "look at the histogram: a cache, two tiers, or reads that wait behind writes",
        provoked: ByIntegrationTest("bimodal_latencies_are_flagged"),
        find_evidence: bimodal_latency,
    },
    CheckRule {
        code: "sync-too-fast",
        severity: Severity::Warning,
        meaning: "Writes that count as durable were faster than half a revolution of the disk: they \
                were not on it when they counted.",
        condition: "the drive says that it rotates, and half of the writes with --sync take less than \
               half a revolution (of the speed that it reports, else of 15,000 rpm)",
        advice: "a cache that loses its content at a power cut is dangerous, one with a battery is \
                 not: see `hdparm -W` or the controller",
        provoked: ByIntegrationTest("durable_writes_faster_than_disk_rotation_are_flagged"),
        find_evidence: sync_too_fast,
    },
    CheckRule {
        code: "rotational-flag-doubtful",
        severity: Severity::Warning,
        meaning: "The kernel says that the drive rotates, but it answers as no disk can.",
        condition: "half of the random reads past the page cache take less than half a revolution at \
               15,000 rpm, on a virtual disk, or over more bytes than a disk's cache holds (1 GB)",
        advice: "schedulers and file systems heed that flag: set it in \
                 /sys/block/NAME/queue/rotational; the test rotation makes sure",
        provoked: ByIntegrationTest("device_wrongly_claiming_rotation_is_flagged"),
        find_evidence: rotational_flag_doubtful,
    },
];

fn latency_summaries(run: &BenchmarkRun) -> impl Iterator<Item = (&'static str, &LatencySummary)> {
    let latency = &run.findings.latency;
    let both = [("reads", &latency.read), ("writes", &latency.write)];
    both.into_iter()
        .filter_map(|(word, summary)| Some((word, summary.as_ref()?)))
}

fn median_latency(summary: &LatencySummary) -> Option<f64> {
    summary.percentiles.get("50").map(|value| *value as f64)
}

fn too_few_samples(run: &BenchmarkRun) -> Option<String> {
    // A running benchmark may still reach the minimum.
    let (word, summary) = latency_summaries(run)
        .next()
        .filter(|_| run.state != RunState::Running)?;
    (summary.count < MIN_SAMPLES).then(|| {
        format!(
            "{} {word}: percentiles that fewer than 10 of them lie beyond are left out",
            summary.count
        )
    })
}

fn bimodal_latency(run: &BenchmarkRun) -> Option<String> {
    let (word, modes) = latency_summaries(run)
        .find_map(|(word, summary)| Some((word, find_bimodality(&summary.histogram)?)))?;
    let BimodalSplit {
        fast_fraction: fast_share,
        fast_median: fast,
        slow_median: slow,
        ..
    } = modes;
    Some(format!(
        "{} of the {word} take about {}, the others about {}",
        units::format_percent(fast_share),
        units::format_latency(fast),
        units::format_latency(slow)
    ))
}

fn sync_too_fast(run: &BenchmarkRun) -> Option<String> {
    if run.target.rotational != Some(true) || was_found_non_rotational(run) {
        return None;
    }
    parameter_word(run, "sync").filter(|sync| *sync != "none")?;
    let reported = run
        .evidence
        .drive_setup
        .as_ref()
        .and_then(|setup| setup.rotation_rate);
    let revolution = reported.map_or(MIN_REVOLUTION_NS, |rpm| 60e9 / f64::from(rpm));
    let median = median_latency(run.findings.latency.write.as_ref()?)?;
    (median < revolution / 2.0).then(|| {
        format!(
            "half of the durable writes took less than {}; half a revolution takes {}",
            units::format_latency(median),
            units::format_latency(revolution / 2.0)
        )
    })
}

/// Whether the benchmark itself has already found that the drive is not rotational.
fn was_found_non_rotational(run: &BenchmarkRun) -> bool {
    let known = |verdict: &Verdict| verdict.code.ends_with("does-not-rotate");
    run.findings.verdicts.iter().any(known)
}

fn rotational_flag_doubtful(run: &BenchmarkRun) -> Option<String> {
    let random = ["random-read", "mixed", "concurrency-read"].contains(&run.test.as_str());
    if run.target.rotational != Some(true) || !random || !is_direct(run) {
        return None;
    }
    let reads = run.findings.latency.read.as_ref()?;
    let median = median_latency(reads).filter(|median| *median < MIN_REVOLUTION_NS / 2.0)?;
    let setup = run.evidence.drive_setup.as_ref()?;
    let large = run.target.size_bytes as f64 / 2.0 > MAX_DISK_CACHE_BYTES;
    let honest = setup.direct_io != Some(false);
    (honest && (large || setup.virtual_disk.is_some())).then(|| {
        format!(
            "the kernel's flag says rotational=1, but half of {} random reads took less than {}",
            reads.count,
            units::format_latency(median)
        )
    })
}
