//! Sweeps in rounds. Every round measures every point once, in a new random order, so that changes
//! of the drive over time (temperature, caches, other users) do not favour a point.
//!
//! Points are compared round by round. A best point is named only if the measurements separate it
//! from the others: first a permutation test over all points (is there any difference at all?),
//! then a paired comparison of the logarithms across rounds (Box, Hunter, Hunter, Statistics for
//! Experimenters, 2nd edition, chapters 3 and 4).

#[cfg(test)]
mod tests;

use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::json;

use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, Series, SeriesKind, Verdict};
use crate::stats::general::confidence::{MeanEstimate, independent_mean_estimate};
use crate::stats::random::shuffle;
use crate::units;

/// Default number of rounds: with four values the 95 % confidence interval extends 1.6 standard
/// deviations to either side, with three values 2.5.
pub const DEFAULT_ROUNDS: usize = 4;
/// Number of random permutations.
const PERMUTATION_COUNT: u32 = 2000;
/// Maximum fraction of permutations with at least the measured difference.
const SIGNIFICANCE_LEVEL: f64 = 0.01;

/// Made by benchmarks that compare two variants.
pub const NO_SIGNIFICANT_PENALTY: Check = Check::note(
    "no-significant-penalty",
    "The two variants, whole and partial blocks or plain and synchronous writes, do not differ \
     significantly.",
);

/// Number of phases in a sweep over this many points: every point in each of
/// [`DEFAULT_ROUNDS`] rounds.
#[must_use]
pub const fn phase_count(points: usize) -> usize {
    points * DEFAULT_ROUNDS
}

/// Ramp time of a point in one round: the ramp time of the point is divided among its rounds.
#[must_use]
pub fn ramp_time_of_round(ramp_time: Duration) -> Duration {
    ramp_time / DEFAULT_ROUNDS as u32
}

/// Measured values, one per point and round; `None` where a round yielded none.
#[derive(Debug, Clone)]
pub struct SweepRounds {
    values: Vec<Vec<Option<f64>>>,
    seed: u64,
}

/// Why no best point is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoOptimum {
    /// The sweep ended before every point was measured twice.
    TooFewRounds,
    /// The differences are within random variation.
    NoDifference,
    /// The difference between these two points is not significant.
    NotSeparated(usize, usize),
}

/// A ratio with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioEstimate {
    /// Geometric mean of the ratios of all rounds.
    pub value: f64,
    /// Lower bound of the confidence interval.
    pub low: f64,
    /// Upper bound of the confidence interval.
    pub high: f64,
}

impl RatioEstimate {
    /// The ratio as a metric.
    #[must_use]
    pub fn to_metric(self, id: MetricId) -> Metric {
        Metric::new(id, self.value).with_interval(self.low, self.high)
    }

    /// Whether the interval includes 1: no significant difference.
    #[must_use]
    pub fn includes_one(self) -> bool {
        self.low <= 1.0 && 1.0 <= self.high
    }

    /// The verdict that the ratio of the IOPS of these two variants may be 1.
    #[must_use]
    pub fn without_difference(self, variants: [&str; 2]) -> Verdict {
        let [first, second] = variants;
        NO_SIGNIFICANT_PENALTY.found(
            format!(
                "{first} and {second}: no significant difference, the 95 % CI of the ratio of their IOPS \
                 is {} to {}",
                units::format_three_digits(self.low),
                units::format_three_digits(self.high),
            ),
            "use a longer --duration, and more requests or bytes where these are limited, for a \
             narrower interval",
            json!({ "variants": variants, "low": self.low, "high": self.high }),
        )
    }
}

/// What a sweep looks for, in words.
#[derive(Debug, Clone, Copy)]
pub struct SoughtOptimum {
    /// The check that it is not determined.
    pub check: Check,
    /// Name of the best point, such as `best read-ahead`.
    pub optimum: &'static str,
    /// Name of all points, such as `settings`.
    pub points: &'static str,
    /// A value of the swept parameter as text.
    pub format: fn(f64) -> String,
    /// How to determine it.
    pub advice: &'static str,
}

impl NoOptimum {
    /// The verdict that explains why no best point is named; `values` are the swept values of all
    /// points, in order.
    #[must_use]
    pub fn verdict(self, sought: SoughtOptimum, values: &[f64]) -> Verdict {
        let value = |point: usize| values.get(point).copied().unwrap_or(f64::NAN);
        let points = sought.points;
        let (reason, facts) = match self {
            Self::TooFewRounds => (
                format!("not all {points} were measured twice"),
                json!({ "reason": "too-few-rounds" }),
            ),
            Self::NoDifference => {
                let (first, last) = (value(0), value(values.len().saturating_sub(1)));
                let reason = format!(
                    "no significant difference between the {points} from {} to {}",
                    (sought.format)(first),
                    (sought.format)(last)
                );
                let facts = json!({ "reason": "no-difference", "first": first, "last": last });
                (reason, facts)
            }
            Self::NotSeparated(smaller, larger) => {
                let (smaller, larger) = (value(smaller), value(larger));
                let reason = format!(
                    "no significant difference between {} and {}, so that the larger may not be needed",
                    (sought.format)(smaller),
                    (sought.format)(larger)
                );
                let facts =
                    json!({ "reason": "not-separated", "smaller": smaller, "larger": larger });
                (reason, facts)
            }
        };
        let sentence = format!("{reason}: the {} is not determined", sought.optimum);
        sought.check.found(sentence, sought.advice, facts)
    }
}

/// Indices of the points in measuring order, round after round.
#[must_use]
pub fn measurement_order(points: usize, rounds: usize, seed: u64) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order = Vec::with_capacity(rounds * points);
    for _ in 0..rounds {
        let mut round: Vec<usize> = (0..points).collect();
        shuffle(&mut round, &mut random);
        order.append(&mut round);
    }
    order
}

impl SweepRounds {
    /// An empty set for this many points.
    #[must_use]
    pub fn new(points: usize, seed: u64) -> Self {
        Self {
            values: vec![Vec::with_capacity(DEFAULT_ROUNDS); points],
            seed,
        }
    }

    /// Seed of the measuring order.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Sets the value of a point in a round, both counted from 0.
    pub fn set_value(&mut self, point: usize, round: usize, value: f64) {
        let values = &mut self.values[point];
        if values.len() <= round {
            values.resize(round + 1, None);
        }
        values[round] = Some(value);
    }

    /// Values of a point from all rounds that yielded one.
    #[must_use]
    pub fn values_of_point(&self, point: usize) -> Vec<f64> {
        self.values[point].iter().copied().flatten().collect()
    }

    /// Value of a point in a round.
    #[must_use]
    pub fn value_in_round(&self, point: usize, round: usize) -> Option<f64> {
        self.values[point].get(round).copied().flatten()
    }

    /// A copy with only these points, in this order.
    #[must_use]
    pub fn select_points(&self, points: &[usize]) -> Self {
        Self {
            values: points
                .iter()
                .map(|point| self.values[*point].clone())
                .collect(),
            seed: self.seed,
        }
    }

    /// Mean of a point; `None` before its first round.
    #[must_use]
    pub fn mean(&self, point: usize) -> Option<f64> {
        let values = self.values_of_point(point);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The 95 % confidence interval of a point's mean; `None` before its second round.
    #[must_use]
    pub fn interval(&self, point: usize) -> Option<[f64; 2]> {
        self.interval_around(point, self.mean(point)?)
    }

    /// The 95 % confidence interval of a value pooled from all rounds of a point, which may differ
    /// from the mean of the rounds. Its relative width follows from the scatter of the rounds.
    #[must_use]
    pub fn interval_around(&self, point: usize, value: f64) -> Option<[f64; 2]> {
        interval_from_repetitions(value, &self.values_of_point(point))
    }

    /// Mean of a point as a metric, with its 95 % confidence interval from two rounds on.
    #[must_use]
    pub fn metric_of_point(&self, point: usize, id: MetricId) -> Option<Metric> {
        let metric = Metric::new(id, self.mean(point)?)
            .with_observations(self.values_of_point(point).len() as u64);
        Some(match self.interval(point) {
            Some([low, high]) => metric.with_interval(low, high),
            None => metric,
        })
    }

    /// The means over the points' x coordinates, with their 95 % confidence intervals.
    #[must_use]
    pub fn series_of_means(&self, kind: SeriesKind, positions: &[f64]) -> Series {
        let known: Vec<(usize, [f64; 2])> = positions
            .iter()
            .enumerate()
            .filter_map(|(point, position)| Some((point, [*position, self.mean(point)?])))
            .collect();
        let points = known.iter().map(|(_, point)| *point).collect();
        let intervals = known.iter().map(|(point, _)| self.interval(*point));
        Series::new(kind, points).with_intervals(intervals.collect())
    }

    /// Ratio of two points, from the rounds that have both; `None` for fewer than two rounds.
    #[must_use]
    pub fn ratio_of_points(&self, of: usize, to: usize) -> Option<RatioEstimate> {
        let pairs = self.values[of].iter().zip(&self.values[to]);
        let logarithms: Vec<f64> = pairs
            .filter_map(|(of, to)| Some(((*of)? / (*to)?).ln()))
            .collect();
        let estimate: MeanEstimate = independent_mean_estimate(&logarithms)?;
        let [low, high] = estimate.confidence_interval()?;
        let quotient = RatioEstimate {
            value: estimate.mean.exp(),
            low: low.exp(),
            high: high.exp(),
        };
        quotient.value.is_finite().then_some(quotient)
    }

    /// The first point that is equivalent to the best (at least the fraction `as_good` of it), if
    /// all points before it are lower and some point is worse by more than that.
    ///
    /// # Errors
    /// Why no such point exists.
    pub fn first_equivalent_to_best(&self, as_good: f64) -> Result<usize, NoOptimum> {
        if self.complete_log_rounds().len() < 2 {
            return Err(NoOptimum::TooFewRounds);
        }
        if !self.differ_significantly() {
            return Err(NoOptimum::NoDifference);
        }
        let points = 0..self.values.len();
        let mean = |point: &usize| self.mean(*point).unwrap_or(0.0);
        // `max_by` returns the last of equal elements; the reversed order makes it the first.
        let highest = points
            .clone()
            .rev()
            .max_by(|one, other| mean(one).total_cmp(&mean(other)))
            .ok_or(NoOptimum::TooFewRounds)?;
        let is_as_good = |point: usize| {
            let quotient = self.ratio_of_points(point, highest);
            point == highest || quotient.is_some_and(|quotient| quotient.low >= as_good)
        };
        let first = points
            .clone()
            .find(|point| is_as_good(*point))
            .ok_or(NoOptimum::NoDifference)?;
        let is_lower = |point: usize| {
            let quotient = self.ratio_of_points(point, first);
            quotient.is_some_and(|quotient| quotient.high < 1.0)
        };
        // If every point is equivalent to the first, the first is no better than the others.
        let is_worse = |point: usize| {
            let quotient = self.ratio_of_points(point, first);
            quotient.is_some_and(|quotient| quotient.high < 1.0 && quotient.value < as_good)
        };
        match (0..first).rev().find(|point| !is_lower(*point)) {
            Some(point) => Err(NoOptimum::NotSeparated(point, first)),
            None if points.clone().any(is_worse) => Ok(first),
            None => Err(NoOptimum::NoDifference),
        }
    }

    /// Logarithms of the values of all rounds in which every point has a value.
    fn complete_log_rounds(&self) -> Vec<Vec<f64>> {
        let most = self.values.iter().map(Vec::len).min().unwrap_or(0);
        let round = |round: usize| {
            let values = (0..self.values.len()).map(|point| self.value_in_round(point, round));
            values.map(|value| Some(value?.ln())).collect()
        };
        (0..most).filter_map(round).collect()
    }

    /// Whether the points differ significantly: of the random permutations within each round hardly
    /// any produces a difference of means as large as the measured one. Two points have too few
    /// permutations for this test; only their ratio decides.
    #[must_use]
    pub fn differ_significantly(&self) -> bool {
        if self.values.len() == 2 {
            return self
                .ratio_of_points(0, 1)
                .is_some_and(|quotient| !quotient.includes_one());
        }
        let mut by_round = self.complete_log_rounds();
        let measured = variance_of_sums(&by_round);
        // Equal except for floating-point rounding.
        if !measured.is_finite() || measured < 1e-18 {
            return false;
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(!self.seed);
        let mut as_large = 0_u32;
        for _ in 0..PERMUTATION_COUNT {
            for round in &mut by_round {
                shuffle(round, &mut random);
            }
            as_large += u32::from(variance_of_sums(&by_round) >= measured * (1.0 - 1e-9));
        }
        f64::from(as_large + 1) / f64::from(PERMUTATION_COUNT + 1) < SIGNIFICANCE_LEVEL
    }
}

/// The 95 % confidence interval of a value whose repetitions scatter like these: their margin
/// relative to their mean. `None` for fewer than two repetitions or a mean of 0.
#[must_use]
pub fn interval_from_repetitions(value: f64, repetitions: &[f64]) -> Option<[f64; 2]> {
    let estimate = independent_mean_estimate(repetitions)?;
    let share = estimate.margin_of_error()? / estimate.mean;
    let margin = (value * share).abs();
    margin
        .is_finite()
        .then(|| [(value - margin).max(value.min(0.0)), value + margin])
}

/// Variance of the points' sums over all rounds.
fn variance_of_sums(by_round: &[Vec<f64>]) -> f64 {
    let points = by_round.first().map_or(0, Vec::len);
    let sum = |point: usize| by_round.iter().map(|round| round[point]).sum::<f64>();
    let sums: Vec<f64> = (0..points).map(sum).collect();
    let mean = sums.iter().sum::<f64>() / points.max(1) as f64;
    let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
    squares / points.max(1) as f64
}
