//! Checks of the sequential benchmarks: zones that are too short to be measured, and where a fast
//! partition belongs on a disk.

use std::time::Duration;

use serde_json::json;

use super::zones::{self, MeasuredPasses, MeasuredZone};
use crate::bench::framework;
use crate::bench::framework::context::IO_ERRORS;
use crate::drive::{DriveKind, Target};
use crate::engine::Plan;
use crate::session::document::check::Check;
use crate::session::document::{Findings, Verdict};
use crate::stats::general::segments::LevelSegment;
use crate::units;

/// Checks of both sequential benchmarks.
pub(super) const CHECKS: &[Check] = &[
    FAST_START,
    NO_ZONES,
    ZONE_TOO_SHORT,
    MEAN_INCLUDES_SEEKS,
    ZONES_NOT_MEASURED,
    ZONES_UNCERTAIN,
    IO_ERRORS,
];

/// Minimum requests, per request in flight, for a zone's own rate to be meaningful.
const MIN_REQUESTS_PER_DEPTH: u64 = 10;
/// Minimum requests in the median measured zone for a reliable count of the drive's zones: of
/// simulated disks with up to 2 % outliers, none with as many was miscounted.
const ENOUGH_TO_COUNT: u64 = 32;
/// Minimum mean number of measured zones per zone of the drive for a complete count.
const ENOUGH_IN_ZONE: usize = 5;
/// A disk moves its arm and waits half a revolution before it reads a zone: 10 to 20 ms. Zones that are
/// read for less time than this lose more than 5 % of it.
const MIN_ZONE_TIME: Duration = Duration::from_millis(250);

const ZONE_TOO_SHORT: Check = Check::note(
    "zone-too-short",
    "A zone holds fewer than ten requests for each one in flight.",
);
const ZONES_NOT_MEASURED: Check = Check::note(
    "zones-not-measured",
    "The time limit left no time for some of the zones.",
);
pub(super) const ZONES_UNCERTAIN: Check = Check::note(
    "zones-uncertain",
    "The measured zones hold too few requests, or the drive has too many zones, to count them reliably.",
);

pub(super) const MEAN_INCLUDES_SEEKS: Check = Check::warning(
    "mean-includes-seeks",
    "Each zone was read or written for less than 0.25 s at a time, of which a disk seeks 10 to 20 ms: the \
     throughput is below that of a whole read.",
);

/// The checks on the size of the zones and on what a time limit left out.
pub(super) fn check_zones(
    findings: &mut Findings,
    target: &Target,
    passes: &MeasuredPasses,
    plan: &Plan,
) {
    let map = zones::map_of(plan);
    let zones = &passes.zones;
    let measured = zones.len() as u64;
    let missing = map.zones().saturating_sub(measured);
    if missing > 0 && plan.limits.duration.is_some() {
        findings.set_check(zones_not_measured(missing, map.zones()));
    }
    let enough = MIN_REQUESTS_PER_DEPTH * u64::from(plan.depth);
    if let Some(requests) = passes.fewest_requests.filter(|it| *it < enough) {
        findings.set_check(zone_too_short(requests, plan.depth));
    }
    let time = passes.first_pass / u32::try_from(measured.max(1)).unwrap_or(u32::MAX);
    let seeks = target.is_rotational() == Some(true) && !zones::is_whole_window(plan);
    if measured > 0 && seeks && time < MIN_ZONE_TIME {
        findings.set_check(mean_includes_seeks(time));
    }
}

fn mean_includes_seeks(time: Duration) -> Verdict {
    let milliseconds = time.as_secs_f64() * 1e3;
    MEAN_INCLUDES_SEEKS.found(
        format!(
            "each zone was measured for {milliseconds:.0} ms at a time, of which the disk seeks 10 to 20 ms: \
             the throughput of a whole read is higher"
        ),
        "use a larger --zone-bytes, and a larger --bytes, more --requests or a longer --duration where \
         they are limited",
        json!({ "zone_ms": milliseconds }),
    )
}

fn zone_too_short(requests: u64, depth: u32) -> Verdict {
    let plural = if requests == 1 { "" } else { "s" };
    ZONE_TOO_SHORT.found(
        format!(
            "a zone holds {requests} request{plural}, fewer than 10 x depth {depth}: the throughput of a \
             single zone depends on requests of the adjacent zones; the mean of all zones does not"
        ),
        "use a smaller --block-size or --depth, or a larger --zone-bytes",
        json!({ "requests": requests, "depth": depth }),
    )
}

fn zones_not_measured(missing: u64, zones: u64) -> Verdict {
    ZONES_NOT_MEASURED.found(
        format!(
            "{missing} of {zones} zones have no throughput: a request takes longer than their share of the \
             time"
        ),
        "use a longer --duration, or a smaller --block-size or --depth",
        json!({ "missing": missing, "zones": zones }),
    )
}

/// The checks that follow from the levels of the whole curve.
pub(super) fn check_levels(
    findings: &mut Findings,
    target: &Target,
    zones: &[MeasuredZone],
    plan: &Plan,
    levels: &[LevelSegment],
) {
    // The zones of a file are those of its file system's layout.
    if !addresses_are_of_medium(target) {
        return;
    }
    let rotational = target.is_rotational();
    let block = u64::from(plan.block_size.max_bytes());
    let mut requests: Vec<u64> = zones.iter().map(|zone| zone.bytes / block).collect();
    requests.sort_unstable();
    let median = requests[requests.len() / 2];
    let counts = levels.len() > 1 || rotational == Some(true);
    let uncertain = uncertain_count(levels.len(), zones.len(), median).filter(|_| counts);
    let rates: Vec<f64> = zones.iter().map(|zone| zone.typical).collect();
    let advice = partition_advice(&rates, levels, rotational);
    for verdict in uncertain.into_iter().chain(advice) {
        findings.set_check(verdict);
    }
}

/// The check for a possible miscount of the drive's zones: too few requests given outliers, or
/// zones too small.
fn uncertain_count(found: usize, measured: usize, median: u64) -> Option<Verdict> {
    let (reason, facts) = if median < ENOUGH_TO_COUNT {
        (
            format!(
                "half of the measured zones hold {median} requests or fewer, and {ENOUGH_TO_COUNT} are \
                 needed: a single slow request may look like another zone"
            ),
            json!({
                "reason": "few-requests",
                "median_requests": median,
                "needed_requests": ENOUGH_TO_COUNT,
            }),
        )
    } else if found * ENOUGH_IN_ZONE > measured {
        (
            format!(
                "{found} zones of the drive were found with {measured} measured ones: smaller zones may \
                 have been missed"
            ),
            json!({ "reason": "many-zones", "found": found, "measured": measured }),
        )
    } else {
        return None;
    };
    Some(ZONES_UNCERTAIN.found(
        format!("the number of zones is uncertain: {reason}"),
        "use a longer --duration or a smaller --block-size; the benchmark geometry counts the zones of \
         a disk by its tracks",
        facts,
    ))
}

/// Minimum ratio of the throughput at the beginning and at the end. The outer tracks of a disk hold
/// about twice as many sectors as the inner ones; less than this does not justify a partition.
const MIN_RATIO: f64 = 1.15;
/// Parts of the address range that are compared.
const PARTS: usize = 10;
/// How much faster than the part before it a part may be, as a fraction: the noise of a disk's zones.
const MAX_RISE: f64 = 0.02;
/// Minimum fraction of the variance that the levels explain. On a disk they explain nearly all of it;
/// where the throughput swings at random, the swings within the levels remain.
const MIN_EXPLAINED_FRACTION: f64 = 0.8;

pub(super) const FAST_START: Check = Check::note(
    "fast-start",
    "The beginning of the drive is faster than its end.",
);
const NO_ZONES: Check = Check::note(
    "no-zones",
    "The drive is listed as rotational, but is equally fast at all addresses.",
);

/// Whether addresses of the target are those of the medium. A loop device lies anywhere on the drive
/// below it.
fn addresses_are_of_medium(target: &Target) -> bool {
    let is_loop = target
        .drive
        .as_ref()
        .is_some_and(|drive| drive.kind == DriveKind::Loop);
    framework::addresses_are_physical(target) && !is_loop
}

/// The check with the location for a fast partition, or with the reason why it does not matter.
fn partition_advice(
    rates: &[f64],
    levels: &[LevelSegment],
    rotational: Option<bool>,
) -> Option<Verdict> {
    let parts = part_means(rates);
    if let (Some(first_tenth), Some(last_tenth)) = (parts.first(), parts.last())
        && first_tenth / last_tenth >= MIN_RATIO
        && falls(&parts)
        && levels.len() > 1
        && explained_fraction(rates, levels) >= MIN_EXPLAINED_FRACTION
    {
        return Some(fast_start(*first_tenth, *last_tenth));
    }
    (rotational == Some(true) && levels.len() == 1).then(|| no_zones(mean(rates)))
}

fn fast_start(first_tenth: f64, last_tenth: f64) -> Verdict {
    FAST_START.found(
        format!(
            "the first tenth has {}, the last tenth {}",
            units::format_throughput(first_tenth),
            units::format_throughput(last_tenth)
        ),
        format!(
            "place a fast partition at the start, where the throughput is {} times that of the end",
            units::format_three_digits(first_tenth / last_tenth)
        ),
        json!({ "first_tenth": first_tenth, "last_tenth": last_tenth }),
    )
}

fn no_zones(throughput: f64) -> Verdict {
    NO_ZONES.found(
        format!(
            "the kernel lists the drive as rotational, but its throughput is {} at all addresses",
            units::format_throughput(throughput)
        ),
        "possible causes are a virtual disk, a cache, or an interface slower than the outer tracks",
        json!({ "throughput": throughput }),
    )
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Means of equal parts of the curve; the remainder belongs to the last one.
fn part_means(rates: &[f64]) -> Vec<f64> {
    let each = (rates.len() / PARTS).max(1);
    let parts = rates.len() / each;
    (0..parts)
        .map(|part| {
            let end = if part + 1 == parts {
                rates.len()
            } else {
                (part + 1) * each
            };
            mean(&rates[part * each..end])
        })
        .collect()
}

/// Whether no part is faster than one before it.
fn falls(parts: &[f64]) -> bool {
    let mut slowest = f64::INFINITY;
    parts.iter().all(|part| {
        let is_no_rise = *part <= slowest * (1.0 + MAX_RISE);
        slowest = slowest.min(*part);
        is_no_rise
    })
}

/// Fraction of the variance of the curve that its levels explain, 0 to 1.
fn explained_fraction(rates: &[f64], levels: &[LevelSegment]) -> f64 {
    let squares = |values: &[f64], center: f64| {
        values
            .iter()
            .map(|value| (value - center).powi(2))
            .sum::<f64>()
    };
    let total = squares(rates, mean(rates));
    let within: f64 = levels
        .iter()
        .map(|level| squares(&rates[level.range.clone()], level.mean))
        .sum();
    if total > 0.0 {
        1.0 - within / total
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_distr::StandardNormal;

    use super::*;
    use crate::stats::general::segments::find_segments;

    const ZONES: usize = 100;
    const SEEDS: u64 = 2000;

    fn advice(rates: &[f64]) -> bool {
        let levels = find_segments(rates, 3);
        let found = partition_advice(rates, &levels, Some(false));
        found.is_some_and(|verdict| verdict.is_of(FAST_START))
    }

    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        random.sample(StandardNormal)
    }

    /// Fraction of the seeds for which curves of this kind give advice.
    fn alarm_fraction(curve: impl Fn(&mut Xoshiro256PlusPlus) -> Vec<f64>) -> f64 {
        let found =
            (0..SEEDS).filter(|seed| advice(&curve(&mut Xoshiro256PlusPlus::seed_from_u64(*seed))));
        found.count() as f64 / SEEDS as f64
    }

    #[test]
    fn random_swings_rarely_look_like_a_fast_start() {
        // Independent noise of each zone.
        for deviation in [0.02, 0.1, 0.3] {
            let fraction = alarm_fraction(|random| {
                let rates = (0..ZONES).map(|_| (1.0 + deviation * normal(random)).max(0.05));
                rates.collect()
            });
            assert!(fraction <= 0.001, "white {deviation}: {fraction}");
        }
        // Swings that last for several zones (first-order autoregressive, 5 and 20 zones long).
        for memory in [0.8, 0.95] {
            let fraction = alarm_fraction(|random| {
                let mut swing = 0.0;
                let mut next = || {
                    swing = memory * swing + (1.0_f64 - memory * memory).sqrt() * normal(random);
                    (1.0 + 0.15 * swing).max(0.05)
                };
                (0..ZONES).map(|_| next()).collect()
            });
            assert!(fraction <= 0.01, "memory {memory}: {fraction}");
        }
        // Another user that comes and goes and takes half of the throughput.
        let fraction = alarm_fraction(|random| {
            let mut is_shared = random.random::<f64>() < 0.5;
            let mut next = || {
                is_shared ^= random.random::<f64>() < 0.1;
                (if is_shared { 0.5 } else { 1.0 }) * (1.0 + 0.02 * normal(random))
            };
            (0..ZONES).map(|_| next()).collect()
        });
        assert!(fraction <= 0.01, "shared: {fraction}");
    }

    #[test]
    fn zones_of_a_disk_are_a_fast_start_in_spite_of_noise() {
        for (zones, noise) in [(8, 0.01), (16, 0.02), (30, 0.03)] {
            let fraction = alarm_fraction(|random| {
                let level = |zone: usize| 1.0 - 0.5 * (zone * zones / ZONES) as f64 / zones as f64;
                let rates = (0..ZONES).map(|zone| level(zone) * (1.0 + noise * normal(random)));
                rates.collect()
            });
            assert!(fraction >= 0.99, "{zones} zones, noise {noise}: {fraction}");
        }
    }
}
