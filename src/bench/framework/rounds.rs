//! Values of a sweep's points by round, their intervals and ratios, and the best point.
//!
//! Points are compared by the logarithms of their values, round by round, so that a drift of the
//! drive from round to round does not count. What remains after the effects of points and rounds (the
//! residuals of a randomized block design: Box, Hunter, Hunter, Statistics for Experimenters, 2nd
//! edition, chapter 4) is the noise of all points together, which is better known than that of one.

#[cfg(test)]
mod tests;

use serde_json::json;

use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, Series, SeriesKind, Verdict};
use crate::stats::general::confidence::{MeanEstimate, independent_mean_estimate};
use crate::stats::general::student::student_t_975;
use crate::units;

/// Default number of rounds: with four values the 95 % confidence interval extends 1.6 standard
/// deviations to either side, with three values 2.5.
pub const DEFAULT_ROUNDS: usize = 4;
/// Fraction of the best from which a point is as good as the best.
const EQUIVALENCE_FRACTION: f64 = 0.95;
/// The largest of the many differences between 9 to 12 points of equal mean exceeds the margin of one
/// difference by at most this factor in 95 of 100 cases (Tukey's range test).
const RANGE_FACTOR: f64 = 1.7;

/// Made by benchmarks that compare two variants.
pub const NO_SIGNIFICANT_PENALTY: Check = Check::note(
    "no-significant-penalty",
    "The two variants, whole and partial blocks or plain and synchronous writes, do not differ \
     significantly.",
);

/// Measured values, one per point and round; `None` where a round yielded none.
#[derive(Debug, Clone)]
pub struct SweepRounds {
    values: Vec<Vec<Option<f64>>>,
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
    /// Whether the first point is the best where all are equal.
    pub equal_is_first: bool,
}

impl NoOptimum {
    /// The verdict that explains why no best point is named; `values` are the swept values of all
    /// points, in order.
    #[must_use]
    pub fn verdict(self, sought: SoughtOptimum, values: &[f64]) -> Verdict {
        let value = |point: usize| values.get(point).copied().unwrap_or(f64::NAN);
        let word = |point: usize| (sought.format)(value(point));
        let points = sought.points;
        let (reason, facts) = match self {
            Self::TooFewRounds => (
                format!("not all {points} were measured twice"),
                json!({ "reason": "too-few-rounds" }),
            ),
            Self::NoDifference => {
                let last = values.len().saturating_sub(1);
                let range = format!("{} to {}", word(0), word(last));
                (
                    format!("no significant difference between the {points} from {range}"),
                    json!({ "reason": "no-difference", "first": value(0), "last": value(last) }),
                )
            }
            Self::NotSeparated(smaller, larger) => {
                let pair = format!("{} and {}", word(smaller), word(larger));
                let (smaller, larger) = (value(smaller), value(larger));
                (
                    format!(
                        "no significant difference between {pair}, so that the larger may not be needed"
                    ),
                    json!({ "reason": "not-separated", "smaller": smaller, "larger": larger }),
                )
            }
        };
        let sentence = format!("{reason}: the {} is not determined", sought.optimum);
        sought.check.found(sentence, sought.advice, facts)
    }
}

impl SweepRounds {
    /// An empty set for this many points.
    #[must_use]
    pub fn new(points: usize) -> Self {
        Self {
            values: vec![Vec::with_capacity(DEFAULT_ROUNDS); points],
        }
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

    /// A value pooled from all rounds of a point as a metric, with its 95 % confidence interval.
    #[must_use]
    pub fn metric_around(&self, point: usize, id: MetricId, value: f64) -> Metric {
        metric_of_repetitions(id, value, &self.values_of_point(point))
    }

    /// Mean of a point as a metric, with its 95 % confidence interval from two rounds on.
    #[must_use]
    pub fn metric_of_point(&self, point: usize, id: MetricId) -> Option<Metric> {
        let metric = self.metric_around(point, id, self.mean(point)?);
        Some(metric.with_observations(self.values_of_point(point).len() as u64))
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

    /// Index of the point with the highest mean, the first of equal ones; `None` without any value.
    #[must_use]
    pub fn highest(&self) -> Option<usize> {
        let means = (0..self.values.len()).filter_map(|point| Some((point, self.mean(point)?)));
        // `max_by` returns the last of equal elements; the reversed order makes it the first.
        let means: Vec<(usize, f64)> = means.collect();
        let highest = means
            .iter()
            .rev()
            .max_by(|one, other| one.1.total_cmp(&other.1));
        highest.map(|(point, _)| *point)
    }

    /// The first point that is as good as the best: at least 95 % of the mean of all points that may
    /// be the best. It is named where it is above that by half a margin, and where every point before
    /// it is below that by a whole margin: half a 95 % interval.
    ///
    /// Where all points may be as good, the first is named only with `equal_is_first`.
    ///
    /// # Errors
    /// Why no such point is named.
    pub fn first_as_good_as_best(&self, equal_is_first: bool) -> Result<usize, NoOptimum> {
        let rounds = self.complete_log_rounds();
        if self.values.is_empty() || rounds.len() < 2 {
            return Err(NoOptimum::TooFewRounds);
        }
        let (excess, margin) = excess_over_threshold(&rounds);
        let is_worse = |point: usize| excess[point] + margin < 0.0;
        let lowest = excess.iter().copied().fold(f64::INFINITY, f64::min);
        if !equal_is_first && lowest + RANGE_FACTOR * margin >= 0.0 {
            return Err(NoOptimum::NoDifference);
        }
        let first = excess.iter().position(|excess| *excess >= 0.0);
        let first = first.ok_or(NoOptimum::NoDifference)?;
        if let Some(smaller) = (0..first).rev().find(|point| !is_worse(*point)) {
            return Err(NoOptimum::NotSeparated(smaller, first));
        }
        if excess[first] < margin / 2.0 {
            let larger = (first + 1).min(excess.len() - 1);
            return Err(NoOptimum::NotSeparated(first, larger));
        }
        Ok(first)
    }

    /// Logarithms of the values of all rounds in which every point has a value.
    fn complete_log_rounds(&self) -> Vec<Vec<f64>> {
        let most = self.values.iter().map(Vec::len).min().unwrap_or(0);
        let round = |round: usize| {
            let values = (0..self.values.len()).map(|point| self.value_in_round(point, round));
            values
                .map(|value| Some(value.filter(|value| *value > 0.0)?.ln()))
                .collect()
        };
        (0..most).filter_map(round).collect()
    }
}

/// A metric with the 95 % confidence interval of a value whose repetitions scatter like these.
#[must_use]
pub fn metric_of_repetitions(id: MetricId, value: f64, repetitions: &[f64]) -> Metric {
    let metric = Metric::new(id, value);
    match interval_from_repetitions(value, repetitions) {
        Some([low, high]) => metric.with_interval(low, high),
        None => metric,
    }
}

/// The 95 % confidence interval of a value whose repetitions scatter like these: their margin
/// relative to their mean. `None` for fewer than two repetitions or a mean of 0.
fn interval_from_repetitions(value: f64, repetitions: &[f64]) -> Option<[f64; 2]> {
    let estimate = independent_mean_estimate(repetitions)?;
    let share = estimate.margin_of_error()? / estimate.mean;
    let margin = (value * share).abs();
    margin
        .is_finite()
        .then(|| [(value - margin).max(value.min(0.0)), value + margin])
}

/// For each point the logarithm of its ratio to 95 % of the best, and the margin of these: half their
/// 95 % interval.
fn excess_over_threshold(rounds: &[Vec<f64>]) -> (Vec<f64>, f64) {
    let (points, count) = (rounds[0].len(), rounds.len() as f64);
    let mean_of = |point: usize| rounds.iter().map(|round| round[point]).sum::<f64>() / count;
    let means: Vec<f64> = (0..points).map(mean_of).collect();
    let degrees = (points as f64 - 1.0) * (count - 1.0);
    let deviation = residual_deviation(rounds, &means, degrees);
    let margin_of = |share: f64| student_t_975(degrees).unwrap_or(0.0) * deviation * share.sqrt();
    let highest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The highest of several equal points is too high by chance, their mean is not.
    let largest_gap = (RANGE_FACTOR * margin_of(2.0 / count)).min(-EQUIVALENCE_FRACTION.ln());
    let may_be_best: Vec<f64> = means
        .iter()
        .copied()
        .filter(|mean| highest - mean <= largest_gap)
        .collect();
    let alternatives = may_be_best.len() as f64;
    let best = may_be_best.iter().sum::<f64>() / alternatives;
    // Equal values differ by rounding errors.
    let threshold = best + EQUIVALENCE_FRACTION.ln() - 1e-9;
    let excess = means.iter().map(|mean| mean - threshold).collect();
    (excess, margin_of((1.0 + 1.0 / alternatives) / count))
}

/// Standard deviation of the logarithms that neither the point nor the round explains.
fn residual_deviation(rounds: &[Vec<f64>], means: &[f64], degrees: f64) -> f64 {
    let points = means.len() as f64;
    let grand = means.iter().sum::<f64>() / points;
    let residuals = rounds.iter().flat_map(|round| {
        let effect = round.iter().sum::<f64>() / points - grand;
        let pairs = round.iter().zip(means);
        pairs.map(move |(value, mean)| (value - mean - effect).powi(2))
    });
    (residuals.sum::<f64>() / degrees.max(1.0)).sqrt()
}
