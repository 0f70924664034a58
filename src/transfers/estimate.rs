//! Transfer rate, and estimated remaining time.

use std::collections::VecDeque;
use std::time::Duration;

use super::view::TransferState;

/// Time constant of the exponential mean.
const TIME_CONSTANT: Duration = Duration::from_secs(5);
/// A transfer without progress for this long is stalled.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(3);
/// Number of interval rates kept for the range.
const MAX_RECENT_RATES: usize = 20;
/// At its end for this long without a movement, the remaining time is unknown: the program waits for
/// something else, such as its fsync(2).
const END_REACHED_FOR: Duration = Duration::from_secs(2);
/// Minimum number of rates for a range.
const MIN_RATES: usize = 3;

/// Estimates the rate of something that advances, in bytes or other units.
#[derive(Debug, Clone, Default)]
pub struct RateEstimator {
    first: Option<(Duration, u64)>,
    last: Option<(Duration, u64)>,
    last_movement: Option<Duration>,
    weighted_rate_sum: f64,
    weight_sum: f64,
    recent_rates: VecDeque<f64>,
}

/// Remaining time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Eta {
    /// At the smoothed rate.
    pub likely: Option<Duration>,
    /// At the best of the recent rates (their 90th percentile).
    pub low: Option<Duration>,
    /// At the worst of the recent rates (their 10th percentile); `None` also when that is zero.
    pub high: Option<Duration>,
}

impl RateEstimator {
    /// Records a value. A value before the last one restarts the estimate.
    pub fn observe(&mut self, at: Duration, value: u64) {
        if self.last.is_some_and(|(_, was)| value < was) {
            *self = Self::default();
        }
        let Some((before, was)) = self.last else {
            self.first = Some((at, value));
            self.last = self.first;
            self.last_movement = Some(at);
            return;
        };
        let Some(elapsed) = at.checked_sub(before).filter(|time| !time.is_zero()) else {
            return;
        };
        self.last = Some((at, value));
        if value > was {
            self.last_movement = Some(at);
        }
        // An exponentially weighted mean for intervals of any length; dividing by the sum of the weights
        // removes the initial bias.
        let rate = (value - was) as f64 / elapsed.as_secs_f64();
        let decay = (-elapsed.as_secs_f64() / TIME_CONSTANT.as_secs_f64()).exp();
        self.weighted_rate_sum = self.weighted_rate_sum * decay + rate * (1.0 - decay);
        self.weight_sum = self.weight_sum * decay + (1.0 - decay);
        if self.recent_rates.len() == MAX_RECENT_RATES {
            self.recent_rates.pop_front();
        }
        self.recent_rates.push_back(rate);
    }

    /// Sets the final value, as found at a look at `at`, after the end. `reached` is the time of the last
    /// write, where it is known; otherwise it is estimated from the rate.
    pub fn set_final(&mut self, at: Duration, value: u64, reached: Option<Duration>) {
        let Some((seen, was)) = self.last else {
            return;
        };
        let mut end = seen;
        // Otherwise the last bytes had been transferred before.
        if value > was {
            let rate = self.smoothed_rate();
            let rest = rate.and_then(|rate| time_to_transfer(value - was, rate));
            end = reached.or(rest.map(|rest| seen + rest)).unwrap_or(at);
        }
        self.last = Some((end.clamp(seen, at.max(seen)), value));
    }

    /// Smoothed rate per second; `None` before the second value.
    #[must_use]
    pub fn smoothed_rate(&self) -> Option<f64> {
        (self.weight_sum > 0.0).then(|| self.weighted_rate_sum / self.weight_sum)
    }

    /// Rate of the last interval per second; `None` before the second value, and when it is over.
    #[must_use]
    pub fn interval_rate(&self, state: TransferState) -> Option<f64> {
        let last = self.recent_rates.back().copied();
        last.filter(|_| !state.is_over())
    }

    /// The rate that is shown: the mean since the first value once it is over, the smoothed rate before.
    #[must_use]
    pub fn displayed_rate(&self, state: TransferState) -> Option<f64> {
        if !state.is_over() {
            return self.smoothed_rate();
        }
        let ((from, first), (to, last)) = (self.first?, self.last?);
        let elapsed = to.checked_sub(from).filter(|time| !time.is_zero())?;
        Some(last.checked_sub(first)? as f64 / elapsed.as_secs_f64())
    }

    /// The last value.
    #[must_use]
    pub fn last_value(&self) -> Option<u64> {
        self.last.map(|(_, value)| value)
    }

    /// Time since the value last moved.
    #[must_use]
    pub fn time_without_movement(&self, at: Duration) -> Duration {
        self.last_movement
            .map_or(Duration::ZERO, |moved| at.saturating_sub(moved))
    }

    /// Time until `total` is reached. `low <= likely <= high` where they are known; unknown while
    /// it is stalled.
    #[must_use]
    pub fn eta(&self, at: Duration, total: u64) -> Eta {
        let remaining = total.saturating_sub(self.last_value().unwrap_or(0));
        if remaining == 0 && self.time_without_movement(at) < END_REACHED_FOR {
            let [likely, low, high] = [Some(Duration::ZERO); 3];
            return Eta { likely, low, high };
        }
        let is_stalled = self.time_without_movement(at) >= STALLED_AFTER;
        let rate = self.smoothed_rate().filter(|_| !is_stalled);
        let likely = rate.and_then(|rate| time_to_transfer(remaining, rate));
        let Some(likely) = likely.filter(|_| remaining > 0) else {
            return Eta::default();
        };
        let mut eta = Eta {
            likely: Some(likely),
            ..Eta::default()
        };
        if self.recent_rates.len() >= MIN_RATES {
            let mut rates: Vec<f64> = self.recent_rates.iter().copied().collect();
            rates.sort_by(f64::total_cmp);
            let last = rates.len() - 1;
            let time = |index: usize| time_to_transfer(remaining, rates[index]);
            eta.low = time((last * 9).div_ceil(10)).map(|low| low.min(likely));
            eta.high = time(last / 10).map(|high| high.max(likely));
        }
        eta
    }
}

/// `None` when it will never finish, or not within a hundred years.
pub(super) fn time_to_transfer(bytes: u64, rate: f64) -> Option<Duration> {
    const CENTURY: f64 = 100.0 * 365.25 * 86_400.0;
    let seconds = bytes as f64 / rate;
    (rate > 0.0 && seconds < CENTURY).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn second(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn eta_of_steady_copy_is_exact() {
        let mut estimate = RateEstimator::default();
        assert_eq!(estimate.smoothed_rate(), None);
        for index in 0..5 {
            estimate.observe(second(index), index * 100);
        }
        assert!((estimate.smoothed_rate().unwrap() - 100.0).abs() < 1e-9);
        let eta = estimate.eta(second(4), 1400);
        assert_eq!(eta.likely, Some(second(10)));
        assert_eq!((eta.low, eta.high), (Some(second(10)), Some(second(10))));
    }

    #[test]
    fn two_positions_yield_eta_without_range() {
        let mut estimate = RateEstimator::default();
        estimate.observe(second(1), 0);
        estimate.observe(second(2), 50);
        let eta = estimate.eta(second(2), 100);
        assert_eq!(eta.likely, Some(second(1)));
        assert_eq!((eta.low, eta.high), (None, None));
    }

    #[test]
    fn smoothed_rate_follows_a_change_within_seconds() {
        let mut estimate = RateEstimator::default();
        let mut position = 0;
        for index in 0..30 {
            estimate.observe(second(index), position);
            position += if index < 15 { 1000 } else { 100 };
        }
        let rate = estimate.smoothed_rate().unwrap();
        assert!((100.0..200.0).contains(&rate), "{rate}");
    }

    #[test]
    fn estimator_without_movement_is_stalled_without_eta() {
        let mut estimate = RateEstimator::default();
        for (at, position) in [(0, 0), (1, 10), (2, 10), (3, 10), (4, 10)] {
            estimate.observe(second(at), position);
        }
        assert_eq!(estimate.eta(second(4), 100), Eta::default());
        estimate.observe(second(5), 20);
        assert!(estimate.eta(second(5), 100).likely.is_some());
    }

    #[test]
    fn mean_rate_contains_the_time_of_the_last_bytes() {
        let at_end = |position, reached| {
            let mut estimate = RateEstimator::default();
            for index in 0..=4 {
                estimate.observe(second(index), index * 100);
            }
            estimate.set_final(second(6), position, reached);
            estimate.displayed_rate(TransferState::Finished).unwrap()
        };
        assert_eq!(at_end(500, None), 100.0, "estimated");
        assert_eq!(at_end(500, Some(second(5))), 100.0, "known");
        assert_eq!(at_end(600, Some(second(5))), 120.0);
        assert_eq!(at_end(800, None), 800.0 / 6.0, "not after the look");
        assert_eq!(at_end(400, Some(second(5))), 100.0, "an idle writer");
    }

    #[test]
    fn end_that_is_reached_but_not_closed_has_no_eta() {
        let mut estimate = RateEstimator::default();
        for (at, position) in [(0, 0), (1, 100), (2, 100), (3, 100)] {
            estimate.observe(second(at), position);
        }
        assert_eq!(estimate.eta(second(3), 100), Eta::default());
    }

    #[test]
    fn estimator_restarts_when_position_goes_back() {
        let mut estimate = RateEstimator::default();
        estimate.observe(second(0), 100);
        estimate.observe(second(1), 200);
        estimate.observe(second(2), 50);
        assert_eq!(estimate.smoothed_rate(), None);
        assert_eq!(estimate.last_value(), Some(50));
    }

    proptest! {
        #[test]
        fn eta_bounds_are_ordered_and_rates_finite(
            steps in proptest::collection::vec((0_u64..1 << 36, 0_u64..1 << 50), 0..60),
            size in any::<u64>(),
        ) {
            let (mut at, mut position) = (Duration::ZERO, 0_u64);
            let mut estimate = RateEstimator::default();
            for (time, bytes) in steps {
                at += Duration::from_nanos(time);
                position = position.wrapping_add(bytes);
                estimate.observe(at, position);
            }
            if let Some(rate) = estimate.smoothed_rate() {
                prop_assert!(rate.is_finite() && rate >= 0.0);
            }
            let eta = estimate.eta(at, size);
            if let (Some(low), Some(likely)) = (eta.low, eta.likely) {
                prop_assert!(low <= likely);
            }
            if let (Some(likely), Some(high)) = (eta.likely, eta.high) {
                prop_assert!(likely <= high);
            }
        }
    }
}
