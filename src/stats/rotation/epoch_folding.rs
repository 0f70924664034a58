//! Finds the period in a set of time differences.
//!
//! The platter rotates independently of the host, so that two completions of the same sector are a
//! whole number of revolutions apart. With d the differences, C(f) = |mean exp(2πi f d)| is near 1
//! where f is the rotation frequency, and small everywhere else (the periodogram of a point
//! process: Rayleigh's test at each frequency; Mardia and Jupp, "Directional Statistics", 5.3).

use std::f64::consts::TAU;
use std::ops::Range;

use super::circular::{ResultantVector, signed_turns};
use crate::stats::general::student::NORMAL_975;
use crate::stats::general::{confidence, robust};

/// A peak of at least this fraction of the highest one counts as equally high. If it lies at a half
/// or a third of that one's frequency, it is the rotation frequency and the other its harmonic.
const HARMONIC_TOLERANCE: f64 = 0.8;
/// Differences with a larger residual than this, in periods, are not caused by rotation.
const MAX_RESIDUAL_PERIODS: f64 = 0.1;
/// Rounds of iterative reweighting.
const WEIGHTING_ROUNDS: usize = 8;

/// A period found in time differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochFolding {
    /// Periods per second.
    pub frequency: f64,
    /// Lower and upper bound of the 95 % confidence interval of `frequency`.
    pub frequency_interval: (f64, f64),
    /// Coherence C(f): 1 when all differences are whole numbers of periods, near 0 when none are.
    pub coherence: f64,
}

/// Coherence C(f) of differences in seconds at a frequency in 1/s.
pub fn coherence(differences: &[f64], frequency: f64) -> f64 {
    let turns = differences.iter().map(|difference| difference * frequency);
    turns.collect::<ResultantVector>().mean_resultant_length()
}

/// The coherence that chance reaches in one of a million searches over this number of differences:
/// for random angles P(C > c) = exp(-n c²), and a search tries about ten thousand frequencies.
pub fn chance_coherence(differences: usize) -> f64 {
    let one_in = 1e6_f64 * 1e4;
    (one_in.ln() / differences.max(1) as f64).sqrt().min(1.0)
}

/// C(f) over a range of frequencies in 1/s, at a resolution that misses no peak: `(f, C)`.
///
/// A peak is about 1/(longest difference) wide; the step is a sixth of that.
pub fn coherence_spectrum(differences: &[f64], range: Range<f64>) -> Vec<(f64, f64)> {
    let longest = differences.iter().copied().fold(0.0, f64::max);
    if longest <= 0.0 {
        return Vec::new();
    }
    let step = 1.0 / (6.0 * longest);
    let steps = ((range.end - range.start) / step).ceil() as usize;
    let mut sums = vec![(0.0, 0.0); steps + 1];
    for difference in differences {
        add_rotating_vectors(&mut sums, difference * range.start, difference * step);
    }
    let count = differences.len() as f64;
    let point = |(index, (cos, sin)): (usize, &(f64, f64))| {
        (range.start + index as f64 * step, cos.hypot(*sin) / count)
    };
    sums.iter().enumerate().map(point).collect()
}

/// Adds unit vectors at `first`, `first + each` ... (in revolutions) to the sums. It rotates one
/// vector: a multiplication instead of a sine and a cosine for every step.
fn add_rotating_vectors(sums: &mut [(f64, f64)], first: f64, each: f64) {
    const EXACT_ROTATION_EVERY: usize = 512;
    let (step_sin, step_cos) = (TAU * each).sin_cos();
    for (block, sums) in sums.chunks_mut(EXACT_ROTATION_EVERY).enumerate() {
        let begin = first + each * (block * EXACT_ROTATION_EVERY) as f64;
        let (mut sin, mut cos) = (TAU * begin).sin_cos();
        for sum in sums {
            sum.0 += cos;
            sum.1 += sin;
            (cos, sin) = (
                cos * step_cos - sin * step_sin,
                sin * step_cos + cos * step_sin,
            );
        }
    }
}

/// The frequency of the highest peak, or of the lowest one of which it may be a harmonic, on the
/// spectrum's grid.
pub fn fundamental_frequency(spectrum: &[(f64, f64)]) -> Option<f64> {
    const HARMONICS: u32 = 6;
    let by_height = |left: &&(f64, f64), right: &&(f64, f64)| left.1.total_cmp(&right.1);
    let highest = spectrum.iter().max_by(by_height)?;
    let step = spectrum.get(1)?.0 - spectrum[0].0;
    let below = |harmonic: u32| {
        let frequency = highest.0 / f64::from(harmonic);
        let near = |point: &&(f64, f64)| (point.0 - frequency).abs() <= 2.0 * step;
        spectrum.iter().filter(near).max_by(by_height)
    };
    (2..=HARMONICS)
        .rev()
        .filter_map(below)
        .find(|peak| peak.1 >= HARMONIC_TOLERANCE * highest.1)
        .or(Some(highest))
        .map(|peak| peak.0)
}

/// The period of differences in seconds from their spectrum. `None` for fewer than 8 differences.
pub fn fold_spectrum(differences: &[f64], spectrum: &[(f64, f64)]) -> Option<EpochFolding> {
    if differences.len() < 8 {
        return None;
    }
    let mut frequency = refine_peak(differences, fundamental_frequency(spectrum)?);
    for _ in 0..3 {
        let near = near_whole_periods(differences, frequency);
        frequency = line_through_origin(&near).unwrap_or(frequency);
    }
    let mut near = near_whole_periods(differences, frequency);
    for _ in 0..WEIGHTING_ROUNDS {
        near = biweight_weighted(&near, frequency);
        frequency = line_through_origin(&near).unwrap_or(frequency);
    }
    let half_width = interval_half_width(&near, frequency);
    Some(EpochFolding {
        frequency,
        frequency_interval: (frequency - half_width, frequency + half_width),
        coherence: coherence(differences, frequency),
    })
}

/// Half-width of the frequency's 95 % confidence interval: the largest of three estimates. They
/// assume independent residuals, autocorrelated residuals (a computer is late for a while), and a
/// delay that is the same for all differences.
fn interval_half_width(near: &[PeriodResidual], frequency: f64) -> f64 {
    let sum = |of: &dyn Fn(&PeriodResidual) -> f64| near.iter().map(of).sum::<f64>();
    let along = sum(&|it| it.weight * it.difference.powi(2)).max(f64::MIN_POSITIVE);
    let across = sum(&|it| (it.weight * it.difference * it.residual(frequency)).powi(2));
    // Observations with a reduced weight carry less information than their weight suggests.
    let scale = biweight_scale(near, frequency);
    let information = sum(&|it| it.influence_slope(frequency, scale) * it.difference.powi(2));
    let less = (along / information.max(0.5 * along)).max(1.0);
    let alone = NORMAL_975 * less * across.sqrt() / along;
    // In a few groups: a slowly varying error is a small part of a single residual, so that
    // neighbouring residuals are hardly correlated, but a large part of a group's mean.
    const GROUPS: usize = 12;
    let in_turn: Vec<[f64; 2]> = near
        .chunks(near.len().div_ceil(GROUPS).max(1))
        .map(|group| {
            let sum = |of: fn(&PeriodResidual) -> f64| {
                let each = group.iter().map(|it| it.weight * it.difference * of(it));
                each.sum::<f64>()
            };
            [sum(|it| it.period_count), sum(|it| it.difference)]
        })
        .collect();
    let margin =
        confidence::run_ratio_estimate(&in_turn).and_then(|estimate| estimate.margin_of_error());
    // With a trend through all residuals, the further drift is unknown.
    const TREND: f64 = 3.0;
    let together = margin.map_or(TREND * alone, |margin| less * margin);
    let shifted = fit_with_intercept(near).map_or(0.0, |other| (other - frequency).abs() + alone);
    alone.max(together).max(shifted)
}

/// Refines the peak by halving steps.
fn refine_peak(differences: &[f64], mut frequency: f64) -> f64 {
    let longest = differences.iter().copied().fold(0.0, f64::max);
    let mut step = 1.0 / (6.0 * longest);
    let mut height = coherence(differences, frequency);
    for _ in 0..40 {
        let better = [frequency - step, frequency + step]
            .map(|candidate| (coherence(differences, candidate), candidate))
            .into_iter()
            .max_by(|left, right| left.0.total_cmp(&right.0));
        match better {
            Some((candidate_height, candidate)) if candidate_height > height => {
                (height, frequency) = (candidate_height, candidate);
            }
            _ => step /= 2.0,
        }
    }
    frequency
}

/// A difference near a whole number of periods.
#[derive(Debug, Clone, Copy)]
struct PeriodResidual {
    difference: f64,
    period_count: f64,
    /// 1 at the centre of the residuals, 0 far away.
    weight: f64,
}

impl PeriodResidual {
    /// Signed residual from the whole number, in periods.
    fn residual(&self, frequency: f64) -> f64 {
        self.difference * frequency - self.period_count
    }

    /// Change of the weighted residual with the residual: the derivative of Tukey's biweight.
    fn influence_slope(&self, frequency: f64, scale: f64) -> f64 {
        if scale <= 0.0 {
            return 1.0;
        }
        let square = (self.residual(frequency) / scale).powi(2);
        if square < 1.0 {
            (1.0 - square) * (1.0 - 5.0 * square)
        } else {
            0.0
        }
    }
}

fn weighted_sum(near: &[PeriodResidual], of: impl Fn(&PeriodResidual) -> f64) -> f64 {
    near.iter().map(|it| it.weight * of(it)).sum()
}

/// Differences near a whole number of periods, each with that number.
fn near_whole_periods(differences: &[f64], frequency: f64) -> Vec<PeriodResidual> {
    let with_whole = |difference: &f64| {
        let turns = difference * frequency;
        (signed_turns(turns).abs() < MAX_RESIDUAL_PERIODS).then(|| PeriodResidual {
            difference: *difference,
            period_count: turns.round(),
            weight: 1.0,
        })
    };
    differences.iter().filter_map(with_whole).collect()
}

/// The residual at which the weight becomes 0; 0 without scatter.
fn biweight_scale(near: &[PeriodResidual], frequency: f64) -> f64 {
    /// For normal residuals 95 % of the efficiency of least squares (Mosteller and Tukey, "Data
    /// Analysis and Regression", 1977, 10.3); a median absolute deviation is two thirds of a
    /// standard deviation.
    const BIWEIGHT_REACH: f64 = 4.685 * 1.4826;
    let misses = near.iter().map(|it| it.residual(frequency).abs());
    BIWEIGHT_REACH * robust::median(misses).unwrap_or(0.0)
}

/// The same, weighted by residual: Tukey's biweight. A completion that is late by ten times the
/// usual amount carries no information on the period and would bias a least-squares line.
fn biweight_weighted(near: &[PeriodResidual], frequency: f64) -> Vec<PeriodResidual> {
    let scale = biweight_scale(near, frequency);
    let weighted = |it: &PeriodResidual| {
        let square = (it.residual(frequency) / scale).powi(2);
        let weight = if scale > 0.0 {
            (1.0 - square).max(0.0).powi(2)
        } else {
            1.0
        };
        PeriodResidual { weight, ..*it }
    };
    near.iter().map(weighted).collect()
}

/// Weighted least squares through the origin: whole numbers of periods over differences.
fn line_through_origin(near: &[PeriodResidual]) -> Option<f64> {
    let products = weighted_sum(near, |it| it.difference * it.period_count);
    let squares = weighted_sum(near, |it| it.difference * it.difference);
    (squares > 0.0 && products > 0.0).then(|| products / squares)
}

/// The frequency of a line with an intercept: a delay that is the same for all differences does not
/// affect it. `None` where all differences are equal.
fn fit_with_intercept(near: &[PeriodResidual]) -> Option<f64> {
    let count = weighted_sum(near, |_| 1.0);
    let difference = weighted_sum(near, |it| it.difference) / count;
    let whole = weighted_sum(near, |it| it.period_count) / count;
    let across = weighted_sum(near, |it| {
        (it.difference - difference) * (it.period_count - whole)
    });
    let along = weighted_sum(near, |it| (it.difference - difference).powi(2));
    (along > 0.0).then(|| across / along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Differences of whole periods with additive noise in seconds.
    fn noisy_period_differences(frequency: f64, wholes: &[(u32, f64)]) -> Vec<f64> {
        wholes
            .iter()
            .map(|(whole, noise)| f64::from(*whole) / frequency + noise)
            .collect()
    }

    fn fold(differences: &[f64]) -> Option<EpochFolding> {
        fold_spectrum(differences, &coherence_spectrum(differences, 45.0..310.0))
    }

    #[test]
    fn epoch_folding_finds_frequency_from_few_exact_differences() {
        let wholes: Vec<_> = (0..60).map(|i| (100 + i * 7 % 53, 0.0)).collect();
        let found = fold(&noisy_period_differences(120.0, &wholes)).unwrap();
        assert!((found.frequency - 120.0).abs() < 1e-9, "{found:?}");
        assert!(found.coherence > 0.999_999);
    }

    #[test]
    fn epoch_folding_interval_covers_delay_of_second_pass() {
        let wholes: Vec<_> = (0..128).map(|i| (60 + i * 7 % 131, 60e-6)).collect();
        let found = fold(&noisy_period_differences(167.08, &wholes)).unwrap();
        let (low, high) = found.frequency_interval;
        assert!(low <= 167.08 && 167.08 <= high, "{found:?}");
    }

    #[test]
    fn epoch_folding_of_too_few_differences_is_none() {
        assert_eq!(fold(&[0.1; 7]), None);
        assert_eq!(fold(&[0.0; 9]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn epoch_folding_never_returns_harmonic(
            frequency in 60.0..260.0_f64,
            wholes in prop::collection::vec((60..250_u32, 0.0..100e-6_f64), 100..160),
        ) {
            let found = fold(&noisy_period_differences(frequency, &wholes)).unwrap();
            let error = found.frequency / frequency - 1.0;
            prop_assert!(error.abs() < 1e-4, "{} for {frequency}", found.frequency);
        }

        #[test]
        fn epoch_folding_of_random_differences_is_below_chance_level(
            differences in prop::collection::vec(0.1..2.0_f64, 100..160),
        ) {
            let found = fold(&differences).unwrap();
            prop_assert!(found.coherence < chance_coherence(differences.len()), "{found:?}");
        }
    }
}
