//! Times at which this process did not run although it could have: it was stopped (SIGSTOP, Ctrl-Z,
//! a debugger, the cgroup freezer), or the machine was (a suspended virtual machine,
//! suspend-to-RAM). What a request waited for meanwhile is none of the drive's time.
//!
//! A thread wakes 20 times a second. When it wakes late, the kernel tells how long it was ready
//! and waited for a processor (/proc/thread-self/schedstat): on a busy machine that is all of the
//! delay, and no pause. The rest is one.

use std::fs::File;
use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time between two beats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(50);
/// Shorter pauses are not told from other delays, such as a page that had to be read again.
pub const MIN_PAUSE: Duration = Duration::from_millis(400);
/// Where the kernel does not tell how long a thread waited for a processor.
const MIN_UNEXPLAINED_PAUSE: Duration = Duration::from_secs(1);
/// Pauses that are kept one by one.
const MAX_RECORDED_PAUSES: usize = 1000;

/// One pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessPause {
    /// Shortly before it began.
    pub start: Instant,
    /// When it was over.
    pub end: Instant,
    /// How long it was at least.
    pub minimum_length: Duration,
    /// How long the machine was suspended meanwhile, which the monotonic clock leaves out.
    pub suspended_time: Duration,
}

struct PauseLog {
    pauses: Vec<ProcessPause>,
    last_heartbeat: Option<Instant>,
}

impl PauseLog {
    /// Adds a pause without what of it falls into others.
    fn add(&mut self, mut pause: ProcessPause) {
        let known: Duration = self
            .pauses
            .iter()
            .map(|other| other.overlap_with(&pause))
            .sum();
        pause.minimum_length = pause.minimum_length.saturating_sub(known);
        if self.pauses.len() >= MAX_RECORDED_PAUSES
            || (pause.minimum_length.is_zero() && pause.suspended_time.is_zero())
        {
            return;
        }
        self.pauses.push(pause);
        let nanoseconds = u64::try_from(pause.minimum_length.as_nanos()).unwrap_or(u64::MAX);
        TOTAL_PAUSE_NS.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl ProcessPause {
    /// How much of this pause falls between the bounds of another one at most.
    fn overlap_with(&self, other: &Self) -> Duration {
        let end = self.end.min(other.end);
        let both = end.saturating_duration_since(self.start.max(other.start));
        both.min(self.minimum_length)
    }
}

static PAUSE_LOG: Mutex<PauseLog> = Mutex::new(PauseLog {
    pauses: Vec::new(),
    last_heartbeat: None,
});
/// Length of all pauses together in nanoseconds.
static TOTAL_PAUSE_NS: AtomicU64 = AtomicU64::new(0);

fn with_pause_log<T>(use_it: impl FnOnce(&mut PauseLog) -> T) -> T {
    use_it(&mut PAUSE_LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Watches for pauses from now on, until the process ends.
pub fn start_watcher() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without the thread pauses are not noticed; nothing else is lost.
        let _ = thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(run_heartbeat);
    });
}

/// Length of all pauses since the start of the process, in nanoseconds.
#[inline]
#[must_use]
pub fn total_pause_ns() -> u64 {
    TOTAL_PAUSE_NS.load(Ordering::Relaxed)
}

/// Until when it is known whether there was a pause; `None` before the first beat.
#[must_use]
pub fn known_until() -> Option<Instant> {
    with_pause_log(|log| log.last_heartbeat)
}

/// Whether a pause falls into this time.
#[must_use]
pub fn pause_overlaps(start: Instant, end: Instant) -> bool {
    with_pause_log(|log| {
        let mut pauses = log.pauses.iter();
        pauses.any(|pause| pause.start < end && start < pause.end)
    })
}

/// The pauses that ended since then.
#[must_use]
pub fn pauses_since(start: Instant) -> Vec<ProcessPause> {
    with_pause_log(|log| {
        let later = |pause: &&ProcessPause| pause.end > start;
        log.pauses.iter().filter(later).copied().collect()
    })
}

/// How long the pauses between two moments were together.
#[must_use]
pub fn pause_time_between(start: Instant, end: Instant) -> Duration {
    if total_pause_ns() == 0 {
        return Duration::ZERO;
    }
    pauses_since(start)
        .iter()
        .map(|pause| {
            let within = pause
                .end
                .min(end)
                .saturating_duration_since(pause.start.max(start));
            within.min(pause.minimum_length)
        })
        .sum()
}

/// Notes a time in which this program kept its own requests back. What of it is known as a pause
/// already does not count again.
pub fn add(start: Instant, end: Instant) {
    let pause = ProcessPause {
        start,
        end,
        minimum_length: end.saturating_duration_since(start),
        suspended_time: Duration::ZERO,
    };
    with_pause_log(|log| log.add(pause));
}

/// The thread that wakes regularly.
fn run_heartbeat() {
    let mut delays = ReadyDelay::open();
    let mut suspended = time_suspended_since_boot();
    loop {
        let delayed_before = delays.elapsed_delay();
        let before = Instant::now();
        thread::sleep(HEARTBEAT_INTERVAL);
        let now = Instant::now();
        let late = now
            .duration_since(before)
            .saturating_sub(HEARTBEAT_INTERVAL);
        let mut pause = None;
        if late >= MIN_PAUSE {
            let waited = delayed_before
                .zip(delays.elapsed_delay())
                .map(|(before, after)| after.saturating_sub(before));
            pause = pause_from_delay(late, waited);
        }
        let suspended_now = time_suspended_since_boot();
        // The two clocks are not read at the same moment.
        let slept = suspended_now.saturating_sub(suspended);
        let slept = Some(slept).filter(|time| *time >= MIN_PAUSE);
        suspended = suspended_now;
        let pause = pause
            .or(slept.map(|_| Duration::ZERO))
            .map(|length| ProcessPause {
                start: before,
                end: now,
                minimum_length: length,
                suspended_time: slept.unwrap_or_default(),
            });
        record_heartbeat(now, pause);
    }
}

/// Notes a beat, and the pause before it.
fn record_heartbeat(now: Instant, pause: Option<ProcessPause>) {
    with_pause_log(|log| {
        log.last_heartbeat = Some(now);
        if let Some(pause) = pause {
            log.add(pause);
        }
    });
}

/// What of a delay was a pause; `waited` is how long the thread was ready and had no processor.
fn pause_from_delay(late: Duration, waited: Option<Duration>) -> Option<Duration> {
    let (rest, least) = match waited {
        Some(waited) => (late.saturating_sub(waited), MIN_PAUSE),
        None => (late, MIN_UNEXPLAINED_PAUSE),
    };
    (rest >= least).then_some(rest)
}

/// How long the machine was suspended since it was started (clock_gettime(2)).
fn time_suspended_since_boot() -> Duration {
    let time = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    // In this order, so that the time between the two calls does not count.
    let awake = time(ClockId::Monotonic);
    time(ClockId::Boottime).saturating_sub(awake)
}

/// The time that the calling thread was ready and waited for a processor.
struct ReadyDelay(Option<File>);

impl ReadyDelay {
    fn open() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// `None` where the kernel does not count it.
    fn elapsed_delay(&mut self) -> Option<Duration> {
        let file = self.0.as_mut()?;
        let mut text = String::with_capacity(64);
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        parse_run_delay(&text)
    }
}

/// The second number of a schedstat (kernel Documentation/scheduler/sched-stats.rst).
fn parse_run_delay(text: &str) -> Option<Duration> {
    let nanoseconds = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn delay_waiting_for_cpu_is_not_a_pause() {
        let ms = Duration::from_millis;
        assert_eq!(pause_from_delay(2 * SECOND, Some(ms(10))), Some(ms(1990)));
        assert_eq!(pause_from_delay(2 * SECOND, Some(ms(1900))), None);
        assert_eq!(pause_from_delay(ms(500), None), None);
        assert_eq!(pause_from_delay(2 * SECOND, None), Some(2 * SECOND));
    }

    #[test]
    fn run_delay_is_second_number_of_schedstat() {
        assert_eq!(
            parse_run_delay("123 4567 8\n"),
            Some(Duration::from_nanos(4567))
        );
        assert_eq!(parse_run_delay("123"), None);
        assert_eq!(parse_run_delay("a b c"), None);
    }

    #[test]
    fn overlapping_pauses_are_counted_once() {
        let mut log = PauseLog {
            pauses: Vec::new(),
            last_heartbeat: None,
        };
        let begin = Instant::now();
        let pause = |from: u32, to: u32| ProcessPause {
            start: begin + from * SECOND,
            end: begin + to * SECOND,
            minimum_length: (to - from) * SECOND,
            suspended_time: Duration::ZERO,
        };
        for (from, to) in [(0, 4), (3, 6), (1, 2)] {
            log.add(pause(from, to));
        }
        let sum: Duration = log.pauses.iter().map(|pause| pause.minimum_length).sum();
        assert_eq!(sum, 6 * SECOND);
    }

    #[test]
    fn heartbeat_of_running_process_records_no_pause() {
        start_watcher();
        let deadline = Instant::now() + 20 * SECOND;
        let began = Instant::now();
        while known_until().is_none_or(|until| until < began) {
            assert!(Instant::now() < deadline, "no beat");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(!pause_overlaps(began, began));
        assert_eq!(pause_time_between(began, began), Duration::ZERO);
    }
}
