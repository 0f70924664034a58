//! Runs a benchmark on a thread that can be abandoned: the calling thread never waits for a device.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::run_spec::{RunReport, RunSpec};
use super::runner::{RunJob, run_job};
use super::shared_session::{CloseOutcome, SharedSession};
use super::start_error::StartError;
use crate::bench::{BenchError, RunEvent};
use crate::drive::medium::is_simulated_name;
use crate::engine::{CancellationToken, EngineError};
use crate::files::supervisor;
use crate::roots::SysPaths;

/// How long a stopped run may take to end before it is abandoned, in addition to the time in which it
/// restores settings.
const STOP_TIMEOUT: Duration = Duration::from_millis(400);
/// Poll interval after a run was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the sink of an abandoned run may take to return.
const SINK_TIMEOUT: Duration = Duration::from_millis(50);

/// A sink that the measuring thread calls.
type SendSink = Box<dyn FnMut(RunEvent) + Send>;

/// State shared by the two threads.
struct DetachedState {
    session: SharedSession,
    /// Result of the run, once it is known.
    result: Mutex<Option<Result<RunReport, StartError>>>,
    /// `None` once the run is abandoned: its events are no longer shown.
    sink: Mutex<Option<SendSink>>,
}

/// Runs a benchmark to its end, as [`run_benchmark`](super::runner::run_benchmark) does, or until
/// 0.4 s after it was stopped, or later where its benchmark restores settings. Then a thread that still
/// waits for the device is abandoned, and the metrics measured so far are saved and returned. The code
/// that stops the run has to wake the calling thread ([`Thread::unpark`]).
///
/// # Errors
///
/// When it could not start, or was stopped before it did: nothing was measured.
pub fn run_detached(
    spec: RunSpec,
    roots: SysPaths,
    cancellation: &Arc<CancellationToken>,
    sink: Box<dyn FnMut(RunEvent) + Send>,
) -> Result<RunReport, StartError> {
    let target = spec.spec.target_name.clone();
    // A simulated drive always responds, so what hangs is a file.
    if !is_simulated_name(&target) {
        supervisor::report_target(&target);
    }
    let shared = Arc::new(DetachedState {
        session: SharedSession::default(),
        result: Mutex::new(None),
        sink: Mutex::new(Some(sink)),
    });
    let (state, token, caller) = (
        Arc::clone(&shared),
        Arc::clone(cancellation),
        thread::current(),
    );
    let job = thread::Builder::new()
        .name("measurement".to_owned())
        .spawn(move || run_on_thread(&spec, &roots, &token, &state, &caller))
        .map_err(|source| {
            StartError::InvalidParameters(BenchError::Engine(EngineError::EngineStart {
                tried: "start a thread for the benchmark".to_owned(),
                source,
            }))
        })?;
    let mut stopped: Option<Instant> = None;
    while !job.is_finished() {
        if cancellation.is_cancelled() {
            stopped.get_or_insert_with(Instant::now);
        }
        if stopped.is_some_and(|at| at.elapsed() > STOP_TIMEOUT) {
            return shared.take_partial_result(&target);
        }
        // The run wakes this thread just before its own thread ends.
        match shared.has_result() || stopped.is_some() {
            true => thread::park_timeout(POLL_INTERVAL),
            false => thread::park(),
        }
    }
    let result = shared.take_result();
    shared.detach_sink();
    result.unwrap_or(Err(StartError::InvalidParameters(BenchError::Engine(
        EngineError::WorkerPanicked,
    ))))
}

/// Body of the measuring thread. It closes the target last, because closing may take as long as any
/// request.
fn run_on_thread(
    spec: &RunSpec,
    roots: &SysPaths,
    cancellation: &CancellationToken,
    shared: &DetachedState,
    caller: &Thread,
) {
    // Also after a panic.
    let _wake = WakeOnDrop(caller);
    let mut opened = None;
    let job = RunJob {
        spec,
        roots,
        cancellation,
        session: &shared.session,
    };
    let result = run_job(job, &mut opened, &mut |event| shared.send_event(event));
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
        self.detach_sink();
        // Its thread may be in the middle of a journal line.
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            // The session comes first: the other thread has a result only after it has closed the
            // session.
            let outcome = self.session.interrupt();
            if let CloseOutcome::Closed(report) = outcome {
                return Ok(*report);
            }
            if let Some(result) = self.take_result() {
                return result;
            }
            if let CloseOutcome::NotStarted(step) = outcome {
                return Err(StartError::TargetHangs {
                    step,
                    target: target.to_owned(),
                });
            }
            if Instant::now() > deadline {
                return Err(StartError::JournalHangs);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Passes an event on, unless the run is abandoned.
    fn send_event(&self, event: RunEvent) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = sink.as_mut() {
            sink(event);
        }
    }

    /// Sends the last event.
    fn detach_sink(&self) {
        let deadline = Instant::now() + SINK_TIMEOUT;
        loop {
            if let Ok(mut sink) = self.sink.try_lock() {
                if let Some(mut sink) = sink.take() {
                    sink(RunEvent::Ended);
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
