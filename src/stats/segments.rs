//! Where a noisy curve changes its level: zones of a disk, the end of a write cache.

use std::ops::Range;

/// Half the natural logarithm's weight against one more level: the Schwarz criterion counts a
/// level and its place as two parameters (Yao, "Estimating the number of change-points via
/// Schwarz' criterion", Statistics & Probability Letters 6 (1988)); three times that, because real
/// curves are no white noise.
const PENALTY: f64 = 6.0;
/// A step of less than this share of the level is of no use to anybody.
const LEAST_STEP: f64 = 0.02;
/// What the median of |x| is to the standard deviation of a normal law.
const MEDIAN_TO_SIGMA: f64 = 0.674_489_75;

/// A stretch of values on one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its values, by index.
    pub range: Range<usize>,
    /// Their mean.
    pub mean: f64,
}

/// Splits a curve into stretches on one level each, `least` values long or longer.
///
/// Binary segmentation (Scott and Knott, "A Cluster Analysis Method for Grouping Means in the
/// Analysis of Variance", Biometrics 30 (1974)): the cut that explains most of the squares is
/// made as long as it explains more than chance would. The noise is judged by neighbours'
/// differences, which a few steps cannot move.
#[must_use]
pub fn segments(values: &[f64], least: usize) -> Vec<Segment> {
    if values.is_empty() {
        return Vec::new();
    }
    let sums = Sums::new(values);
    let level = sums.mean(&(0..values.len())).abs();
    let noise = noise(values).max(level * LEAST_STEP / 4.0);
    let threshold = PENALTY * noise * noise * (values.len() as f64).ln().max(1.0);
    let mut cuts = vec![0, values.len()];
    split(&sums, 0..values.len(), least.max(1), threshold, &mut cuts);
    cuts.sort_unstable();
    cuts.windows(2)
        .map(|edges| {
            let range = edges[0]..edges[1];
            Segment {
                mean: sums.mean(&range),
                range,
            }
        })
        .collect()
}

fn split(sums: &Sums, range: Range<usize>, least: usize, threshold: f64, cuts: &mut Vec<usize>) {
    let places = range.start + least..(range.end + 1).saturating_sub(least);
    let gain = |cut: &usize| sums.gain(&range, *cut);
    let Some(cut) = places.max_by(|one, other| gain(one).total_cmp(&gain(other))) else {
        return;
    };
    if gain(&cut) <= threshold {
        return;
    }
    cuts.push(cut);
    split(sums, range.start..cut, least, threshold, cuts);
    split(sums, cut..range.end, least, threshold, cuts);
}

/// Standard deviation of the noise, from the median of neighbours' differences (von Neumann,
/// "Distribution of the ratio of the mean square successive difference to the variance", Annals
/// of Mathematical Statistics 12 (1941), made robust).
fn noise(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    median / MEDIAN_TO_SIGMA / std::f64::consts::SQRT_2
}

/// Sums from the beginning, for means in no time.
struct Sums(Vec<f64>);

impl Sums {
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

    /// By how much a cut lessens the sum of squared distances from the mean.
    fn gain(&self, range: &Range<usize>, cut: usize) -> f64 {
        let (left, right) = (range.start..cut, cut..range.end);
        let step = self.mean(&left) - self.mean(&right);
        let (left, right) = (left.len() as f64, right.len() as f64);
        step * step * left * right / (left + right)
    }
}

/// A fall from one level to another that stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    /// Index of the first value after it.
    pub at: usize,
    /// Mean before.
    pub before: f64,
    /// Mean after.
    pub after: f64,
}

/// The steepest fall of a curve after which it stays lower by at least `share` (0 to 1) of the level before it: the
/// end of a cache. `least` values on both sides.
#[must_use]
pub fn cliff(values: &[f64], least: usize, share: f64) -> Option<Cliff> {
    let segments = segments(values, least);
    let mean = |range: Range<usize>| values[range.clone()].iter().sum::<f64>() / range.len() as f64;
    let cliff = |pair: &[Segment]| {
        let at = pair[1].range.start;
        let cliff = Cliff {
            at,
            before: mean(0..at),
            after: mean(at..values.len()),
        };
        (pair[0].mean - pair[1].mean, cliff)
    };
    segments
        .windows(2)
        .map(cliff)
        .filter(|(_, cliff)| cliff.after <= cliff.before * (1.0 - share))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, cliff)| cliff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A level with a deterministic ripple.
    fn level(value: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |index| value * (1.0 + 0.01 * ((index * 7 % 5) as f64 - 2.0)))
    }

    #[test]
    fn a_level_curve_has_one_segment() {
        let values: Vec<f64> = level(100.0, 100).collect();
        assert_eq!(segments(&values, 3).len(), 1);
        assert!(segments(&[], 3).is_empty());
        assert_eq!(segments(&[5.0], 3).len(), 1);
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let values: Vec<f64> = level(200.0, 30)
            .chain(level(160.0, 40))
            .chain(level(100.0, 30))
            .collect();
        let found = segments(&values, 3);
        let edges: Vec<usize> = found.iter().map(|segment| segment.range.start).collect();
        assert_eq!(edges, [0, 30, 70]);
        assert!((found[1].mean - 160.0).abs() < 2.0);
    }

    #[test]
    fn a_cliff_is_where_a_cache_ends() {
        let values: Vec<f64> = level(900.0, 12).chain(level(150.0, 60)).collect();
        let cliff = cliff(&values, 3, 0.3).unwrap();
        assert_eq!(cliff.at, 12);
        assert!((cliff.before - 900.0).abs() < 10.0 && (cliff.after - 150.0).abs() < 3.0);
    }

    #[test]
    fn a_dip_or_a_rise_is_no_cliff() {
        let dip: Vec<f64> = level(100.0, 40)
            .chain(level(40.0, 4))
            .chain(level(100.0, 40))
            .collect();
        assert_eq!(cliff(&dip, 3, 0.3), None);
        let rise: Vec<f64> = level(100.0, 40).chain(level(300.0, 40)).collect();
        assert_eq!(cliff(&rise, 3, 0.3), None);
    }

    proptest! {
        #[test]
        fn segments_cover_the_curve(values in prop::collection::vec(0.0..1e6_f64, 0..200)) {
            let found = segments(&values, 3);
            prop_assert_eq!(found.iter().map(|segment| segment.range.len()).sum::<usize>(), values.len());
            prop_assert!(found.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        }
    }
}
