//! Estimates the lower edge of a uniform distribution with outliers: where the rotational latency in
//! a response time begins.
//!
//! A request reaches its track at a random angle, so that response times are uniform over one
//! revolution above the time for command and seek. The lower edge is that time. The distribution's
//! two sharp edges determine it from all observations, far more precisely than the mean.

/// Log-odds of an observation inside the distribution over one outside of it: the density of
/// outliers (a few per cent, over some ten widths) against that of the distribution.
const OUTLIER_LOG_ODDS: f64 = 6.0;

/// A uniform distribution found in a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UniformLaw {
    /// Lower edge.
    pub lower: f64,
    /// Lower and upper bound of the 95 % interval of `lower`.
    pub lower_interval: (f64, f64),
    /// Width.
    pub width: f64,
    /// Number of observations inside.
    pub observations_inside: usize,
}

/// Estimates the position of the distribution from a sample in ascending order; its width is known.
///
/// Every position `s` is weighted by its likelihood, `exp(OUTLIER_LOG_ODDS n(s))` with `n` the
/// observations within [s, s + width). The estimate is the mean under that weight (Pitman, "The
/// Estimation of the Location and Scale Parameters of a Continuous Population of any Given Form",
/// Biometrika 30 (1939)); its bounds are the weight's quantiles. `None` for fewer than 8
/// observations.
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
    let quantile = |share: f64| weighted_quantile(&pieces, weight, share * total);
    Some(UniformLaw {
        lower: pieces.iter().map(middle).sum::<f64>() / total,
        lower_interval: (quantile(0.025), quantile(0.975)),
        width,
        observations_inside: inside,
    })
}

/// An interval of positions whose windows contain the same observations.
struct UniformPiece {
    begin: f64,
    end: f64,
    /// Observations below the window.
    below: usize,
    /// Observations above the window.
    above: usize,
}

/// Splits the axis wherever a window of that width gains or loses an observation.
fn likelihood_pieces(ascending: &[f64], width: f64) -> Vec<UniformPiece> {
    let (mut enters, mut leaves) = (0, 0);
    let mut pieces = Vec::with_capacity(2 * ascending.len());
    let mut from = ascending[0] - width;
    while leaves < ascending.len() {
        // The window starts at which it gains the next observation, and at which it loses the
        // first.
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

impl UniformLaw {
    /// Positions of the observations inside, as fractions of the width, strictly between 0 and 1.
    pub fn relative_positions(&self, ascending: &[f64]) -> Vec<f64> {
        ascending
            .iter()
            .map(|value| (value - self.lower) / self.width)
            .filter(|share| *share > 0.0 && *share < 1.0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A uniform sample from `lower` over `width`.
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
    fn uniform_fit_of_too_few_observations_is_none() {
        assert_eq!(uniform_of_known_width(&[1.0; 7], 1.0), None);
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
