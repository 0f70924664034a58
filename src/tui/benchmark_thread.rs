//! Runs benchmarks on a separate thread, one at a time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::services::FeedSenders;
use super::threads::join_within;
use crate::app::error::RunError;
use crate::app::{Message, RunSnapshot, SavedRun};
use crate::bench::{BenchmarkSpec, RunProgress};
use crate::benchmark_run::runner;
use crate::benchmark_run::runner::{KernelStats, RunSpec, RunStart, RunWatcher};
use crate::engine::CancellationToken;
use crate::roots::SysPaths;
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
    /// Starts a job; its progress goes to `sources`.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(
        job: BenchmarkSpec,
        roots: SysPaths,
        sources: FeedSenders,
    ) -> std::io::Result<Self> {
        let control = Arc::new(CancellationToken::default());
        let switch = Arc::clone(&control);
        // The progress of an earlier run must not be taken for that of this one.
        sources.progress.send_replace(None);
        let thread = thread::Builder::new()
            .name("benchmark".to_owned())
            .spawn(move || {
                let ended = run_benchmark(job, roots, &switch, &sources).map_err(Arc::new);
                // The receiver is gone once the program ends.
                let _ = sources
                    .messages
                    .blocking_send(Message::BenchmarkEnded(Box::new(ended)));
            })?;
        Ok(Self {
            cancellation: control,
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
    job: BenchmarkSpec,
    roots: SysPaths,
    control: &Arc<CancellationToken>,
    sources: &FeedSenders,
) -> Result<SavedRun, RunError> {
    let order = RunSpec {
        spec: job,
        repeat_count: 1,
        session_directory: store::sessions_directory(),
        output_files: Vec::new(),
    };
    let publisher = Box::new(ProgressPublisher {
        senders: sources.clone(),
    });
    let report = runner::run_detached(order, roots, control, publisher).map_err(|error| {
        RunError::NotStarted {
            advice: error.advice(),
            source: Box::new(error),
        }
    })?;
    let run = report.session.runs.into_iter().next();
    Ok(SavedRun {
        run: run.ok_or(RunError::NothingMeasured)?,
        path: report.saved_path,
        save_errors: report.save_errors,
    })
}

/// Publishes the progress of a job.
struct ProgressPublisher {
    senders: FeedSenders,
}

impl ProgressPublisher {
    fn publish(&self, view: RunSnapshot) {
        self.senders.progress.send_replace(Some(Arc::new(view)));
    }
}

impl RunWatcher for ProgressPublisher {
    fn on_scratch_fill(&mut self, done: u64, total: u64) {
        self.publish(RunSnapshot {
            scratch_fill: Some((done, total)),
            ..RunSnapshot::default()
        });
    }

    fn on_start(&mut self, _: &RunStart) {
        self.publish(RunSnapshot::default());
    }

    fn on_progress(&mut self, progress: &RunProgress, beside: KernelStats<'_>) {
        let mut progress = progress.clone();
        if !beside.checks.is_empty() {
            Arc::make_mut(&mut progress.findings).verdicts = beside.checks.to_vec();
        }
        self.publish(RunSnapshot {
            scratch_fill: None,
            progress,
            kernel_counts: beside.counts.cloned(),
            stages: beside.stages.cloned(),
        });
    }
}
