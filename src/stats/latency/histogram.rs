//! Latencies of many requests in constant memory.

use hdrhistogram::Histogram;

/// The longest latency that the histogram resolves; longer ones are recorded as this.
const MAX_RECORDED_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of a recorded latency.
const SIGNIFICANT_DIGITS: u8 = 3;
/// A percentile is reported only when at least this many observations lie beyond it.
pub const MIN_OBSERVATIONS_BEYOND: u64 = 10;

/// Reported percentiles, in percent.
pub const PERCENTILES: [f64; 8] = [50.0, 90.0, 95.0, 98.0, 99.0, 99.9, 99.99, 99.999];

/// Latencies of many requests: exact count, mean, standard deviation and extremes, and a histogram
/// with three significant digits from 1 ns to an hour.
///
/// Recording allocates nothing.
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    histogram: Histogram<u64>,
    sum: u128,
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_RECORDED_NS, SIGNIFICANT_DIGITS);
        Self {
            // The bounds are constants that the histogram accepts; a test checks this.
            histogram: histogram.unwrap_or_else(|_| unreachable!("constant bounds")),
            sum: 0,
            sum_of_squares: 0.0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl LatencyHistogram {
    /// Records one latency in nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, nanoseconds: u64) {
        self.histogram.saturating_record(nanoseconds.max(1));
        self.sum += u128::from(nanoseconds);
        let value = nanoseconds as f64;
        self.sum_of_squares += value * value;
        self.min = self.min.min(nanoseconds);
        self.max = self.max.max(nanoseconds);
    }

    /// Adds all observations of the other histogram.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so that no value is out of range.
        let _ = self.histogram.add(&other.histogram);
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all observations.
    pub fn reset(&mut self) {
        self.histogram.reset();
        self.sum = 0;
        self.sum_of_squares = 0.0;
        self.min = u64::MAX;
        self.max = 0;
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Arithmetic mean in nanoseconds; `None` without an observation.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Sample standard deviation in nanoseconds; needs two observations.
    pub fn stddev_ns(&self) -> Option<f64> {
        let count = self.count() as f64;
        let mean = self.mean()?;
        (count > 1.0).then(|| {
            ((self.sum_of_squares - count * mean * mean) / (count - 1.0))
                .max(0.0)
                .sqrt()
        })
    }

    /// The lowest latency in nanoseconds.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min)
    }

    /// The highest latency in nanoseconds.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max)
    }

    /// The latency percentile in nanoseconds for `percent` (0 to 100). `None` when fewer than
    /// [`MIN_OBSERVATIONS_BEYOND`] lie beyond it.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let beyond = self.count() as f64 * (100.0 - percent) / 100.0;
        // A rounding error must not drop the tenth observation.
        (beyond + 1e-6 >= MIN_OBSERVATIONS_BEYOND as f64)
            .then(|| self.value_at_percent(percent))
            .flatten()
    }

    /// The latency in nanoseconds at this percentage (0 to 100) of the observations in ascending
    /// order, however few lie beyond it. It is a bound for a percentile of the drive, not an
    /// estimate. `None` without an observation.
    pub fn value_at_percent(&self, percent: f64) -> Option<u64> {
        (self.count() > 0).then(|| {
            self.histogram
                .value_at_percentile(percent)
                .clamp(self.min, self.max)
        })
    }

    /// The fraction (0 to 1) of requests slower than a target in nanoseconds.
    pub fn fraction_slower_than(&self, nanoseconds: u64) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| {
            let within = self
                .histogram
                .count_between(0, nanoseconds.min(MAX_RECORDED_NS));
            count.saturating_sub(within) as f64 / count as f64
        })
    }

    /// Bins for plotting and storage: `[low, high, count]` in nanoseconds, ascending, `low`
    /// inclusive and `high` exclusive, without empty bins. `per_octave` bins between a value and
    /// its double.
    pub fn histogram_bins(&self, per_octave: u32) -> Vec<[u64; 3]> {
        let per_octave = f64::from(per_octave.max(1));
        let edge = |index: i64| (index as f64 / per_octave).exp2().ceil() as u64;
        let mut bins: Vec<[u64; 3]> = Vec::new();
        for entry in self.histogram.iter_recorded() {
            let value = entry.value_iterated_to();
            let mut index = ((value as f64).log2() * per_octave).floor() as i64;
            // The logarithm is rounded: the value itself decides on which side of an edge it lies.
            while edge(index) > value {
                index -= 1;
            }
            while edge(index + 1) <= value {
                index += 1;
            }
            let (low, high) = (edge(index), edge(index + 1));
            match bins.last_mut() {
                Some(last) if last[0] == low => last[2] += entry.count_since_last_iteration(),
                _ => bins.push([low, high, entry.count_since_last_iteration()]),
            }
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency_of_values(values: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut latency = LatencyHistogram::default();
        values.into_iter().for_each(|value| latency.record(value));
        latency
    }

    #[test]
    fn latency_histogram_empty_has_no_statistics() {
        let empty = LatencyHistogram::default();
        assert_eq!(empty.mean(), None);
        assert_eq!(empty.stddev_ns(), None);
        assert_eq!((empty.min(), empty.max()), (None, None));
        assert_eq!(empty.percentile(50.0), None);
        assert_eq!(empty.fraction_slower_than(1), None);
        assert!(empty.histogram_bins(4).is_empty());
    }

    #[test]
    fn latency_percentile_needs_ten_observations_beyond_it() {
        assert_eq!(latency_of_values(1..=19).percentile(50.0), None);
        assert_eq!(latency_of_values(1..=20).percentile(50.0), Some(10));
        assert_eq!(latency_of_values(1..=999).percentile(99.0), None);
        assert!(latency_of_values(1..=1000).percentile(99.0).is_some());
        assert_eq!(latency_of_values(1..=9_999).percentile(99.9), None);
        assert!(latency_of_values(1..=10_000).percentile(99.9).is_some());
    }

    #[test]
    fn latency_mean_and_stddev_are_exact() {
        let latency = latency_of_values([2_000_000, 4_000_000, 4_000_000, 6_000_000]);
        assert_eq!(latency.mean(), Some(4_000_000.0));
        let deviation = latency.stddev_ns().unwrap();
        assert!((deviation - 1_632_993.16).abs() < 0.01, "{deviation}");
    }

    #[test]
    fn latency_histogram_merge_equals_single_recording() {
        let mut left = latency_of_values([10, 20, 30]);
        left.merge(&latency_of_values([5, 40]));
        let whole = latency_of_values([5, 10, 20, 30, 40]);
        assert_eq!(left.count(), whole.count());
        assert_eq!(left.mean(), whole.mean());
        assert_eq!((left.min(), left.max()), (whole.min(), whole.max()));
        assert_eq!(left.histogram_bins(4), whole.histogram_bins(4));
    }

    #[test]
    fn latency_bins_contain_every_observation_within_edges() {
        let values = [1, 2, 3, 4, 7, 8, 1000, 1024, 5_000_000, 4_000_000_000_000];
        let bins = latency_of_values(values).histogram_bins(8);
        assert_eq!(bins.iter().map(|bin| bin[2]).sum::<u64>(), 10);
        assert!(bins.windows(2).all(|pair| pair[0][1] <= pair[1][0]));
        assert!(bins.iter().all(|bin| bin[0] < bin[1]));
    }

    #[test]
    fn latency_fraction_slower_than_target_is_counted() {
        assert_eq!(
            latency_of_values(1..=100).fraction_slower_than(75),
            Some(0.25)
        );
        assert_eq!(
            latency_of_values(1..=100).fraction_slower_than(100),
            Some(0.0)
        );
    }
}
