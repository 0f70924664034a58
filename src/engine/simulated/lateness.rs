//! Delay until a host observes a drive's completions: behind FUSE, a loop device, a busy or an idle
//! processor.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

/// Correlation time of the slow component in nanoseconds.
const CORRELATION_TIME: f64 = 0.4e9;
/// Standard deviation of the logarithm of the component that differs with every completion.
const FAST_DEVIATION: f64 = 0.6;
/// Standard deviation of the slow component, and the growth per e-fold of waiting, relative to the
/// median.
const SLOW_DEVIATION: f64 = 0.3;
const WAKEUP_GROWTH: f64 = 0.25;
/// Waiting time above which processors enter deeper idle states, in nanoseconds.
const IDLE_THRESHOLD: f64 = 150e3;
/// Fraction of the completions during which another process preempts the host, and the longest
/// preemption in medians.
const PREEMPTION_CHANCE: f64 = 0.005;
const MAX_DELAY: f64 = 20.0;

/// Completion delays. Each is the sum of a component that differs with every completion
/// (log-normal), one that changes slowly (autoregressive), one that grows with the time that the
/// host has waited, and occasionally a long one.
#[derive(Debug)]
pub struct Lateness {
    median_delay: f64,
    random: Xoshiro256PlusPlus,
    slow_component: f64,
    last_time: f64,
}

impl Lateness {
    /// Delays with a median in nanoseconds; 0 disables them.
    pub fn new(median: f64, seed: u64) -> Self {
        Self {
            median_delay: median,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6c61_7465),
            slow_component: 0.0,
            last_time: 0.0,
        }
    }

    /// Delay in nanoseconds of a completion at time `at` for which the host has waited `waited`
    /// nanoseconds.
    pub fn delay_of(&mut self, at: f64, waited: f64) -> f64 {
        if self.median_delay <= 0.0 {
            return 0.0;
        }
        let decay = (-(at - self.last_time).max(0.0) / CORRELATION_TIME).exp();
        self.last_time = at;
        let fresh = (1.0 - decay * decay).sqrt();
        self.slow_component = decay * self.slow_component
            + fresh * SLOW_DEVIATION * self.random.sample::<f64, _>(StandardNormal);
        let quick = (FAST_DEVIATION * self.random.sample::<f64, _>(StandardNormal)).exp();
        let asleep = WAKEUP_GROWTH * (waited / IDLE_THRESHOLD).max(1.0).ln();
        let preempted = match self.random.random::<f64>() < PREEMPTION_CHANCE {
            true => MAX_DELAY * self.random.random::<f64>(),
            false => 0.0,
        };
        self.median_delay * (quick + self.slow_component + asleep + preempted).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::general::robust;

    #[test]
    fn completion_delays_match_median_and_are_correlated() {
        let mut lateness = Lateness::new(40e3, 7);
        let delays: Vec<f64> = (1..=4000)
            .map(|number| lateness.delay_of(f64::from(number) * 10e6, 100e3))
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
        assert_eq!(Lateness::new(0.0, 1).delay_of(1.0, 1e9), 0.0);
    }
}
