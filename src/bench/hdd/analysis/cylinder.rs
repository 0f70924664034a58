//! Tracks per cylinder: cylinder skew differs from head skew.

use crate::stats::general::robust;
use crate::stats::rotation::circular::{self, signed_turns, wrap_turns};

/// Cylinder structure derived from the skews.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CylinderSkew {
    /// Tracks per cylinder, which is the number of surfaces on drives that fill a cylinder before
    /// they continue with the next.
    pub tracks: u32,
    /// Head skew within a cylinder in revolutions.
    pub head_skew: f64,
    /// Cylinder skew in revolutions.
    pub cylinder_skew: f64,
}

/// Finds the tracks per cylinder from the one skew per period that differs from the others. `None`
/// if all skews are alike: then only the skew itself is known.
pub fn find_cylinder(skews: &[(i64, f64)]) -> Option<CylinderSkew> {
    const MAX_PERIOD: i64 = 64;
    const MIN_PERIODS: i64 = 5;
    const MAX_RESIDUAL_FRACTION: f64 = 0.8;
    let (first, last) = (skews.first()?.0, skews.last()?.0);
    let center = circular::median_direction(skews.iter().map(|skew| skew.1))?;
    let deviations = clipped_deviations(skews, center)?;
    let all: Vec<f64> = deviations.iter().map(|deviation| deviation.1).collect();
    let total_variance = mean_square_deviation(&all);
    let splits = (2..=MAX_PERIOD.min((last - first) / MIN_PERIODS))
        .filter_map(|period| best_phase(&deviations, period));
    // A longer period explains some variance by chance alone; the cost compensates for that.
    let cost = |split: &SkewSplit| split.variance / total_variance + 0.002 * split.period as f64;
    let best = splits.min_by(|left, right| cost(left).total_cmp(&cost(right)))?;
    if best.variance >= MAX_RESIDUAL_FRACTION * total_variance || !best.is_clear(&deviations)? {
        return None;
    }
    let [odd, even] = best.parts(skews).map(|part| circular_median(&part, center));
    Some(CylinderSkew {
        tracks: u32::try_from(best.period).ok()?,
        head_skew: even?,
        cylinder_skew: odd?,
    })
}

/// Whether the skews are so uniform that no cylinder structure is hidden in them: most lie close to
/// their median; the others are few, not far off and not alike among themselves, as noise would
/// have it.
pub fn are_skews_uniform(skews: &[(i64, f64)]) -> bool {
    const MIN_SKEWS: usize = 30;
    const MAX_UNIFORM_SPREAD: f64 = 0.012;
    // Of normal noise 90 of 100 lie within 2.4 times the median; late completions reach further.
    const OUTLIER_FACTOR: f64 = 5.0;
    const FINEST: f64 = 0.004;
    const MIN_SIMILAR_OUTLIERS: usize = 2;
    let Some(center) = circular::median_direction(skews.iter().map(|skew| skew.1)) else {
        return false;
    };
    let ways = robust::sorted_finite(skews.iter().map(|skew| signed_turns(skew.1 - center)));
    let off = robust::sorted_finite(ways.iter().map(|way| way.abs()));
    let [Some(typical), Some(nearly_all)] = [0.5, 0.9].map(|q| robust::quantile(&off, q)) else {
        return false;
    };
    let far = OUTLIER_FACTOR * typical + FINEST;
    let (before, after) = (
        ways.partition_point(|way| *way < -far),
        ways.partition_point(|way| *way <= far),
    );
    let in_company = |odd: &[f64]| {
        odd.windows(MIN_SIMILAR_OUTLIERS)
            .any(|few| few[MIN_SIMILAR_OUTLIERS - 1] - few[0] < typical.max(0.25 * FINEST))
    };
    let one_in_so_many = in_company(&ways[..before]) || in_company(&ways[after..]);
    skews.len() >= MIN_SKEWS && typical < MAX_UNIFORM_SPREAD && nearly_all < far && !one_in_so_many
}

/// The median of angles near `center`.
fn circular_median(angles: &[f64], center: f64) -> Option<f64> {
    let way = robust::median(angles.iter().map(|angle| signed_turns(angle - center)))?;
    Some(wrap_turns(center + way))
}

/// Deviations from the median, clipped so that outliers only just stand out.
fn clipped_deviations(skews: &[(i64, f64)], center: f64) -> Option<Vec<(i64, f64)>> {
    let deviations = skews
        .iter()
        .map(|(track, skew)| (*track, signed_turns(skew - center)));
    let typical = robust::median(deviations.clone().map(|(_, deviation)| deviation.abs()))?;
    let bound = (6.0 * typical).clamp(0.004, 0.1);
    Some(
        deviations
            .map(|(track, deviation)| (track, deviation.clamp(-bound, bound)))
            .collect(),
    )
}

/// Skews split by their position in a period.
struct SkewSplit {
    period: i64,
    phase: i64,
    /// Mean square deviation within both parts.
    variance: f64,
}

impl SkewSplit {
    /// The values at the phase of the period, and the others.
    fn parts(&self, values: &[(i64, f64)]) -> [Vec<f64>; 2] {
        [true, false].map(|odd| {
            let there = values.iter();
            let there =
                there.filter(|(track, _)| (track.rem_euclid(self.period) == self.phase) == odd);
            there.map(|(_, value)| *value).collect()
        })
    }

    /// Whether the differing deviations differ by more than noise.
    fn is_clear(&self, deviations: &[(i64, f64)]) -> Option<bool> {
        const MIN_SIGMAS: f64 = 6.0;
        const SKEW_RESOLUTION: f64 = 0.001;
        // The medians must differ as well as the means: outliers cluster at one position by chance.
        const MIN_MEDIAN_FRACTION: f64 = 0.6;
        // If the cylinder has twice as many tracks, only every other of these skews differs.
        const MIN_LIKELIHOOD_RATIO: f64 = 3.0;
        let [odd, even] = self.parts(deviations);
        let (m, n) = (odd.len() as f64, even.len() as f64);
        let difference = odd.iter().sum::<f64>() / m - even.iter().sum::<f64>() / n;
        let standard_error = (self.variance * (1.0 / m + 1.0 / n)).sqrt();
        let own = robust::median(odd.iter().copied())?;
        let other = robust::median(even.iter().copied())?;
        let near_own = |part: &[f64]| -> f64 {
            let near = |skew: &&f64| (*skew - own).abs() < (*skew - other).abs();
            part.iter().filter(near).count() as f64
        };
        // Fraction that noise moves to the other side.
        let strayed = ((near_own(&even) + 0.5) / (n + 1.0)).min(0.5);
        let stayed = near_own(&odd);
        // Of all of them being different against half of them.
        let log_likelihood_ratio =
            stayed * (1.0 - strayed).ln() + (m - stayed) * strayed.ln() - m * 0.5_f64.ln();
        Some(
            difference.abs() > SKEW_RESOLUTION.max(MIN_SIGMAS * standard_error)
                && (own - other).abs() > MIN_MEDIAN_FRACTION * difference.abs()
                && log_likelihood_ratio > MIN_LIKELIHOOD_RATIO.ln(),
        )
    }
}

/// The position in the period whose skews differ most from the rest.
fn best_phase(deviations: &[(i64, f64)], period: i64) -> Option<SkewSplit> {
    let at = |phase: i64| {
        let mut split = SkewSplit {
            period,
            phase,
            variance: 0.0,
        };
        let parts = split.parts(deviations);
        let [m, n] = [&parts[0], &parts[1]].map(|part| part.len() as f64);
        let [odd, even] = [&parts[0], &parts[1]].map(|part| mean_square_deviation(part));
        split.variance = (m * odd + n * even) / (m + n);
        (m >= 3.0 && n >= 3.0).then_some(split)
    };
    let splits = (0..period).filter_map(at);
    splits.min_by(|left, right| left.variance.total_cmp(&right.variance))
}

fn mean_square_deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count
}
