//! Change points of a noisy curve: zones of a disk, the end of a write cache.

use std::ops::Range;

/// Penalty of one more level, in units of the noise variance times the natural logarithm of the
/// number of values. The Schwarz criterion counts a level and its position as two parameters (Yao,
/// "Estimating the number of change-points via Schwarz' criterion", Statistics & Probability
/// Letters 6 (1988)); this is three times that, because the noise of real curves is not white.
const SPLIT_PENALTY: f64 = 6.0;
/// Steps smaller than this fraction of the level are ignored.
const MIN_STEP: f64 = 0.02;
/// Ratio of the median of |x| to the standard deviation of a normal distribution.
const MEDIAN_TO_SIGMA: f64 = 0.674_489_75;

/// A segment of values with a constant level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelSegment {
    /// Index range of its values.
    pub range: Range<usize>,
    /// Mean of its values.
    pub mean: f64,
}

/// Splits a curve into segments of constant level, each at least `least` values long.
///
/// Binary segmentation (Scott and Knott, "A Cluster Analysis Method for Grouping Means in the
/// Analysis of Variance", Biometrics 30 (1974)): the split that explains most of the sum of squares
/// is made as long as it explains more than chance would. The noise is estimated from the
/// differences of neighbours, which few steps hardly affect.
pub fn find_segments(values: &[f64], least: usize) -> Vec<LevelSegment> {
    if values.is_empty() {
        return Vec::new();
    }
    let sums = PrefixSums::new(values);
    let level = sums.mean(&(0..values.len())).abs();
    let noise = noise_deviation(values).max(level * MIN_STEP / 4.0);
    let threshold = SPLIT_PENALTY * noise * noise * (values.len() as f64).ln().max(1.0);
    let mut cuts = vec![0, values.len()];
    split_segment(&sums, 0..values.len(), least.max(1), threshold, &mut cuts);
    cuts.sort_unstable();
    cuts.windows(2)
        .map(|edges| {
            let range = edges[0]..edges[1];
            LevelSegment {
                mean: sums.mean(&range),
                range,
            }
        })
        .collect()
}

fn split_segment(
    sums: &PrefixSums,
    range: Range<usize>,
    least: usize,
    threshold: f64,
    cuts: &mut Vec<usize>,
) {
    let candidates = range.start + least..(range.end + 1).saturating_sub(least);
    let gain = |cut: &usize| sums.split_gain(&range, *cut);
    let Some(cut) = candidates.max_by(|one, other| gain(one).total_cmp(&gain(other))) else {
        return;
    };
    if gain(&cut) <= threshold {
        return;
    }
    cuts.push(cut);
    split_segment(sums, range.start..cut, least, threshold, cuts);
    split_segment(sums, cut..range.end, least, threshold, cuts);
}

/// Standard deviation of the noise, from the median of the differences of neighbours (von Neumann,
/// "Distribution of the ratio of the mean square successive difference to the variance", Annals of
/// Mathematical Statistics 12 (1941), made robust).
fn noise_deviation(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    median / MEDIAN_TO_SIGMA / std::f64::consts::SQRT_2
}

/// Prefix sums, for means of ranges in constant time.
struct PrefixSums(Vec<f64>);

impl PrefixSums {
    fn new(values: &[f64]) -> Self {
        let mut sums = Vec::with_capacity(values.len() + 1);
        let mut sum = 0.0;
        sums.push(sum);
        for value in values {
            sum += value;
            sums.push(sum);
        }
        Self(sums)
    }

    fn mean(&self, range: &Range<usize>) -> f64 {
        (self.0[range.end] - self.0[range.start]) / range.len().max(1) as f64
    }

    /// Reduction of the sum of squared deviations from the mean by a split.
    fn split_gain(&self, range: &Range<usize>, cut: usize) -> f64 {
        let (left, right) = (range.start..cut, cut..range.end);
        let step = self.mean(&left) - self.mean(&right);
        let (left, right) = (left.len() as f64, right.len() as f64);
        step * step * left * right / (left + right)
    }
}

/// A permanent drop from one level to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelDrop {
    /// Index of the first value after the drop.
    pub first_index_after: usize,
    /// Mean before the drop.
    pub mean_before: f64,
    /// Mean after the drop.
    pub mean_after: f64,
}

/// The steepest drop of a curve after which the mean stays lower by at least the fraction `share`
/// (0 to 1) of the mean before it, such as the end of a cache. At least `least` values lie on both
/// sides.
pub fn find_level_drop(values: &[f64], least: usize, share: f64) -> Option<LevelDrop> {
    let segments = find_segments(values, least);
    let mean = |range: Range<usize>| values[range.clone()].iter().sum::<f64>() / range.len() as f64;
    let cliff = |pair: &[LevelSegment]| {
        let at = pair[1].range.start;
        let cliff = LevelDrop {
            first_index_after: at,
            mean_before: mean(0..at),
            mean_after: mean(at..values.len()),
        };
        (pair[0].mean - pair[1].mean, cliff)
    };
    segments
        .windows(2)
        .map(cliff)
        .filter(|(_, cliff)| cliff.mean_after <= cliff.mean_before * (1.0 - share))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, cliff)| cliff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A level with a deterministic ripple.
    fn noisy_level(value: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |index| value * (1.0 + 0.01 * ((index * 7 % 5) as f64 - 2.0)))
    }

    #[test]
    fn segmentation_of_level_curve_has_one_segment() {
        let values: Vec<f64> = noisy_level(100.0, 100).collect();
        assert_eq!(find_segments(&values, 3).len(), 1);
        assert!(find_segments(&[], 3).is_empty());
        assert_eq!(find_segments(&[5.0], 3).len(), 1);
    }

    #[test]
    fn segmentation_finds_step_positions() {
        let values: Vec<f64> = noisy_level(200.0, 30)
            .chain(noisy_level(160.0, 40))
            .chain(noisy_level(100.0, 30))
            .collect();
        let found = find_segments(&values, 3);
        let edges: Vec<usize> = found.iter().map(|segment| segment.range.start).collect();
        assert_eq!(edges, [0, 30, 70]);
        assert!((found[1].mean - 160.0).abs() < 2.0);
    }

    #[test]
    fn level_drop_is_found_at_cache_end() {
        let values: Vec<f64> = noisy_level(900.0, 12)
            .chain(noisy_level(150.0, 60))
            .collect();
        let cliff = find_level_drop(&values, 3, 0.3).unwrap();
        assert_eq!(cliff.first_index_after, 12);
        assert!((cliff.mean_before - 900.0).abs() < 10.0 && (cliff.mean_after - 150.0).abs() < 3.0);
    }

    #[test]
    fn level_drop_of_dip_or_rise_is_none() {
        let dip: Vec<f64> = noisy_level(100.0, 40)
            .chain(noisy_level(40.0, 4))
            .chain(noisy_level(100.0, 40))
            .collect();
        assert_eq!(find_level_drop(&dip, 3, 0.3), None);
        let rise: Vec<f64> = noisy_level(100.0, 40)
            .chain(noisy_level(300.0, 40))
            .collect();
        assert_eq!(find_level_drop(&rise, 3, 0.3), None);
    }

    proptest! {
        #[test]
        fn segmentation_covers_whole_curve(values in prop::collection::vec(0.0..1e6_f64, 0..200)) {
            let found = find_segments(&values, 3);
            prop_assert_eq!(found.iter().map(|segment| segment.range.len()).sum::<usize>(), values.len());
            prop_assert!(found.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        }
    }
}
