//! The timer that ends waits for several completions when the drive stalls.
//!
//! A timeout for each system call would do it too, but the kernel sets the processor's timer for a
//! short one each time, which in a virtual machine costs as much as a request. One repeating timeout
//! per ring (`IORING_TIMEOUT_MULTISHOT`, Linux 6.4) is set once in each [`TICK`]. It ends a wait
//! whatever the number of completions (`io_should_wake`, io_uring/io_uring.c).

use std::time::Duration;

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use super::completion_batch::MAX_WAIT;

/// `user_data` of the timeout.
pub const TIMER_USER_DATA: u64 = u64::MAX - 1;

/// Time between two expiries: so much later than it arrived a completion is recorded at most.
const TICK: Duration = Duration::from_micros(500);
/// Expiries after which the timeout ends: it is not removed when nothing waits for several completions
/// any more.
const TICKS: u32 = 100;

/// Whether the timeout repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimerState {
    Stopped,
    /// Submitted, and not expired yet.
    Started,
    Running,
    /// The kernel has no such timeout.
    Unsupported,
}

/// A repeating timeout in a ring.
#[derive(Debug)]
pub struct BatchTimer {
    /// The kernel reads it when the timeout is submitted.
    tick: Box<Timespec>,
    state: TimerState,
    /// Entries before it in the submission queue, until the kernel has taken it from there.
    entries_ahead: Option<usize>,
}

impl BatchTimer {
    /// A timer that is not running.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tick: Box::new(TICK.into()),
            state: TimerState::Stopped,
            entries_ahead: None,
        }
    }

    /// Whether its entry is in the submission queue.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.entries_ahead.is_some()
    }

    /// The kernel has taken so many entries from the submission queue.
    #[inline]
    pub fn record_submission(&mut self, entries: usize) {
        if let Some(ahead) = self.entries_ahead {
            self.entries_ahead = ahead.checked_sub(entries);
        }
    }

    /// Starts the timer with the next submission unless it runs. Returns for how long the next system
    /// call may wait for several completions; `None` where the kernel has no such timer.
    pub fn start(&mut self, ring: &mut IoUring) -> Option<Duration> {
        match self.state {
            TimerState::Unsupported => None,
            TimerState::Running => Some(MAX_WAIT),
            // It may turn out to be unsupported.
            TimerState::Started => Some(TICK),
            TimerState::Stopped => {
                let entry = opcode::Timeout::new(&raw const *self.tick)
                    .flags(TimeoutFlags::MULTISHOT)
                    .count(TICKS)
                    .build()
                    .user_data(TIMER_USER_DATA);
                let mut queue = ring.submission();
                // SAFETY: the time lives as long as the worker, which submits the entry next.
                if unsafe { queue.push(&entry) }.is_ok() {
                    self.state = TimerState::Started;
                    self.entries_ahead = Some(queue.len() - 1);
                }
                Some(TICK)
            }
        }
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
    use crate::requirement::{Requirement, skip};

    /// Completions of the timer until a wait for 16 has ended, and how long that took.
    fn wait_for_sixteen(ring: &mut IoUring, timer: &mut BatchTimer) -> (usize, Duration) {
        let begun = Instant::now();
        let longest = Timespec::from(Duration::from_secs(10));
        let arguments = SubmitArgs::new().timespec(&longest);
        let submitted = ring.submitter().submit_with_args(16, &arguments).unwrap();
        timer.record_submission(submitted);
        assert!(!timer.is_queued());
        let mut ticks = 0;
        for completion in ring.completion() {
            assert_eq!(completion.user_data(), TIMER_USER_DATA);
            timer.record(&completion);
            ticks += 1;
        }
        (ticks, begun.elapsed())
    }

    #[test]
    fn entry_is_queued_until_kernel_has_taken_it_and_all_before_it() {
        let mut timer = BatchTimer::new();
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
        let mut ring = mode.build_ring(32).unwrap();
        let mut timer = BatchTimer::new();
        assert_eq!(timer.start(&mut ring), Some(TICK));
        let (ticks, waited) = wait_for_sixteen(&mut ring, &mut timer);
        if timer.state == TimerState::Unsupported {
            // Linux before 6.4.
            assert_eq!(timer.start(&mut ring), None);
            return;
        }
        assert!(ticks >= 1 && waited < Duration::from_secs(5), "{waited:?}");
        assert_eq!(timer.start(&mut ring), Some(MAX_WAIT));
        let mut all = ticks;
        while timer.state == TimerState::Running {
            all += wait_for_sixteen(&mut ring, &mut timer).0;
        }
        assert_eq!((timer.state, all), (TimerState::Stopped, TICKS as usize));
        assert_eq!(timer.start(&mut ring), Some(TICK), "it starts again");
    }
}
