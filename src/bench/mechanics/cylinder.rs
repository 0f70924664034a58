//! How many tracks make a cylinder: where the arm moves, the skew is another than where only the
//! head changes.

use crate::stats::circular::{Resultant, signed, wrap};
use crate::stats::robust;

/// What the skews say of the cylinder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cylinder {
    /// Tracks of a cylinder, which is the number of surfaces on drives that fill a cylinder before
    /// they go on to the next.
    pub tracks: u32,
    /// Skew between heads of a cylinder, in revolutions.
    pub head_skew: f64,
    /// Skew where the cylinder changes.
    pub cylinder_skew: f64,
}

/// Tells the tracks of a cylinder by the one skew in so many that differs from the others. `None`
/// when all skews are alike: then nothing but the skew itself is known.
#[must_use]
pub fn cylinder(skews: &[(i64, f64)]) -> Option<Cylinder> {
    const MOST: i64 = 64;
    const PERIODS: i64 = 5;
    const PLAIN: f64 = 0.8;
    const CERTAIN: f64 = 6.0;
    const FINEST: f64 = 0.001;
    // Most of the odd ones must be odd: wild ones gather in one place by chance.
    const TYPICAL: f64 = 0.6;
    // Where the cylinder has twice as many tracks only every other of them is odd.
    const LIKELIER: f64 = 3.0;
    let (first, last) = (skews.first()?.0, skews.last()?.0);
    let center = center(skews)?;
    let deviations = bounded(skews, center)?;
    let whole = spread(deviations.iter().map(|deviation| deviation.1));
    let splits =
        (2..=MOST.min((last - first) / PERIODS)).filter_map(|period| split(&deviations, period));
    // One more track in the period explains a little by chance alone: it has to pay for that.
    let cost = |split: &Split| split.inside / whole + 0.002 * split.period as f64;
    let best = splits.min_by(|left, right| cost(left).total_cmp(&cost(right)))?;
    let clear = best.inside < PLAIN * whole
        && best.difference.abs() > FINEST.max(CERTAIN * best.noise)
        && best.typical.abs() > TYPICAL * best.difference.abs()
        && best.all_odd > LIKELIER.ln();
    let middle = |odd: bool| {
        let there = skews.iter().filter(|(track, _)| best.is_odd(*track) == odd);
        robust::median(there.map(|(_, skew)| signed(skew - center))).map(|way| wrap(center + way))
    };
    clear.then_some(())?;
    Some(Cylinder {
        tracks: u32::try_from(best.period).ok()?,
        head_skew: middle(false)?,
        cylinder_skew: middle(true)?,
    })
}

/// Whether so many skews are so much alike that no cylinder hides in them: most lie close to their
/// middle; those that do not are few, not far off and not alike among themselves, as noise would
/// have it.
#[must_use]
pub fn all_alike(skews: &[(i64, f64)]) -> bool {
    const MANY: usize = 30;
    const ALIKE: f64 = 0.012;
    // Normal noise has 90 of 100 within 2.4 times the median; late answers reach further.
    const NOISE: f64 = 5.0;
    const FINEST: f64 = 0.004;
    const COMPANY: usize = 2;
    let Some(center) = center(skews) else {
        return false;
    };
    let ways = robust::ascending(skews.iter().map(|skew| signed(skew.1 - center)));
    let off = robust::ascending(ways.iter().map(|way| way.abs()));
    let [Some(typical), Some(nearly_all)] = [0.5, 0.9].map(|q| robust::quantile(&off, q)) else {
        return false;
    };
    let far = NOISE * typical + FINEST;
    let (before, after) = (
        ways.partition_point(|way| *way < -far),
        ways.partition_point(|way| *way <= far),
    );
    let in_company = |odd: &[f64]| {
        odd.windows(COMPANY)
            .any(|few| few[COMPANY - 1] - few[0] < typical.max(0.25 * FINEST))
    };
    let one_in_so_many = in_company(&ways[..before]) || in_company(&ways[after..]);
    skews.len() >= MANY && typical < ALIKE && nearly_all < far && !one_in_so_many
}

/// The middle skew.
fn center(skews: &[(i64, f64)]) -> Option<f64> {
    let mean = skews
        .iter()
        .map(|skew| skew.1)
        .collect::<Resultant>()
        .direction();
    let way = robust::median(skews.iter().map(|skew| signed(skew.1 - mean)))?;
    Some(wrap(mean + way))
}

/// Deviations from the middle; wild ones count for no more than is needed to stand out.
fn bounded(skews: &[(i64, f64)], center: f64) -> Option<Vec<(i64, f64)>> {
    let deviations = skews
        .iter()
        .map(|(track, skew)| (*track, signed(skew - center)));
    let typical = robust::median(deviations.clone().map(|(_, deviation)| deviation.abs()))?;
    let bound = (6.0 * typical).clamp(0.004, 0.1);
    Some(
        deviations
            .map(|(track, deviation)| (track, deviation.clamp(-bound, bound)))
            .collect(),
    )
}

/// Skews told apart by their place in a period.
struct Split {
    period: i64,
    place: i64,
    /// Mean of the odd ones less that of the others.
    difference: f64,
    /// The same of their medians.
    typical: f64,
    /// Logarithm of how much likelier it is that all of the odd ones are odd than half of them.
    all_odd: f64,
    /// Standard error of the difference.
    noise: f64,
    /// Mean square deviation that stays.
    inside: f64,
}

impl Split {
    fn is_odd(&self, track: i64) -> bool {
        track.rem_euclid(self.period) == self.place
    }
}

/// The place in the period whose skews differ most from the rest.
fn split(deviations: &[(i64, f64)], period: i64) -> Option<Split> {
    let at = |place: i64| {
        let is_odd = |track: i64| track.rem_euclid(period) == place;
        let side = |odd: bool| -> Vec<f64> {
            let there = deviations.iter().filter(|(track, _)| is_odd(*track) == odd);
            there.map(|(_, deviation)| *deviation).collect()
        };
        let (odd, even) = (side(true), side(false));
        if odd.len() < 3 || even.len() < 3 {
            return None;
        }
        let (m, n) = (odd.len() as f64, even.len() as f64);
        let [square, other_square] = [&odd, &even].map(|part| spread(part.iter().copied()));
        let inside = (m * square + n * other_square) / (m + n);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let [own, other] = [&odd, &even].map(|part| robust::median(part.iter().copied()));
        let (own, other) = (own?, other?);
        let odd_ones = |part: &[f64]| -> f64 {
            let near = |skew: &&f64| (*skew - own).abs() < (*skew - other).abs();
            part.iter().filter(near).count() as f64
        };
        // Noise takes so many to the other side.
        let strayed = ((odd_ones(&even) + 0.5) / (n + 1.0)).min(0.5);
        let stayed = odd_ones(&odd);
        Some(Split {
            period,
            place,
            difference: mean(&odd) - mean(&even),
            typical: own - other,
            all_odd: stayed * (1.0 - strayed).ln() + (m - stayed) * strayed.ln() - m * 0.5_f64.ln(),
            noise: (inside * (1.0 / m + 1.0 / n)).sqrt(),
            inside,
        })
    };
    (0..period)
        .filter_map(at)
        .min_by(|left, right| left.inside.total_cmp(&right.inside))
}

/// Mean square deviation from the mean.
fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean).powi(2)).sum::<f64>() / count
}
