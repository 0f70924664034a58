//! Detects times in which this process did not run although it was ready: it was stopped (SIGSTOP,
//! Ctrl-Z, a debugger, the cgroup freezer), or the machine was (a suspended virtual machine,
//! suspend-to-RAM). Latency of a request during such a pause is not the drive's.
//!
//! A heartbeat thread wakes 20 times a second. When it wakes late, the kernel reports how long it
//! was ready and waited for a CPU (/proc/thread-self/schedstat). On a busy machine that run delay
//! explains all of the lateness and there was no pause. The rest of the lateness is a pause.

use std::fs::File;
use std::io::{Read, Seek};
use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Interval between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(50);
/// Shorter pauses cannot be distinguished from other delays, such as a major page fault.
const MIN_PAUSE: Duration = Duration::from_millis(400);
/// Shortest pause where the kernel does not report the run delay.
const MIN_UNEXPLAINED_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of pauses that are kept individually.
const MAX_RECORDED_PAUSES: usize = 1000;

/// One pause of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessPause {
    /// Last heartbeat before the pause.
    pub start: Instant,
    /// First heartbeat after the pause.
    pub end: Instant,
    /// Lower bound of its length.
    pub minimum_length: Duration,
    /// Time for which the machine was suspended. The monotonic clock excludes it.
    pub suspended_time: Duration,
}

#[derive(Default)]
struct PauseLog {
    pauses: Vec<ProcessPause>,
}

impl PauseLog {
    /// Adds a pause without the parts that overlap recorded pauses.
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
    }
}

impl ProcessPause {
    /// Upper bound of the overlap of this pause with another one.
    fn overlap_with(&self, other: &Self) -> Duration {
        let end = self.end.min(other.end);
        let both = end.saturating_duration_since(self.start.max(other.start));
        both.min(self.minimum_length)
    }
}

static PAUSE_LOG: Mutex<PauseLog> = Mutex::new(PauseLog { pauses: Vec::new() });

fn with_pause_log<T>(use_it: impl FnOnce(&mut PauseLog) -> T) -> T {
    use_it(&mut PAUSE_LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Starts the heartbeat thread, which runs until the process ends. Returns after its first heartbeat:
/// a pause that begins later is detected.
pub fn start_watcher() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let (first_heartbeat, wait_for_first) = mpsc::sync_channel(1);
        // Without the thread no pause is detected; everything else works.
        let _ = thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || run_heartbeat(&first_heartbeat));
        // Where no thread was started, the channel is closed.
        let _ = wait_for_first.recv();
    });
}

/// The pauses that ended since `start`.
#[must_use]
pub fn pauses_since(start: Instant) -> Vec<ProcessPause> {
    with_pause_log(|log| {
        let later = |pause: &&ProcessPause| pause.end > start;
        log.pauses.iter().filter(later).copied().collect()
    })
}

/// Records a time in which this program held back its own requests. Parts that are already recorded
/// as a pause are not counted again.
pub fn add(start: Instant, end: Instant) {
    let pause = ProcessPause {
        start,
        end,
        minimum_length: end.saturating_duration_since(start),
        suspended_time: Duration::ZERO,
    };
    with_pause_log(|log| log.add(pause));
}

/// Body of the heartbeat thread. Reports when pauses are detected from now on.
fn run_heartbeat(first_heartbeat: &mpsc::SyncSender<()>) {
    let mut delays = ReadyDelay::open();
    let mut suspended = time_suspended_since_boot();
    let mut delayed_before = delays.elapsed_delay();
    let mut before = Instant::now();
    // The channel has room for it.
    let _ = first_heartbeat.try_send(());
    loop {
        thread::sleep(HEARTBEAT_INTERVAL);
        // Read before the time: no delay of the next interval is missing in it.
        let delayed_now = delays.elapsed_delay();
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
        // The two clocks are not read at the same instant.
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
        if let Some(pause) = pause {
            with_pause_log(|log| log.add(pause));
        }
        (before, delayed_before) = (now, delayed_now);
    }
}

/// The part of a delay that was a pause. `waited` is the run delay: how long the thread was ready
/// and had no CPU.
fn pause_from_delay(late: Duration, waited: Option<Duration>) -> Option<Duration> {
    let (rest, least) = match waited {
        Some(waited) => (late.saturating_sub(waited), MIN_PAUSE),
        None => (late, MIN_UNEXPLAINED_PAUSE),
    };
    (rest >= least).then_some(rest)
}

/// Time for which the machine was suspended since boot (clock_gettime(2)).
fn time_suspended_since_boot() -> Duration {
    let time = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    // In this order, so that the time between the two calls is not counted.
    let awake = time(ClockId::Monotonic);
    time(ClockId::Boottime).saturating_sub(awake)
}

/// The run delay of the thread that opened it: how long it was ready and waited for a CPU.
pub(super) struct ReadyDelay(Option<File>);

impl ReadyDelay {
    pub(super) fn open() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Run delay since the thread began; `None` where the kernel does not report it.
    pub(super) fn elapsed_delay(&mut self) -> Option<Duration> {
        let file = self.0.as_mut()?;
        let mut text = String::with_capacity(64);
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        parse_run_delay(&text)
    }
}

/// Parses the run delay, the second number of a schedstat (kernel
/// Documentation/scheduler/sched-stats.rst).
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
        let mut log = PauseLog { pauses: Vec::new() };
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
}
