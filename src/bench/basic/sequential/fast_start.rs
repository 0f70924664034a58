//! Where a fast partition belongs on a disk.

use serde_json::json;

use crate::bench::framework;
use crate::drive::{DriveKind, Target};
use crate::session::document::Verdict;
use crate::session::document::check::Check;
use crate::stats::general::segments::LevelSegment;
use crate::units;

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
pub(super) const NO_ZONES: Check = Check::note(
    "no-zones",
    "The drive is listed as rotational, but is equally fast at all addresses.",
);

/// Whether addresses of the target are those of the medium. A loop device lies anywhere on the drive
/// below it.
pub(super) fn addresses_are_of_medium(target: &Target) -> bool {
    let is_loop = target
        .drive
        .as_ref()
        .is_some_and(|drive| drive.kind == DriveKind::Loop);
    framework::addresses_are_physical(target) && !is_loop
}

/// The check with the location for a fast partition, or with the reason why it does not matter.
pub(super) fn partition_advice(
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
