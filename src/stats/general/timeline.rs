//! Counts by time since the start, in constant memory for runs of any length.

/// Number of buckets; when all are used, neighbours are merged.
const MAX_BUCKETS: usize = 1024;
/// Initial width of a bucket in nanoseconds.
const INITIAL_WIDTH_NS: u64 = 100_000_000;

/// One bucket of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeBucket {
    /// Requests that completed in it.
    pub requests: u64,
    /// Bytes that they transferred.
    pub bytes: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_sum_ns: u64,
}

/// Requests and bytes by time since the start. The width of the buckets doubles whenever the run
/// exceeds them, so that recording allocates nothing.
#[derive(Debug, Clone)]
pub struct RunTimeline {
    buckets: Vec<TimeBucket>,
    used_buckets: usize,
    width_ns: u64,
}

impl Default for RunTimeline {
    fn default() -> Self {
        Self {
            buckets: vec![TimeBucket::default(); MAX_BUCKETS],
            used_buckets: 0,
            width_ns: INITIAL_WIDTH_NS,
        }
    }
}

impl RunTimeline {
    /// Records a request that completed `at_ns` nanoseconds after the start, transferred that many
    /// bytes and took `waited_ns` nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, at_ns: u64, bytes: u64, waited_ns: u64) {
        let mut index = (at_ns / self.width_ns) as usize;
        while index >= MAX_BUCKETS {
            self.double_bucket_width();
            index = (at_ns / self.width_ns) as usize;
        }
        let bucket = &mut self.buckets[index];
        bucket.requests += 1;
        bucket.bytes += bytes;
        bucket.latency_sum_ns += waited_ns;
        self.used_buckets = self.used_buckets.max(index + 1);
    }

    /// Merges neighbours: half as many buckets, each twice as wide.
    fn double_bucket_width(&mut self) {
        for index in 0..MAX_BUCKETS / 2 {
            let (left, right) = (self.buckets[2 * index], self.buckets[2 * index + 1]);
            self.buckets[index] = TimeBucket {
                requests: left.requests + right.requests,
                bytes: left.bytes + right.bytes,
                latency_sum_ns: left.latency_sum_ns + right.latency_sum_ns,
            };
        }
        self.buckets[MAX_BUCKETS / 2..].fill(TimeBucket::default());
        self.used_buckets = self.used_buckets.div_ceil(2);
        self.width_ns *= 2;
    }

    /// Adds all counts of the other timeline.
    pub fn merge(&mut self, other: &Self) {
        while self.width_ns < other.width_ns {
            self.double_bucket_width();
        }
        let ratio = (self.width_ns / other.width_ns) as usize;
        for (index, bucket) in other.buckets[..other.used_buckets].iter().enumerate() {
            let mine = &mut self.buckets[index / ratio];
            mine.requests += bucket.requests;
            mine.bytes += bucket.bytes;
            mine.latency_sum_ns += bucket.latency_sum_ns;
        }
        self.used_buckets = self.used_buckets.max(other.used_buckets.div_ceil(ratio));
    }

    /// Resets all counts.
    pub fn reset(&mut self) {
        self.buckets.fill(TimeBucket::default());
        self.used_buckets = 0;
        self.width_ns = INITIAL_WIDTH_NS;
    }

    /// Width of a bucket in nanoseconds.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// The buckets up to the last non-empty one.
    pub fn buckets(&self) -> &[TimeBucket] {
        &self.buckets[..self.used_buckets]
    }

    /// Rates over time: `[seconds at the bucket's middle, requests per second, bytes per second]`.
    /// A last bucket of which the run of `elapsed_ns` covers less than half is dropped; otherwise
    /// its rates use the covered time.
    pub fn rates_over_time(&self, elapsed_ns: u64) -> Vec<[f64; 3]> {
        let mut rates = Vec::with_capacity(self.used_buckets);
        for (index, bucket) in self.buckets().iter().enumerate() {
            let start = index as u64 * self.width_ns;
            let lasted = self.width_ns.min(elapsed_ns.saturating_sub(start));
            if lasted * 2 < self.width_ns {
                break;
            }
            let seconds = lasted as f64 / 1e9;
            rates.push([
                (start + lasted / 2) as f64 / 1e9,
                bucket.requests as f64 / seconds,
                bucket.bytes as f64 / seconds,
            ]);
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeline_of_long_run_widens_without_loss() {
        let mut timeline = RunTimeline::default();
        for second in 0..10_000_u64 {
            timeline.record(second * 1_000_000_000, 512, 1);
        }
        let total: u64 = timeline
            .buckets()
            .iter()
            .map(|bucket| bucket.requests)
            .sum();
        assert_eq!(total, 10_000);
        assert!(timeline.buckets().len() <= MAX_BUCKETS);
        let rates = timeline.rates_over_time(10_000_000_000_000);
        assert!(
            rates.iter().all(|rate| (rate[1] - 1.0).abs() < 0.2),
            "{rates:?}"
        );
    }

    #[test]
    fn timeline_merge_of_different_bucket_widths_keeps_counts() {
        let (mut short, mut long) = (RunTimeline::default(), RunTimeline::default());
        short.record(50, 1, 1);
        (0..300).for_each(|second| long.record(second * 1_000_000_000, 1, 1));
        let mut both = short.clone();
        both.merge(&long);
        let mut reversed = long.clone();
        reversed.merge(&short);
        assert_eq!(both.buckets(), reversed.buckets());
        assert_eq!(
            both.buckets()
                .iter()
                .map(|bucket| bucket.bytes)
                .sum::<u64>(),
            301
        );
    }

    #[test]
    fn timeline_partial_last_bucket_has_no_rate() {
        let mut timeline = RunTimeline::default();
        timeline.record(10, 4096, 1);
        timeline.record(110_000_000, 4096, 1);
        assert_eq!(timeline.rates_over_time(120_000_000).len(), 1);
        assert_eq!(timeline.rates_over_time(160_000_000)[1][1], 1.0 / 0.06);
    }
}
