//! Confidence intervals of metrics: 95 % intervals that account for autocorrelation.
//!
//! The performance of a drive resembles that of a tenth of a second earlier. An interval that
//! assumes independent observations is then far too narrow. This module joins observations into
//! batches until the batches are nearly uncorrelated (batch means: Law and Carson, "A Sequential
//! Procedure for Determining the Length of a Steady-State Simulation", Operations Research 27,
//! 1979). The remaining correlation widens the interval. Where the correlation is too large, the
//! range of the means of parts of the run replaces the batch means ([`run_mean_estimate`]). A rate
//! that keeps falling has no interval.

use super::student::{NORMAL_975, student_t_975};

/// With fewer batches than this, their spread is unknown.
const MIN_BATCHES: usize = 10;
/// Maximum lag-1 correlation of batches; a larger correlation needs larger batches.
const MAX_CORRELATION: f64 = 0.5;
/// A series with fewer effective observations than this is too short for its correlation time.
const MIN_INDEPENDENT: f64 = 8.0;
/// Number of parts of a run whose means give its range.
const RANGE_PARTS: usize = 5;
/// Fewer values than this have no range estimate.
const MIN_RANGE_VALUES: usize = 20;
/// A percentile interval needs at least this many independent observations beyond its farther
/// bound.
const MIN_OBSERVATIONS_BEYOND: f64 = 1.0;

/// A mean with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

impl MeanEstimate {
    /// Half the width of the 95 % confidence interval of the mean.
    pub fn margin_of_error(&self) -> Option<f64> {
        Some(student_t_975(self.degrees_of_freedom)? * self.standard_error)
    }

    /// The 95 % confidence interval: lower and upper bound.
    pub fn confidence_interval(&self) -> Option<[f64; 2]> {
        let margin = self.margin_of_error()?;
        Some([self.mean - margin, self.mean + margin])
    }
}

/// Estimates the mean of a series of equidistant values.
///
/// `None` when there are too few values, or when they drift or fluctuate so slowly that no part of
/// the series represents the rest.
fn batch_means_estimate(values: &[f64]) -> Option<MeanEstimate> {
    if !values.iter().all(|value| value.is_finite()) || changes_too_slowly(values) {
        return None;
    }
    let mean = arithmetic_mean(values);
    let mut size = 1;
    loop {
        let batches = batch_means(values, size);
        if batches.len() < MIN_BATCHES {
            return None;
        }
        let correlation = lag_one_autocorrelation(&batches);
        if correlation <= MAX_CORRELATION {
            return Some(estimate_from_batches(mean, &batches, correlation));
        }
        size *= 2;
    }
}

/// Estimates the mean of a run's series: batch means, or where the values change too
/// slowly for batch means, the range of the means of five equal parts, widened by its own length at
/// either end.
///
/// In simulation that interval contains the true mean in 95 of 100 autoregressive series whose
/// correlation time is a fifth of the run (a single independent value), and in more where it is
/// shorter. `None` for fewer than 20 values, and where the five parts rise or fall throughout: the
/// rate drifts and has no mean yet.
pub fn run_mean_estimate(values: &[f64]) -> Option<MeanEstimate> {
    batch_means_estimate(values).or_else(|| range_estimate(values))
}

fn range_estimate(values: &[f64]) -> Option<MeanEstimate> {
    if values.len() < MIN_RANGE_VALUES || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let parts = batch_means(values, values.len() / RANGE_PARTS);
    let rises = parts.windows(2).all(|pair| pair[0] < pair[1]);
    let falls = parts.windows(2).all(|pair| pair[0] > pair[1]);
    if rises || falls {
        return None;
    }
    let lowest = parts.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = arithmetic_mean(values);
    let margin = (highest - mean).max(mean - lowest) + (highest - lowest);
    let degrees = RANGE_PARTS as f64 - 1.0;
    Some(MeanEstimate {
        mean,
        standard_error: margin / student_t_975(degrees)?,
        degrees_of_freedom: degrees,
    })
}

/// Estimates the ratio of two sums over a series of equidistant pairs `[part, whole]`, such as
/// waiting time and requests of each tenth of a second (ratio estimator: Cochran, Sampling
/// Techniques, 3rd edition, section 6.4), with the interval of [`run_mean_estimate`]. `None` as
/// there, and when the wholes are 0.
pub fn run_ratio_estimate(pairs: &[[f64; 2]]) -> Option<MeanEstimate> {
    let wholes: f64 = pairs.iter().map(|pair| pair[1]).sum();
    let quotient = pairs.iter().map(|pair| pair[0]).sum::<f64>() / wholes;
    let mean_whole = wholes / pairs.len() as f64;
    if !quotient.is_finite() || mean_whole <= 0.0 {
        return None;
    }
    let residuals: Vec<f64> = pairs
        .iter()
        .map(|[part, whole]| (part - quotient * whole) / mean_whole)
        .collect();
    Some(MeanEstimate {
        mean: quotient,
        ..run_mean_estimate(&residuals)?
    })
}

/// Estimates the mean of repeated, independent measurements. `None` for fewer than two.
pub fn independent_mean_estimate(values: &[f64]) -> Option<MeanEstimate> {
    (values.len() >= 2).then(|| estimate_from_batches(arithmetic_mean(values), values, 0.0))
}

/// Number of independent observations whose mean has this standard error, at most `count`:
/// `(deviation / standard error)^2`, since the variance of a mean of n independent observations is
/// 1/n of their variance.
pub fn effective_sample_size(count: u64, deviation: f64, standard_error: f64) -> f64 {
    let all = count as f64;
    if standard_error <= 0.0 {
        return all;
    }
    (deviation / standard_error).powi(2).min(all)
}

/// Margin, as a fraction of the mean, by which all of `count` observations may be shifted together:
/// the part of the mean's margin of error that independent observations of this deviation do not
/// explain. A temporary slowdown of a drive affects all requests and hence all percentiles.
pub fn common_shift_margin(estimate: &MeanEstimate, count: u64, deviation: f64) -> Option<f64> {
    let scatter = deviation * deviation / count as f64;
    let common = (estimate.standard_error.powi(2) - scatter).max(0.0).sqrt();
    Some(student_t_975(estimate.degrees_of_freedom)? * common / estimate.mean)
        .filter(|share| share.is_finite())
}

/// The percentages between which a percentile lies with 95 % probability, given the number of
/// independent observations: its order statistics are binomial (David and Nagaraja, Order
/// Statistics, 3rd edition, section 7.1), here in the normal approximation.
///
/// `None` when the farther bound would lie beyond the observations.
pub fn percentile_interval(percent: f64, observations: f64) -> Option<[f64; 2]> {
    let share = percent / 100.0;
    let margin = NORMAL_975 * (share * (1.0 - share) / observations).sqrt();
    let (low, high) = (share - margin, share + margin);
    let least = MIN_OBSERVATIONS_BEYOND / observations;
    (low >= least && high <= 1.0 - least).then_some([low * 100.0, high * 100.0])
}

fn arithmetic_mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Means of batches of that size. Values that do not fill a batch are dropped at the start, the
/// part that is least correlated with the rest.
fn batch_means(values: &[f64], size: usize) -> Vec<f64> {
    values
        .rchunks_exact(size)
        .rev()
        .map(arithmetic_mean)
        .collect()
}

fn estimate_from_batches(mean: f64, batches: &[f64], correlation: f64) -> MeanEstimate {
    let count = batches.len() as f64;
    let centre = arithmetic_mean(batches);
    let squares: f64 = batches.iter().map(|batch| (batch - centre).powi(2)).sum();
    let widening = variance_inflation(correlation);
    MeanEstimate {
        mean,
        standard_error: (squares / (count - 1.0) / count * widening).sqrt(),
        degrees_of_freedom: (count / widening - 1.0).max(1.0),
    }
}

/// Factor by which the variance of a mean grows when each value has this correlation with the
/// preceding one and no further correlation (a first-order autoregressive series): (1 + r) / (1 -
/// r). Negative correlation, which would narrow the interval, counts as independence.
fn variance_inflation(correlation: f64) -> f64 {
    let correlation = correlation.clamp(0.0, 0.999);
    (1.0 + correlation) / (1.0 - correlation)
}

fn changes_too_slowly(values: &[f64]) -> bool {
    let correlation = lag_one_autocorrelation(values);
    values.len() < MIN_BATCHES
        || correlation >= 1.0
        || (correlation > 0.0
            && values.len() as f64 / variance_inflation(correlation) < MIN_INDEPENDENT)
}

/// Lag-1 autocorrelation. A short series underestimates it; the bias of -(1 + 3 r) / n is corrected
/// (Marriott and Pope, Biometrika 41, 1954).
fn lag_one_autocorrelation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = arithmetic_mean(values);
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if variance <= 0.0 || count <= 4.0 {
        return 0.0;
    }
    let neighbours = values.windows(2);
    let covariance: f64 = neighbours
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    (count * covariance / variance + 1.0) / (count - 4.0)
}

#[cfg(test)]
mod tests;
