//! Estimates the seek time, and its spread, as the threshold below which a rotating sector is
//! missed.
//!
//! A sector that arrives after the seek has ended is read; one that arrives earlier is missed and
//! returns one revolution later. Whether response `r` lies at the lower or at the upper end of the
//! band is therefore a binary trial of the seek time: read with probability `F(r)`, missed with
//! probability `1 - F(r - width)`, `F` being the distribution of the seek time. This holds for any
//! distribution of the rotational latencies, so that reads may be aimed at the edge.
//!
//! `F` is assumed normal with unknown median and spread. The posterior of both (flat in the median
//! and in the logarithm of the spread) is computed on a grid. It stays valid where the edge is
//! sharp: then the spread is small and the median lies anywhere between two observations. An
//! estimate of the band from counts alone (see [`super::uniform`]) has intervals that are far too
//! narrow as soon as the edge is blurred.

use super::uniform;

/// Distance between median and quartile of the normal distribution, in standard deviations.
const QUARTILE_Z: f64 = 0.674_49;
/// Distance between the median and the fastest twentieth, in standard deviations.
const FASTEST_TWENTIETH_Z: f64 = 1.644_85;
/// Outliers: the fraction of observations outside the model, and their density relative to the
/// band's. They are spread over about ten widths.
const OUTLIER_WIDTHS: f64 = 0.02;
const OUTLIER_DENSITY: f64 = 0.1;
/// Smallest and largest spread, as fractions of the width.
const DEVIATION_BOUNDS: (f64, f64) = (2e-5, 0.03);
/// Number of grid points of the spread and of the median.
const DEVIATION_STEPS: usize = 14;
const MEDIAN_STEPS: usize = 41;

/// Estimate of the seek time: the time until the drive can wait for a sector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdEstimate {
    /// Lower quartile: the seek time without delays.
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// 95 % interval that covers the fastest twentieth as well as the median: data sheets do not
    /// state which of them they mean.
    pub seek_interval: (f64, f64),
    /// 95 % interval of the median alone.
    pub median_interval: (f64, f64),
}

/// One grid point.
struct GridPoint {
    median: f64,
    /// Standard deviation of single seeks.
    deviation: f64,
    weight: f64,
}

/// Estimates the threshold from responses in ascending order that lie in a band of a known width.
/// `None` for fewer than 8 observations.
pub fn threshold_of_band(ascending: &[f64], width: f64) -> Option<ThresholdEstimate> {
    const GRID_ROUNDS: usize = 5;
    let about = uniform::uniform_of_known_width(ascending, width)?;
    let table = LogDensityTable::new();
    let count = ascending.len() as f64;
    let (mut center, mut half) = (about.lower, (0.03_f64).max(6.0 / count) * width);
    let mut points = Vec::new();
    for _ in 0..GRID_ROUNDS {
        points = posterior_grid(ascending, width, (center, half), &table);
        center = posterior_mean(&points, |point| point.median);
        let variance = posterior_mean(&points, |point| (point.median - center).powi(2));
        let step = 2.0 * half / (MEDIAN_STEPS - 1) as f64;
        let next = (5.0 * variance.sqrt()).clamp(2.0 * step, half);
        if next > 0.7 * half {
            break;
        }
        half = next;
    }
    let fastest = |point: &GridPoint| point.median - FASTEST_TWENTIETH_Z * point.deviation;
    let high = posterior_quantile(&points, 0.975, |point| point.median);
    Some(ThresholdEstimate {
        lower_quartile: posterior_mean(&points, |it| it.median - QUARTILE_Z * it.deviation),
        median: posterior_mean(&points, |point| point.median),
        seek_interval: (posterior_quantile(&points, 0.025, fastest), high),
        median_interval: (
            posterior_quantile(&points, 0.025, |point| point.median),
            high,
        ),
    })
}

fn posterior_mean(points: &[GridPoint], of: impl Fn(&GridPoint) -> f64) -> f64 {
    let total: f64 = points.iter().map(|point| point.weight).sum();
    let sum: f64 = points.iter().map(|point| point.weight * of(point)).sum();
    sum / total
}

/// The posterior on a grid around `center`.
fn posterior_grid(
    ascending: &[f64],
    width: f64,
    (center, half): (f64, f64),
    table: &LogDensityTable,
) -> Vec<GridPoint> {
    let ratio = (DEVIATION_BOUNDS.1 / DEVIATION_BOUNDS.0).powf(1.0 / (DEVIATION_STEPS - 1) as f64);
    let mut points = Vec::with_capacity(DEVIATION_STEPS * MEDIAN_STEPS);
    for step in 0..DEVIATION_STEPS {
        let spread = width * DEVIATION_BOUNDS.0 * ratio.powi(step as i32);
        let histogram = BinnedObservations::new(ascending, width, (center, half), spread);
        for place in 0..MEDIAN_STEPS {
            let share = 2.0 * place as f64 / (MEDIAN_STEPS - 1) as f64 - 1.0;
            let median = center + half * share;
            points.push(GridPoint {
                median,
                deviation: spread,
                weight: histogram.log_likelihood(median, spread, table),
            });
        }
    }
    let weights = points.iter().map(|point| point.weight);
    let best = weights.fold(f64::NEG_INFINITY, f64::max);
    for point in &mut points {
        point.weight = (point.weight - best).exp();
    }
    points
}

/// Posterior quantile: the value below which the fraction `share` of the posterior lies.
fn posterior_quantile(points: &[GridPoint], share: f64, of: fn(&GridPoint) -> f64) -> f64 {
    let values = points.iter().map(|point| (of(point), point.weight));
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut left = share * values.iter().map(|value| value.1).sum::<f64>();
    for (value, weight) in &values {
        left -= weight;
        if left <= 0.0 {
            return *value;
        }
    }
    values.last().map_or(f64::NAN, |value| value.0)
}

/// The observations that are informative for one range of medians, in bins much narrower than the
/// spread.
struct BinnedObservations {
    /// Position relative to the median, sign (read 1, missed -1), and count.
    bins: Vec<(f64, f64, f64)>,
    /// Number of observations outside the band for every median of the range.
    outliers: f64,
}

impl BinnedObservations {
    fn new(ascending: &[f64], width: f64, (center, half): (f64, f64), spread: f64) -> Self {
        let reach = half + LogDensityTable::TAIL_REACH * spread;
        let bin = 0.1 * spread;
        let below = |value: f64| ascending.partition_point(|it| *it < value);
        let (low, high) = (below(center - reach), below(center + reach));
        let (last, end) = (below(center + width - reach), below(center + width + reach));
        let mut bins = Vec::new();
        for (range, sign, shift) in [
            (low..high.min(last.max(low)), 1.0, 0.0),
            (last.max(high)..end, -1.0, width),
        ] {
            for value in &ascending[range] {
                let place = ((value - shift) / bin).round() * bin;
                match bins.last_mut() {
                    Some((known, its_sign, count)) if *known == place && *its_sign == sign => {
                        *count += 1.0;
                    }
                    _ => bins.push((place, sign, 1.0)),
                }
            }
        }
        Self {
            bins,
            outliers: (low + ascending.len() - end) as f64,
        }
    }

    fn log_likelihood(&self, median: f64, spread: f64, table: &LogDensityTable) -> f64 {
        let of = |(place, sign, count): &(f64, f64, f64)| {
            count * table.log_density_at(sign * (place - median) / spread)
        };
        self.bins.iter().map(of).sum::<f64>()
            + self.outliers * table.log_density_at(f64::NEG_INFINITY)
    }
}

/// Logarithm of the density within the band, by distance from its edge in spreads.
struct LogDensityTable(Vec<f64>);

impl LogDensityTable {
    /// Beyond this many spreads the normal distribution is negligible.
    const TAIL_REACH: f64 = 5.0;
    const TABLE_STEPS: f64 = 50.0;

    fn new() -> Self {
        let count = (2.0 * Self::TAIL_REACH * Self::TABLE_STEPS) as usize;
        let place = |index: usize| index as f64 / Self::TABLE_STEPS - Self::TAIL_REACH;
        let density = |at: f64| {
            ((1.0 - OUTLIER_WIDTHS) * normal_cdf(at) + OUTLIER_WIDTHS * OUTLIER_DENSITY).ln()
        };
        Self((0..=count).map(|index| density(place(index))).collect())
    }

    fn log_density_at(&self, distance: f64) -> f64 {
        let place = (distance.clamp(-Self::TAIL_REACH, Self::TAIL_REACH) + Self::TAIL_REACH)
            * Self::TABLE_STEPS;
        let index = (place as usize).min(self.0.len() - 2);
        let share = place - index as f64;
        self.0[index] * (1.0 - share) + self.0[index + 1] * share
    }
}

/// The normal distribution function (Abramowitz and Stegun, 26.2.17; absolute error below 1e-7).
fn normal_cdf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-0.5 * x * x).exp() / (std::f64::consts::TAU).sqrt() * polynomial;
    if x > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::general::robust;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_distr::StandardNormal;

    /// Responses of a drive: a seek of `base` plus a half-normal deviate times `jitter`, then the
    /// rotational latency for a random angle within a revolution of 8 ms.
    fn simulated_responses(
        random: &mut Xoshiro256PlusPlus,
        count: usize,
        (base, jitter): (f64, f64),
    ) -> Vec<f64> {
        let mut one = || {
            let ready = base + jitter * random.sample::<f64, _>(StandardNormal).abs();
            let wait = random.random::<f64>() * 8.0;
            if wait >= ready.rem_euclid(8.0) {
                (ready / 8.0).floor() * 8.0 + wait
            } else {
                (ready / 8.0).floor() * 8.0 + wait + 8.0
            }
        };
        robust::sorted_finite((0..count).map(|_| one()))
    }

    #[test]
    fn threshold_interval_covers_fast_end_and_median() {
        for (count, jitter) in [(200, 0.0), (1000, 0.0), (1000, 0.02), (5000, 0.05)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(count as u64);
            let (mut covered, mut width) = (0, 0.0);
            for _ in 0..60 {
                let sample = simulated_responses(&mut random, count, (11.3, jitter));
                let found = threshold_of_band(&sample, 8.0).unwrap();
                let both = [11.3 + 1e-9, 11.3 + QUARTILE_Z * jitter];
                let inside = |value: &f64| {
                    found.seek_interval.0 <= *value && *value <= found.seek_interval.1
                };
                covered += usize::from(both.iter().any(inside));
                width += (found.seek_interval.1 - found.seek_interval.0) / 60.0;
            }
            assert!(covered >= 55, "{count} {jitter}: {covered} of 60, {width}");
            assert!(
                width < 2.0 * jitter + 60.0 / count as f64,
                "{count} {jitter}: {width}"
            );
        }
    }

    #[test]
    fn threshold_with_outliers_on_both_sides_is_stable() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut sample = simulated_responses(&mut random, 1000, (11.0, 0.01));
        sample.extend((0..30).map(|index| 0.2 + 0.01 * f64::from(index)));
        sample.extend((0..20).map(|index| 30.0 + f64::from(index)));
        sample.sort_by(f64::total_cmp);
        let found = threshold_of_band(&sample, 8.0).unwrap();
        assert!((found.lower_quartile - 11.0).abs() < 0.03, "{found:?}");
        assert_eq!(threshold_of_band(&sample[..7], 8.0), None);
    }
}
