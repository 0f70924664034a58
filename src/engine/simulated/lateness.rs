//! How late a host sees the answers of a drive: behind FUSE, a loop device, a busy or a sleeping
//! processor.

use crate::drive::random::Random;

/// Time in nanoseconds after which the slow part has forgotten most of what it was.
const MEMORY: f64 = 0.4e9;
/// Standard deviation of the logarithm of the part that differs with every answer.
const SCATTER: f64 = 0.6;
/// Standard deviation of the slow part, and the growth for each e-fold of waiting, over the median.
const SLOW: f64 = 0.3;
const WAKING: f64 = 0.25;
/// The wait from which on processors sleep deeper, in nanoseconds.
const SHORT_WAIT: f64 = 150e3;
/// Share of the answers during which another program had the processor, and for how many medians at
/// most.
const PREEMPTED: f64 = 0.005;
const LONGEST: f64 = 20.0;

/// Delays of answers. Each is the sum of one that differs with every answer (log-normal), one that
/// changes slowly (autoregressive), one that grows with the time that the host has waited, and seldom a
/// long one.
#[derive(Debug)]
pub struct Lateness {
    median: f64,
    random: Random,
    slow: f64,
    at: f64,
}

impl Lateness {
    /// Delays around a median in nanoseconds; with 0 there are none.
    #[must_use]
    pub fn new(median: f64, seed: u64) -> Self {
        Self {
            median,
            random: Random::new(seed ^ 0x6c61_7465),
            slow: 0.0,
            at: 0.0,
        }
    }

    /// The delay in nanoseconds of an answer that is ready at `at`, for which the host has waited so
    /// long.
    pub fn of(&mut self, at: f64, waited: f64) -> f64 {
        if self.median <= 0.0 {
            return 0.0;
        }
        let kept = (-(at - self.at).max(0.0) / MEMORY).exp();
        self.at = at;
        let fresh = (1.0 - kept * kept).sqrt();
        self.slow = kept * self.slow + fresh * SLOW * self.random.normal();
        let quick = (SCATTER * self.random.normal()).exp();
        let asleep = WAKING * (waited / SHORT_WAIT).max(1.0).ln();
        let preempted = match self.random.share() < PREEMPTED {
            true => LONGEST * self.random.share(),
            false => 0.0,
        };
        self.median * (quick + self.slow + asleep + preempted).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::robust;

    #[test]
    fn answers_are_late_by_about_the_median_and_neighbours_alike() {
        let mut lateness = Lateness::new(40e3, 7);
        let delays: Vec<f64> = (1..=4000)
            .map(|number| lateness.of(f64::from(number) * 10e6, 100e3))
            .collect();
        let median = robust::median(delays.iter().copied()).unwrap();
        assert!((median / 40e3 - 1.0).abs() < 0.1, "{median}");
        let alike = |distance: usize| {
            let pairs = delays.windows(distance + 1);
            let products =
                pairs.map(|pair| (pair[0].min(2e5) - median) * (pair[distance].min(2e5) - median));
            products.sum::<f64>()
        };
        assert!(alike(1) > 3.0 * alike(2000).abs());
        assert_eq!(Lateness::new(0.0, 1).of(1.0, 1e9), 0.0);
    }
}
