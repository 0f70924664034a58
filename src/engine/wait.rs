//! How a worker waits for completions: asleep in the kernel, or awake.

use std::time::Duration;

/// How a worker waits for completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WaitMode {
    /// In the kernel, as an application does. The latency includes the time in which the processor
    /// wakes up.
    #[default]
    Sleep,
    /// On the completion queue, without sleeping, where [`SpinPolicy`] allows it.
    Spin,
    /// In turns of [`TURN`], asleep first: what waking up costs is the difference.
    Alternate,
}

/// Length of the turns of [`WaitMode::Alternate`].
pub const TURN: Duration = Duration::from_millis(20);

/// How long a worker spins in turns that alternate with sleep: they are short, and tell nothing where the
/// worker falls asleep.
pub const LONGEST_SPIN_IN_TURN_NS: u64 = 2_000_000;

impl WaitMode {
    /// Whether a request that starts at this time (nanoseconds since the origin) is waited for awake.
    #[inline(always)]
    #[must_use]
    pub fn spins_at(self, now_ns: u64) -> bool {
        match self {
            Self::Sleep => false,
            Self::Spin => true,
            Self::Alternate => now_ns / TURN.as_nanos() as u64 % 2 == 1,
        }
    }
}

/// Whether so many workers may spin: as many spinning threads as processors would keep the kernel from
/// completing requests. The number of processors is that of the affinity mask or of the control
/// group's quota, whichever is smaller.
#[must_use]
pub fn may_spin(workers: u32) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (workers as usize) < processors
}

/// The longest time to spin.
const MAX_SPIN_NS: u64 = 50_000;
/// Number of waits whose median is taken.
const HISTORY: usize = 256;
/// Waits between two looks at how many spins succeeded, and between two medians.
const INTERVAL: u32 = 64;
/// The same after a time of sleeping.
const TRIAL: u32 = 16;
/// How long the worker sleeps instead where spinning rarely succeeds.
const REST_NS: u64 = 1_000_000_000;

/// For how long a worker spins before it sleeps: 1.5 times the median of its last waits, and not at all
/// for a second where fewer than half of its spins ended with a completion. A shorter limit than the longest
/// is given up first: the drive, or the processor on which the kernel completes the requests, became slower.
#[derive(Debug)]
pub struct SpinPolicy {
    waits_ns: Vec<u32>,
    /// Next element of `waits_ns` to overwrite.
    next: usize,
    limit_ns: u64,
    /// Spins in the present interval, and those that succeeded.
    tried: u32,
    succeeded: u32,
    interval: u32,
    rests_until_ns: u64,
}

impl Default for SpinPolicy {
    fn default() -> Self {
        Self {
            waits_ns: Vec::with_capacity(HISTORY),
            next: 0,
            limit_ns: MAX_SPIN_NS,
            tried: 0,
            succeeded: 0,
            interval: INTERVAL,
            rests_until_ns: 0,
        }
    }
}

impl SpinPolicy {
    /// For how long to spin from this time on; `None`: sleep.
    #[inline]
    #[must_use]
    pub fn limit_ns(&self, now_ns: u64) -> Option<u64> {
        (now_ns >= self.rests_until_ns).then_some(self.limit_ns)
    }

    /// Notes a wait in which the worker spun: how long it took until the completion, whether the worker
    /// was still awake then, and when that was.
    #[inline]
    pub fn record(&mut self, waited_ns: u64, succeeded: bool, now_ns: u64) {
        let waited_ns = u32::try_from(waited_ns).unwrap_or(u32::MAX);
        if self.waits_ns.len() < HISTORY {
            self.waits_ns.push(waited_ns);
        } else {
            self.waits_ns[self.next] = waited_ns;
            self.next = (self.next + 1) % HISTORY;
        }
        self.tried += 1;
        self.succeeded += u32::from(succeeded);
        if self.tried == self.interval {
            self.end_interval(now_ns);
        }
    }

    #[cold]
    fn end_interval(&mut self, now_ns: u64) {
        if 2 * self.succeeded < self.tried {
            let was_longest = self.limit_ns == MAX_SPIN_NS;
            if was_longest {
                self.rests_until_ns = now_ns.saturating_add(REST_NS);
            }
            self.interval = if was_longest { TRIAL } else { INTERVAL };
            self.limit_ns = MAX_SPIN_NS;
            // Earlier waits say little now.
            self.waits_ns.clear();
            self.next = 0;
        } else {
            self.interval = INTERVAL;
            self.limit_ns = (self.median_ns() * 3 / 2).min(MAX_SPIN_NS);
        }
        self.tried = 0;
        self.succeeded = 0;
    }

    fn median_ns(&self) -> u64 {
        let mut sorted = [0; HISTORY];
        let sorted = &mut sorted[..self.waits_ns.len()];
        sorted.copy_from_slice(&self.waits_ns);
        let middle = sorted.len() / 2;
        u64::from(*sorted.select_nth_unstable(middle).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a worker wait for requests with these latencies, one after the other, and returns how many of
    /// them it saw without sleeping, and the time at the end.
    fn wait_for(
        policy: &mut SpinPolicy,
        begin_ns: u64,
        latencies_ns: impl IntoIterator<Item = u64>,
    ) -> (usize, u64) {
        let (mut awake, mut now_ns) = (0, begin_ns);
        for latency_ns in latencies_ns {
            let limit_ns = policy.limit_ns(now_ns);
            now_ns += latency_ns;
            if let Some(limit_ns) = limit_ns {
                let succeeded = latency_ns <= limit_ns;
                awake += usize::from(succeeded);
                policy.record(latency_ns, succeeded, now_ns);
            }
        }
        (awake, now_ns)
    }

    /// 64 requests of 10 us, 64 that miss the limit of 15 us, and 64 more.
    const SLOWER: [u64; 192] = {
        let mut all = [40_000; 192];
        let mut index = 0;
        while index < 64 {
            all[index] = 10_000;
            index += 1;
        }
        all
    };

    #[test]
    fn spin_policy_on_sequences_of_latencies() {
        // (latencies, times repeated, waits that end awake)
        let cases: [(&[u64], usize, usize); 6] = [
            // Always the same, fast and at the limit.
            (&[10_000], 1000, 1000),
            (&[50_000], 1000, 1000),
            // A disk: 64 spins in vain, then none for a second of 100 requests.
            (&[10_000_000], 160, 0),
            // One of four is slow: the median is fast, the others are seen.
            (&[20_000, 21_000, 22_000, 400_000], 250, 750),
            // Twice as slow as the median is too long to spin for: 1.5 times the median is the limit,
            // once there is a median.
            (&[20_000, 20_000, 40_000], 64, 2 * 64 + 21),
            // The drive becomes slower: the limit follows after an interval of failures.
            (&SLOWER, 1, 64 + 64),
        ];
        for (latencies, times, expected) in cases {
            let all = latencies.iter().copied().cycle();
            let mut policy = SpinPolicy::default();
            let (awake, _) = wait_for(&mut policy, 0, all.take(latencies.len() * times));
            assert_eq!(awake, expected, "{latencies:?}");
        }
    }

    #[test]
    fn worker_that_spins_in_vain_sleeps_for_a_second_and_tries_again() {
        let mut policy = SpinPolicy::default();
        let (_, now_ns) = wait_for(&mut policy, 0, [80_000; 64]);
        assert_eq!(policy.limit_ns(now_ns), None);
        assert_eq!(policy.limit_ns(now_ns + REST_NS - 1), None);
        let later_ns = now_ns + REST_NS;
        assert_eq!(policy.limit_ns(later_ns), Some(MAX_SPIN_NS));
        // 16 spins in vain are enough now.
        let (_, now_ns) = wait_for(&mut policy, later_ns, [80_000; 15]);
        assert!(policy.limit_ns(now_ns).is_some());
        let (_, now_ns) = wait_for(&mut policy, now_ns, [80_000]);
        assert_eq!(policy.limit_ns(now_ns), None);
        // The drive became fast: a trial succeeds, and the limit follows the new median.
        let (awake, now_ns) = wait_for(&mut policy, now_ns + REST_NS, [8000; 100]);
        assert_eq!((awake, policy.limit_ns(now_ns)), (100, Some(12_000)));
    }

    #[test]
    fn turns_alternate_and_begin_asleep() {
        let awake = [0, 19_999_999, 20_000_000, 39_999_999, 40_000_000];
        let awake = awake.map(|at| WaitMode::Alternate.spins_at(at));
        assert_eq!(awake, [false, false, true, true, false]);
        assert!(WaitMode::Spin.spins_at(0) && !WaitMode::Sleep.spins_at(0));
    }
}
