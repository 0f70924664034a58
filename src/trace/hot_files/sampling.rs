//! Limits the processor time of a trace: if it takes more than its share, only slices of the time
//! are recorded.

use std::time::Duration;

use crate::trace::events::CaptureControl;

/// Processor time of the trace, as a fraction of one processor, averaged over a cycle of recording
/// and pausing. What the kernel's trace events cost the traced processes is not in it.
const MAX_CPU_SHARE: f64 = 0.04;
/// Recorded in one piece at least: requests at the edges of a slice are counted as unmatched, and
/// starting costs time as well.
const MIN_SLICE: Duration = Duration::from_millis(500);
/// Paused in one piece at most.
const MAX_PAUSE: Duration = Duration::from_secs(3);
/// The trace pauses only if it takes more than this multiple of its share: it is better to be
/// slightly above than to miss events.
const TOLERANCE: f64 = 1.1;

/// What is recorded, and what that has cost.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceSampling {
    /// Time that was recorded before the present slice, in nanoseconds.
    recorded_before: u64,
    slice_start: u64,
    slice_end: u64,
    /// Time and processor time at the last decision.
    decided_at: u64,
    decided_cpu_ns: u64,
}

impl TraceSampling {
    /// Decides how to continue after a batch that is complete in this range of time, when the trace
    /// has taken this much processor time so far.
    pub(super) fn after_batch(&mut self, since: u64, until: u64, cpu_ns: u64) -> CaptureControl {
        if since != self.slice_start {
            self.recorded_before += self.slice_end.saturating_sub(self.slice_start);
            self.slice_start = since;
            self.decided_at = since;
        }
        self.slice_end = until.max(since);
        let elapsed = Duration::from_nanos(self.slice_end.saturating_sub(self.decided_at));
        if elapsed < MIN_SLICE {
            return CaptureControl::Continue;
        }
        // What the last pause has cost is in it.
        let spent = Duration::from_nanos(cpu_ns.saturating_sub(self.decided_cpu_ns));
        self.decided_at = self.slice_end;
        self.decided_cpu_ns = cpu_ns;
        let cycle = spent.div_f64(MAX_CPU_SHARE);
        if cycle <= elapsed.mul_f64(TOLERANCE) {
            return CaptureControl::Continue;
        }
        CaptureControl::Pause((cycle - elapsed).min(MAX_PAUSE))
    }

    /// Time that was recorded so far, in nanoseconds.
    pub(super) fn recorded_ns(&self) -> u64 {
        self.recorded_before + self.slice_end.saturating_sub(self.slice_start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn cheap_trace_records_all_of_the_time() {
        let mut sampling = TraceSampling::default();
        for step in 1..100 {
            let until = SECOND + step * SECOND / 10;
            let cpu = step * SECOND / 10 / 25;
            let next = sampling.after_batch(SECOND, until, cpu);
            assert_eq!(next, CaptureControl::Continue, "4 %");
        }
        assert_eq!(sampling.recorded_ns(), 99 * SECOND / 10);
    }

    #[test]
    fn expensive_trace_takes_its_share_on_average() {
        let mut sampling = TraceSampling::default();
        let (mut now, mut cpu, mut since, mut pauses) = (0, 0, 0, 0);
        while now < 60 * SECOND {
            now += SECOND / 100;
            // A fifth of a processor while it records, and 5 ms for each pause.
            cpu += SECOND / 500;
            if let CaptureControl::Pause(time) = sampling.after_batch(since, now, cpu) {
                now += time.as_nanos() as u64;
                cpu += 5_000_000;
                since = now;
                pauses += 1;
            }
        }
        let share = cpu as f64 / now as f64;
        assert!(share < MAX_CPU_SHARE * 1.1, "{share}");
        assert!(share > MAX_CPU_SHARE * 0.8, "{share}");
        let recorded = sampling.recorded_ns() as f64 / now as f64;
        assert!((0.15..0.25).contains(&recorded), "{recorded}");
        assert!(pauses > 10);
    }

    #[test]
    fn pause_is_not_recorded() {
        let mut sampling = TraceSampling::default();
        sampling.after_batch(0, SECOND, 0);
        sampling.after_batch(3 * SECOND, 4 * SECOND, 0);
        assert_eq!(sampling.recorded_ns(), 2 * SECOND);
    }
}
