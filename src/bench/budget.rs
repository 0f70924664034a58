//! Limits of a whole test, shared out to its phases.

use std::time::Duration;

use crate::engine::{Limits, Outcome};

/// What the limits of a whole test leave for the phases to come.
///
/// Each phase gets an even share of what is left, so that a short test still reaches its last
/// phase; what a phase does not use is there for the others.
#[derive(Debug, Clone)]
pub struct Budget {
    left: Limits,
}

impl Budget {
    /// All of these limits is left.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { left: limits }
    }

    /// Limits for the first of `phases` phases to come: its share of what is left, and no more
    /// than the phase wants for itself. At least one block of `block` bytes, as long as that
    /// is left; `None` when a limit is used up.
    #[must_use]
    pub fn share(&self, phases: u64, block: u64, own: Limits) -> Option<Limits> {
        let phases = phases.max(1);
        let left = &self.left;
        let spent = left.duration == Some(Duration::ZERO)
            || left.bytes.is_some_and(|bytes| bytes < block)
            || left.requests == Some(0);
        if spent {
            return None;
        }
        let parts = u32::try_from(phases).unwrap_or(u32::MAX);
        let blocks = |bytes: u64| (bytes / block.max(1)).div_ceil(phases) * block.max(1);
        Some(Limits {
            duration: lesser(left.duration.map(|time| time / parts), own.duration),
            bytes: lesser(left.bytes.map(blocks), own.bytes),
            requests: lesser(
                left.requests.map(|requests| requests.div_ceil(phases)),
                own.requests,
            ),
        })
    }

    /// Takes away what a phase used. A phase that used next to no time still counts as one.
    pub fn spend(&mut self, outcome: &Outcome) {
        let finish = outcome.finish.unwrap_or_default();
        let time = outcome.elapsed + finish.sync + finish.close;
        self.take_time(time);
        // What was moved in the ramp was moved as well.
        let moved = outcome.tally.moved();
        self.take(
            moved.read_bytes + moved.written_bytes,
            moved.reads + moved.writes,
        );
    }

    /// Takes away time.
    pub fn take_time(&mut self, time: Duration) {
        let left = &mut self.left;
        left.duration = left.duration.map(|left| left.saturating_sub(time));
    }

    /// Takes away bytes and requests.
    pub fn take(&mut self, bytes: u64, requests: u64) {
        let left = &mut self.left;
        left.bytes = left.bytes.map(|left| left.saturating_sub(bytes));
        left.requests = left.requests.map(|left| left.saturating_sub(requests));
    }
}

fn lesser<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(seconds: u64, bytes: u64, requests: u64) -> Limits {
        Limits {
            duration: Some(Duration::from_secs(seconds)),
            bytes: Some(bytes),
            requests: Some(requests),
        }
    }

    #[test]
    fn each_phase_gets_its_share_in_whole_blocks() {
        let share = Budget::new(limits(10, 10_000, 25)).share(10, 300, Limits::default());
        let expected = Limits {
            duration: Some(Duration::from_secs(1)),
            bytes: Some(1200),
            requests: Some(3),
        };
        assert_eq!(share, Some(expected));
    }

    #[test]
    fn a_phase_never_gets_more_than_it_wants() {
        let own = limits(1, 512, 1);
        assert_eq!(
            Budget::new(limits(10, 10_240, 100)).share(2, 512, own),
            Some(own)
        );
        assert_eq!(Budget::new(Limits::default()).share(2, 512, own), Some(own));
    }

    #[test]
    fn what_is_used_up_is_gone() {
        for spent in [limits(0, 512, 1), limits(1, 511, 1), limits(1, 512, 0)] {
            assert_eq!(Budget::new(spent).share(1, 512, Limits::default()), None);
        }
    }
}
