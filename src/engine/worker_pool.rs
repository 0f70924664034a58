//! Runs the workers of a plan on threads: starts them together, polls them a few times a second,
//! stops them and merges their reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::completion_recorder;
use super::completion_recorder::{CompletionRecorder, FinishedRecords, SharedStats};
use super::outcome::{
    CpuTime, EndReason, ExecutionOutcome, ExecutionSnapshot, IoStats, RequestErrors,
};
use super::plan::Plan;
use super::progress::{SnapshotPublisher, measured_time};
use super::request_generator::{
    RequestGenerator, SequenceCounter, WorkerId, saturating_nanoseconds,
};
use super::worker::{ExecutionShared, Submitter, WorkerContext, WorkerFactory};
use super::write_gate::{WorkerGate, WriteGate};
use super::{CancellationToken, EngineError, pauses, threads};
use crate::drive::memory;

/// Interval at which the cancellation token is polled.
const CANCELLATION_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Interval between calls of `observe`: 8 calls a second.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(125);
/// A snapshot adds up this many histograms of 270 kB at most, whatever the number of workers.
const MAX_SHARED_STATS: u32 = 16;
/// How long the pool waits for workers after a cancellation before it abandons them.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(90);

/// The threads of one execution.
pub(super) struct WorkerPool<'a> {
    plan: &'a Plan,
    shared: Arc<ExecutionShared>,
    start_gate: Arc<StartGate>,
    /// Gate that write requests must pass.
    write_gate: Option<Arc<WriteGate>>,
    /// What the workers published; workers beyond [`MAX_SHARED_STATS`] share an entry.
    published_stats: Vec<SharedStats>,
    messages: Receiver<WorkerMessage>,
    handles: Vec<JoinHandle<()>>,
    reports: Vec<WorkerReport>,
    /// When the user cancelled.
    cancelled_at: Option<Instant>,
}

impl<'a> WorkerPool<'a> {
    /// Spawns one thread per worker. Each waits for the start gate.
    pub(super) fn spawn(
        plan: &'a Plan,
        threads_per_worker: u32,
        factory: &WorkerFactory,
        write_gate: Option<&Arc<WriteGate>>,
    ) -> Result<Self, EngineError> {
        // A ring for each thread, and its delays in /proc.
        memory::raise_open_files();
        pauses::start_watcher();
        let (sender, messages) = channel();
        let mut pool = Self {
            plan,
            shared: Arc::default(),
            start_gate: Arc::default(),
            write_gate: write_gate.cloned(),
            published_stats: (0..plan.workers.min(MAX_SHARED_STATS))
                .map(|_| SharedStats::default())
                .collect(),
            messages,
            handles: Vec::new(),
            reports: Vec::new(),
            cancelled_at: None,
        };
        for worker in 0..plan.workers {
            let tickets = match threads_per_worker {
                1 => SequenceCounter::PerThread(0),
                _ => SequenceCounter::Shared(Arc::new(AtomicU64::new(0))),
            };
            for slot in 0..threads_per_worker {
                let id = WorkerId {
                    worker,
                    thread: slot,
                    threads_per_worker,
                };
                if let Err(error) = pool.spawn_worker(id, tickets.clone(), factory, &sender) {
                    pool.start_gate.open(None);
                    return Err(error);
                }
            }
        }
        Ok(pool)
    }

    fn spawn_worker(
        &mut self,
        id: WorkerId,
        tickets: SequenceCounter,
        factory: &WorkerFactory,
        sender: &Sender<WorkerMessage>,
    ) -> Result<(), EngineError> {
        let threads = self.plan.workers * id.threads_per_worker;
        let slot = id.worker as usize % self.published_stats.len();
        let slot = Arc::clone(&self.published_stats[slot]);
        let mut context = WorkerContext {
            id,
            generator: RequestGenerator::new(self.plan, id, tickets),
            recorder: CompletionRecorder::new(slot, self.plan, threads),
            shared: Arc::clone(&self.shared),
            origin: Instant::now(),
            gate: None,
        };
        let (gate, factory, sender) = (
            Arc::clone(&self.start_gate),
            Arc::clone(factory),
            sender.clone(),
        );
        let shared = Arc::clone(&self.shared);
        let priority = self.plan.io_class;
        let write_gate = self.write_gate.clone();
        let body = move || {
            // For callers of the library; the program ends at a panic.
            let result = catch_unwind(AssertUnwindSafe(|| {
                let prepared = threads::set_io_class(priority).and_then(|()| factory(id));
                let mut work = match prepared {
                    Ok(work) => work,
                    Err(error) => return Some(WorkerMessage::StartFailed(error)),
                };
                // A closed channel means that the execution was abandoned.
                let _ = sender.send(WorkerMessage::Ready);
                context.origin = gate.wait()?;
                context.gate = write_gate.map(|gate| WorkerGate::new(gate, context.origin));
                Some(WorkerMessage::Finished(run_worker(work.as_mut(), context)))
            }));
            let message = result.unwrap_or_else(|_| {
                shared.stop();
                Some(WorkerMessage::Finished(WorkerReport::from_panic(id)))
            });
            if let Some(message) = message {
                // As above.
                let _ = sender.send(message);
            }
        };
        let handle = Builder::new()
            .name(format!(
                "{}{}-{}",
                threads::WORKER_THREAD_PREFIX,
                id.worker,
                id.thread
            ))
            .spawn(body)
            .map_err(|source| EngineError::EngineStart {
                tried: "start a thread".to_owned(),
                source,
            })?;
        self.handles.push(handle);
        Ok(())
    }

    /// Starts all workers at the same instant and returns it.
    pub(super) fn start(&self) -> Instant {
        let origin = Instant::now();
        self.start_gate.open(Some(origin));
        origin
    }

    /// Waits until every worker is ready, one fails to start, or the user cancels.
    pub(super) fn wait_until_ready(
        &mut self,
        cancellation: &CancellationToken,
    ) -> Result<(), EngineError> {
        let mut ready = 0;
        while ready < self.handles.len() && !cancellation.is_cancelled() {
            match self.messages.recv_timeout(CANCELLATION_POLL_INTERVAL) {
                Ok(WorkerMessage::Ready) => ready += 1,
                Ok(WorkerMessage::StartFailed(error)) => {
                    self.start_gate.open(None);
                    return Err(error);
                }
                Ok(WorkerMessage::Finished(report)) => {
                    self.start_gate.open(None);
                    return Err(report.error.unwrap_or(EngineError::WorkerPanicked));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(EngineError::WorkerPanicked),
            }
        }
        if cancellation.is_cancelled() {
            self.shared.cancel();
        }
        Ok(())
    }

    /// Polls the workers until all have finished or the drain timeout after a cancellation expires.
    /// Returns whether the user cancelled.
    pub(super) fn observe_until_done(
        &mut self,
        cancellation: &CancellationToken,
        origin: Instant,
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> bool {
        let mut progress = SnapshotPublisher::new(self.plan);
        let mut observed = origin;
        while self.reports.len() < self.handles.len() {
            match self.messages.recv_timeout(CANCELLATION_POLL_INTERVAL) {
                Ok(WorkerMessage::Finished(report)) => self.reports.push(report),
                Ok(WorkerMessage::Ready | WorkerMessage::StartFailed(_))
                | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.cancel_when_write_permit_closed(cancellation);
            if self.cancelled_at.is_none() && cancellation.is_cancelled() {
                self.shared.cancel();
                self.cancelled_at = Some(Instant::now());
            }
            if self
                .cancelled_at
                .is_some_and(|at| at.elapsed() > DRAIN_TIMEOUT)
            {
                break;
            }
            if observed.elapsed() >= SNAPSHOT_INTERVAL {
                observe(progress.take_snapshot(
                    saturating_nanoseconds(origin.elapsed()),
                    &self.published_stats,
                ));
                // After the snapshot: one that takes long must not be followed by the next at once.
                observed = Instant::now();
            }
        }
        observe(progress.take_snapshot(
            saturating_nanoseconds(origin.elapsed()),
            &self.published_stats,
        ));
        // The workers may have seen the cancellation first.
        if self.cancel_when_write_permit_closed(cancellation) {
            self.cancelled_at.get_or_insert_with(Instant::now);
        }
        self.cancelled_at.is_some()
    }

    /// Cancels the execution when the target must no longer be written.
    fn cancel_when_write_permit_closed(&self, cancellation: &CancellationToken) -> bool {
        let gate = self.write_gate.as_ref();
        let is_closed = gate.is_some_and(|gate| gate.is_closed());
        if is_closed {
            cancellation.cancel();
        }
        is_closed
    }

    /// Merges the workers' reports into one outcome.
    pub(super) fn join(mut self, cancelled: bool, origin: Instant) -> ExecutionOutcome {
        // A worker that hangs in the kernel is abandoned. Its thread ends when the kernel returns.
        let mut last_end_ns = 0;
        if let Some(at) = self.cancelled_at
            && self.reports.len() < self.handles.len()
        {
            // Its requests took at least until the cancellation.
            last_end_ns = saturating_nanoseconds(at.saturating_duration_since(origin));
        } else {
            for handle in self.handles {
                let _ = handle.join();
            }
        }
        self.reports
            .sort_by_key(|report| (report.id.worker, report.id.thread));
        let mut outcome = ExecutionOutcome {
            end_reason: if cancelled {
                EndReason::Cancelled
            } else {
                EndReason::Completed
            },
            elapsed: Duration::ZERO,
            stats: IoStats::default(),
            request_log: Vec::new(),
            cpu_time: CpuTime::default(),
            run_delay: None,
            errors: RequestErrors::default(),
            finish_times: None,
        };
        for report in self.reports {
            last_end_ns = last_end_ns.max(report.records.last_completion_ns);
            outcome.request_log.extend(report.records.log);
            outcome.errors.merge(&report.records.errors);
            outcome.cpu_time.user_time += report.cpu.user_time;
            outcome.cpu_time.system_time += report.cpu.system_time;
            if let Some(delay) = report.run_delay {
                *outcome.run_delay.get_or_insert_default() += delay;
            }
            if let (Some(error), EndReason::Completed | EndReason::Cancelled) =
                (report.error, &outcome.end_reason)
            {
                outcome.end_reason = EndReason::Failed(error);
            }
        }
        outcome.request_log.truncate(self.plan.log_capacity);
        for slot in &self.published_stats {
            completion_recorder::add_shared_stats(&mut outcome.stats, slot);
        }
        outcome.elapsed = measured_time(self.plan, last_end_ns, &outcome.end_reason);
        outcome
    }
}

/// Message of a worker: one before the start, one after its end.
enum WorkerMessage {
    Ready,
    StartFailed(EngineError),
    Finished(WorkerReport),
}

/// Result of one worker.
struct WorkerReport {
    id: WorkerId,
    error: Option<EngineError>,
    records: FinishedRecords,
    cpu: CpuTime,
    run_delay: Option<Duration>,
}

impl WorkerReport {
    fn from_panic(id: WorkerId) -> Self {
        Self {
            id,
            error: Some(EngineError::WorkerPanicked),
            records: FinishedRecords::default(),
            cpu: CpuTime::default(),
            run_delay: None,
        }
    }
}

/// Releases all workers at the same instant.
#[derive(Default)]
struct StartGate {
    start_decision: Mutex<Option<Option<Instant>>>,
    opened: Condvar,
}

impl StartGate {
    /// `Some(origin)` starts the workers; `None` ends them.
    fn open(&self, origin: Option<Instant>) {
        *self
            .start_decision
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(origin);
        self.opened.notify_all();
    }

    fn wait(&self) -> Option<Instant> {
        let mut state = self
            .start_decision
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(origin) = *state {
                return origin;
            }
            state = self
                .opened
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs one worker from the start to its report.
fn run_worker(work: &mut dyn Submitter, mut context: WorkerContext) -> WorkerReport {
    let before = threads::thread_cpu_time();
    let mut delay = pauses::ReadyDelay::open();
    let delay_before = delay.elapsed_delay();
    let result = work.submit_all(&mut context);
    if result.is_err() {
        context.shared.stop();
    }
    let cpu = threads::cpu_time_between(before, threads::thread_cpu_time());
    let run_delay = delay_before
        .zip(delay.elapsed_delay())
        .map(|(before, after)| after.saturating_sub(before));
    let id = context.id;
    WorkerReport {
        id,
        error: result.err(),
        records: context.recorder.finish(),
        cpu,
        run_delay,
    }
}
