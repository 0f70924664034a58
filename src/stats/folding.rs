//! The period that hides in a set of time differences.
//!
//! The platter turns whatever the host does, so that two completions of the same sector are a
//! whole number of revolutions apart. With d the differences, C(f) = |mean exp(2πi f d)| is near 1
//! where f is the speed, and small everywhere else (the periodogram of a point process: Rayleigh's
//! test at each frequency; Mardia and Jupp, "Directional Statistics", 5.3).

use std::f64::consts::TAU;
use std::ops::Range;

use super::circular::{Resultant, signed};
use super::confidence;

/// A peak of at least this share of the highest one is taken for equally high: if it lies at a half
/// or a third of that one's frequency it is the speed, and the other its harmonic.
const EQUALLY_HIGH: f64 = 0.8;
/// Differences that lie further from a whole number of periods than this are not of the platter.
const NEAR: f64 = 0.1;

/// A period found in time differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folding {
    /// Periods per second.
    pub frequency: f64,
    /// Lower and upper 95 % limit of `frequency`.
    pub limits: (f64, f64),
    /// C(f): 1 when all differences are whole numbers of periods, near 0 when none are.
    pub coherence: f64,
    /// Standard deviation of a difference from its whole number of periods, in seconds.
    pub noise: f64,
    /// How many differences are near a whole number of periods.
    pub fitting: usize,
}

/// C(f) of differences in seconds at a frequency in 1/s.
#[must_use]
pub fn coherence(differences: &[f64], frequency: f64) -> f64 {
    let turns = differences.iter().map(|difference| difference * frequency);
    turns.collect::<Resultant>().length()
}

/// The coherence that chance reaches in one of a million searches among so many differences:
/// for random angles P(C > c) = exp(-n c²), and a search tries some ten thousand frequencies.
#[must_use]
pub fn chance(differences: usize) -> f64 {
    let one_in = 1e6_f64 * 1e4;
    (one_in.ln() / differences.max(1) as f64).sqrt().min(1.0)
}

/// C(f) over a range of frequencies in 1/s, finely enough that no peak is missed: `(f, C)`.
///
/// A peak is about 1/(longest difference) wide; the step is a sixth of that.
#[must_use]
pub fn spectrum(differences: &[f64], range: Range<f64>) -> Vec<(f64, f64)> {
    let longest = differences.iter().copied().fold(0.0, f64::max);
    if longest <= 0.0 {
        return Vec::new();
    }
    let step = 1.0 / (6.0 * longest);
    let steps = ((range.end - range.start) / step).ceil() as usize;
    let mut sums = vec![(0.0, 0.0); steps + 1];
    for difference in differences {
        turn_through(&mut sums, difference * range.start, difference * step);
    }
    let count = differences.len() as f64;
    let point = |(index, (cos, sin)): (usize, &(f64, f64))| {
        (range.start + index as f64 * step, cos.hypot(*sin) / count)
    };
    sums.iter().enumerate().map(point).collect()
}

/// Adds unit vectors at `first`, `first + each` ... (in turns) to the sums, by turning one vector
/// on: a multiplication in place of a sine and a cosine for every step.
fn turn_through(sums: &mut [(f64, f64)], first: f64, each: f64) {
    const EXACT_EVERY: usize = 512;
    let (step_sin, step_cos) = (TAU * each).sin_cos();
    for (block, sums) in sums.chunks_mut(EXACT_EVERY).enumerate() {
        let begin = first + each * (block * EXACT_EVERY) as f64;
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

/// The frequency of the highest peak, or of the lowest one that it may be a harmonic of: on the
/// spectrum's grid.
#[must_use]
pub fn fundamental(spectrum: &[(f64, f64)]) -> Option<f64> {
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
        .find(|peak| peak.1 >= EQUALLY_HIGH * highest.1)
        .or(Some(highest))
        .map(|peak| peak.0)
}

/// The period of differences in seconds, searched over a range of frequencies in 1/s.
/// `None` for fewer than 8 differences.
#[must_use]
pub fn fold(differences: &[f64], range: Range<f64>) -> Option<Folding> {
    fold_spectrum(differences, &spectrum(differences, range))
}

/// As [`fold`], with the spectrum at hand.
#[must_use]
pub fn fold_spectrum(differences: &[f64], spectrum: &[(f64, f64)]) -> Option<Folding> {
    if differences.len() < 8 {
        return None;
    }
    let mut frequency = climb(differences, fundamental(spectrum)?);
    for _ in 0..3 {
        frequency = through_whole_numbers(differences, frequency).unwrap_or(frequency);
    }
    let near = fitting(differences, frequency);
    let squares: f64 = near
        .iter()
        .map(|(difference, _)| difference * difference)
        .sum();
    let misses = near
        .iter()
        .map(|(difference, whole)| difference * frequency - whole);
    let variance = misses.map(|miss| miss * miss).sum::<f64>() / near.len().max(2) as f64;
    let alone = 1.96 * (variance / squares.max(f64::MIN_POSITIVE)).sqrt();
    // Answers that follow each other are late together.
    let together: Vec<[f64; 2]> = near
        .iter()
        .map(|(difference, whole)| [difference * whole, difference * difference])
        .collect();
    let margin = confidence::quotient(&together).and_then(|estimate| estimate.margin());
    // The second time all answers may be later than the first time.
    let shifted = with_a_constant(&near).map_or(0.0, |other| (other - frequency).abs() + alone);
    let half_width = alone.max(margin.unwrap_or(0.0)).max(shifted);
    Some(Folding {
        frequency,
        limits: (frequency - half_width, frequency + half_width),
        coherence: coherence(differences, frequency),
        noise: variance.sqrt() / frequency,
        fitting: near.len(),
    })
}

/// Walks to the top of the peak by halving steps.
fn climb(differences: &[f64], mut frequency: f64) -> f64 {
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

/// Differences near a whole number of periods, each with that number.
fn fitting(differences: &[f64], frequency: f64) -> Vec<(f64, f64)> {
    let with_whole = |difference: &f64| {
        let turns = difference * frequency;
        (signed(turns).abs() < NEAR).then(|| (*difference, turns.round()))
    };
    differences.iter().filter_map(with_whole).collect()
}

/// Least squares through the origin: whole numbers of periods against differences.
fn through_whole_numbers(differences: &[f64], frequency: f64) -> Option<f64> {
    let near = fitting(differences, frequency);
    let products: f64 = near
        .iter()
        .map(|(difference, whole)| difference * whole)
        .sum();
    let squares: f64 = near
        .iter()
        .map(|(difference, _)| difference * difference)
        .sum();
    (squares > 0.0 && products > 0.0).then(|| products / squares)
}

/// The frequency of a line that need not pass through the origin: a delay that is the same for all
/// differences does not move it. `None` where they are all alike.
fn with_a_constant(near: &[(f64, f64)]) -> Option<f64> {
    let count = near.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| near.iter().map(of).sum::<f64>() / count;
    let (difference, whole) = (mean(|it| it.0), mean(|it| it.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        near.iter()
            .map(|it| of(it.0 - difference, it.1 - whole))
            .sum()
    };
    let (across, along) = (sum(&|x, y| x * y), sum(&|x, _| x * x));
    (along > 0.0).then(|| across / along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Differences of whole periods, with what the strategy gives as noise in seconds.
    fn differences(frequency: f64, wholes: &[(u32, f64)]) -> Vec<f64> {
        wholes
            .iter()
            .map(|(whole, noise)| f64::from(*whole) / frequency + noise)
            .collect()
    }

    #[test]
    fn a_few_exact_differences_give_the_speed() {
        let wholes: Vec<_> = (0..60).map(|i| (100 + i * 7 % 53, 0.0)).collect();
        let found = fold(&differences(120.0, &wholes), 45.0..310.0).unwrap();
        assert!((found.frequency - 120.0).abs() < 1e-9, "{found:?}");
        assert!(found.coherence > 0.999_999);
        assert_eq!(found.fitting, 60);
    }

    #[test]
    fn a_delay_of_the_whole_second_pass_is_within_the_limits() {
        let wholes: Vec<_> = (0..128).map(|i| (60 + i * 7 % 131, 60e-6)).collect();
        let found = fold(&differences(167.08, &wholes), 45.0..310.0).unwrap();
        let (low, high) = found.limits;
        assert!(low <= 167.08 && 167.08 <= high, "{found:?}");
    }

    #[test]
    fn too_few_give_nothing() {
        assert_eq!(fold(&[0.1; 7], 45.0..310.0), None);
        assert_eq!(fold(&[0.0; 9], 45.0..310.0), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn never_a_harmonic(
            frequency in 60.0..260.0_f64,
            wholes in prop::collection::vec((60..250_u32, 0.0..100e-6_f64), 100..160),
        ) {
            let found = fold(&differences(frequency, &wholes), 45.0..310.0).unwrap();
            let error = found.frequency / frequency - 1.0;
            prop_assert!(error.abs() < 1e-4, "{} for {frequency}", found.frequency);
        }

        #[test]
        fn chance_alone_does_not_rotate(
            differences in prop::collection::vec(0.1..2.0_f64, 100..160),
        ) {
            let found = fold(&differences, 45.0..310.0).unwrap();
            prop_assert!(found.coherence < chance(differences.len()), "{found:?}");
        }
    }
}
