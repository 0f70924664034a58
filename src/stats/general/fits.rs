//! Least-squares fit of the seek curve.

/// Seek time as a function of the distance (Ruemmler and Wilkes, "An Introduction to Disk Drive
/// Modeling", IEEE Computer 27 (1994)): `a + b sqrt(d)` while the actuator accelerates and brakes,
/// `c + e d` for distances beyond the cutoff, where it coasts. Both meet at the cutoff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekCurve {
    /// Intercept of the square-root part, the time at distance 0.
    pub sqrt_intercept: f64,
    /// Coefficient of the square root.
    pub sqrt_factor: f64,
    /// Cutoff distance at which the line begins.
    pub cutoff: f64,
    /// Intercept of the line, the time at distance 0.
    pub line_intercept: f64,
    /// Slope of the line per unit of distance.
    pub line_slope: f64,
}

impl SeekCurve {
    /// Seek time for a distance.
    pub fn time_at(&self, distance: f64) -> f64 {
        if distance < self.cutoff {
            self.sqrt_intercept + self.sqrt_factor * distance.max(0.0).sqrt()
        } else {
            self.line_intercept + self.line_slope * distance
        }
    }
}

/// The least-squares curve through `(distance, time)` in ascending order of distance; `None` for
/// fewer than 5 points. The cutoff is the point's distance that fits best.
pub fn fit_seek_curve(points: &[(f64, f64)]) -> Option<SeekCurve> {
    if points.len() < 5 {
        return None;
    }
    let inner = &points[2..points.len() - 1];
    inner
        .iter()
        .filter_map(|(cutoff, _)| fit_at_cutoff(points, *cutoff))
        .map(|curve| (sum_of_squared_residuals(points, &curve), curve))
        .min_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, curve)| curve)
}

fn sum_of_squared_residuals(points: &[(f64, f64)], curve: &SeekCurve) -> f64 {
    points
        .iter()
        .map(|(distance, time)| (curve.time_at(*distance) - time).powi(2))
        .sum()
}

/// Least squares of `a + b sqrt(min(d, k)) + e max(d - k, 0)`, which is continuous for all a, b and
/// e.
fn fit_at_cutoff(points: &[(f64, f64)], cutoff: f64) -> Option<SeekCurve> {
    let row = |distance: f64| {
        [
            1.0,
            distance.min(cutoff).sqrt(),
            (distance - cutoff).max(0.0),
        ]
    };
    let mut normal = [[0.0; 4]; 3];
    for (distance, time) in points {
        let terms = row(*distance);
        for (i, line) in normal.iter_mut().enumerate() {
            for (j, term) in terms.iter().enumerate() {
                line[j] += terms[i] * term;
            }
            line[3] += terms[i] * time;
        }
    }
    let [a, b, e] = solve_linear_system(normal)?;
    let c = a + b * cutoff.sqrt() - e * cutoff;
    Some(SeekCurve {
        sqrt_intercept: a,
        sqrt_factor: b,
        cutoff,
        line_intercept: c,
        line_slope: e,
    })
}

/// Solves three linear equations by elimination with pivoting; `None` when they are singular.
fn solve_linear_system(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        let lead = rows[column];
        if lead[column].abs() < 1e-12 * (1.0 + lead[3].abs()) {
            return None;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / lead[column];
                (0..4).for_each(|j| row[j] -= factor * lead[j]);
            }
        }
    }
    Some([0, 1, 2].map(|i| rows[i][3] / rows[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seek_curve_fit_of_too_few_points_is_none() {
        assert_eq!(fit_seek_curve(&[(0.1, 1.0); 4]), None);
    }

    proptest! {
        #[test]
        fn seek_curve_fit_recovers_generated_curve(
            a in 0.2..2.0_f64,
            b in 3.0..12.0_f64,
            e in 3.0..10.0_f64,
            knee in 5..35_usize,
        ) {
            let distances: Vec<f64> = (1..=40).map(|i| f64::from(i) / 40.0).collect();
            let cutoff = distances[knee];
            let truth = SeekCurve { sqrt_intercept: a, sqrt_factor: b, cutoff, line_intercept: a + b * cutoff.sqrt() - e * cutoff, line_slope: e };
            let points: Vec<_> = distances.iter().map(|d| (*d, truth.time_at(*d))).collect();
            let found = fit_seek_curve(&points).unwrap();
            for distance in distances {
                prop_assert!((found.time_at(distance) - truth.time_at(distance)).abs() < 1e-6);
            }
        }
    }
}
