//! Runs a benchmark on a thread that can be abandoned: the calling thread never waits for a device.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::recorded_run::Execution;
use super::session::{CloseOutcome, RunReport, SharedSession};
use super::start_error::StartError;
use crate::bench::{BenchError, RunEvent, RunRequest};
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

/// A sink that the measuring thread calls; `None` once the run is abandoned.
type SharedSink = Arc<Mutex<Option<Box<dyn FnMut(RunEvent) + Send>>>>;
type RunResult = Result<RunReport, StartError>;

/// Runs a benchmark to its end, as [`run_benchmark`](super::run_benchmark) does, or until 0.4 s after
/// it was stopped. Then a thread that still waits for the device is abandoned, and the metrics measured
/// so far are saved and returned. The code that stops the run has to wake the calling thread
/// ([`Thread::unpark`]).
///
/// # Errors
///
/// When it could not start, or was stopped before it did: nothing was measured.
pub fn run_detached(
    request: RunRequest,
    roots: SysPaths,
    cancellation: &Arc<CancellationToken>,
    sink: Box<dyn FnMut(RunEvent) + Send>,
) -> RunResult {
    let target = request.target().name.clone();
    // A simulated drive always responds, so what hangs is a file.
    if !is_simulated_name(&target) {
        supervisor::report_target(&target);
    }
    let session = Arc::new(SharedSession::default());
    let sink: SharedSink = Arc::new(Mutex::new(Some(sink)));
    let (sender, results) = mpsc::sync_channel(1);
    let caller = WakeOnDrop(thread::current());
    let (own_session, own_sink) = (Arc::clone(&session), Arc::clone(&sink));
    let token = Arc::clone(cancellation);
    let measure = move || {
        let execution = Execution {
            request: &request,
            roots: &roots,
            cancellation: &token,
            session: &own_session,
        };
        // The target is closed last, because closing may take as long as any request.
        let mut opened = None;
        let result = execution.run(&mut opened, &mut |event| {
            let mut sink = own_sink.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sink) = sink.as_mut() {
                sink(event);
            }
        });
        let _ = sender.send(result);
        caller.0.unpark();
    };
    let thread = thread::Builder::new().name("measurement".to_owned());
    let started = thread.spawn(measure).map_err(|source| {
        StartError::InvalidParameters(BenchError::Engine(EngineError::EngineStart {
            tried: "start a thread for the benchmark".to_owned(),
            source,
        }))
    });
    let result =
        started.and_then(|thread| wait(&thread, &results, cancellation, &session, &target));
    send_last_event(&sink);
    result
}

/// Wakes the waiting thread at the end of the measuring thread, also after a panic.
struct WakeOnDrop(Thread);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Waits for the result of the measuring thread and for its end, with which the target is closed and what was
/// written is on it; or abandons it.
fn wait(
    thread: &JoinHandle<()>,
    results: &Receiver<RunResult>,
    cancellation: &CancellationToken,
    session: &SharedSession,
    target: &str,
) -> RunResult {
    let mut stopped: Option<Instant> = None;
    let mut known: Option<RunResult> = None;
    loop {
        match results.try_recv() {
            Ok(result) => known = Some(result),
            Err(TryRecvError::Disconnected) if known.is_none() => {
                let panicked = BenchError::Engine(EngineError::WorkerPanicked);
                return Err(StartError::InvalidParameters(panicked));
            }
            Err(_) => {}
        }
        if thread.is_finished()
            && let Some(result) = known.take()
        {
            return result;
        }
        if cancellation.is_cancelled() {
            stopped.get_or_insert_with(Instant::now);
        }
        match stopped {
            Some(at) if at.elapsed() > STOP_TIMEOUT => {
                return known.unwrap_or_else(|| partial_result(results, session, target));
            }
            None if known.is_none() => thread::park(),
            _ => thread::park_timeout(POLL_INTERVAL),
        }
    }
}

/// The result of a thread that hangs: what its journal holds.
fn partial_result(
    results: &Receiver<RunResult>,
    session: &SharedSession,
    target: &str,
) -> RunResult {
    // Its thread may be in the middle of a journal line.
    let deadline = Instant::now() + STOP_TIMEOUT;
    loop {
        // The session comes first: the other thread has a result only after it has closed the session.
        let outcome = session.interrupt();
        if let CloseOutcome::Closed(report) = outcome {
            return Ok(*report);
        }
        if let Ok(result) = results.try_recv() {
            return result;
        }
        if let CloseOutcome::NotStarted(step) = outcome {
            let target = target.to_owned();
            return Err(StartError::TargetHangs { step, target });
        }
        if Instant::now() > deadline {
            return Err(StartError::JournalHangs);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Sends the last event, unless the sink does not return from the one before.
fn send_last_event(sink: &SharedSink) {
    let deadline = Instant::now() + SINK_TIMEOUT;
    while Instant::now() < deadline {
        if let Ok(mut sink) = sink.try_lock() {
            if let Some(mut sink) = sink.take() {
                sink(RunEvent::Ended);
            }
            return;
        }
        thread::sleep(POLL_INTERVAL);
    }
}
