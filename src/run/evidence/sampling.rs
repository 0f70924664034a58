//! Selects the requests of a run that are traced: all at a low rate, a sample at a high rate.
//!
//! The kernel spends time on the events of each request, and reading them takes more: at 100,000
//! requests per second the benchmark would measure that too (docs/performance.md).

use std::time::Duration;

use crate::trace::events::CaptureControl;

/// Requests that may be traced per second, on average.
const MAX_REQUESTS_PER_S: f64 = 2_000.0;
/// Requests that may be traced without a pause.
const BURST_REQUESTS: f64 = 2_000.0;
/// How long to wait for the last requests of a sample, in nanoseconds.
const COMPLETION_TIMEOUT_NS: u64 = 1_000_000_000;
/// The shortest pause that justifies switching the trace off and on.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// Decides which requests count and when tracing pauses. A sample contains all requests that were
/// queued within a time span, however long they took: if it ended with the span, slow requests
/// would be missed more often than fast ones.
#[derive(Debug, Default)]
pub(crate) struct TraceSampling {
    sample_start: u64,
    followed_requests: u64,
    /// Requests that are queued later do not count.
    queued_before: Option<u64>,
}

impl TraceSampling {
    /// Records the number of traced requests before they are counted; `since` is the end of the
    /// last pause.
    pub(crate) fn add_followed(&mut self, followed: usize, since: u64) {
        if since != self.sample_start {
            *self = Self {
                sample_start: since,
                ..Self::default()
            };
        }
        self.followed_requests += followed as u64;
    }

    /// Whether a request that was queued at this time counts.
    pub(crate) fn includes(&self, queued: u64) -> bool {
        self.queued_before.is_none_or(|ends| queued <= ends)
    }

    /// How to continue after everything up to `until` was reported; `oldest` is the queue time of
    /// the oldest request still in flight.
    pub(crate) fn next_control(&mut self, until: u64, oldest: Option<u64>) -> CaptureControl {
        let Some(ends) = self.queued_before else {
            if self.followed_requests as f64
                > BURST_REQUESTS + MAX_REQUESTS_PER_S * self.seconds_since_start(until)
            {
                self.queued_before = Some(until);
            }
            return CaptureControl::Continue;
        };
        let all_back = oldest.is_none_or(|queued| queued > ends);
        if !all_back && until.saturating_sub(ends) < COMPLETION_TIMEOUT_NS {
            return CaptureControl::Continue;
        }
        let rest =
            self.followed_requests as f64 / MAX_REQUESTS_PER_S - self.seconds_since_start(until);
        CaptureControl::Pause(Duration::from_secs_f64(rest.max(0.0)).max(MIN_PAUSE))
    }

    fn seconds_since_start(&self, until: u64) -> f64 {
        until.saturating_sub(self.sample_start) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn next_step(
        sampling: &mut TraceSampling,
        followed: usize,
        until: u64,
        oldest: Option<u64>,
    ) -> CaptureControl {
        sampling.add_followed(followed, sampling.sample_start);
        sampling.next_control(until * MS, oldest.map(|at| at * MS))
    }

    #[test]
    fn trace_sampling_follows_all_requests_at_low_rate() {
        let mut sampling = TraceSampling::default();
        for second in 1..100 {
            let now = second * 1000;
            assert_eq!(
                next_step(&mut sampling, 1_900, now, None),
                CaptureControl::Continue
            );
            assert!(sampling.includes(now * MS + 1));
        }
    }

    #[test]
    fn trace_sample_waits_for_its_slowest_request_only() {
        let mut sampling = TraceSampling::default();
        assert_eq!(
            next_step(&mut sampling, 3_000, 10, Some(9)),
            CaptureControl::Continue
        );
        assert!(sampling.includes(10 * MS));
        assert!(!sampling.includes(10 * MS + 1));
        assert_eq!(
            next_step(&mut sampling, 1_000, 15, Some(9)),
            CaptureControl::Continue
        );
        let CaptureControl::Pause(rest) = next_step(&mut sampling, 1_000, 20, Some(12)) else {
            panic!("everything of the sample is back");
        };
        assert!((rest.as_secs_f64() - 2.48).abs() < 1e-9, "{rest:?}");
    }

    #[test]
    fn trace_sampling_restarts_after_pause() {
        let mut sampling = TraceSampling::default();
        next_step(&mut sampling, 9_000, 10, None);
        assert!(!sampling.includes(5_000 * MS));
        sampling.add_followed(0, 5_000 * MS);
        assert_eq!(
            sampling.next_control(5_001 * MS, None),
            CaptureControl::Continue
        );
        assert!(sampling.includes(5_000 * MS));
    }

    #[test]
    fn trace_sampling_stops_waiting_for_hung_request() {
        let mut sampling = TraceSampling::default();
        next_step(&mut sampling, 9_000, 10, Some(5));
        assert_eq!(
            next_step(&mut sampling, 0, 900, Some(5)),
            CaptureControl::Continue
        );
        assert!(matches!(
            next_step(&mut sampling, 0, 1_010, Some(5)),
            CaptureControl::Pause(_)
        ));
    }
}
