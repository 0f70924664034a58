//! Detects bimodal distributions.

/// Bins of the coarse histogram per octave: finer bins show only noise.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Minimum fraction of the observations in each mode.
const MIN_MODE_FRACTION: f64 = 0.1;
/// Maximum ratio of the valley's count to that of the lower mode.
const MAX_VALLEY_RATIO: f64 = 0.2;
/// Minimum ratio of the modes' medians.
const MIN_MEDIAN_RATIO: f64 = 2.5;
/// With fewer observations, modes appear by chance.
const MIN_OBSERVATIONS: u64 = 200;

/// The two modes of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BimodalSplit {
    /// Fraction of the observations in the lower mode, 0 to 1.
    pub fast_fraction: f64,
    /// Median of the lower mode.
    pub fast_median: f64,
    /// Median of the upper mode.
    pub slow_median: f64,
}

/// Finds two modes in a histogram `[low, high, count]` in ascending order, on a logarithmic scale,
/// on which latencies of one kind form one mode. `None` when there is one mode, or when there are
/// too few observations.
///
/// The valley is where the count is lowest relative to the lower of the maxima on both sides (the
/// dip test of Hartigan and Hartigan, Annals of Statistics 13 (1985), in its simplest form: a
/// histogram with fixed thresholds, chosen so that a reported dip is relevant).
pub fn find_bimodality(histogram: &[[u64; 3]]) -> Option<BimodalSplit> {
    let total: u64 = histogram.iter().map(|bin| bin[2]).sum();
    if total < MIN_OBSERVATIONS {
        return None;
    }
    let rows = coarse_bins(histogram)?;
    let valley = valley_index(&rows, total)?;
    let split = |row: &&CoarseBin| row.index < valley;
    let (lower, upper): (Vec<&CoarseBin>, Vec<&CoarseBin>) = rows.iter().partition(split);
    let (fast, slow) = (bins_median(&lower)?, bins_median(&upper)?);
    let below: u64 = lower.iter().map(|row| row.count).sum();
    (slow >= MIN_MEDIAN_RATIO * fast).then(|| BimodalSplit {
        fast_fraction: below as f64 / total as f64,
        fast_median: fast,
        slow_median: slow,
    })
}

/// A bin of the coarse histogram.
struct CoarseBin {
    index: usize,
    center: f64,
    count: u64,
}

/// The histogram in bins of a quarter octave, including empty bins.
fn coarse_bins(histogram: &[[u64; 3]]) -> Option<Vec<CoarseBin>> {
    let bin_index = |value: u64| ((value.max(1) as f64).log2() * BINS_PER_OCTAVE) as usize;
    let first = bin_index(histogram.first()?[0]);
    let last = bin_index(histogram.last()?[0]);
    let mut rows: Vec<CoarseBin> = (first..=last)
        .enumerate()
        .map(|(index, bin_index)| CoarseBin {
            index,
            center: ((bin_index as f64 + 0.5) / BINS_PER_OCTAVE).exp2(),
            count: 0,
        })
        .collect();
    for [low, _, count] in histogram {
        rows[bin_index(*low) - first].count += count;
    }
    Some(rows)
}

/// The bin after the minimum of the deepest valley between two modes that are large enough.
fn valley_index(rows: &[CoarseBin], total: u64) -> Option<usize> {
    let height = |part: &[CoarseBin]| part.iter().map(|row| row.count).max().unwrap_or(0);
    let enough = |part: &[CoarseBin]| {
        let count: u64 = part.iter().map(|row| row.count).sum();
        count as f64 >= MIN_MODE_FRACTION * total as f64
    };
    let depth = |at: usize| {
        let (left, right) = (&rows[..at], &rows[at + 1..]);
        let lower = height(left).min(height(right)).max(1);
        (enough(left) && enough(right)).then(|| rows[at].count as f64 / lower as f64)
    };
    (1..rows.len().saturating_sub(1))
        .filter_map(|at| Some((at, depth(at)?)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .filter(|(_, depth)| *depth <= MAX_VALLEY_RATIO)
        .map(|(at, _)| at + 1)
}

fn bins_median(rows: &[&CoarseBin]) -> Option<f64> {
    let total: u64 = rows.iter().map(|row| row.count).sum();
    let mut seen = 0;
    rows.iter()
        .find(|row| {
            seen += row.count;
            2 * seen >= total
        })
        .map(|row| row.center)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::latency::histogram::LatencyHistogram;

    fn bimodality_of(values: impl IntoIterator<Item = u64>) -> Option<BimodalSplit> {
        let mut latency = LatencyHistogram::default();
        values.into_iter().for_each(|value| latency.record(value));
        find_bimodality(&latency.histogram_bins(16))
    }

    /// Values uniformly spread from `low` up to twice that.
    fn mode_values(low: u64, count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |index| low + index * low / count)
    }

    #[test]
    fn bimodality_of_fast_and_slow_requests_is_found() {
        let found =
            bimodality_of(mode_values(80_000, 700).chain(mode_values(4_000_000, 300))).unwrap();
        assert!((found.fast_fraction - 0.7).abs() < 1e-9, "{found:?}");
        assert!(
            (80_000.0..160_000.0).contains(&found.fast_median),
            "{found:?}"
        );
        assert!((4e6..8e6).contains(&found.slow_median), "{found:?}");
    }

    #[test]
    fn bimodality_of_unimodal_or_sparse_data_is_none() {
        assert_eq!(bimodality_of(mode_values(80_000, 1000)), None);
        assert_eq!(
            bimodality_of(mode_values(80_000, 950).chain(mode_values(4_000_000, 50))),
            None,
            "5 % is a tail"
        );
        assert_eq!(
            bimodality_of(mode_values(80_000, 70).chain(mode_values(4_000_000, 30))),
            None,
            "too few"
        );
        assert_eq!(
            bimodality_of(mode_values(80_000, 500).chain(mode_values(120_000, 500))),
            None,
            "close together"
        );
        assert_eq!(bimodality_of([]), None);
    }

    #[test]
    fn bimodality_of_unimodal_distributions_is_none() {
        let exponential = (1..5000).map(|index| (-(f64::from(index) / 5000.0).ln() * 1e6) as u64);
        assert_eq!(bimodality_of(exponential), None);
        let platter = (0..3000).map(|index| 3_000_000 + index * 8_333_333 / 3000);
        assert_eq!(bimodality_of(platter), None);
    }

    proptest! {
        #[test]
        fn bimodality_medians_lie_within_observations(values in prop::collection::vec(1_u64..1 << 40, 0..500)) {
            if let Some(found) = bimodality_of(values.clone()) {
                let (least, most) = (values.iter().min().unwrap(), values.iter().max().unwrap());
                prop_assert!(found.fast_median < found.slow_median);
                prop_assert!(found.fast_median * 1.2 >= *least as f64 && found.slow_median <= *most as f64 * 1.2);
                prop_assert!((0.09..=0.91).contains(&found.fast_fraction));
            }
        }
    }
}
