//! The edges of a uniform law that is buried in outliers: where the rotational part of a response
//! time begins, and how wide it is.
//!
//! A request reaches its track at no particular angle, so that response times spread evenly over
//! one revolution above the time for command and seek. The lower edge is that time. It is found
//! from all observations by the law's two sharp edges, which is far more exact than the mean.

use crate::stats::general::anderson_darling;

/// How much better an observation fits inside the law than outside of it, as a logarithm: the
/// weight of an outlier's density (a few per cent, over some ten widths) against the law's.
const OUTLIER_LOG_ODDS: f64 = 6.0;

/// A uniform law found in a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UniformLaw {
    /// Where it begins.
    pub lower: f64,
    /// Lower and upper 95 % limit of `lower`.
    pub lower_interval: (f64, f64),
    /// How wide it is.
    pub width: f64,
    /// How many observations lie within.
    pub observations_inside: usize,
}

/// The law's place in a sample in ascending order, its width known.
///
/// Every place `s` is weighed by its likelihood, `exp(LOG_ODDS n(s))` with `n` the observations
/// within [s, s + width); the estimate is the mean under that weight (Pitman, "The Estimation of
/// the Location and Scale Parameters of a Continuous Population of any Given Form", Biometrika
/// 30 (1939)), its limits are the weight's quantiles. `None` for fewer than 8 observations.
#[must_use]
pub fn uniform_of_known_width(ascending: &[f64], width: f64) -> Option<UniformLaw> {
    if ascending.len() < 8 || width <= 0.0 {
        return None;
    }
    let pieces = likelihood_pieces(ascending, width);
    let outside = |piece: &UniformPiece| piece.below + piece.above;
    let least = pieces.iter().map(outside).min()?;
    let weight = |piece: &UniformPiece| {
        (piece.end - piece.begin)
            * (OUTLIER_LOG_ODDS * (least as f64 - outside(piece) as f64)).exp()
    };
    let inside = ascending.len() - least;
    let total: f64 = pieces.iter().map(weight).sum();
    if total <= 0.0 {
        return None;
    }
    let middle = |piece: &UniformPiece| weight(piece) * (piece.begin + piece.end) / 2.0;
    Some(UniformLaw {
        lower: pieces.iter().map(middle).sum::<f64>() / total,
        lower_interval: (
            weighted_quantile(&pieces, weight, 0.025 * total),
            weighted_quantile(&pieces, weight, 0.975 * total),
        ),
        width,
        observations_inside: inside,
    })
}

/// A stretch of places that all hold the same observations.
struct UniformPiece {
    begin: f64,
    end: f64,
    /// Observations below the window.
    below: usize,
    /// Observations above it.
    above: usize,
}

/// Cuts the axis wherever a window of that width takes in or loses an observation.
fn likelihood_pieces(ascending: &[f64], width: f64) -> Vec<UniformPiece> {
    let (mut enters, mut leaves) = (0, 0);
    let mut pieces = Vec::with_capacity(2 * ascending.len());
    let mut from = ascending[0] - width;
    while leaves < ascending.len() {
        // The window's begin at which it takes the next one in, and at which it loses the first.
        let entering = ascending
            .get(enters)
            .map_or(f64::INFINITY, |value| value - width);
        let to = entering.min(ascending[leaves]);
        pieces.push(UniformPiece {
            begin: from,
            end: to,
            below: leaves,
            above: ascending.len() - enters,
        });
        from = to;
        if entering <= ascending[leaves] {
            enters += 1;
        } else {
            leaves += 1;
        }
    }
    pieces
}

fn weighted_quantile(
    pieces: &[UniformPiece],
    weight: impl Fn(&UniformPiece) -> f64,
    mut left: f64,
) -> f64 {
    for piece in pieces {
        let here = weight(piece);
        if here >= left && here > 0.0 {
            return piece.begin + left / here * (piece.end - piece.begin);
        }
        left -= here;
    }
    pieces.last().map_or(f64::NAN, |piece| piece.end)
}

/// Share of the law's density below which the sample is thought to lie before the lower edge:
/// small, because hardly anything is faster than the law allows.
const LOWER_OUTLIER_FRACTION: f64 = 0.1;
/// The same behind the upper edge: larger, because of requests that had to wait for others.
const UPPER_OUTLIER_FRACTION: f64 = 0.4;

/// The law's place and width in a sample in ascending order, nothing known: the interval around
/// the median with the largest excess of observations over a share of its own density.
/// `None` for fewer than 50 observations.
#[must_use]
pub fn uniform_of_unknown_width(ascending: &[f64]) -> Option<UniformLaw> {
    const MAX_ROUNDS: usize = 8;
    let count = ascending.len();
    if count < 50 {
        return None;
    }
    let (mut low, mut high) = (count / 4, count - 1 - count / 4);
    for _ in 0..MAX_ROUNDS {
        let width = ascending[high] - ascending[low];
        if width <= 0.0 {
            return None;
        }
        let density = (high - low) as f64 / width;
        // Observations before a place, less those that the share of the density puts there.
        let excess = |index: usize, share: f64| index as f64 - share * density * ascending[index];
        let lower = |index: &usize| excess(*index, LOWER_OUTLIER_FRACTION);
        let upper = |index: &usize| excess(*index, UPPER_OUTLIER_FRACTION);
        low = (0..count / 2).min_by(|a, b| lower(a).total_cmp(&lower(b)))?;
        high = (count / 2..count).max_by(|a, b| upper(a).total_cmp(&upper(b)))?;
    }
    let (lower, width) = (ascending[low], ascending[high] - ascending[low]);
    let slack = 4.0 * width / (high - low) as f64;
    Some(UniformLaw {
        lower,
        lower_interval: (lower - slack, lower + slack),
        width,
        observations_inside: high - low + 1,
    })
}

impl UniformLaw {
    /// The observations within, as shares of the width, strictly between 0 and 1.
    #[must_use]
    pub fn relative_positions(&self, ascending: &[f64]) -> Vec<f64> {
        ascending
            .iter()
            .map(|value| (value - self.lower) / self.width)
            .filter(|share| *share > 0.0 && *share < 1.0)
            .collect()
    }

    /// How far the observations within are from even: A² of Anderson and Darling, scaled to
    /// `observations` of them, so that a large sample is not blamed for what does no harm.
    #[must_use]
    pub fn anderson_darling(&self, ascending: &[f64], observations: usize) -> Option<f64> {
        let shares = self.relative_positions(ascending);
        let statistic = anderson_darling::a_squared(&shares)?;
        Some(statistic * (observations as f64 / shares.len() as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An even sample from `lower` over `width`.
    fn even_sample(lower: f64, width: f64, count: u32) -> Vec<f64> {
        (0..count)
            .map(|i| lower + width * (f64::from(i) + 0.5) / f64::from(count))
            .collect()
    }

    #[test]
    fn uniform_fit_with_outliers_on_both_sides_is_stable() {
        let mut sample = even_sample(18.0, 8.0, 1000);
        sample.extend([0.1; 200]);
        sample.extend(even_sample(30.0, 60.0, 20));
        sample.sort_by(f64::total_cmp);
        let found = uniform_of_known_width(&sample, 8.0).unwrap();
        assert!((found.lower - 18.0).abs() < 0.02, "{found:?}");
        assert!(
            found.lower_interval.0 <= 18.0 && 18.0 <= found.lower_interval.1,
            "{found:?}"
        );
    }

    #[test]
    fn uniform_fit_finds_unknown_width() {
        let mut sample = even_sample(1.8, 11.0, 2000);
        sample.extend(even_sample(14.0, 60.0, 60));
        sample.sort_by(f64::total_cmp);
        let found = uniform_of_unknown_width(&sample).unwrap();
        assert!((found.width / 11.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.anderson_darling(&sample, 300).unwrap() < 1.0);
    }

    #[test]
    fn uniform_fit_of_too_few_observations_is_none() {
        assert_eq!(uniform_of_known_width(&[1.0; 7], 1.0), None);
        assert_eq!(uniform_of_unknown_width(&[1.0; 49]), None);
    }

    proptest! {
        #[test]
        fn uniform_fit_edge_is_within_few_gaps(
            shares in prop::collection::vec(0.0..1.0_f64, 100..400),
            lower in 0.5..30.0_f64,
            width in 4.0..15.0_f64,
        ) {
            let mut sample: Vec<f64> = shares.iter().map(|u| lower + u * width).collect();
            sample.sort_by(f64::total_cmp);
            let found = uniform_of_known_width(&sample, width).unwrap();
            prop_assert_eq!(found.observations_inside, sample.len());
            let slack = 0.05 * width;
            prop_assert!(found.lower <= sample[0] + slack);
            prop_assert!(sample[sample.len() - 1] <= found.lower + width + slack);
        }
    }
}
