//! Counts by time since the start, in constant memory however long it takes.

/// Buckets that are kept; when they are full, neighbours are joined.
const BUCKETS: usize = 1024;
/// Width of a bucket at the start, in nanoseconds.
const FIRST_WIDTH_NS: u64 = 100_000_000;

/// One bucket of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Requests that ended in it.
    pub requests: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Their response times, summed, in nanoseconds.
    pub waited_ns: u64,
}

/// Requests and bytes by time since the start. The width of a bucket doubles whenever the run
/// outgrows them, so that recording allocates nothing.
#[derive(Debug, Clone)]
pub struct Timeline {
    buckets: Vec<Bucket>,
    used: usize,
    width_ns: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            buckets: vec![Bucket::default(); BUCKETS],
            used: 0,
            width_ns: FIRST_WIDTH_NS,
        }
    }
}

impl Timeline {
    /// Records a request that ended `at_ns` nanoseconds after the start, moved that many bytes and
    /// took `waited_ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, at_ns: u64, bytes: u64, waited_ns: u64) {
        let mut index = (at_ns / self.width_ns) as usize;
        while index >= BUCKETS {
            self.widen();
            index = (at_ns / self.width_ns) as usize;
        }
        let bucket = &mut self.buckets[index];
        bucket.requests += 1;
        bucket.bytes += bytes;
        bucket.waited_ns += waited_ns;
        self.used = self.used.max(index + 1);
    }

    /// Joins neighbours: half as many buckets, each twice as wide.
    fn widen(&mut self) {
        for index in 0..BUCKETS / 2 {
            let (left, right) = (self.buckets[2 * index], self.buckets[2 * index + 1]);
            self.buckets[index] = Bucket {
                requests: left.requests + right.requests,
                bytes: left.bytes + right.bytes,
                waited_ns: left.waited_ns + right.waited_ns,
            };
        }
        self.buckets[BUCKETS / 2..].fill(Bucket::default());
        self.used = self.used.div_ceil(2);
        self.width_ns *= 2;
    }

    /// Adds everything that the other one holds.
    pub fn merge(&mut self, other: &Self) {
        while self.width_ns < other.width_ns {
            self.widen();
        }
        let ratio = (self.width_ns / other.width_ns) as usize;
        for (index, bucket) in other.buckets[..other.used].iter().enumerate() {
            let mine = &mut self.buckets[index / ratio];
            mine.requests += bucket.requests;
            mine.bytes += bucket.bytes;
            mine.waited_ns += bucket.waited_ns;
        }
        self.used = self.used.max(other.used.div_ceil(ratio));
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.buckets.fill(Bucket::default());
        self.used = 0;
        self.width_ns = FIRST_WIDTH_NS;
    }

    /// Width of a bucket in nanoseconds.
    #[must_use]
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// The buckets up to the last that holds anything.
    #[must_use]
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets[..self.used]
    }

    /// Rates over time: `[seconds at the bucket's middle, requests per second, bytes per second]`.
    /// A last bucket that the run of `elapsed_ns` filled by less than a half is left out, a longer
    /// one counts for what it lasted.
    #[must_use]
    pub fn rates(&self, elapsed_ns: u64) -> Vec<[f64; 3]> {
        let mut rates = Vec::with_capacity(self.used);
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
    fn a_long_run_is_folded_without_losing_anything() {
        let mut timeline = Timeline::default();
        for second in 0..10_000_u64 {
            timeline.record(second * 1_000_000_000, 512, 1);
        }
        let total: u64 = timeline
            .buckets()
            .iter()
            .map(|bucket| bucket.requests)
            .sum();
        assert_eq!(total, 10_000);
        assert!(timeline.buckets().len() <= BUCKETS);
        let rates = timeline.rates(10_000_000_000_000);
        assert!(
            rates.iter().all(|rate| (rate[1] - 1.0).abs() < 0.2),
            "{rates:?}"
        );
    }

    #[test]
    fn timelines_of_different_width_merge() {
        let (mut short, mut long) = (Timeline::default(), Timeline::default());
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
    fn a_stub_of_a_bucket_is_no_rate() {
        let mut timeline = Timeline::default();
        timeline.record(10, 4096, 1);
        timeline.record(110_000_000, 4096, 1);
        assert_eq!(timeline.rates(120_000_000).len(), 1);
        assert_eq!(timeline.rates(160_000_000)[1][1], 1.0 / 0.06);
    }
}
