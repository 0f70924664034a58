//! Tracks per cylinder: cylinder skew differs from head skew.

use crate::stats::general::robust;
use crate::stats::rotation::circular::{ResultantVector, signed_turns, wrap_turns};

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
    const MIN_SIGMAS: f64 = 6.0;
    const SKEW_RESOLUTION: f64 = 0.001;
    // The medians must differ as well as the means: outliers cluster at one position by chance.
    const MIN_MEDIAN_FRACTION: f64 = 0.6;
    // If the cylinder has twice as many tracks, only every other of these skews differs.
    const MIN_LIKELIHOOD_RATIO: f64 = 3.0;
    let (first, last) = (skews.first()?.0, skews.last()?.0);
    let center = median_skew(skews)?;
    let deviations = clipped_deviations(skews, center)?;
    let total_variance = mean_square_deviation(deviations.iter().map(|deviation| deviation.1));
    let splits = (2..=MAX_PERIOD.min((last - first) / MIN_PERIODS))
        .filter_map(|period| split_by_period(&deviations, period));
    // A longer period explains some variance by chance alone; the cost compensates for that.
    let cost =
        |split: &SkewSplit| split.residual_variance / total_variance + 0.002 * split.period as f64;
    let best = splits.min_by(|left, right| cost(left).total_cmp(&cost(right)))?;
    let clear = best.residual_variance < MAX_RESIDUAL_FRACTION * total_variance
        && best.difference.abs() > SKEW_RESOLUTION.max(MIN_SIGMAS * best.standard_error)
        && best.median_difference.abs() > MIN_MEDIAN_FRACTION * best.difference.abs()
        && best.log_likelihood_ratio > MIN_LIKELIHOOD_RATIO.ln();
    let middle = |odd: bool| {
        let there = skews
            .iter()
            .filter(|(track, _)| best.is_cylinder_change(*track) == odd);
        robust::median(there.map(|(_, skew)| signed_turns(skew - center)))
            .map(|way| wrap_turns(center + way))
    };
    clear.then_some(())?;
    Some(CylinderSkew {
        tracks: u32::try_from(best.period).ok()?,
        head_skew: middle(false)?,
        cylinder_skew: middle(true)?,
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
    let Some(center) = median_skew(skews) else {
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

fn median_skew(skews: &[(i64, f64)]) -> Option<f64> {
    let mean = skews
        .iter()
        .map(|skew| skew.1)
        .collect::<ResultantVector>()
        .mean_direction();
    let way = robust::median(skews.iter().map(|skew| signed_turns(skew.1 - mean)))?;
    Some(wrap_turns(mean + way))
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
    /// Mean of the differing skews minus that of the others.
    difference: f64,
    /// Median of the differing skews minus that of the others.
    median_difference: f64,
    /// Log-likelihood ratio of all of the differing skews being different against half of them.
    log_likelihood_ratio: f64,
    /// Standard error of the difference.
    standard_error: f64,
    /// Residual mean square deviation.
    residual_variance: f64,
}

impl SkewSplit {
    fn is_cylinder_change(&self, track: i64) -> bool {
        track.rem_euclid(self.period) == self.phase
    }
}

/// The position in the period whose skews differ most from the rest.
fn split_by_period(deviations: &[(i64, f64)], period: i64) -> Option<SkewSplit> {
    let at = |offset: i64| {
        let is_odd = |track: i64| track.rem_euclid(period) == offset;
        let side = |odd: bool| -> Vec<f64> {
            let there = deviations.iter().filter(|(track, _)| is_odd(*track) == odd);
            there.map(|(_, deviation)| *deviation).collect()
        };
        let (odd, even) = (side(true), side(false));
        if odd.len() < 3 || even.len() < 3 {
            return None;
        }
        let (m, n) = (odd.len() as f64, even.len() as f64);
        let [square, other_square] =
            [&odd, &even].map(|part| mean_square_deviation(part.iter().copied()));
        let inside = (m * square + n * other_square) / (m + n);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let [own, other] = [&odd, &even].map(|part| robust::median(part.iter().copied()));
        let (own, other) = (own?, other?);
        let odd_ones = |part: &[f64]| -> f64 {
            let near = |skew: &&f64| (*skew - own).abs() < (*skew - other).abs();
            part.iter().filter(near).count() as f64
        };
        // Fraction that noise moves to the other side.
        let strayed = ((odd_ones(&even) + 0.5) / (n + 1.0)).min(0.5);
        let stayed = odd_ones(&odd);
        Some(SkewSplit {
            period,
            phase: offset,
            difference: mean(&odd) - mean(&even),
            median_difference: own - other,
            log_likelihood_ratio: stayed * (1.0 - strayed).ln() + (m - stayed) * strayed.ln()
                - m * 0.5_f64.ln(),
            standard_error: (inside * (1.0 / m + 1.0 / n)).sqrt(),
            residual_variance: inside,
        })
    };
    (0..period)
        .filter_map(at)
        .min_by(|left, right| left.residual_variance.total_cmp(&right.residual_variance))
}

fn mean_square_deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean).powi(2)).sum::<f64>() / count
}
