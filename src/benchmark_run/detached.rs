//! Runs a job on a thread that can be abandoned: the calling thread never waits for a device.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::runner::{
    KernelStats, RunReport, RunSpec, RunStart, RunWatcher, StartError, run_recorded,
};
use super::session_recorder::{CloseOutcome, SharedRecorder};
use crate::bench::{BenchError, Forecast, RunProgress};
use crate::engine::{CancellationToken, EngineError, simulated};
use crate::roots::SysPaths;
use crate::supervisor;

/// How long a stopped job may take to end before it is abandoned.
const STOP_TIMEOUT: Duration = Duration::from_millis(400);
/// Poll interval after a job was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the watcher of an abandoned job may take to return.
const WATCHER_TIMEOUT: Duration = Duration::from_millis(50);

/// State shared by the two threads.
#[derive(Default)]
struct DetachedState {
    recorder: SharedRecorder,
    /// Result of the job, once it is known.
    result: Mutex<Option<Result<RunReport, StartError>>>,
    /// `None` once the job is abandoned: its progress is no longer shown.
    watcher: Mutex<Option<Box<dyn RunWatcher + Send>>>,
}

/// Runs a job to its end, as [`run_benchmark`](super::runner::run_benchmark) does, or until 0.4 s
/// after it was stopped. Then a thread that still waits for the device is abandoned, and the
/// metrics measured so far are saved and returned. The code that stops the job has to wake the
/// calling thread ([`Thread::unpark`]).
///
/// # Errors
///
/// When it could not start, or was stopped before it did: nothing was measured.
pub fn run_detached(
    order: RunSpec,
    roots: SysPaths,
    control: &Arc<CancellationToken>,
    watcher: Box<dyn RunWatcher + Send>,
) -> Result<RunReport, StartError> {
    let target = order.spec.target_name.clone();
    // A simulated drive always responds, so what hangs is a file.
    if !target.starts_with(simulated::NAME_PREFIX) {
        supervisor::report_target(&target);
    }
    let shared = Arc::new(DetachedState {
        watcher: Mutex::new(Some(watcher)),
        ..DetachedState::default()
    });
    let (theirs, switch, caller) = (Arc::clone(&shared), Arc::clone(control), thread::current());
    let job = thread::Builder::new()
        .name("measurement".to_owned())
        .spawn(move || run_on_thread(&order, &roots, &switch, &theirs, &caller))
        .map_err(|source| {
            StartError::InvalidParameters(BenchError::Engine(EngineError::EngineStart {
                tried: "start a thread for the benchmark".to_owned(),
                source,
            }))
        })?;
    let mut stopped: Option<Instant> = None;
    while !job.is_finished() {
        if control.is_cancelled() {
            stopped.get_or_insert_with(Instant::now);
        }
        if stopped.is_some_and(|at| at.elapsed() > STOP_TIMEOUT) {
            return shared.take_partial_result(&target);
        }
        // The job wakes this thread just before its own thread ends.
        match shared.has_result() || stopped.is_some() {
            true => thread::park_timeout(POLL_INTERVAL),
            false => thread::park(),
        }
    }
    let result = shared.take_result();
    shared.detach_watcher();
    result.unwrap_or(Err(StartError::InvalidParameters(BenchError::Engine(
        EngineError::WorkerPanicked,
    ))))
}

/// Body of the job's thread. It closes the target last, because closing may take as long as any
/// request.
fn run_on_thread(
    order: &RunSpec,
    roots: &SysPaths,
    control: &CancellationToken,
    shared: &DetachedState,
    caller: &Thread,
) {
    // Also after a panic.
    let _wake = WakeOnDrop(caller);
    let mut kept = None;
    let mut relay = EventRelay(shared);
    let result = run_recorded(
        order,
        roots,
        control,
        &mut relay,
        &shared.recorder,
        &mut kept,
    );
    *shared.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    caller.unpark();
}

struct WakeOnDrop<'a>(&'a Thread);

impl Drop for WakeOnDrop<'_> {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

impl DetachedState {
    fn has_result(&self) -> bool {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.is_some()
    }

    fn take_result(&self) -> Option<Result<RunReport, StartError>> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result.take()
    }

    /// Takes the partial result of a thread that hangs.
    fn take_partial_result(&self, target: &str) -> Result<RunReport, StartError> {
        self.detach_watcher();
        // Its thread may be in the middle of a journal line.
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            // The session comes first: the other thread has a result only after it has closed the
            // session.
            let interrupted = self.recorder.interrupt();
            if let CloseOutcome::Closed(report) = interrupted {
                return Ok(*report);
            }
            if let Some(result) = self.take_result() {
                return result;
            }
            let begun = !matches!(interrupted, CloseOutcome::NotStarted);
            if !begun || Instant::now() > deadline {
                return Err(match begun {
                    true => StartError::JournalHangs,
                    false => StartError::TargetHangs {
                        doing: self.recorder.doing(),
                        target: target.to_owned(),
                    },
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Stops showing the progress of the job.
    fn detach_watcher(&self) {
        let deadline = Instant::now() + WATCHER_TIMEOUT;
        loop {
            if let Ok(mut watcher) = self.watcher.try_lock() {
                if let Some(mut watcher) = watcher.take() {
                    watcher.on_end();
                }
                return;
            }
            if Instant::now() > deadline {
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Forwards the events of the job until it is abandoned.
struct EventRelay<'a>(&'a DetachedState);

impl EventRelay<'_> {
    fn with_watcher(&self, tell: impl FnOnce(&mut dyn RunWatcher)) {
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

impl RunWatcher for EventRelay<'_> {
    fn on_forecast(&mut self, test: &'static str, forecast: &Forecast) {
        self.with_watcher(|watcher| watcher.on_forecast(test, forecast));
    }

    fn on_scratch_fill(&mut self, done: u64, total: u64) {
        self.with_watcher(|watcher| watcher.on_scratch_fill(done, total));
    }

    fn on_start(&mut self, start: &RunStart) {
        self.with_watcher(|watcher| watcher.on_start(start));
    }

    fn on_progress(&mut self, progress: &RunProgress, beside: KernelStats<'_>) {
        self.with_watcher(|watcher| watcher.on_progress(progress, beside));
    }
}
