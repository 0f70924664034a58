//! Latencies of one file: most files have few requests, some have millions.

use hdrhistogram::Histogram;

use crate::stats::latency::histogram::MIN_OBSERVATIONS_BEYOND;

/// So many latencies are kept as they are.
const MAX_EXACT: usize = 256;
/// Significant decimal digits of the histogram beyond.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Latencies in nanoseconds, in memory that grows with their number and is bounded.
#[derive(Debug, Clone)]
pub(super) enum LatencySamples {
    Exact(Vec<u64>),
    Counted(Histogram<u32>),
}

impl Default for LatencySamples {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl LatencySamples {
    pub(super) fn record(&mut self, nanoseconds: u64) {
        match self {
            Self::Exact(samples) if samples.len() < MAX_EXACT => samples.push(nanoseconds),
            Self::Exact(samples) => {
                // The digits are a constant that it accepts.
                let Ok(mut histogram) = Histogram::new(SIGNIFICANT_DIGITS) else {
                    return;
                };
                for sample in samples.iter().chain([&nanoseconds]) {
                    // It grows with its values, and fails for none.
                    let _ = histogram.record(*sample);
                }
                *self = Self::Counted(histogram);
            }
            Self::Counted(histogram) => {
                let _ = histogram.record(nanoseconds);
            }
        }
    }

    /// The latency that this percentage of requests does not exceed; `None` where fewer than
    /// [`MIN_OBSERVATIONS_BEYOND`] lie beyond.
    pub(super) fn percentile(&self, percent: f64) -> Option<u64> {
        let count = match self {
            Self::Exact(samples) => samples.len() as u64,
            Self::Counted(histogram) => histogram.len(),
        };
        let rank = (count as f64 * percent / 100.0).ceil() as u64;
        if count.saturating_sub(rank) < MIN_OBSERVATIONS_BEYOND {
            return None;
        }
        match self {
            Self::Exact(samples) => {
                let mut sorted = samples.clone();
                sorted.sort_unstable();
                sorted.get(rank.saturating_sub(1) as usize).copied()
            }
            Self::Counted(histogram) => Some(histogram.value_at_quantile(percent / 100.0)),
        }
    }

    /// The longest.
    pub(super) fn max(&self) -> Option<u64> {
        match self {
            Self::Exact(samples) => samples.iter().max().copied(),
            Self::Counted(histogram) => Some(histogram.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_needs_observations_beyond_it() {
        let mut samples = LatencySamples::default();
        assert_eq!((samples.percentile(50.0), samples.max()), (None, None));
        (1..=20).for_each(|sample| samples.record(sample * 1000));
        assert_eq!(samples.percentile(50.0), Some(10_000));
        assert_eq!(samples.percentile(99.0), None);
        assert_eq!(samples.max(), Some(20_000));
    }

    #[test]
    fn percentiles_agree_within_1_percent_after_change_to_histogram() {
        let mut samples = LatencySamples::default();
        (1..=10_000).for_each(|sample| samples.record(sample * 1000));
        assert!(matches!(samples, LatencySamples::Counted(_)));
        let p99 = samples.percentile(99.0).unwrap() as f64;
        assert!((p99 / 9_900_000.0 - 1.0).abs() < 0.01, "{p99}");
    }
}
