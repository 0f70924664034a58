//! Runs benchmarks on a separate thread, one at a time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::services::FeedSenders;
use super::threads::join_within;
use crate::app::error::BenchmarkError;
use crate::app::{Message, SavedRun};
use crate::bench::{RunEvent, RunRequest};
use crate::engine::CancellationToken;
use crate::roots::SysPaths;
use crate::run::run_detached;
use crate::session::store;

/// How long the end of the program waits for a drive that does not respond.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A running benchmark.
#[derive(Debug)]
pub struct RunningBenchmark {
    cancellation: Arc<CancellationToken>,
    thread: JoinHandle<()>,
}

impl RunningBenchmark {
    /// Starts a benchmark; its events go to `senders`.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(
        request: RunRequest,
        roots: SysPaths,
        senders: FeedSenders,
    ) -> std::io::Result<Self> {
        let cancellation = Arc::new(CancellationToken::default());
        let token = Arc::clone(&cancellation);
        // The progress of an earlier run must not be taken for that of this one.
        senders.run_event.send_replace(None);
        let thread = thread::Builder::new()
            .name("benchmark".to_owned())
            .spawn(move || {
                let result = run_benchmark(request, roots, &token, &senders).map_err(Arc::new);
                // The receiver is gone once the program ends.
                let _ = senders
                    .messages
                    .blocking_send(Message::BenchmarkEnded(Box::new(result)));
            })?;
        Ok(Self {
            cancellation,
            thread,
        })
    }

    /// Asks it to stop; the metrics measured so far are kept.
    pub fn stop(&self) {
        self.cancellation.cancel();
        self.thread.thread().unpark();
    }

    /// Stops it and waits until it is saved.
    pub fn stop_and_join(self) {
        self.stop();
        join_within(self.thread, STOP_TIMEOUT);
    }
}

fn run_benchmark(
    mut request: RunRequest,
    roots: SysPaths,
    cancellation: &Arc<CancellationToken>,
    senders: &FeedSenders,
) -> Result<SavedRun, BenchmarkError> {
    request.session_directory = store::sessions_directory();
    let run_event = senders.run_event.clone();
    let sink = Box::new(move |event| match event {
        // The screen keeps the last progress until the result replaces it.
        RunEvent::PhaseFinished(_) | RunEvent::Ended => {}
        event => drop(run_event.send_replace(Some(Arc::new(event)))),
    });
    let report = run_detached(request, roots, cancellation, sink).map_err(|error| {
        BenchmarkError::NotStarted {
            advice: error.advice(),
            source: Box::new(error),
        }
    })?;
    let run = report.session.runs.into_iter().next();
    Ok(SavedRun {
        run: run.ok_or(BenchmarkError::NothingMeasured)?,
        path: report.saved_path,
        save_errors: report.save_errors.iter().map(ToString::to_string).collect(),
    })
}
