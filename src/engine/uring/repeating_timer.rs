//! A timer in the ring that ends waits: those for several completions when the drive stalls, and every wait
//! after [`MAX_WAIT`](super::completion_batch::MAX_WAIT), so that a cancellation is seen.
//!
//! A timeout for each system call would do it too, but the kernel sets the processor's timer for it
//! each time, which in a virtual machine costs up to as much as a request. A repeating timeout
//! (`IORING_TIMEOUT_MULTISHOT`, Linux 6.4) is set once in each period. It ends a wait
//! whatever the number of completions (`io_should_wake`, io_uring/io_uring.c).

use std::time::Duration;

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode};

/// Whether the timer repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerState {
    /// It is not in the ring.
    Stopped,
    /// Submitted, and not expired yet: it may turn out to be unsupported.
    Started,
    /// It ends a wait at least once in each period.
    Running,
    /// The kernel has no such timeout.
    Unsupported,
}

/// A repeating timeout in a ring.
#[derive(Debug)]
pub struct RepeatingTimer {
    /// The kernel reads it when the timeout is submitted.
    period: Box<Timespec>,
    /// Expiries after which it ends; 0: it does not.
    expiries: u32,
    user_data: u64,
    state: TimerState,
    /// Entries before it in the submission queue, until the kernel has taken it from there.
    entries_ahead: Option<usize>,
}

impl RepeatingTimer {
    /// A timer that is not running, whose completions will have this `user_data`.
    #[must_use]
    pub fn new(period: Duration, expiries: u32, user_data: u64) -> Self {
        Self {
            period: Box::new(period.into()),
            expiries,
            user_data,
            state: TimerState::Stopped,
            entries_ahead: None,
        }
    }

    /// Whether its entry is in the submission queue.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.entries_ahead.is_some()
    }

    /// Its state.
    #[inline]
    #[must_use]
    pub fn state(&self) -> TimerState {
        self.state
    }

    /// The kernel has taken so many entries from the submission queue.
    #[inline]
    pub fn record_submission(&mut self, entries: usize) {
        if let Some(ahead) = self.entries_ahead {
            self.entries_ahead = ahead.checked_sub(entries);
        }
    }

    /// Starts the timer with the next submission unless it runs, and returns its state.
    #[inline]
    pub fn start(&mut self, ring: &mut IoUring) -> TimerState {
        if self.state == TimerState::Stopped {
            let entry = opcode::Timeout::new(&raw const *self.period)
                .flags(TimeoutFlags::MULTISHOT)
                .count(self.expiries)
                .build()
                .user_data(self.user_data);
            let mut queue = ring.submission();
            // SAFETY: the period lives as long as the worker, which submits the entry next.
            if unsafe { queue.push(&entry) }.is_ok() {
                self.state = TimerState::Started;
                self.entries_ahead = Some(queue.len() - 1);
            }
        }
        self.state
    }

    /// Notes a completion of the timeout.
    pub fn record(&mut self, completion: &cqueue::Entry) {
        self.state = if cqueue::more(completion.flags()) {
            TimerState::Running
        } else if completion.result() == -libc::ETIME {
            TimerState::Stopped
        } else {
            TimerState::Unsupported
        };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use io_uring::types::SubmitArgs;

    use super::*;
    use crate::engine::wait::WaitMode;
    use crate::requirement::{Requirement, skip};

    const TIMER: u64 = 7;
    const TICK: Duration = Duration::from_micros(500);
    const TICKS: u32 = 100;

    /// Completions of the timer until a wait for 16 has ended, and how long that took.
    fn wait_for_sixteen(ring: &mut IoUring, timer: &mut RepeatingTimer) -> (usize, Duration) {
        let begun = Instant::now();
        let longest = Timespec::from(Duration::from_secs(10));
        let arguments = SubmitArgs::new().timespec(&longest);
        let submitted = ring.submitter().submit_with_args(16, &arguments).unwrap();
        timer.record_submission(submitted);
        assert!(!timer.is_queued());
        let mut ticks = 0;
        for completion in ring.completion() {
            assert_eq!(completion.user_data(), TIMER);
            timer.record(&completion);
            ticks += 1;
        }
        (ticks, begun.elapsed())
    }

    #[test]
    fn entry_is_queued_until_kernel_has_taken_it_and_all_before_it() {
        let mut timer = RepeatingTimer::new(TICK, TICKS, TIMER);
        timer.record_submission(5);
        assert!(!timer.is_queued());
        timer.entries_ahead = Some(2);
        timer.record_submission(2);
        assert!(timer.is_queued());
        timer.record_submission(1);
        assert!(!timer.is_queued());
    }

    #[test]
    fn running_timer_ends_wait_for_more_completions_than_arrive() {
        let Ok(mode) = super::super::CompletionMode::probe_best() else {
            return skip(Requirement::Kernel, "no io_uring here");
        };
        let mut ring = mode.build_ring(32, WaitMode::Sleep).unwrap();
        let mut timer = RepeatingTimer::new(TICK, TICKS, TIMER);
        assert_eq!(timer.start(&mut ring), TimerState::Started);
        let (ticks, waited) = wait_for_sixteen(&mut ring, &mut timer);
        if timer.state == TimerState::Unsupported {
            // Linux before 6.4.
            assert_eq!(timer.start(&mut ring), TimerState::Unsupported);
            return;
        }
        assert!(ticks >= 1 && waited < Duration::from_secs(5), "{waited:?}");
        assert_eq!(timer.start(&mut ring), TimerState::Running);
        let mut all = ticks;
        while timer.state == TimerState::Running {
            all += wait_for_sixteen(&mut ring, &mut timer).0;
        }
        assert_eq!((timer.state, all), (TimerState::Stopped, TICKS as usize));
        assert_eq!(
            timer.start(&mut ring),
            TimerState::Started,
            "it starts again"
        );
    }
}
