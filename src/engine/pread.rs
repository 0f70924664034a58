//! The engine of synchronous system calls: one thread for each request in flight. For kernels,
//! containers and sysctls that do not allow io_uring.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use super::buffers::RequestBuffers;
use super::execution;
use super::io_target::{IoTarget, PlanFile};
use super::plan::SyncMode;
use super::plan_error::PlanError;
use super::request_generator::{NextStep, ScheduledRequest, WorkerId};
use super::worker::{Submitter, WorkerContext, WorkerFactory};
use super::{
    CancellationToken, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot, Plan, end_fsync,
    threads,
};

/// More threads than this measure the scheduler instead of the drive.
pub(super) const MAX_SYNC_THREADS: u32 = 1024;
/// The longest sleep, which bounds the delay of a cancellation.
const MAX_SLEEP: Duration = Duration::from_millis(20);
/// A sleep may end this late. The worker polls for the rest of the time.
const WAKEUP_MARGIN_NS: u64 = 60_000;

/// The engine of synchronous system calls.
#[derive(Debug)]
pub struct PreadEngine {
    source: IoTarget,
    selection_reason: Option<String>,
}

impl PreadEngine {
    /// For a medium. `reason` says why io_uring was not selected, if that was attempted.
    #[must_use]
    pub fn new(source: IoTarget, reason: Option<String>) -> Self {
        Self {
            source,
            selection_reason: reason,
        }
    }
}

impl Engine for PreadEngine {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn features(&self) -> Vec<String> {
        vec!["threads".to_owned()]
    }

    fn selection_reason(&self) -> Option<String> {
        self.selection_reason.clone()
    }

    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        cancellation: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        let file = Arc::new(self.source.open(plan, on_open)?);
        let threads = plan.depth * plan.workers;
        if threads > MAX_SYNC_THREADS {
            return Err(EngineError::InvalidPlan(PlanError::new(format!(
                "system calls need a thread for each request in flight: --depth {} x --workers {} \
                 must be at most {MAX_SYNC_THREADS}",
                plan.depth, plan.workers
            ))));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let wait_awake = (threads as usize) < cores.max(2);
        let (target, shared_plan) = (self.source.medium.target.name.clone(), plan.clone());
        let shared_file = Arc::clone(&file);
        let factory: WorkerFactory = Arc::new(move |_: WorkerId| {
            Ok(Box::new(SyncWorker {
                file: Arc::clone(&shared_file),
                flushes_writes: shared_plan.sync_mode == SyncMode::Flush,
                buffers: RequestBuffers::new(&shared_plan, 1)?,
                target: target.clone(),
                has_arrival_rate: shared_plan.arrival_rate.is_some(),
                spin_wait: wait_awake,
            }) as Box<dyn Submitter>)
        });
        let mut outcome = execution::execute_plan(
            plan,
            plan.depth,
            &factory,
            cancellation,
            &self.source,
            observe,
        )?;
        drop(factory);
        end_fsync::flush_and_close(plan, file, &self.source.medium.target.name, &mut outcome);
        Ok(outcome)
    }
}

/// pwrite(2), with flags where the file was not opened with them, and fdatasync(2) if requested.
fn write_at(file: &PlanFile, buffer: &[u8], offset: u64, flush: bool) -> rustix::io::Result<usize> {
    let flags = file.write_flags();
    let written = if flags.is_empty() {
        rustix::io::pwrite(file, buffer, offset)?
    } else {
        rustix::io::pwritev2(file, &[IoSlice::new(buffer)], offset, flags)?
    };
    if flush {
        rustix::fs::fdatasync(file)?;
    }
    Ok(written)
}

/// Executes the system calls of one thread, one after the other.
struct SyncWorker {
    file: Arc<PlanFile>,
    /// Whether fdatasync(2) follows each write.
    flushes_writes: bool,
    buffers: RequestBuffers,
    target: String,
    has_arrival_rate: bool,
    spin_wait: bool,
}

impl Submitter for SyncWorker {
    fn submit_all(&mut self, worker: &mut WorkerContext) -> Result<(), EngineError> {
        if self.has_arrival_rate {
            threads::set_timer_slack();
        }
        let mut now = worker.elapsed_ns();
        while !worker.shared.is_stopped() {
            match worker.generator.next_step(now) {
                NextStep::Request(request) => now = self.execute_request(worker, &request)?,
                NextStep::WaitUntil(due) => {
                    self.wait_until_due(due, now);
                    now = worker.elapsed_ns();
                }
                NextStep::End => break,
            }
        }
        Ok(())
    }
}

impl SyncWorker {
    /// Executes one request and returns the time of its completion.
    fn execute_request(
        &mut self,
        worker: &mut WorkerContext,
        request: &ScheduledRequest,
    ) -> Result<u64, EngineError> {
        let job = request.request;
        let index = self.buffers.prepare_buffer(0, job.length, job.writes);
        let buffer = &mut self.buffers.area().buffer_mut(index)[..job.length as usize];
        let mut start = worker.elapsed_ns();
        if job.writes && !worker.may_write(start) {
            if !worker.wait_for_poll(&mut |_| Ok(()))? {
                return Ok(start);
            }
            start = worker.elapsed_ns();
        }
        let answer = loop {
            let answer = match job.writes {
                true => write_at(&self.file, buffer, job.offset, self.flushes_writes),
                false => rustix::io::pread(&*self.file, &mut *buffer, job.offset),
            };
            if answer != Err(rustix::io::Errno::INTR) {
                break answer;
            }
        };
        let end = worker.elapsed_ns();
        // Requests are shorter than 2 GiB: the count fits, as it does in io_uring's results.
        let answer = match answer {
            Ok(count) => i32::try_from(count).unwrap_or(i32::MAX),
            Err(error) => -error.raw_os_error(),
        };
        worker
            .recorder
            .record_answer(&self.target, request, (start, end), answer)?;
        worker.recorder.publish(end);
        Ok(end)
    }

    /// Sleeps until shortly before a request is due, at most until the next check for a
    /// cancellation.
    fn wait_until_due(&self, due_ns: u64, now_ns: u64) {
        let margin = if self.spin_wait { WAKEUP_MARGIN_NS } else { 0 };
        let sleep = due_ns.saturating_sub(now_ns).saturating_sub(margin);
        if sleep > 0 {
            std::thread::sleep(Duration::from_nanos(sleep).min(MAX_SLEEP));
        } else {
            std::hint::spin_loop();
        }
    }
}
