//! A job on a thread that can be left: the calling thread never waits for a device.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::book::{Interrupted, SharedBook};
use super::{Beside, Order, Refused, Report, Start, Watcher, run_into};
use crate::bench::{BenchError, Forecast, Progress};
use crate::engine::{Control, EngineError, simulated};
use crate::roots::Roots;
use crate::runtime::supervisor;

/// How long a job may take to end after it was stopped, until it is left.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often a job that was stopped is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How long the watcher of a job that is left may take to return.
const LAST_WORD: Duration = Duration::from_millis(50);

/// What the two threads share.
#[derive(Default)]
struct Shared {
    book: SharedBook,
    /// What became of the job, once that is known.
    result: Mutex<Option<Result<Report, Refused>>>,
    /// Gone when the job was left: nothing is shown of it any more.
    watcher: Mutex<Option<Box<dyn Watcher + Send>>>,
}

/// Runs a job to its end, as [`run`](super::run) does, or until 0.4 s after it was
/// stopped: a thread that still waits for the device then is left to itself, and what was measured
/// until then is saved and returned. Whoever stops the job wakes the calling thread
/// ([`Thread::unpark`]).
///
/// # Errors
/// When it could not begin, or was stopped before it did: nothing was measured.
pub fn run_detached(
    order: Order,
    roots: Roots,
    control: &Arc<Control>,
    watcher: Box<dyn Watcher + Send>,
) -> Result<Report, Refused> {
    let target = order.job.target.clone();
    // A simulated drive always answers: what hangs then is a file.
    if !target.starts_with(simulated::PREFIX) {
        supervisor::uses(&target);
    }
    let shared = Arc::new(Shared {
        watcher: Mutex::new(Some(watcher)),
        ..Shared::default()
    });
    let (theirs, switch, caller) = (Arc::clone(&shared), Arc::clone(control), thread::current());
    let job = thread::Builder::new()
        .name("measurement".to_owned())
        .spawn(move || measure(&order, &roots, &switch, &theirs, &caller))
        .map_err(|source| {
            Refused::Bench(BenchError::Engine(EngineError::Start {
                tried: "start a thread for the benchmark".to_owned(),
                source,
            }))
        })?;
    let mut stopped: Option<Instant> = None;
    while !job.is_finished() {
        if control.is_cancelled() {
            stopped.get_or_insert_with(Instant::now);
        }
        if stopped.is_some_and(|at| at.elapsed() > PATIENCE) {
            return shared.leave(&target);
        }
        // The end of the job wakes this thread just before its thread has ended.
        match shared.has_result() || stopped.is_some() {
            true => thread::park_timeout(LOOK),
            false => thread::park(),
        }
    }
    let result = shared.take_result();
    shared.end_watching();
    result.unwrap_or(Err(Refused::Bench(BenchError::Engine(EngineError::Worker))))
}

/// The job's thread. The target is closed at its very end, for that may take as long as any request.
fn measure(order: &Order, roots: &Roots, control: &Control, shared: &Shared, caller: &Thread) {
    // Also after a panic.
    let _wake = WakeOnDrop(caller);
    let mut kept = None;
    let mut relay = Relay(shared);
    let result = run_into(order, roots, control, &mut relay, &shared.book, &mut kept);
    *shared.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    caller.unpark();
}

struct WakeOnDrop<'a>(&'a Thread);

impl Drop for WakeOnDrop<'_> {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

impl Shared {
    fn has_result(&self) -> bool {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.is_some()
    }

    fn take_result(&self) -> Option<Result<Report, Refused>> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.take()
    }

    /// Takes what there is from a thread that does not come back.
    fn leave(&self, target: &str) -> Result<Report, Refused> {
        self.end_watching();
        // Its thread may be in the middle of a line of the journal.
        let deadline = Instant::now() + PATIENCE;
        loop {
            // First the session: the other thread has a result only after it closed that.
            let interrupted = self.book.interrupt();
            if let Interrupted::Closed(report) = interrupted {
                return Ok(*report);
            }
            if let Some(result) = self.take_result() {
                return result;
            }
            let begun = !matches!(interrupted, Interrupted::NotBegun);
            if !begun || Instant::now() > deadline {
                return Err(match begun {
                    true => Refused::NotSaved,
                    false => Refused::NoAnswer {
                        doing: self.book.doing(),
                        target: target.to_owned(),
                    },
                });
            }
            thread::sleep(LOOK);
        }
    }

    /// From now on nothing is shown of the job.
    fn end_watching(&self) {
        let deadline = Instant::now() + LAST_WORD;
        loop {
            if let Ok(mut watcher) = self.watcher.try_lock() {
                if let Some(mut watcher) = watcher.take() {
                    watcher.ended();
                }
                return;
            }
            if Instant::now() > deadline {
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Passes on what the job tells, as long as it is not left.
struct Relay<'a>(&'a Shared);

impl Relay<'_> {
    fn with(&self, tell: impl FnOnce(&mut dyn Watcher)) {
        let mut watcher = self
            .0
            .watcher
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = watcher.as_mut() {
            tell(watcher.as_mut());
        }
    }
}

impl Watcher for Relay<'_> {
    fn announced(&mut self, test: &'static str, forecast: &Forecast) {
        self.with(|watcher| watcher.announced(test, forecast));
    }

    fn preparing(&mut self, done: u64, total: u64) {
        self.with(|watcher| watcher.preparing(done, total));
    }

    fn started(&mut self, start: &Start) {
        self.with(|watcher| watcher.started(start));
    }

    fn progress(&mut self, progress: &Progress, beside: Beside<'_>) {
        self.with(|watcher| watcher.progress(progress, beside));
    }
}
