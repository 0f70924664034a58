//! Zipf distribution over many ranks, without a table.

/// Draws ranks 0 to `count - 1`, where rank k has a probability proportional to (k + 1)^-theta:
/// rejection-inversion (Hörmann and Derflinger, Rejection-Inversion to Generate Variates from
/// Monotone Discrete Distributions, ACM TOMACS 1996).
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    count: u64,
    theta: f64,
    /// Area under the hat function up to the first rank, and up to the last.
    hat_area_first: f64,
    hat_area_last: f64,
    /// Points nearer to their rank than this are accepted without evaluating the density.
    acceptance_distance: f64,
}

impl Zipf {
    /// The distribution over that many ranks; `theta` above 0.
    pub(super) fn new(count: u64, theta: f64) -> Self {
        let mut law = Self {
            count,
            theta,
            hat_area_first: 0.0,
            hat_area_last: 0.0,
            acceptance_distance: 0.0,
        };
        law.hat_area_first = law.hat_area(1.5) - 1.0;
        law.hat_area_last = law.hat_area(count as f64 + 0.5);
        law.acceptance_distance = 2.0 - law.inverse_hat_area(law.hat_area(2.5) - law.density(2.0));
        law
    }

    /// Number of ranks.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Draws a rank from random numbers in [0, 1); `None` where there are no ranks.
    pub(super) fn draw_rank(&self, mut random: impl FnMut() -> f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        loop {
            let area = self.hat_area_last + random() * (self.hat_area_first - self.hat_area_last);
            let point = self.inverse_hat_area(area);
            let rank = point.round().clamp(1.0, self.count as f64);
            if rank - point <= self.acceptance_distance
                || area >= self.hat_area(rank + 0.5) - self.density(rank)
            {
                return Some(rank as u64 - 1);
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// Integral of the density from 1 to x.
    fn hat_area(&self, x: f64) -> f64 {
        let logarithm = x.ln();
        let exponent = (1.0 - self.theta) * logarithm;
        // (e^t - 1) / t tends to 1 where theta is 1.
        let ratio = if exponent.abs() > 1e-8 {
            exponent.exp_m1() / exponent
        } else {
            1.0 + exponent / 2.0
        };
        ratio * logarithm
    }

    /// Inverse of `hat_area`.
    fn inverse_hat_area(&self, area: f64) -> f64 {
        let product = (area * (1.0 - self.theta)).max(-1.0);
        let ratio = if product.abs() > 1e-8 {
            product.ln_1p() / product
        } else {
            1.0 - product / 2.0
        };
        (ratio * area).exp()
    }
}
