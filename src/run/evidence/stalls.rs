//! Times in which requests are in flight and none completes.

use std::time::Duration;

use crate::bench::RunProgress;
use crate::session::document::StallEvidence;

/// Shortest stall. Drives recover from a read error within a second or two, the kernel resets a drive
/// after 30 s; programs, and the users before them, notice from about two seconds on.
const MIN_STALL: Duration = Duration::from_secs(2);
/// A stall lasts for at least this many times the mean latency: large requests to a slow drive complete
/// rarely without any stall.
const MIN_LATENCIES: f64 = 5.0;
/// A stall lasts for at least this many times the interval between two arrivals of an open loop.
const MIN_ARRIVAL_INTERVALS: f64 = 5.0;
/// Before the first completion nothing is known about the latency: the first request may be large.
const MIN_STALL_BEFORE_FIRST: Duration = Duration::from_secs(10);
/// The longest time between two reports of the engine that counts, which reports 8 times per second.
/// In longer ones this program did not run, or prepared the next phase.
const MAX_REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// Detects stalls from the progress of a run.
#[derive(Debug, Default)]
pub(super) struct StallDetector {
    /// Interval between two arrivals of an open loop.
    arrival_interval: Option<Duration>,
    last_elapsed: Duration,
    requests: u64,
    /// Time without a completion so far, and when it began.
    waited: Duration,
    waiting_since: Duration,
    found: StallEvidence,
}

impl StallDetector {
    pub(super) fn new(arrival_rate: Option<f64>) -> Self {
        let rate = arrival_rate.filter(|rate| *rate > 0.0);
        Self {
            arrival_interval: rate.and_then(|rate| Duration::try_from_secs_f64(1.0 / rate).ok()),
            ..Self::default()
        }
    }

    /// Takes note of a report.
    pub(super) fn observe(&mut self, progress: &RunProgress) {
        let stats = &progress.snapshot.stats;
        let (counts, latency) = (progress.counts, stats.latency());
        let mean = latency.mean().map(|mean| Duration::from_nanos(mean as u64));
        // All requests of the phase are complete: what follows is a flush.
        let is_idle = progress
            .snapshot
            .completed_fraction
            .is_some_and(|fraction| fraction >= 1.0);
        let requests = counts.read_ios + counts.write_ios;
        self.advance(progress.elapsed, (!is_idle).then_some(requests), mean);
    }

    /// Takes note of the number of completed requests after `elapsed`, `None` without any in flight,
    /// and of their mean latency.
    fn advance(&mut self, elapsed: Duration, requests: Option<u64>, mean: Option<Duration>) {
        let interval = elapsed.saturating_sub(self.last_elapsed);
        if requests != Some(self.requests) {
            self.end_wait(mean);
            self.requests = requests.unwrap_or(self.requests);
            self.waiting_since = elapsed;
        } else {
            self.waited += interval.min(MAX_REPORT_INTERVAL);
        }
        self.last_elapsed = elapsed;
    }

    /// Counts the time without a completion if it is a stall.
    fn end_wait(&mut self, mean: Option<Duration>) {
        if self.is_stall(mean) {
            self.found = self.with_current();
        }
        self.waited = Duration::ZERO;
    }

    fn is_stall(&self, mean: Option<Duration>) -> bool {
        let by_latency = match mean {
            Some(mean) => mean.mul_f64(MIN_LATENCIES),
            None => MIN_STALL_BEFORE_FIRST,
        };
        let arrivals = self.arrival_interval.unwrap_or_default();
        let by_arrivals = arrivals.mul_f64(MIN_ARRIVAL_INTERVALS);
        self.waited >= MIN_STALL.max(by_latency).max(by_arrivals)
    }

    /// The stalls so far together with the current time without a completion.
    fn with_current(&self) -> StallEvidence {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (waited, since) = (ns(self.waited), ns(self.waiting_since));
        let is_longest = waited > self.found.longest_ns;
        StallEvidence {
            count: self.found.count + 1,
            total_ns: self.found.total_ns.saturating_add(waited),
            longest_ns: waited.max(self.found.longest_ns),
            longest_start_ns: if is_longest {
                since
            } else {
                self.found.longest_start_ns
            },
        }
    }

    /// The stalls so far, one that lasts included; `None` if there are none.
    pub(super) fn evidence(&self) -> Option<StallEvidence> {
        let found = match self.is_stall(Some(Duration::ZERO)) && self.requests > 0 {
            true => self.with_current(),
            false => self.found,
        };
        (found.count > 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(125);
    const MS: u64 = 1_000_000;

    /// Reports every 125 ms of completed requests, at this mean latency in milliseconds.
    fn detect(
        detector: &mut StallDetector,
        mean_ms: Option<u64>,
        reports: impl IntoIterator<Item = Option<u64>>,
    ) -> Option<StallEvidence> {
        let mean = mean_ms.map(Duration::from_millis);
        for report in reports {
            detector.advance(detector.last_elapsed + TICK, report, mean);
        }
        detector.evidence()
    }

    /// So many reports without a completion between ten before and ten after.
    fn pause_of(ticks: u64) -> impl Iterator<Item = Option<u64>> {
        let busy = |from: u64| (from..from + 10).map(|count| Some(count * 100));
        let still = (0..ticks).map(|_| Some(1000));
        busy(1).chain(still).chain(busy(11))
    }

    #[test]
    fn stall_of_two_seconds_is_named_with_time_and_length() {
        let found = detect(&mut StallDetector::default(), Some(1), pause_of(24)).unwrap();
        assert_eq!(
            (found.count, found.longest_ns, found.total_ns),
            (1, 3000 * MS, 3000 * MS)
        );
        assert_eq!(found.longest_start_ns, 1250 * MS);
        assert_eq!(
            detect(&mut StallDetector::default(), Some(1), pause_of(15)),
            None
        );
    }

    #[test]
    fn stall_at_the_end_counts_while_it_lasts() {
        let mut detector = StallDetector::default();
        let reports = (1..20).map(Some).chain((0..40).map(|_| Some(19)));
        let found = detect(&mut detector, Some(1), reports).unwrap();
        assert_eq!((found.count, found.longest_ns), (1, 5000 * MS));
        let later = detect(&mut detector, Some(1), (20..30).map(Some)).unwrap();
        assert_eq!((later.count, later.longest_ns), (1, 5000 * MS));
    }

    #[test]
    fn slow_requests_rare_arrivals_and_flushes_are_no_stalls() {
        // Requests of a second each, at depth 1.
        assert_eq!(
            detect(&mut StallDetector::default(), Some(1000), pause_of(24)),
            None
        );
        let rare = &mut StallDetector::new(Some(0.5));
        assert_eq!(detect(rare, Some(1), pause_of(24)), None);
        let flush = (1..10)
            .map(Some)
            .chain((0..40).map(|_| None))
            .chain((10..20).map(Some));
        assert_eq!(detect(&mut StallDetector::default(), Some(1), flush), None);
        // The first request is a large one.
        let first = (0..40).map(|_| Some(0)).chain((1..20).map(Some));
        assert_eq!(detect(&mut StallDetector::default(), None, first), None);
    }

    #[test]
    fn time_in_which_this_program_did_not_run_is_no_stall() {
        let mut detector = StallDetector::default();
        detect(&mut detector, Some(1), (1..10).map(Some));
        let stopped = detector.last_elapsed + Duration::from_secs(60);
        detector.advance(stopped, Some(9), Some(Duration::from_millis(1)));
        assert_eq!(detect(&mut detector, Some(1), (10..20).map(Some)), None);
    }
}
