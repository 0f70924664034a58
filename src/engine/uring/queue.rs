//! The ring of one worker: submits requests, waits for completions and records them.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::completion_batch::{CompletionBatch, MAX_WAIT, max_batch_size};
use super::repeating_timer::{RepeatingTimer, TimerState};
use super::ring;
use super::ring::CompletionMode;
use crate::engine::buffers::RequestBuffers;
use crate::engine::io_target::{IoTarget, PlanFile};
use crate::engine::plan::Plan;
use crate::engine::request_generator::{NextStep, ScheduledRequest};
use crate::engine::wait::{LONGEST_SPIN_IN_TURN_NS, SpinPolicy, WaitMode, may_spin};
use crate::engine::worker::{STOP_GRACE_PERIOD, Submitter, WorkerContext};
use crate::engine::write_gate::ATTEMPT_EVERY;
use crate::engine::{EngineError, threads};

/// The kernel may wake the worker this late. The worker polls for the rest of the time.
const WAKEUP_MARGIN_NS: u64 = 60_000;

/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;

/// `user_data` of a cancellation request.
const CANCEL_USER_DATA: u64 = u64::MAX;
/// `user_data` of the timer that ends waits for several completions.
const BATCH_TIMER_USER_DATA: u64 = u64::MAX - 1;
/// `user_data` of the timer that ends every wait.
const WAIT_TIMER_USER_DATA: u64 = u64::MAX - 2;

/// Period of the batch timer: so much later than it arrived a completion is recorded at most.
const BATCH_TICK: Duration = Duration::from_micros(500);
/// Expiries after which the batch timer ends: it is not removed when nothing waits for several completions
/// any more.
const BATCH_TICKS: u32 = 100;
/// Looks at the completion queue between two readings of the clock.
const LOOKS_PER_CLOCK_READ: u32 = 16;

/// Whether a request completed because it was cancelled.
fn was_cancelled(answer: i32) -> bool {
    [-libc::ECANCELED, -libc::EINTR].contains(&answer)
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct RequestInFlight {
    request: ScheduledRequest,
    start_ns: u64,
}

/// Ring, buffers and requests in flight of one worker.
pub struct UringWorker {
    /// Declared before the buffers, so that the kernel releases them first.
    ring: IoUring,
    buffers: RequestBuffers,
    file: Arc<PlanFile>,
    /// Flags of each write (pwritev2(2)).
    write_flags: i32,
    target: String,
    /// Whether requests are `IORING_OP_NOP`.
    is_nop: bool,
    is_file_registered: bool,
    are_buffers_registered: bool,
    in_flight_requests: Vec<RequestInFlight>,
    free_slots: Vec<u16>,
    /// Maximum number of requests per submission. Submitting all free slots at once synchronises
    /// the requests, and the drive's queue runs empty.
    batch_size: usize,
    completion_batch: CompletionBatch,
    batch_timer: RepeatingTimer,
    wait_timer: RepeatingTimer,
    wait_mode: WaitMode,
    spin_policy: SpinPolicy,
    /// Submission entries that never reach the kernel because writing was forbidden first.
    unsent: usize,
    /// Whether the requests in flight are being cancelled: the submission queue holds no requests any
    /// more, only their cancellations.
    is_cancelling: bool,
    has_arrival_rate: bool,
    spin_wait: bool,
}

/// Why filling the submission queue stopped.
enum FillResult {
    /// The batch is full; more requests may follow.
    BatchFull,
    /// Every slot has a request in flight.
    QueueFull,
    /// The next request is due at this time, in nanoseconds since the origin.
    WaitUntil(u64),
    /// There are no more requests.
    Finished,
}

impl UringWorker {
    /// Creates a ring and buffers for one worker of a plan.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(
        setup: CompletionMode,
        nop: bool,
        plan: &Plan,
        source: &IoTarget,
        file: Arc<PlanFile>,
    ) -> Result<Self, EngineError> {
        let mut buffers = RequestBuffers::new(plan, plan.depth as usize)?;
        let may_spin = may_spin(plan.workers) && plan.arrival_rate.is_none();
        let wait_mode = if may_spin {
            plan.wait_mode
        } else {
            WaitMode::Sleep
        };
        let ring =
            setup
                .build_ring(plan.depth, wait_mode)
                .map_err(|source| EngineError::EngineStart {
                    tried: format!("set up io_uring for {} requests", plan.depth),
                    source,
                })?;
        // The ring keeps a registered file open, and the kernel destroys a ring asynchronously. A
        // plan that times the closing must hold the only reference.
        let is_file_registered =
            plan.end_fsync.is_none() && ring::register_file(&ring, file.as_raw_fd());
        // SAFETY: the ring is declared before the buffers and is therefore dropped before them.
        let has_buffers = unsafe { ring::register_buffers(&ring, buffers.area().iovec()) };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            ring,
            buffers,
            write_flags: file.write_flags().bits().cast_signed(),
            file,
            target: source.medium.target.name.clone(),
            is_nop: nop,
            is_file_registered,
            are_buffers_registered: has_buffers,
            in_flight_requests: vec![RequestInFlight::default(); plan.depth as usize],
            // Slots are taken from the end: the first one is slot 0.
            free_slots: (0..plan.depth as u16).rev().collect(),
            batch_size: max_batch_size(plan.depth),
            completion_batch: CompletionBatch::new(plan.depth, plan.arrival_rate.is_some()),
            batch_timer: RepeatingTimer::new(BATCH_TICK, BATCH_TICKS, BATCH_TIMER_USER_DATA),
            wait_timer: RepeatingTimer::new(MAX_WAIT, 0, WAIT_TIMER_USER_DATA),
            wait_mode,
            spin_policy: SpinPolicy::default(),
            unsent: 0,
            is_cancelling: false,
            has_arrival_rate: plan.arrival_rate.is_some(),
            // As many polling threads as cores would compete for the CPU.
            spin_wait: (plan.workers as usize) < cores.max(2),
        })
    }

    /// Whether the file is registered with the ring.
    pub fn has_file(&self) -> bool {
        self.is_file_registered
    }

    /// Whether the buffers are registered with the ring.
    pub fn has_buffers(&self) -> bool {
        self.are_buffers_registered
    }

    /// Requests that the kernel has, or gets with the next system call.
    fn in_flight(&self) -> usize {
        self.in_flight_requests.len() - self.free_slots.len() - self.unsent
    }

    /// Requests in the submission queue.
    fn queued_requests(&mut self) -> usize {
        let timers = [&self.batch_timer, &self.wait_timer];
        let queued = timers.iter().filter(|timer| timer.is_queued()).count();
        self.ring.submission().len() - queued
    }

    /// Adds up to one batch of requests to the submission queue. Also returns the worker's time.
    #[inline(always)]
    fn fill_submission_queue(
        &mut self,
        worker: &mut WorkerContext,
    ) -> Result<(FillResult, u64), EngineError> {
        let mut taken = 0;
        let mut now = worker.elapsed_ns();
        let filled = loop {
            let Some(&slot) = self.free_slots.last() else {
                break FillResult::QueueFull;
            };
            if taken == self.batch_size {
                break FillResult::BatchFull;
            }
            let request = match worker.generator.next_step(now) {
                NextStep::Request(request) => request,
                NextStep::WaitUntil(due) => break FillResult::WaitUntil(due),
                NextStep::End => break FillResult::Finished,
            };
            let entry = self.submission_entry(slot, &request);
            if request.request.writes {
                // Generating the data took time that is not the drive's.
                now = worker.elapsed_ns();
            }
            // SAFETY: the entry's buffer is part of `buffers`, which outlives the ring. It belongs
            // to this slot only and is not accessed until the slot is free again.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                return Err(EngineError::EngineStart {
                    tried: "submit a request to io_uring".to_owned(),
                    source: std::io::ErrorKind::WouldBlock.into(),
                });
            }
            self.in_flight_requests[usize::from(slot)] = RequestInFlight {
                request,
                start_ns: now,
            };
            self.free_slots.pop();
            taken += 1;
        };
        Ok((filled, now))
    }

    /// The submission entry of a request.
    #[inline(always)]
    fn submission_entry(&mut self, slot: u16, request: &ScheduledRequest) -> squeue::Entry {
        let job = request.request;
        let index = self
            .buffers
            .prepare_buffer(usize::from(slot), job.length, job.writes);
        let buffer = self.buffers.area().buffer_pointer(index);
        let (fixed, plain) = (Fixed(0), Fd(self.file.as_raw_fd()));
        macro_rules! build {
            ($fixed_op:ident, $op:ident, $buffer:expr, $flags:expr) => {
                match (self.are_buffers_registered, self.has_file()) {
                    (true, true) => opcode::$fixed_op::new(fixed, $buffer, job.length, 0)
                        .offset(job.offset)
                        .rw_flags($flags)
                        .build(),
                    (true, false) => opcode::$fixed_op::new(plain, $buffer, job.length, 0)
                        .offset(job.offset)
                        .rw_flags($flags)
                        .build(),
                    (false, true) => opcode::$op::new(fixed, $buffer, job.length)
                        .offset(job.offset)
                        .rw_flags($flags)
                        .build(),
                    (false, false) => opcode::$op::new(plain, $buffer, job.length)
                        .offset(job.offset)
                        .rw_flags($flags)
                        .build(),
                }
            };
        }
        let entry = match job.writes {
            _ if self.is_nop => opcode::Nop::new().build(),
            true => build!(WriteFixed, Write, buffer.cast_const(), self.write_flags),
            false => build!(ReadFixed, Read, buffer, 0),
        };
        entry.user_data(u64::from(slot))
    }

    /// Enters the kernel: submits the queued entries and waits for `want` completions, at most for
    /// `limit`.
    fn submit_and_wait(&mut self, want: usize, limit: Option<Duration>) -> Result<(), EngineError> {
        let submitter = self.ring.submitter();
        let entered = match limit {
            Some(limit) => {
                let time = Timespec::from(limit);
                submitter.submit_with_args(want, &SubmitArgs::new().timespec(&time))
            }
            None => submitter.submit_and_wait(want),
        };
        match entered {
            Ok(submitted) => {
                self.batch_timer.record_submission(submitted);
                self.wait_timer.record_submission(submitted);
                Ok(())
            }
            Err(error) => match error.raw_os_error() {
                // The timeout expired, a signal arrived, or the completion queue must be reaped
                // first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(EngineError::EngineStart {
                    tried: "enter io_uring".to_owned(),
                    source: error,
                }),
            },
        }
    }

    /// Records all completions with a single clock reading.
    #[inline]
    fn reap_completions(&mut self, worker: &mut WorkerContext) -> Result<(), EngineError> {
        let completions = self.ring.completion();
        if completions.is_empty() {
            return Ok(());
        }
        let now = worker.elapsed_ns();
        self.completion_batch.record(completions.len(), now);
        let mut failed = None;
        for completion in completions {
            match completion.user_data() {
                CANCEL_USER_DATA => continue,
                BATCH_TIMER_USER_DATA => {
                    self.batch_timer.record(&completion);
                    continue;
                }
                WAIT_TIMER_USER_DATA => {
                    self.wait_timer.record(&completion);
                    continue;
                }
                _ => {}
            }
            let slot = completion.user_data() as u16;
            let flight = &self.in_flight_requests[usize::from(slot)];
            let answer = match completion.result() {
                // The result of a request that transferred everything.
                0 if self.is_nop => flight.request.request.length.cast_signed(),
                answer => answer,
            };
            self.free_slots.push(slot);
            let times = (flight.start_ns, now);
            let recorder = &mut worker.recorder;
            match recorder.record_answer(&self.target, &flight.request, times, answer) {
                Ok(()) => {}
                // Cancelled as requested.
                Err(_) if worker.shared.is_cancelled() && was_cancelled(completion.result()) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        worker.recorder.publish(now);
        failed.map_or(Ok(()), Err)
    }

    /// The main loop: runs until there are no more requests, one fails, or the execution stops.
    fn submit_all(&mut self, worker: &mut WorkerContext) -> Result<(), EngineError> {
        while !worker.shared.is_stopped() {
            let (filled, now) = self.fill_submission_queue(worker)?;
            if !worker.may_write(now) && !self.wait_for_poll(worker)? {
                return Ok(());
            }
            match filled {
                FillResult::BatchFull => self.submit_and_wait(0, None)?,
                FillResult::QueueFull => self.wait_in_mode(worker, now)?,
                FillResult::WaitUntil(due) => {
                    self.submit_and_wait(1, Some(self.wait_until_due(due, worker.elapsed_ns())))?
                }
                FillResult::Finished => return Ok(()),
            }
            self.reap_completions(worker)?;
        }
        Ok(())
    }

    /// Submits the queued entries and waits for completions, asleep or awake.
    #[inline]
    fn wait_in_mode(&mut self, worker: &WorkerContext, now_ns: u64) -> Result<(), EngineError> {
        let limit_ns = match self.wait_mode {
            WaitMode::Sleep => None,
            WaitMode::Spin => self.spin_policy.limit_ns(now_ns),
            WaitMode::Alternate => Some(LONGEST_SPIN_IN_TURN_NS),
        };
        match limit_ns.filter(|_| self.wait_mode.spins_at(now_ns)) {
            Some(limit_ns) => self.spin(worker, now_ns, limit_ns),
            None => self.wait_for_batch(),
        }
    }

    /// Submits the queued entries and waits for a completion: awake for `limit_ns`, then asleep.
    fn spin(
        &mut self,
        worker: &WorkerContext,
        begin_ns: u64,
        limit_ns: u64,
    ) -> Result<(), EngineError> {
        self.submit_and_wait(0, None)?;
        let succeeded = self.look_for_completion(worker, begin_ns + limit_ns)?;
        if !succeeded {
            self.sleep()?;
        }
        let now_ns = worker.elapsed_ns();
        self.spin_policy
            .record(now_ns.saturating_sub(begin_ns), succeeded, now_ns);
        Ok(())
    }

    /// Looks at the completion queue until something is in it, or until this time. From a bit in memory
    /// that it shares with the kernel the thread knows when completions wait for a system call of its own
    /// (`IORING_SETUP_TASKRUN_FLAG`).
    fn look_for_completion(
        &mut self,
        worker: &WorkerContext,
        until_ns: u64,
    ) -> Result<bool, EngineError> {
        loop {
            for _ in 0..LOOKS_PER_CLOCK_READ {
                if !self.ring.completion().is_empty() {
                    return Ok(true);
                }
                if self.ring.submission().taskrun() {
                    self.flush_completions()?;
                } else {
                    std::hint::spin_loop();
                }
            }
            if worker.elapsed_ns() >= until_ns {
                return Ok(false);
            }
        }
    }

    /// Submits the queued entries and sleeps until a completion arrives.
    fn sleep(&mut self) -> Result<(), EngineError> {
        let limit = (self.wait_timer.state() != TimerState::Running).then_some(MAX_WAIT);
        self.submit_and_wait(1, limit)
    }

    /// Submits the queued entries and sleeps until as many completions have arrived as do in quick
    /// succession.
    #[inline]
    fn wait_for_batch(&mut self) -> Result<(), EngineError> {
        let want = self.completion_batch.size();
        if want == 1 {
            return self.sleep();
        }
        match self.batch_timer.start(&mut self.ring) {
            TimerState::Running => self.submit_and_wait(want, None),
            TimerState::Started | TimerState::Stopped => {
                self.submit_and_wait(want, Some(BATCH_TICK))
            }
            TimerState::Unsupported => {
                self.completion_batch.disable();
                self.sleep()
            }
        }
    }

    /// Waits until write requests may be submitted and returns whether they may. Records
    /// completions meanwhile.
    #[cold]
    fn wait_for_poll(&mut self, worker: &mut WorkerContext) -> Result<bool, EngineError> {
        let passed = worker.wait_for_poll(&mut |worker| {
            self.flush_completions()?;
            self.reap_completions(worker)
        })?;
        if !passed {
            self.unsent = self.queued_requests();
        }
        Ok(passed)
    }

    /// Makes the kernel post completions without submitting anything.
    fn flush_completions(&self) -> Result<(), EngineError> {
        // SAFETY: no argument is passed, so that no memory has to stay valid.
        let entered = unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(0, 0, GET_EVENTS, None)
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(EngineError::EngineStart {
                    tried: "enter io_uring".to_owned(),
                    source: error,
                }),
            },
        }
    }

    /// Withholds permanently what the kernel has not received when writing may have been forbidden.
    fn keep_unsent(&mut self, worker: &WorkerContext) {
        let forbidden = worker.shared.is_stopped() || !worker.may_write(worker.elapsed_ns());
        if worker.gate.is_some() && forbidden && self.unsent == 0 && !self.is_cancelling {
            self.unsent = self.queued_requests();
        }
    }

    /// Waits for a completion without submitting withheld requests.
    fn wait_for_completion(&mut self, worker: &WorkerContext) -> Result<(), EngineError> {
        self.keep_unsent(worker);
        if self.unsent == 0 {
            return self.submit_and_wait(1, Some(MAX_WAIT));
        }
        self.flush_completions()?;
        std::thread::sleep(ATTEMPT_EVERY);
        Ok(())
    }

    /// Timeout of the wait for a request that is due. The worker polls for the last part.
    fn wait_until_due(&self, due_ns: u64, now_ns: u64) -> Duration {
        let margin = if self.spin_wait { WAKEUP_MARGIN_NS } else { 0 };
        let wait = due_ns.saturating_sub(now_ns).saturating_sub(margin);
        Duration::from_nanos(wait).min(MAX_WAIT)
    }

    /// Asks the kernel to cancel the requests in flight (io_uring_enter(2),
    /// `IORING_OP_ASYNC_CANCEL`). The kernel can cancel requests that wait for a thread, but not
    /// those that the drive has.
    fn cancel_all(&mut self) {
        self.is_cancelling = true;
        let mut in_flight = vec![true; self.in_flight_requests.len()];
        for slot in &self.free_slots {
            in_flight[usize::from(*slot)] = false;
        }
        for (slot, _) in in_flight.iter().enumerate().filter(|(_, is)| **is) {
            let entry = opcode::AsyncCancel::new(slot as u64)
                .build()
                .user_data(CANCEL_USER_DATA);
            // SAFETY: the entry refers to no memory. If the ring is full, the remaining requests
            // are not cancelled.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                break;
            }
        }
    }

    /// Waits for the requests in flight; after a cancellation by the user only briefly. Returns
    /// whether all have completed.
    fn drain_in_flight(&mut self, worker: &mut WorkerContext) -> Result<bool, EngineError> {
        let mut give_up_ns = None;
        let mut result = Ok(());
        while self.in_flight() > 0 {
            self.wait_for_completion(worker)?;
            if let Err(error) = self.reap_completions(worker) {
                result = result.and(Err(error));
            }
            if worker.shared.is_cancelled() {
                // A cancellation request would be submitted after the withheld requests.
                if give_up_ns.is_none() && self.unsent == 0 {
                    self.cancel_all();
                }
                let now = worker.elapsed_ns();
                let limit = *give_up_ns.get_or_insert(now + STOP_GRACE_PERIOD.as_nanos() as u64);
                if now >= limit {
                    return result.map(|()| false);
                }
            }
        }
        result.map(|()| true)
    }
}

impl Submitter for UringWorker {
    fn submit_all(&mut self, worker: &mut WorkerContext) -> Result<(), EngineError> {
        if self.has_arrival_rate {
            threads::set_timer_slack();
        }
        // Now, because at depth 1 the submission queue has a single entry.
        self.wait_timer.start(&mut self.ring);
        self.submit_and_wait(0, None)?;
        let sent = self.submit_all(worker);
        if sent.is_err() {
            worker.shared.stop();
        }
        let drained = self.drain_in_flight(worker);
        sent.and(drained.map(|_| ()))
    }
}

impl Drop for UringWorker {
    fn drop(&mut self) {
        if self.in_flight() > 0 {
            // A request hangs: the kernel may still write into its buffer at any time.
            self.buffers.area().leak();
            return;
        }
        // The kernel destroys a ring some time after it was closed. Until then the ring would hold
        // the file, and its file system could not be unmounted. Unregistering releases the file at
        // once. With nothing in flight neither call waits.
        let submitter = self.ring.submitter();
        if self.is_file_registered {
            let _ = submitter.unregister_files();
        }
        if self.are_buffers_registered {
            let _ = submitter.unregister_buffers();
        }
    }
}
