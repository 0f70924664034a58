//! Test of a sample for a uniform distribution.

/// Critical value at the 1 % significance level (Anderson and Darling, "A Test of Goodness of Fit",
/// JASA 49 (1954): case 0, the distribution fully specified).
pub const CRITICAL_1_PERCENT: f64 = 3.857;

/// The statistic A² of a sample against the uniform distribution on (0, 1). The values are in
/// ascending order, all strictly between 0 and 1. `None` without a value.
///
/// A² = -n - 1/n Σ (2i-1) (ln u_i + ln(1 - u_(n+1-i))), i from 1 to n.
pub fn a_squared(ascending: &[f64]) -> Option<f64> {
    if ascending.is_empty() {
        return None;
    }
    let count = ascending.len() as f64;
    let pairs = ascending.iter().zip(ascending.iter().rev()).enumerate();
    let sum: f64 = pairs
        .map(|(index, (low, high))| (2 * index + 1) as f64 * (low.ln() + (1.0 - high).ln()))
        .sum();
    Some(-count - sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_values() {
        // n = 1, u = 1/2: -1 - 2 ln(1/2)
        let half = a_squared(&[0.5]).unwrap();
        assert!((half - 0.386_294_361).abs() < 1e-9);
        // n = 2, u = 1/4, 3/4: -2 - (2 ln(1/4) + 6 ln(3/4)) / 2
        let quarters = a_squared(&[0.25, 0.75]).unwrap();
        assert!((quarters - 0.249_340_578_5).abs() < 1e-9);
        assert_eq!(a_squared(&[]), None);
    }

    #[test]
    fn anderson_darling_accepts_even_grid_and_rejects_cluster() {
        let even: Vec<f64> = (0..200).map(|i| (f64::from(i) + 0.5) / 200.0).collect();
        assert!(a_squared(&even).unwrap() < 0.1);
        let lump: Vec<f64> = even.iter().map(|u| 0.5 * u).collect();
        assert!(a_squared(&lump).unwrap() > CRITICAL_1_PERCENT);
    }
}
