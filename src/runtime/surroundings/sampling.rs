//! Which of a run's requests are followed: all while they are few, a sample while they are many.
//!
//! The kernel takes time for the events of each request, and we take some more to read them: at
//! 100,000 requests a second the benchmark would measure that too (docs/performance.md).

use std::time::Duration;

use crate::probe::trace::Then;

/// Requests that may be followed in each second, on the average.
const RATE: f64 = 2_000.0;
/// Requests that may be followed without a rest.
const BURST: f64 = 2_000.0;
/// How long the last requests of a sample are waited for, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;
/// The shortest rest that is worth switching for.
const SHORTEST_REST: Duration = Duration::from_millis(100);

/// Decides which requests count, and when the kernel may rest. A sample is made of all requests
/// that were queued within a span of time, however long they took: if it ended with the span, slow
/// ones would be left out more often than quick ones.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    since: u64,
    followed: u64,
    /// Requests that are queued later do not count.
    ends: Option<u64>,
}

impl Sampling {
    /// Takes note of requests that were followed, before they are counted; `since` is when the
    /// kernel's last rest ended.
    pub(super) fn note(&mut self, followed: usize, since: u64) {
        if since != self.since {
            *self = Self {
                since,
                ..Self::default()
            };
        }
        self.followed += followed as u64;
    }

    /// Whether a request that was queued then counts.
    pub(super) fn includes(&self, queued: u64) -> bool {
        self.ends.is_none_or(|ends| queued <= ends)
    }

    /// How to go on after everything until then was told; `oldest` is when the oldest request was
    /// queued that is still under way.
    pub(super) fn then(&mut self, until: u64, oldest: Option<u64>) -> Then {
        let Some(ends) = self.ends else {
            if self.followed as f64 > BURST + RATE * self.seconds(until) {
                self.ends = Some(until);
            }
            return Then::Follow;
        };
        let all_back = oldest.is_none_or(|queued| queued > ends);
        if !all_back && until.saturating_sub(ends) < PATIENCE {
            return Then::Follow;
        }
        let rest = self.followed as f64 / RATE - self.seconds(until);
        Then::Rest(Duration::from_secs_f64(rest.max(0.0)).max(SHORTEST_REST))
    }

    fn seconds(&self, until: u64) -> f64 {
        until.saturating_sub(self.since) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn step(sampling: &mut Sampling, followed: usize, until: u64, oldest: Option<u64>) -> Then {
        sampling.note(followed, sampling.since);
        sampling.then(until * MS, oldest.map(|at| at * MS))
    }

    #[test]
    fn few_requests_are_all_followed() {
        let mut sampling = Sampling::default();
        for second in 1..100 {
            let now = second * 1000;
            assert_eq!(step(&mut sampling, 1_900, now, None), Then::Follow);
            assert!(sampling.includes(now * MS + 1));
        }
    }

    #[test]
    fn a_sample_waits_for_its_slowest_request_and_takes_no_new_ones() {
        let mut sampling = Sampling::default();
        assert_eq!(step(&mut sampling, 3_000, 10, Some(9)), Then::Follow);
        assert!(sampling.includes(10 * MS));
        assert!(!sampling.includes(10 * MS + 1));
        assert_eq!(step(&mut sampling, 1_000, 15, Some(9)), Then::Follow);
        let Then::Rest(rest) = step(&mut sampling, 1_000, 20, Some(12)) else {
            panic!("everything of the sample is back");
        };
        assert!((rest.as_secs_f64() - 2.48).abs() < 1e-9, "{rest:?}");
    }

    #[test]
    fn after_a_rest_it_begins_anew() {
        let mut sampling = Sampling::default();
        step(&mut sampling, 9_000, 10, None);
        assert!(!sampling.includes(5_000 * MS));
        sampling.note(0, 5_000 * MS);
        assert_eq!(sampling.then(5_001 * MS, None), Then::Follow);
        assert!(sampling.includes(5_000 * MS));
    }

    #[test]
    fn a_request_that_hangs_is_not_waited_for_for_ever() {
        let mut sampling = Sampling::default();
        step(&mut sampling, 9_000, 10, Some(5));
        assert_eq!(step(&mut sampling, 0, 900, Some(5)), Then::Follow);
        assert!(matches!(
            step(&mut sampling, 0, 1_010, Some(5)),
            Then::Rest(_)
        ));
    }
}
