//! Medians with confidence intervals that assume nothing of the distribution.

#![allow(dead_code, reason = "not every program needs all of it")]

use std::fmt;

/// A median and the 95 % confidence interval of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Median {
    /// Of independent values: the interval reaches from the k-th smallest to the k-th largest one,
    /// k as large as the binomial distribution allows (David and Nagaraja, Order Statistics, 3rd
    /// edition, section 7.1). `None` of fewer than six values, for which there is no such k.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let outside = values_outside(count)?;
        let middle = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
        Some(Self {
            value: middle,
            low: values[outside],
            high: values[count - 1 - outside],
        })
    }
}

impl fmt::Display for Median {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = formatter.precision().unwrap_or(3);
        let Self { value, low, high } = self;
        write!(
            formatter,
            "{value:.digits$} ({low:.digits$} to {high:.digits$})"
        )
    }
}

/// How many of `count` values may lie outside the interval at either end.
fn values_outside(count: usize) -> Option<usize> {
    // P(at most k of `count` values lie below the median) = sum of C(count, i) / 2^count, i <= k.
    let mut term = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut tail = 0.0;
    for k in 0..count / 2 {
        tail += term;
        if tail > 0.025 {
            return k.checked_sub(1);
        }
        term *= (count - k) as f64 / (k + 1) as f64;
    }
    None
}

#[cfg(test)]
#[allow(unused_imports, reason = "benchmarks have no test harness")]
mod tests {
    use super::*;

    #[test]
    fn thirty_values_leave_nine_outside() {
        // Ranks 10 and 21 of 30: the usual table of confidence intervals of the median.
        let median = Median::of((1..=30).map(f64::from)).unwrap();
        assert_eq!((median.low, median.value, median.high), (10.0, 15.5, 21.0));
        let six = Median::of((1..=6).map(f64::from)).unwrap();
        assert_eq!((six.low, six.high), (1.0, 6.0));
        assert_eq!(Median::of((1..=5).map(f64::from)), None);
    }
}
