//! How fast something moves, and when it will be done.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::live::TransferState;

/// Observations older than about this hardly count.
const TIME_CONSTANT: Duration = Duration::from_secs(5);
/// Without movement for this long it is stalled.
const STALLED_AFTER: Duration = Duration::from_secs(3);
/// Rates of single intervals that are kept for the range.
const RECENT: usize = 20;
/// Fewer rates than this say nothing about how they vary.
const LEAST_FOR_RANGE: usize = 3;

/// Follows a position through time.
#[derive(Debug, Clone, Default)]
pub struct Estimate {
    first: Option<(Duration, u64)>,
    last: Option<(Duration, u64)>,
    last_moved: Option<Duration>,
    weighted_rates: f64,
    weights: f64,
    recent: VecDeque<f64>,
}

/// Time left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    /// At the smoothed rate.
    pub likely: Option<Duration>,
    /// At the best of the recent rates (their 90th percentile).
    pub low: Option<Duration>,
    /// At the worst of the recent rates (their 10th percentile); `None` also when that is nothing.
    pub high: Option<Duration>,
}

impl Estimate {
    /// Takes note of a position. A position before the last one starts all over.
    pub fn observe(&mut self, at: Duration, position: u64) {
        let Some((before, was)) = self.last else {
            self.first = Some((at, position));
            self.last = self.first;
            self.last_moved = Some(at);
            return;
        };
        let Some(elapsed) = at.checked_sub(before).filter(|time| !time.is_zero()) else {
            return;
        };
        let Some(moved) = position.checked_sub(was) else {
            *self = Self::default();
            self.observe(at, position);
            return;
        };
        self.last = Some((at, position));
        if moved > 0 {
            self.last_moved = Some(at);
        }
        self.take(moved as f64 / elapsed.as_secs_f64(), elapsed);
    }

    /// Exponentially weighted mean for intervals of any length, the bias of the beginning taken
    /// out by dividing by the sum of the weights.
    fn take(&mut self, rate: f64, elapsed: Duration) {
        let kept = (-elapsed.as_secs_f64() / TIME_CONSTANT.as_secs_f64()).exp();
        self.weighted_rates = self.weighted_rates * kept + rate * (1.0 - kept);
        self.weights = self.weights * kept + (1.0 - kept);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(rate);
    }

    /// Smoothed rate in bytes per second; `None` until two positions were seen.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.weights > 0.0).then(|| self.weighted_rates / self.weights)
    }

    /// Mean rate in bytes per second since the first position.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        let ((from, first), (to, last)) = (self.first?, self.last?);
        let elapsed = to.checked_sub(from).filter(|time| !time.is_zero())?;
        Some(last.checked_sub(first)? as f64 / elapsed.as_secs_f64())
    }

    /// What a transfer shows: once finished the mean, before that the smoothed rate.
    #[must_use]
    pub fn shown(&self, state: TransferState) -> Option<f64> {
        match state {
            TransferState::Finished => self.average(),
            _ => self.rate(),
        }
    }

    /// The last position.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.last.map(|(_, position)| position)
    }

    /// For how long it has not moved.
    #[must_use]
    pub fn still_for(&self, at: Duration) -> Duration {
        self.last_moved
            .map_or(Duration::ZERO, |moved| at.saturating_sub(moved))
    }

    /// Whether it has not moved for a while.
    #[must_use]
    pub fn is_stalled(&self, at: Duration) -> bool {
        self.still_for(at) >= STALLED_AFTER
    }

    /// Time until `size` is reached. `low <= likely <= high` where they are known; unknown while
    /// it is stalled.
    #[must_use]
    pub fn left(&self, at: Duration, size: u64) -> Left {
        let Some(position) = self.position() else {
            return Left::default();
        };
        let remaining = size.saturating_sub(position);
        if remaining == 0 {
            let none = Some(Duration::ZERO);
            return Left {
                likely: none,
                low: none,
                high: none,
            };
        }
        if self.is_stalled(at) {
            return Left::default();
        }
        let Some(likely) = self.rate().and_then(|rate| time_for(remaining, rate)) else {
            return Left::default();
        };
        let mut left = Left {
            likely: Some(likely),
            low: None,
            high: None,
        };
        if self.recent.len() >= LEAST_FOR_RANGE {
            let mut rates: Vec<f64> = self.recent.iter().copied().collect();
            rates.sort_by(f64::total_cmp);
            let last = rates.len() - 1;
            left.low =
                time_for(remaining, rates[(last * 9).div_ceil(10)]).map(|low| low.min(likely));
            left.high = time_for(remaining, rates[last / 10]).map(|high| high.max(likely));
        }
        left
    }
}

/// `None` when it will never be done, or not within any time worth naming (a hundred years).
fn time_for(bytes: u64, rate: f64) -> Option<Duration> {
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
    fn a_steady_copy_ends_when_it_should() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.rate(), None);
        for index in 0..5 {
            estimate.observe(second(index), index * 100);
        }
        assert!((estimate.rate().unwrap() - 100.0).abs() < 1e-9);
        let left = estimate.left(second(4), 1400);
        assert_eq!(left.likely, Some(second(10)));
        assert_eq!((left.low, left.high), (Some(second(10)), Some(second(10))));
    }

    #[test]
    fn two_positions_suffice_for_a_likely_end_but_not_for_a_range() {
        let mut estimate = Estimate::default();
        estimate.observe(second(1), 0);
        estimate.observe(second(2), 50);
        let left = estimate.left(second(2), 100);
        assert_eq!(left.likely, Some(second(1)));
        assert_eq!((left.low, left.high), (None, None));
    }

    #[test]
    fn the_rate_follows_a_change_within_a_few_seconds() {
        let mut estimate = Estimate::default();
        let mut position = 0;
        for index in 0..30 {
            estimate.observe(second(index), position);
            position += if index < 15 { 1000 } else { 100 };
        }
        let rate = estimate.rate().unwrap();
        assert!((100.0..200.0).contains(&rate), "{rate}");
    }

    #[test]
    fn what_does_not_move_is_stalled_and_has_no_end() {
        let mut estimate = Estimate::default();
        for (at, position) in [(0, 0), (1, 10), (2, 10), (3, 10), (4, 10)] {
            estimate.observe(second(at), position);
        }
        assert!(estimate.is_stalled(second(4)));
        assert_eq!(estimate.left(second(4), 100), Left::default());
        estimate.observe(second(5), 20);
        assert!(!estimate.is_stalled(second(5)));
    }

    #[test]
    fn a_position_that_went_back_starts_all_over() {
        let mut estimate = Estimate::default();
        estimate.observe(second(0), 100);
        estimate.observe(second(1), 200);
        estimate.observe(second(2), 50);
        assert_eq!(estimate.rate(), None);
        assert_eq!(estimate.position(), Some(50));
    }

    proptest! {
        #[test]
        fn estimates_are_ordered_and_finite(
            steps in proptest::collection::vec((0_u64..1 << 36, 0_u64..1 << 50), 0..60),
            size in any::<u64>(),
        ) {
            let (mut at, mut position) = (Duration::ZERO, 0_u64);
            let mut estimate = Estimate::default();
            for (time, bytes) in steps {
                at += Duration::from_nanos(time);
                position = position.wrapping_add(bytes);
                estimate.observe(at, position);
            }
            if let Some(rate) = estimate.rate() {
                prop_assert!(rate.is_finite() && rate >= 0.0);
            }
            let left = estimate.left(at, size);
            if let (Some(low), Some(likely)) = (left.low, left.likely) {
                prop_assert!(low <= likely);
            }
            if let (Some(likely), Some(high)) = (left.likely, left.high) {
                prop_assert!(likely <= high);
            }
        }
    }
}
