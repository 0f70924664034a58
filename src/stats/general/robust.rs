//! Location and spread estimates that are robust against outliers.

/// The quantile `q` (0 to 1) of values in ascending order, interpolated between neighbours (Hyndman
/// and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996),
/// definition 7).
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let rank = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (rank.floor() as usize, rank.ceil() as usize);
    let share = rank - below as f64;
    Some(ascending[below] + share * (ascending[above] - ascending[below]))
}

/// The finite values in ascending order.
pub fn sorted_finite(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values
        .into_iter()
        .filter(|value| value.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median; `None` without a finite value.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(&sorted_finite(values), 0.5)
}

/// The median absolute deviation from the median, not scaled.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values.iter().copied())?;
    median(values.iter().map(|value| (value - middle).abs()))
}

/// The slope of a line through the origin, fitted to the points `(x, y)` by least absolute
/// deviations: the median of y / x weighted by |x| (Bloomfield and Steiger, "Least Absolute
/// Deviations", 1983, 1.3). Few outliers hardly affect it. `None` where all x are 0.
pub fn slope_through_origin(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes: Vec<(f64, f64)> = points
        .iter()
        .filter(|(x, _)| *x != 0.0)
        .map(|(x, y)| (y / x, x.abs()))
        .collect();
    slopes.sort_by(|left, right| left.0.total_cmp(&right.0));
    let half = 0.5 * slopes.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut passed = 0.0;
    let middle = slopes.iter().find(|(_, weight)| {
        passed += weight;
        passed >= half
    });
    middle.map(|(slope, _)| *slope)
}

/// The standard error of [`slope_through_origin`] for approximately normal residuals: that of a
/// median is `sqrt(π/2)` times that of a mean, with the standard deviation from the median absolute
/// residual.
pub fn slope_standard_error(points: &[(f64, f64)], slope: f64) -> Option<f64> {
    const MEDIAN_ERROR_FACTOR: f64 = 1.253_314;
    const MAD_TO_SIGMA: f64 = 1.482_6;
    let squares: f64 = points.iter().map(|(x, _)| x * x).sum();
    let miss = median(points.iter().map(|(x, y)| (y - slope * x).abs()))?;
    (squares > 0.0).then(|| MEDIAN_ERROR_FACTOR * MAD_TO_SIGMA * miss / squares.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn robust_slope_ignores_outliers() {
        let mut points: Vec<(f64, f64)> = (1..=9)
            .map(|x| (f64::from(x) - 5.0, 3.0 * (f64::from(x) - 5.0)))
            .collect();
        points.extend([(1.0, 500.0), (-2.0, 70.0)]);
        assert_eq!(slope_through_origin(&points), Some(3.0));
        assert_eq!(slope_through_origin(&[(0.0, 1.0)]), None);
    }

    #[test]
    fn literal_quantiles() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 1.0), Some(8.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn robust_statistics_ignore_one_outlier() {
        let values = [1.0, 2.0, 3.0, 4.0, 1e9];
        assert_eq!(median(values), Some(3.0));
        assert_eq!(median_absolute_deviation(&values), Some(1.0));
    }

    proptest! {
        #[test]
        fn quantiles_ascend_within_range_of_values(
            values in prop::collection::vec(-1e6..1e6_f64, 1..50),
            low in 0.0..1.0_f64,
            more in 0.0..1.0_f64,
        ) {
            let sorted = sorted_finite(values);
            let high = low + (1.0 - low) * more;
            let (a, b) = (quantile(&sorted, low).unwrap(), quantile(&sorted, high).unwrap());
            prop_assert!(sorted[0] <= a && a <= b && b <= sorted[sorted.len() - 1]);
        }
    }
}
