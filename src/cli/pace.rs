//! Timing of commands that repeat an action until a signal arrives.

use std::thread;
use std::time::{Duration, Instant};

use crate::engine::CancellationToken;

/// Maximum delay before a signal is noticed by a thread that also waits for something else.
pub(super) const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// When an action is due that was due at a time: then, or, if that is over, at the next step of the interval.
/// Steps that were missed, for example while the process was stopped, are left out.
pub(super) fn next_due(due: Instant, interval: Duration) -> Instant {
    let Some(over) = Instant::now().checked_duration_since(due) else {
        return due;
    };
    let steps = over.as_nanos() / interval.as_nanos().max(1) + 1;
    due + interval.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
}

/// Waits until `due`; false if a signal arrived. Call it on the thread that the signals wake.
pub(super) fn wait_until_due(due: Instant, control: &CancellationToken) -> bool {
    while !control.is_cancelled() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::park_timeout(left);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_actions_are_left_out() {
        let (interval, hour) = (Duration::from_millis(100), Duration::from_secs(3600));
        let begin = Instant::now();
        assert_eq!(next_due(begin + hour, interval), begin + hour);
        let late = begin.checked_sub(hour).unwrap();
        let due = next_due(late, interval);
        assert!(due > begin && due <= Instant::now() + interval);
        assert_eq!((due - late).as_millis() % 100, 0);
    }
}
