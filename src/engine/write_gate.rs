//! Admits write requests only while the target is watched.
//!
//! A separate thread polls the users of the target at short intervals, so that neither a blocked
//! terminal nor a blocked journal delays the poll. Each completed poll opens the gate for
//! [`LONGEST_GAP`], counted from the start of the poll. Workers compare that deadline with their
//! clock before they submit a batch. After a gap (the process was stopped, or had no CPU) they
//! submit nothing until a poll completes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::pauses;
use super::request_generator::saturating_nanoseconds;
use crate::drive::DriveError;
use crate::drive::guard::WriteWatch;

/// Interval between two polls.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long requests may be submitted after the start of a completed poll.
pub const LONGEST_GAP: Duration = Duration::from_millis(500);
/// Interval between two attempts of a waiting worker.
pub const ATTEMPT_EVERY: Duration = Duration::from_millis(1);
/// Number of attempts without a completed poll after which the run ends. The limit counts attempts
/// instead of time because a stopped process makes no attempts.
const MOST_ATTEMPTS: u32 = 10_000;
/// How long to wait for the thread to end; a poll can hang in the kernel.
const END_TIMEOUT: Duration = Duration::from_millis(100);

/// The gate that the workers share.
#[derive(Debug)]
pub struct WriteGate {
    name: String,
    epoch: Instant,
    /// Deadline for submissions in nanoseconds since `epoch`; 0 before the first poll and after the
    /// gate is closed.
    open_until_ns: AtomicU64,
    /// Whether no more requests may be submitted.
    closed: AtomicBool,
    /// Whether a worker is waiting or has waited since the last poll.
    awaited: AtomicBool,
    /// Why the gate was closed; `None` once the reason has been taken.
    reason: Mutex<Option<DriveError>>,
}

/// Result of an attempt to submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// The request may be submitted.
    Open,
    /// A poll must complete first.
    Wait,
    /// No more requests may be submitted.
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

    /// The target could not be watched: the watch got no answer for [`MOST_ATTEMPTS`].
    fn unwatched_error(&self) -> DriveError {
        DriveError::Io {
            tried: "watch",
            name: self.name.clone(),
            source: std::io::ErrorKind::TimedOut.into(),
        }
    }

    /// Whether no more requests may be submitted.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Takes the reason for which the gate was closed; `None` on the second call.
    #[must_use]
    pub fn take_reason(&self) -> Option<DriveError> {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.take()
    }

    /// Closes the gate permanently. The first reason is kept.
    fn close(&self, reason: DriveError) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.closed.swap(true, Ordering::AcqRel) {
            *first = Some(reason);
        }
        self.open_until_ns.store(0, Ordering::Release);
    }

    /// Opens the gate after a poll that started at `began` and found no other user. The time for
    /// which workers waited is recorded as a pause before they continue.
    fn looked(&self, began: Instant) {
        let until_ns = saturating_nanoseconds(began.duration_since(self.epoch) + LONGEST_GAP);
        let (now, now_ns) = (Instant::now(), saturating_nanoseconds(self.epoch.elapsed()));
        if until_ns <= now_ns {
            // The poll took so long that its result is out of date.
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

/// The gate on the clock of one worker.
#[derive(Debug)]
pub struct WorkerGate {
    gate: Arc<WriteGate>,
    /// Offset from the gate's epoch to the worker's origin, in nanoseconds.
    offset_ns: u64,
    attempts: u32,
}

impl WorkerGate {
    /// For a worker whose clock starts at `origin`.
    #[must_use]
    pub fn new(gate: Arc<WriteGate>, origin: Instant) -> Self {
        let offset_ns = saturating_nanoseconds(origin.saturating_duration_since(gate.epoch));
        Self {
            gate,
            offset_ns,
            attempts: 0,
        }
    }

    /// Whether requests may be submitted at that time on the worker's clock.
    #[inline(always)]
    #[must_use]
    pub fn is_open(&self, now_ns: u64) -> bool {
        now_ns.saturating_add(self.offset_ns) < self.gate.open_until_ns.load(Ordering::Acquire)
    }

    /// As [`is_open`](Self::is_open), for a waiting worker that tries every [`ATTEMPT_EVERY`].
    #[cold]
    pub fn attempt(&mut self, now_ns: u64) -> Passage {
        if self.is_open(now_ns) {
            self.attempts = 0;
            return Passage::Open;
        }
        self.gate.awaited.store(true, Ordering::Release);
        self.attempts += 1;
        if self.attempts > MOST_ATTEMPTS {
            self.gate.close(self.gate.unwatched_error());
        }
        match self.gate.is_closed() {
            true => Passage::Closed,
            false => Passage::Wait,
        }
    }
}

/// The polling thread. It ends when this value is dropped.
#[derive(Debug)]
pub struct GateKeeper {
    gate: Arc<WriteGate>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl GateKeeper {
    /// Starts the polling thread.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut watch: WriteWatch, name: &str) -> std::io::Result<Self> {
        Self::start_with(name, move |gate| {
            let began = Instant::now();
            match watch.check() {
                Some(refusal) => gate.close(refusal.into()),
                None => gate.looked(began),
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

    /// The gate that the workers query.
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
        // The thread holds the target open. Wait for it unless it hangs.
        let deadline = Instant::now() + END_TIMEOUT;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(ATTEMPT_EVERY);
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
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
        let pauses = pauses::pauses_since(closed);
        let held = pauses.iter().map(|pause| pause.minimum_length).max();
        assert!(held >= Some(Duration::from_millis(100)));
    }

    #[test]
    fn closed_gate_stays_closed_and_gives_its_reason_once() {
        let gate = Arc::new(WriteGate::new("file"));
        let mut worker = WorkerGate::new(Arc::clone(&gate), gate.epoch);
        gate.looked(Instant::now());
        gate.close(gate.unwatched_error());
        gate.close(DriveError::TargetChanged {
            name: "second".to_owned(),
        });
        gate.looked(Instant::now());
        assert_eq!(worker.attempt(0), Passage::Closed);
        let reason = gate.take_reason().unwrap().to_string();
        assert!(reason.contains("cannot watch"), "{reason}");
        assert!(gate.take_reason().is_none());
    }
}
