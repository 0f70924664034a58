//! How many completions a worker waits for at once.
//!
//! A worker that wakes up for each completion spends more processor time on waking up than on the
//! requests. Where completions arrive in quick succession it waits for several of them. They are
//! recorded when the last one has arrived, so that both the number and the time are bounded.

use std::time::Duration;

/// Completions are waited for together that arrive within this time at the present rate.
const BATCH_TIME: Duration = Duration::from_micros(40);
/// At most this fraction of the requests in flight: the mean latency rises by at most half of it, and
/// the drive keeps the rest of the queue.
const DEPTH_FRACTION: u32 = 8;
/// Maximum number of completions per wait, and of requests per submission.
const MAX_BATCH: u32 = 16;
/// Fewer completions are not waited for together: as much processor time, and later timestamps
/// (docs/performance.md).
const MIN_WAIT_BATCH: usize = 8;
/// Time over which the rate is measured.
const RATE_INTERVAL_NS: u64 = 1_000_000;

/// The longest wait in the kernel, which bounds the delay of a cancellation.
pub const MAX_WAIT: Duration = Duration::from_millis(20);

/// Maximum number of requests that are submitted, or completions that are waited for, at once.
#[must_use]
pub fn max_batch_size(depth: u32) -> usize {
    (depth / DEPTH_FRACTION).clamp(1, MAX_BATCH) as usize
}

/// Chooses how many completions a worker waits for, from the rate at which they arrive.
#[derive(Debug)]
pub struct CompletionBatch {
    max_size: usize,
    size: usize,
    /// Completions since the beginning of the interval over which the rate is measured.
    completions: u64,
    interval_begin_ns: u64,
}

impl CompletionBatch {
    /// For a worker with `depth` requests in flight. `single` waits for each completion: where
    /// requests have to start at given times, each is recorded as soon as possible.
    #[must_use]
    pub fn new(depth: u32, single: bool) -> Self {
        Self {
            max_size: if single { 1 } else { max_batch_size(depth) },
            size: 1,
            completions: 0,
            interval_begin_ns: 0,
        }
    }

    /// The number of completions to wait for.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Each completion is waited for alone from now on.
    #[cold]
    pub fn disable(&mut self) {
        self.max_size = 1;
        self.size = 1;
    }

    /// Counts completions that have arrived by this time, in nanoseconds since the origin.
    #[inline]
    pub fn record(&mut self, completions: usize, now_ns: u64) {
        self.completions += completions as u64;
        let elapsed_ns = now_ns.saturating_sub(self.interval_begin_ns);
        if elapsed_ns >= RATE_INTERVAL_NS {
            let arriving = self.completions * BATCH_TIME.as_nanos() as u64 / elapsed_ns;
            let size = self.max_size.min(arriving as usize);
            self.size = if size < MIN_WAIT_BATCH { 1 } else { size };
            self.completions = 0;
            self.interval_begin_ns = now_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is waited for after completions have arrived one by one at this interval.
    fn size_at_interval(depth: u32, interval_ns: u64) -> usize {
        let mut batch = CompletionBatch::new(depth, false);
        for index in 1..=3 * RATE_INTERVAL_NS / interval_ns + 3 {
            batch.record(1, index * interval_ns);
        }
        batch.size()
    }

    #[test]
    fn batch_follows_rate_and_depth() {
        // 10,000 requests per second: one within 40 us; then four and eight.
        assert_eq!(size_at_interval(128, 100_000), 1);
        assert_eq!(size_at_interval(128, 10_000), 1);
        assert_eq!(size_at_interval(128, 5000), 8);
        assert_eq!(size_at_interval(128, 2500), 16);
        assert_eq!(size_at_interval(1024, 1000), 16);
        assert_eq!(size_at_interval(64, 1000), 8);
        assert_eq!(size_at_interval(32, 1000), 1);
        assert_eq!(size_at_interval(8, 1000), 1);
        assert_eq!(size_at_interval(1, 1000), 1);
    }

    #[test]
    fn stalled_drive_is_waited_for_completion_by_completion() {
        let mut batch = CompletionBatch::new(128, false);
        assert_eq!(batch.size(), 1);
        batch.record(1000, RATE_INTERVAL_NS);
        assert_eq!(batch.size(), 16);
        // The timer ends the waits; nothing has arrived.
        batch.record(0, RATE_INTERVAL_NS + RATE_INTERVAL_NS / 2);
        batch.record(0, 2 * RATE_INTERVAL_NS);
        assert_eq!(batch.size(), 1);
        // 3 requests in 20 ms.
        batch.record(3, 22 * RATE_INTERVAL_NS);
        assert_eq!(batch.size(), 1);
        batch.record(1000, 23 * RATE_INTERVAL_NS);
        assert_eq!(batch.size(), 16);
    }

    #[test]
    fn requests_with_given_start_times_are_waited_for_one_by_one() {
        let mut batch = CompletionBatch::new(128, true);
        batch.record(1000, RATE_INTERVAL_NS);
        assert_eq!(batch.size(), 1);
    }

    #[test]
    fn disabled_batch_stays_single() {
        let mut batch = CompletionBatch::new(128, false);
        batch.record(1000, RATE_INTERVAL_NS);
        batch.disable();
        assert_eq!(batch.size(), 1);
        batch.record(1000, 2 * RATE_INTERVAL_NS);
        assert_eq!(batch.size(), 1);
    }
}
