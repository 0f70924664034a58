//! Lets writing requests through only while the target is watched.
//!
//! A thread of its own looks at short intervals whether the target came into use, so that neither a
//! blocked terminal nor a blocked journal keeps it from looking. Every completed look opens the gate
//! for [`LONGEST_GAP`], counted from the beginning of the look. Workers compare that time with
//! theirs before they submit a batch. After a gap (the process was stopped, or had no processor)
//! they submit nothing before a look has completed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::request_generator::saturating_nanoseconds;
use super::{pauses, threads};
use crate::drive::DriveError;
use crate::drive::guard::WriteWatch;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after the beginning of a completed look requests may be submitted.
pub const LONGEST_GAP: Duration = Duration::from_millis(500);
/// The processor time that a look may take: more of it means tables that somebody has filled.
const MOST_PROCESSOR_TIME: Duration = Duration::from_secs(1);
/// So many looks in succession may take longer than the gap.
const MOST_SLOW_LOOKS: u32 = 3;
/// The time between two attempts of a worker that waits.
pub const ATTEMPT_EVERY: Duration = Duration::from_millis(1);
/// So many attempts without a completed look end the run. Attempts are counted, not time: a process
/// that is stopped makes none.
const MOST_ATTEMPTS: u32 = 10_000;
/// How long the end of the thread is waited for; a look may hang in the kernel.
const END_TIMEOUT: Duration = Duration::from_millis(100);

/// What the workers ask.
#[derive(Debug)]
pub struct WriteGate {
    name: String,
    epoch: Instant,
    /// Until when requests may be submitted, in nanoseconds since `epoch`; 0 before the first look
    /// and after the gate was closed.
    open_until_ns: AtomicU64,
    /// Whether nothing may be submitted any more.
    closed: AtomicBool,
    /// Whether a worker waits or has waited since the last look.
    awaited: AtomicBool,
    /// Why it was closed, until somebody has taken that.
    reason: Mutex<Option<DriveError>>,
}

/// What an attempt to submit ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// It may be submitted.
    Open,
    /// A look has to complete first.
    Wait,
    /// Nothing may be submitted any more.
    Closed,
}

impl WriteGate {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            epoch: Instant::now(),
            open_until_ns: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            reason: Mutex::new(None),
        }
    }

    /// Whether nothing may be submitted any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Why it was closed; `None` the second time.
    #[must_use]
    pub fn take_reason(&self) -> Option<DriveError> {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.take()
    }

    /// Closes it for good; the first reason counts.
    fn close(&self, reason: DriveError) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.closed.swap(true, Ordering::AcqRel) {
            *first = Some(reason);
        }
        self.open_until_ns.store(0, Ordering::Release);
    }

    /// Opens it after a look that began at that time and found nothing. The time for which workers
    /// had to wait is a pause, which must be known before they go on.
    fn looked(&self, began: Instant) {
        let until_ns = saturating_nanoseconds(began.duration_since(self.epoch) + LONGEST_GAP);
        let (now, now_ns) = (Instant::now(), saturating_nanoseconds(self.epoch.elapsed()));
        if until_ns <= now_ns {
            // The look took so long that what it found is too old.
            return;
        }
        let before_ns = self.open_until_ns.load(Ordering::Relaxed);
        if self.awaited.swap(false, Ordering::AcqRel) && before_ns > 0 && before_ns < now_ns {
            pauses::add(self.epoch + Duration::from_nanos(before_ns), now);
        }
        if !self.is_closed() {
            self.open_until_ns.store(until_ns, Ordering::Release);
        }
    }
}

/// A gate as one worker sees it, in the worker's own time.
#[derive(Debug)]
pub struct WorkerGate {
    gate: Arc<WriteGate>,
    /// From the gate's epoch to the worker's origin, in nanoseconds.
    offset_ns: u64,
    attempts: u32,
}

impl WorkerGate {
    /// For a worker that counts its time from `origin`.
    #[must_use]
    pub fn new(gate: Arc<WriteGate>, origin: Instant) -> Self {
        let offset_ns = saturating_nanoseconds(origin.saturating_duration_since(gate.epoch));
        Self {
            gate,
            offset_ns,
            attempts: 0,
        }
    }

    /// Whether requests may be submitted at that time of the worker.
    #[inline]
    #[must_use]
    pub fn is_open(&self, now_ns: u64) -> bool {
        now_ns.saturating_add(self.offset_ns) < self.gate.open_until_ns.load(Ordering::Acquire)
    }

    /// The same for a worker that waits, which tries it every [`ATTEMPT_EVERY`].
    #[cold]
    pub fn attempt(&mut self, now_ns: u64) -> Passage {
        if self.is_open(now_ns) {
            self.attempts = 0;
            return Passage::Open;
        }
        self.gate.awaited.store(true, Ordering::Release);
        self.attempts += 1;
        if self.attempts > MOST_ATTEMPTS {
            let reason = "the tables of the kernel could not be read for 10 s";
            self.gate
                .close(WriteWatch::unwatchable_error(&self.gate.name, reason));
        }
        match self.gate.is_closed() {
            true => Passage::Closed,
            false => Passage::Wait,
        }
    }
}

/// The thread that looks; it ends with this value.
#[derive(Debug)]
pub struct GateKeeper {
    gate: Arc<WriteGate>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl GateKeeper {
    /// Watches from now on.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut watch: WriteWatch, name: &str) -> std::io::Result<Self> {
        Self::start_with(name, move |gate| {
            if let Some(refusal) = look(&mut watch, gate) {
                gate.close(refusal);
            } else if let Some(shortage) = watch.space_shortage() {
                // Only after the gate was opened: a file system may take its time to answer.
                gate.close(shortage);
            }
        })
    }

    /// Calls `look` until the gate is closed or this value is dropped.
    fn start_with(
        name: &str,
        mut look: impl FnMut(&WriteGate) + Send + 'static,
    ) -> std::io::Result<Self> {
        let gate = Arc::new(WriteGate::new(name));
        let ended = Arc::new(AtomicBool::new(false));
        let (theirs, end) = (Arc::clone(&gate), Arc::clone(&ended));
        let thread = thread::Builder::new()
            .name("write-watch".to_owned())
            .spawn(move || {
                while !end.load(Ordering::Acquire) && !theirs.is_closed() {
                    look(&theirs);
                    thread::park_timeout(LOOK_EVERY);
                }
            })?;
        Ok(Self {
            gate,
            ended,
            thread: Some(thread),
        })
    }

    /// What workers ask.
    #[must_use]
    pub fn gate(&self) -> &Arc<WriteGate> {
        &self.gate
    }
}

impl Drop for GateKeeper {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else {
            return;
        };
        thread.thread().unpark();
        // The thread holds the target open: wait for it, unless it hangs.
        let deadline = Instant::now() + END_TIMEOUT;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(ATTEMPT_EVERY);
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

/// One look; opens the gate when nothing was found. Yields why writing must end.
fn look(watch: &mut WriteWatch, gate: &WriteGate) -> Option<DriveError> {
    let (began, before) = (Instant::now(), threads::thread_cpu_time());
    if let Some(refusal) = watch.check_conflicts() {
        return Some(refusal.into());
    }
    let spent = threads::cpu_time_between(before, threads::thread_cpu_time());
    let is_slow = began.elapsed() > LONGEST_GAP;
    if spent.user_time + spent.system_time > MOST_PROCESSOR_TIME
        || watch.count_slow_check(is_slow) > MOST_SLOW_LOOKS
    {
        let reason = "reading the tables of the kernel takes too long";
        return Some(WriteWatch::unwatchable_error(&gate.name, reason));
    }
    gate.looked(began);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(gate: &mut WorkerGate, origin: Instant, wanted: Passage) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while gate.attempt(saturating_nanoseconds(origin.elapsed())) != wanted {
            assert!(Instant::now() < deadline, "never {wanted:?}");
            thread::sleep(ATTEMPT_EVERY);
        }
    }

    #[test]
    fn gate_before_the_first_look_lets_nothing_through() {
        let gate = Arc::new(WriteGate::new("file"));
        let worker = WorkerGate::new(Arc::clone(&gate), gate.epoch);
        assert!(!worker.is_open(0));
        gate.looked(Instant::now());
        assert!(worker.is_open(saturating_nanoseconds(gate.epoch.elapsed())));
    }

    #[test]
    fn gate_without_a_look_for_the_gap_lets_nothing_through() {
        let gate = Arc::new(WriteGate::new("file"));
        let worker = WorkerGate::new(Arc::clone(&gate), gate.epoch);
        gate.looked(gate.epoch);
        let gap_ns = saturating_nanoseconds(LONGEST_GAP);
        assert!(worker.is_open(gap_ns - 1));
        assert!(!worker.is_open(gap_ns));
    }

    #[test]
    fn look_that_began_before_the_gap_does_not_open_the_gate() {
        let gate = Arc::new(WriteGate::new("file"));
        thread::sleep(LONGEST_GAP);
        gate.looked(gate.epoch);
        assert_eq!(gate.open_until_ns.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn wait_of_a_worker_is_a_pause() {
        let origin = Instant::now();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let mut count = 0;
        let keeper = GateKeeper::start_with("file", move |gate| {
            count += 1;
            if count == 2 {
                let _ = held.recv();
            }
            gate.looked(Instant::now());
        })
        .unwrap();
        let mut worker = WorkerGate::new(Arc::clone(keeper.gate()), origin);
        wait_for(&mut worker, origin, Passage::Open);
        wait_for(&mut worker, origin, Passage::Wait);
        let closed = Instant::now();
        thread::sleep(Duration::from_millis(100));
        release.send(()).unwrap();
        wait_for(&mut worker, origin, Passage::Open);
        assert!(pauses::pause_time_between(closed, Instant::now()) >= Duration::from_millis(100));
    }

    #[test]
    fn closed_gate_stays_closed_and_gives_its_reason_once() {
        let gate = Arc::new(WriteGate::new("file"));
        let mut worker = WorkerGate::new(Arc::clone(&gate), gate.epoch);
        gate.looked(Instant::now());
        gate.close(WriteWatch::unwatchable_error("file", "first"));
        gate.close(WriteWatch::unwatchable_error("file", "second"));
        gate.looked(Instant::now());
        assert_eq!(worker.attempt(0), Passage::Closed);
        let reason = gate.take_reason().unwrap().to_string();
        assert!(reason.contains("first"), "{reason}");
        assert!(gate.take_reason().is_none());
    }
}
