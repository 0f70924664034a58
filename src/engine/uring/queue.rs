//! One worker's queue: keeps the ring full, waits, records.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::ring;
use super::ring::CompletionMode;
use crate::engine::buffers::RequestBuffers;
use crate::engine::execution::{STOP_GRACE_PERIOD, Submitter, WorkerContext};
use crate::engine::io_target::{IoTarget, transferred_bytes};
use crate::engine::plan::Plan;
use crate::engine::request_generator::{NextStep, ScheduledRequest};
use crate::engine::write_gate::ATTEMPT_EVERY;
use crate::engine::{EngineError, threads};

/// The longest wait in the kernel: so soon a stop is noticed.
const MAX_WAIT: Duration = Duration::from_millis(20);
/// The kernel wakes us up to this late: the rest is waited for awake.
const WAKEUP_MARGIN_NS: u64 = 60_000;
/// How many requests at most go into the kernel at once. Handing it all free slots in one go
/// makes the queue move in lockstep and the drive run dry.
const MAX_BATCH: u32 = 8;

/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;

/// Marks the answer to a request to take another one back.
const CANCEL_USER_DATA: u64 = u64::MAX;

/// Whether a request ended because it was taken back.
fn was_cancelled(answer: i32) -> bool {
    [-libc::ECANCELED, -libc::EINTR].contains(&answer)
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct RequestInFlight {
    request: ScheduledRequest,
    start_ns: u64,
}

/// One worker's ring, buffers and requests in flight.
pub struct UringWorker {
    /// Declared before the buffers, so that the kernel lets go of them first.
    ring: IoUring,
    buffers: RequestBuffers,
    file: Arc<OwnedFd>,
    target: String,
    /// Whether requests are `IORING_OP_NOP`.
    is_nop: bool,
    is_file_registered: bool,
    are_buffers_registered: bool,
    in_flight_requests: Vec<RequestInFlight>,
    free_slots: Vec<u16>,
    batch_size: usize,
    /// Requests in the ring's memory that the kernel never gets: writing was forbidden before.
    unsent: usize,
    has_arrival_rate: bool,
    spin_wait: bool,
}

/// What filling the queue ended with.
enum FillResult {
    /// The batch is full; there may be more.
    BatchFull,
    /// Every slot is in flight.
    QueueFull,
    /// The next request is due at this time, in nanoseconds since the origin.
    WaitUntil(u64),
    /// There are no more requests.
    Finished,
}

impl UringWorker {
    /// A ring and buffers for one worker of a plan.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(
        setup: CompletionMode,
        nop: bool,
        plan: &Plan,
        source: &IoTarget,
        file: Arc<OwnedFd>,
    ) -> Result<Self, EngineError> {
        let mut buffers = RequestBuffers::new(plan, plan.depth as usize)?;
        let ring = setup
            .build_ring(plan.depth)
            .map_err(|source| EngineError::EngineStart {
                tried: format!("set up io_uring for {} requests", plan.depth),
                source,
            })?;
        // A registered file stays open in the ring, which the kernel takes down when it likes: a
        // plan that times the closing must hold the only reference.
        let has_file = plan.end_fsync.is_none() && ring::register_file(&ring, file.as_raw_fd());
        // SAFETY: the ring is declared before the buffers and so dropped before them.
        let has_buffers = unsafe { ring::register_buffers(&ring, buffers.area().iovec()) };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            ring,
            buffers,
            file,
            target: source.medium.target.name.clone(),
            is_nop: nop,
            is_file_registered: has_file,
            are_buffers_registered: has_buffers,
            in_flight_requests: vec![RequestInFlight::default(); plan.depth as usize],
            // The last is taken first: begin with slot 0.
            free_slots: (0..plan.depth as u16).rev().collect(),
            batch_size: (plan.depth / 8).clamp(1, MAX_BATCH) as usize,
            unsent: 0,
            has_arrival_rate: plan.arrival_rate.is_some(),
            // As many spinning threads as cores would be in each other's way.
            spin_wait: (plan.workers as usize) < cores.max(2),
        })
    }

    /// Whether the file is registered.
    pub fn has_file(&self) -> bool {
        self.is_file_registered
    }

    /// Whether the buffers are registered.
    pub fn has_buffers(&self) -> bool {
        self.are_buffers_registered
    }

    /// Requests that the kernel has, or gets with the next system call.
    fn in_flight(&self) -> usize {
        self.in_flight_requests.len() - self.free_slots.len() - self.unsent
    }

    /// Puts up to a batch of requests into the ring's memory. Yields the worker's time as well.
    #[inline]
    fn fill_submission_queue(
        &mut self,
        lane: &mut WorkerContext,
    ) -> Result<(FillResult, u64), EngineError> {
        let mut taken = 0;
        let mut now = lane.elapsed_ns();
        let filled = loop {
            let Some(&slot) = self.free_slots.last() else {
                break FillResult::QueueFull;
            };
            if taken == self.batch_size {
                break FillResult::BatchFull;
            }
            let request = match lane.generator.next_step(now) {
                NextStep::Request(request) => request,
                NextStep::WaitUntil(due) => break FillResult::WaitUntil(due),
                NextStep::End => break FillResult::Finished,
            };
            let entry = self.submission_entry(slot, &request);
            if request.request.writes {
                // Making its content took time that is not the drive's.
                now = lane.elapsed_ns();
            }
            // SAFETY: the entry's buffer lives in `buffers`, which outlives the ring, belongs to
            // this slot alone, and is not touched before the slot is free again.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                return Err(EngineError::EngineStart {
                    tried: "hand a request to io_uring".to_owned(),
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

    /// The ring's form of a request.
    #[inline]
    fn submission_entry(&mut self, slot: u16, request: &ScheduledRequest) -> squeue::Entry {
        let job = request.request;
        let index = self
            .buffers
            .prepare_buffer(usize::from(slot), job.length, job.writes);
        let buffer = self.buffers.area().buffer_pointer(index);
        let (fixed, plain) = (Fixed(0), Fd(self.file.as_raw_fd()));
        macro_rules! build {
            ($fixed_op:ident, $op:ident, $buffer:expr) => {
                match (self.are_buffers_registered, self.is_file_registered) {
                    (true, true) => opcode::$fixed_op::new(fixed, $buffer, job.length, 0)
                        .offset(job.offset)
                        .build(),
                    (true, false) => opcode::$fixed_op::new(plain, $buffer, job.length, 0)
                        .offset(job.offset)
                        .build(),
                    (false, true) => opcode::$op::new(fixed, $buffer, job.length)
                        .offset(job.offset)
                        .build(),
                    (false, false) => opcode::$op::new(plain, $buffer, job.length)
                        .offset(job.offset)
                        .build(),
                }
            };
        }
        let entry = match job.writes {
            _ if self.is_nop => opcode::Nop::new().build(),
            true => build!(WriteFixed, Write, buffer.cast_const()),
            false => build!(ReadFixed, Read, buffer),
        };
        entry.user_data(u64::from(slot))
    }

    /// Enters the kernel: hands over what is in the ring's memory, and waits for `want`
    /// completions, at most that long.
    fn submit_and_wait(&self, want: usize, limit: Duration) -> Result<(), EngineError> {
        let time = Timespec::from(limit);
        let arguments = SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(want, &arguments) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time is up, a signal came, or the kernel wants its completions taken first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(EngineError::EngineStart {
                    tried: "enter io_uring".to_owned(),
                    source: error,
                }),
            },
        }
    }

    /// Records all that has completed, with one look at the clock.
    #[inline]
    fn reap_completions(&mut self, lane: &mut WorkerContext) -> Result<(), EngineError> {
        let completions = self.ring.completion();
        if completions.is_empty() {
            return Ok(());
        }
        let now = lane.elapsed_ns();
        let mut failed = None;
        for completion in completions {
            if completion.user_data() == CANCEL_USER_DATA {
                continue;
            }
            let slot = completion.user_data() as u16;
            let flight = &self.in_flight_requests[usize::from(slot)];
            let answer = match completion.result() {
                // What a request that moved everything would answer.
                0 if self.is_nop => flight.request.request.length.cast_signed(),
                answer => answer,
            };
            match transferred_bytes(&self.target, &flight.request, answer) {
                Ok(bytes) => lane
                    .recorder
                    .record(&flight.request, flight.start_ns, now, bytes),
                // Taken back as it was asked for.
                Err(_) if lane.shared.is_cancelled() && was_cancelled(completion.result()) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
            self.free_slots.push(slot);
        }
        lane.recorder.publish(now);
        failed.map_or(Ok(()), Err)
    }

    /// The main loop: until there are no more requests, one fails, or all are stopped.
    fn submit_all(&mut self, lane: &mut WorkerContext) -> Result<(), EngineError> {
        while !lane.shared.is_stopped() {
            let (filled, now) = self.fill_submission_queue(lane)?;
            if !lane.may_write(now) && !self.wait_for_poll(lane)? {
                return Ok(());
            }
            match filled {
                FillResult::BatchFull => self.submit_and_wait(0, MAX_WAIT)?,
                FillResult::QueueFull => self.submit_and_wait(1, MAX_WAIT)?,
                FillResult::WaitUntil(due) => {
                    self.submit_and_wait(1, self.wait_until_due(due, lane.elapsed_ns()))?
                }
                FillResult::Finished => return Ok(()),
            }
            self.reap_completions(lane)?;
        }
        Ok(())
    }

    /// Waits until writing requests may be submitted; says whether they may. Meanwhile it records
    /// what completes.
    #[cold]
    fn wait_for_poll(&mut self, lane: &mut WorkerContext) -> Result<bool, EngineError> {
        let passed = lane.wait_for_poll(&mut |lane| {
            self.flush_completions()?;
            self.reap_completions(lane)
        })?;
        if !passed {
            self.unsent = self.ring.submission().len();
        }
        Ok(passed)
    }

    /// Has the kernel hand over its completions, without submitting anything.
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

    /// Keeps back for good what the kernel has not got yet, when writing may have been forbidden.
    fn keep_unsent(&mut self, lane: &WorkerContext) {
        let forbidden = lane.shared.is_stopped() || !lane.may_write(lane.elapsed_ns());
        if lane.gate.is_some() && forbidden && self.unsent == 0 {
            self.unsent = self.ring.submission().len();
        }
    }

    /// Waits for a completion; submits nothing that was kept back.
    fn wait_for_completion(&mut self, lane: &WorkerContext) -> Result<(), EngineError> {
        self.keep_unsent(lane);
        if self.unsent == 0 {
            return self.submit_and_wait(1, MAX_WAIT);
        }
        self.flush_completions()?;
        std::thread::sleep(ATTEMPT_EVERY);
        Ok(())
    }

    /// How long to wait for a request that is due: the last bit with open eyes.
    fn wait_until_due(&self, due_ns: u64, now_ns: u64) -> Duration {
        let margin = if self.spin_wait { WAKEUP_MARGIN_NS } else { 0 };
        let wait = due_ns.saturating_sub(now_ns).saturating_sub(margin);
        Duration::from_nanos(wait).min(MAX_WAIT)
    }

    /// Asks the kernel to take back what is in flight (io_uring_enter(2), `IORING_OP_ASYNC_CANCEL`):
    /// it can for what waits for a thread, and cannot for what the drive has.
    fn cancel_all(&mut self) {
        let mut in_flight = vec![true; self.in_flight_requests.len()];
        for slot in &self.free_slots {
            in_flight[usize::from(*slot)] = false;
        }
        for (slot, _) in in_flight.iter().enumerate().filter(|(_, is)| **is) {
            let entry = opcode::AsyncCancel::new(slot as u64)
                .build()
                .user_data(CANCEL_USER_DATA);
            // SAFETY: the entry refers to no memory. A full ring leaves the rest as it is.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                break;
            }
        }
    }

    /// Waits for what is in flight; after the user's stop only for a moment. Says whether
    /// everything has come back.
    fn drain_in_flight(&mut self, lane: &mut WorkerContext) -> Result<bool, EngineError> {
        let mut give_up_ns = None;
        let mut result = Ok(());
        while self.in_flight() > 0 {
            self.wait_for_completion(lane)?;
            if let Err(error) = self.reap_completions(lane) {
                result = result.and(Err(error));
            }
            if lane.shared.is_cancelled() {
                // A request to take others back would be submitted after what is kept back.
                if give_up_ns.is_none() && self.unsent == 0 {
                    self.cancel_all();
                }
                let now = lane.elapsed_ns();
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
    fn submit_all(&mut self, lane: &mut WorkerContext) -> Result<(), EngineError> {
        if self.has_arrival_rate {
            threads::set_timer_slack();
        }
        let sent = self.submit_all(lane);
        if sent.is_err() {
            lane.shared.stop();
        }
        let drained = self.drain_in_flight(lane);
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
        // The kernel takes a ring down some time after it was closed. Until then it would hold the
        // file, and its file system could not be unmounted; taken back, it is released at once.
        // With nothing in flight neither call waits.
        let submitter = self.ring.submitter();
        if self.is_file_registered {
            let _ = submitter.unregister_files();
        }
        if self.are_buffers_registered {
            let _ = submitter.unregister_buffers();
        }
    }
}
