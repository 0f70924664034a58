//! What the response times themselves give away.

use super::Provoked::ByTest;
use super::{Rule, is_direct, word};
use crate::session::document::{LatencySummary, Run, RunState, Severity, Verdict};
use crate::stats::modes::{Modes, two_modes};
use crate::units;

/// Fewer requests leave the usual percentiles open.
const FEW: u64 = 1000;
/// The fastest disks turn 15,000 times a minute; nanoseconds of a revolution.
const FASTEST_REVOLUTION: f64 = 60e9 / 15_000.0;
/// No disk's own cache is larger, bytes: what it answers fast at random places beyond that it
/// does not have in it.
const LARGEST_DISK_CACHE: f64 = 1e9;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "too-few-samples",
        severity: Severity::Note,
        means: "There are too few requests for the percentiles that people ask for; those that \
                fewer than 10 lie beyond are left out.",
        when: "fewer than 1000 requests",
        advice: "measure longer, or with a smaller block size",
        provoked: ByTest("a_hundred_requests_are_too_few"),
        find: too_few_samples,
    },
    Rule {
        code: "two-speeds",
        severity: Severity::Note,
        means: "Requests fall into two kinds, fast and slow; hardly one takes as long as the mean \
                says.",
        when: "the histogram has two hills at least a factor of 2.5 apart, each of at least 10 % of \
               the requests, and between them less than a fifth of the lower one's height",
        advice: "look at the histogram: a cache, two tiers, or reads that wait behind writes",
        provoked: ByTest("two_kinds_of_requests_are_two_speeds"),
        find: two_speeds,
    },
    Rule {
        code: "sync-too-fast",
        severity: Severity::Warning,
        means: "Writes that count as durable were faster than half a revolution of the disk: they \
                were not on it when they counted.",
        when: "the drive says that it rotates, and half of the writes with --sync take less than \
               half a revolution (of the speed that it reports, else of 15,000 rpm)",
        advice: "a cache that loses its content at a power cut is dangerous, one with a battery is \
                 not: see `hdparm -W` or the controller",
        provoked: ByTest("durable_writes_into_a_volatile_cache_are_too_fast_for_a_disk"),
        find: sync_too_fast,
    },
    Rule {
        code: "rotational-flag-doubtful",
        severity: Severity::Warning,
        means: "The kernel says that the drive rotates, but it answers as no disk can.",
        when: "half of the random reads past the page cache take less than half a revolution at \
               15,000 rpm, on a virtual disk, or over more bytes than a disk's cache holds (1 GB)",
        advice: "schedulers and file systems heed that flag: set it in \
                 /sys/block/NAME/queue/rotational; the test rotation makes sure",
        provoked: ByTest("a_device_that_says_it_rotates_and_cannot_is_told"),
        find: rotational_flag_doubtful,
    },
];

fn summaries(run: &Run) -> impl Iterator<Item = (&'static str, &LatencySummary)> {
    let latency = &run.findings.latency;
    let both = [("reads", &latency.read), ("writes", &latency.write)];
    both.into_iter()
        .filter_map(|(word, summary)| Some((word, summary.as_ref()?)))
}

fn median(summary: &LatencySummary) -> Option<f64> {
    summary.percentiles.get("50").map(|value| *value as f64)
}

fn too_few_samples(run: &Run) -> Option<String> {
    // There may be enough in the end.
    let (word, summary) = summaries(run)
        .next()
        .filter(|_| run.state != RunState::Running)?;
    (summary.count < FEW).then(|| {
        format!(
            "{} {word}: percentiles that fewer than 10 of them lie beyond are left out",
            summary.count
        )
    })
}

fn two_speeds(run: &Run) -> Option<String> {
    let (word, modes) =
        summaries(run).find_map(|(word, summary)| Some((word, two_modes(&summary.histogram)?)))?;
    let Modes {
        fast_share,
        fast,
        slow,
        ..
    } = modes;
    Some(format!(
        "{} of the {word} take about {}, the others about {}",
        units::percent(fast_share),
        units::latency(fast),
        units::latency(slow)
    ))
}

fn sync_too_fast(run: &Run) -> Option<String> {
    if run.target.rotational != Some(true) || found_not_to_rotate(run) {
        return None;
    }
    word(run, "sync").filter(|sync| *sync != "none")?;
    let reported = run
        .evidence
        .setup
        .as_ref()
        .and_then(|setup| setup.rotation_rate);
    let revolution = reported.map_or(FASTEST_REVOLUTION, |rpm| 60e9 / f64::from(rpm));
    let median = median(run.findings.latency.write.as_ref()?)?;
    (median < revolution / 2.0).then(|| {
        format!(
            "half of the durable writes took less than {}; half a revolution takes {}",
            units::latency(median),
            units::latency(revolution / 2.0)
        )
    })
}

/// Whether the test has found out already.
fn found_not_to_rotate(run: &Run) -> bool {
    let known = |verdict: &Verdict| verdict.code.ends_with("does-not-rotate");
    run.findings.verdicts.iter().any(known)
}

fn rotational_flag_doubtful(run: &Run) -> Option<String> {
    let random = ["random-read", "mixed", "concurrency-read"].contains(&run.test.as_str());
    if run.target.rotational != Some(true) || !random || !is_direct(run) {
        return None;
    }
    let reads = run.findings.latency.read.as_ref()?;
    let median = median(reads).filter(|median| *median < FASTEST_REVOLUTION / 2.0)?;
    let setup = run.evidence.setup.as_ref()?;
    let large = run.target.size_bytes as f64 / 2.0 > LARGEST_DISK_CACHE;
    let honest = setup.direct_io != Some(false);
    (honest && (large || setup.virtual_disk.is_some())).then(|| {
        format!(
            "the kernel's flag says rotational=1, but half of {} random reads took less than {}",
            reads.count,
            units::latency(median)
        )
    })
}
