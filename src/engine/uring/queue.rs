//! One worker's queue: keeps the ring full, waits, records.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::ring::{self, Setup};
use crate::engine::buffers::Buffers;
use crate::engine::feeder::{Assigned, Next};
use crate::engine::plan::Plan;
use crate::engine::run::{GRACE, Lane, Work};
use crate::engine::source::{Source, moved};
use crate::engine::write_gate::ATTEMPT_EVERY;
use crate::engine::{EngineError, threads};

/// The longest wait in the kernel: so soon a stop is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// The kernel wakes us up to this late: the rest is waited for awake.
const WAKE_MARGIN_NS: u64 = 60_000;
/// How many requests at most go into the kernel at once. Handing it all free slots in one go
/// makes the queue move in lockstep and the drive run dry.
const LARGEST_BATCH: u32 = 8;

/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;

/// Marks the answer to a request to take another one back.
const CANCEL: u64 = u64::MAX;

/// Whether a request ended because it was taken back.
fn taken_back(answer: i32) -> bool {
    [-libc::ECANCELED, -libc::EINTR].contains(&answer)
}

/// A request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    request: Assigned,
    start_ns: u64,
}

/// One worker's ring, buffers and requests in flight.
pub struct Queue {
    /// Declared before the buffers, so that the kernel lets go of them first.
    ring: IoUring,
    buffers: Buffers,
    file: Arc<OwnedFd>,
    target: String,
    /// Whether requests are `IORING_OP_NOP`.
    nop: bool,
    has_file: bool,
    has_buffers: bool,
    flights: Vec<Flight>,
    free: Vec<u16>,
    batch: usize,
    /// Requests in the ring's memory that the kernel never gets: writing was forbidden before.
    unsent: usize,
    paced: bool,
    wait_awake: bool,
}

/// What filling the queue ended with.
enum Filled {
    /// The batch is full; there may be more.
    More,
    /// Every slot is in flight.
    Full,
    /// The next request is due at this time, in nanoseconds since the origin.
    Until(u64),
    /// There are no more requests.
    Ended,
}

impl Queue {
    /// A ring and buffers for one worker of a plan.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(
        setup: Setup,
        nop: bool,
        plan: &Plan,
        source: &Source,
        file: Arc<OwnedFd>,
    ) -> Result<Self, EngineError> {
        let mut buffers = Buffers::new(plan, plan.depth as usize)?;
        let ring = setup
            .build(plan.depth)
            .map_err(|source| EngineError::Start {
                tried: format!("set up io_uring for {} requests", plan.depth),
                source,
            })?;
        // A registered file stays open in the ring, which the kernel takes down when it likes: a
        // plan that times the closing must hold the only reference.
        let has_file = plan.finish.is_none() && ring::register_file(&ring, file.as_raw_fd());
        // SAFETY: the ring is declared before the buffers and so dropped before them.
        let has_buffers = unsafe { ring::register_memory(&ring, buffers.area().range()) };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            ring,
            buffers,
            file,
            target: source.medium.target.name.clone(),
            nop,
            has_file,
            has_buffers,
            flights: vec![Flight::default(); plan.depth as usize],
            // The last is taken first: begin with slot 0.
            free: (0..plan.depth as u16).rev().collect(),
            batch: (plan.depth / 8).clamp(1, LARGEST_BATCH) as usize,
            unsent: 0,
            paced: plan.rate.is_some(),
            // As many spinning threads as cores would be in each other's way.
            wait_awake: (plan.workers as usize) < cores.max(2),
        })
    }

    /// Whether the file is registered.
    pub fn has_file(&self) -> bool {
        self.has_file
    }

    /// Whether the buffers are registered.
    pub fn has_buffers(&self) -> bool {
        self.has_buffers
    }

    /// Requests that the kernel has, or gets with the next system call.
    fn in_flight(&self) -> usize {
        self.flights.len() - self.free.len() - self.unsent
    }

    /// Puts up to a batch of requests into the ring's memory. Yields the worker's time as well.
    #[inline]
    fn fill(&mut self, lane: &mut Lane) -> Result<(Filled, u64), EngineError> {
        let mut taken = 0;
        let mut now = lane.now();
        let filled = loop {
            let Some(&slot) = self.free.last() else {
                break Filled::Full;
            };
            if taken == self.batch {
                break Filled::More;
            }
            let request = match lane.feeder.next(now) {
                Next::Request(request) => request,
                Next::At(due) => break Filled::Until(due),
                Next::End => break Filled::Ended,
            };
            let entry = self.entry(slot, &request);
            if request.job.writes {
                // Making its content took time that is not the drive's.
                now = lane.now();
            }
            // SAFETY: the entry's buffer lives in `buffers`, which outlives the ring, belongs to
            // this slot alone, and is not touched before the slot is free again.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                return Err(EngineError::Start {
                    tried: "hand a request to io_uring".to_owned(),
                    source: std::io::ErrorKind::WouldBlock.into(),
                });
            }
            self.flights[usize::from(slot)] = Flight {
                request,
                start_ns: now,
            };
            self.free.pop();
            taken += 1;
        };
        Ok((filled, now))
    }

    /// The ring's form of a request.
    #[inline]
    fn entry(&mut self, slot: u16, request: &Assigned) -> squeue::Entry {
        let job = request.job;
        let index = self
            .buffers
            .prepare(usize::from(slot), job.bytes, job.writes);
        let buffer = self.buffers.area().pointer(index);
        let (fixed, plain) = (Fixed(0), Fd(self.file.as_raw_fd()));
        macro_rules! build {
            ($fixed_op:ident, $op:ident, $buffer:expr) => {
                match (self.has_buffers, self.has_file) {
                    (true, true) => opcode::$fixed_op::new(fixed, $buffer, job.bytes, 0)
                        .offset(job.address)
                        .build(),
                    (true, false) => opcode::$fixed_op::new(plain, $buffer, job.bytes, 0)
                        .offset(job.address)
                        .build(),
                    (false, true) => opcode::$op::new(fixed, $buffer, job.bytes)
                        .offset(job.address)
                        .build(),
                    (false, false) => opcode::$op::new(plain, $buffer, job.bytes)
                        .offset(job.address)
                        .build(),
                }
            };
        }
        let entry = match job.writes {
            _ if self.nop => opcode::Nop::new().build(),
            true => build!(WriteFixed, Write, buffer.cast_const()),
            false => build!(ReadFixed, Read, buffer),
        };
        entry.user_data(u64::from(slot))
    }

    /// Enters the kernel: hands over what is in the ring's memory, and waits for `want`
    /// completions, at most that long.
    fn enter(&self, want: usize, limit: Duration) -> Result<(), EngineError> {
        let time = Timespec::from(limit);
        let arguments = SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(want, &arguments) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time is up, a signal came, or the kernel wants its completions taken first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(EngineError::Start {
                    tried: "enter io_uring".to_owned(),
                    source: error,
                }),
            },
        }
    }

    /// Records all that has completed, with one look at the clock.
    #[inline]
    fn reap(&mut self, lane: &mut Lane) -> Result<(), EngineError> {
        let completions = self.ring.completion();
        if completions.is_empty() {
            return Ok(());
        }
        let now = lane.now();
        let mut failed = None;
        for completion in completions {
            if completion.user_data() == CANCEL {
                continue;
            }
            let slot = completion.user_data() as u16;
            let flight = &self.flights[usize::from(slot)];
            let answer = match completion.result() {
                // What a request that moved everything would answer.
                0 if self.nop => flight.request.job.bytes.cast_signed(),
                answer => answer,
            };
            match moved(&self.target, &flight.request, answer) {
                Ok(bytes) => lane
                    .recorder
                    .record(&flight.request, flight.start_ns, now, bytes),
                // Taken back as it was asked for.
                Err(_) if lane.shared.is_cancelled() && taken_back(completion.result()) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
            self.free.push(slot);
        }
        lane.recorder.publish(now);
        failed.map_or(Ok(()), Err)
    }

    /// The main loop: until there are no more requests, one fails, or all are stopped.
    fn send_all(&mut self, lane: &mut Lane) -> Result<(), EngineError> {
        while !lane.shared.is_stopped() {
            let (filled, now) = self.fill(lane)?;
            if !lane.may_write(now) && !self.wait_for_look(lane)? {
                return Ok(());
            }
            match filled {
                Filled::More => self.enter(0, LONGEST_WAIT)?,
                Filled::Full => self.enter(1, LONGEST_WAIT)?,
                Filled::Until(due) => self.enter(1, self.until(due, lane.now()))?,
                Filled::Ended => return Ok(()),
            }
            self.reap(lane)?;
        }
        Ok(())
    }

    /// Waits until writing requests may be submitted; says whether they may. Meanwhile it records
    /// what completes.
    #[cold]
    fn wait_for_look(&mut self, lane: &mut Lane) -> Result<bool, EngineError> {
        let passed = lane.wait_for_look(&mut |lane| {
            self.collect()?;
            self.reap(lane)
        })?;
        if !passed {
            self.unsent = self.ring.submission().len();
        }
        Ok(passed)
    }

    /// Has the kernel hand over its completions, without submitting anything.
    fn collect(&self) -> Result<(), EngineError> {
        // SAFETY: no argument is passed, so that no memory has to stay valid.
        let entered = unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(0, 0, GET_EVENTS, None)
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(EngineError::Start {
                    tried: "enter io_uring".to_owned(),
                    source: error,
                }),
            },
        }
    }

    /// Keeps back for good what the kernel has not got yet, when writing may have been forbidden.
    fn keep_unsent(&mut self, lane: &Lane) {
        let forbidden = lane.shared.is_stopped() || !lane.may_write(lane.now());
        if lane.gate.is_some() && forbidden && self.unsent == 0 {
            self.unsent = self.ring.submission().len();
        }
    }

    /// Waits for a completion; submits nothing that was kept back.
    fn wait_for_one(&mut self, lane: &Lane) -> Result<(), EngineError> {
        self.keep_unsent(lane);
        if self.unsent == 0 {
            return self.enter(1, LONGEST_WAIT);
        }
        self.collect()?;
        std::thread::sleep(ATTEMPT_EVERY);
        Ok(())
    }

    /// How long to wait for a request that is due: the last bit with open eyes.
    fn until(&self, due_ns: u64, now_ns: u64) -> Duration {
        let margin = if self.wait_awake { WAKE_MARGIN_NS } else { 0 };
        let wait = due_ns.saturating_sub(now_ns).saturating_sub(margin);
        Duration::from_nanos(wait).min(LONGEST_WAIT)
    }

    /// Asks the kernel to take back what is in flight (io_uring_enter(2), `IORING_OP_ASYNC_CANCEL`):
    /// it can for what waits for a thread, and cannot for what the drive has.
    fn cancel_all(&mut self) {
        let mut in_flight = vec![true; self.flights.len()];
        for slot in &self.free {
            in_flight[usize::from(*slot)] = false;
        }
        for (slot, _) in in_flight.iter().enumerate().filter(|(_, is)| **is) {
            let entry = opcode::AsyncCancel::new(slot as u64)
                .build()
                .user_data(CANCEL);
            // SAFETY: the entry refers to no memory. A full ring leaves the rest as it is.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                break;
            }
        }
    }

    /// Waits for what is in flight; after the user's stop only for a moment. Says whether
    /// everything has come back.
    fn drain(&mut self, lane: &mut Lane) -> Result<bool, EngineError> {
        let mut give_up_ns = None;
        let mut result = Ok(());
        while self.in_flight() > 0 {
            self.wait_for_one(lane)?;
            if let Err(error) = self.reap(lane) {
                result = result.and(Err(error));
            }
            if lane.shared.is_cancelled() {
                // A request to take others back would be submitted after what is kept back.
                if give_up_ns.is_none() && self.unsent == 0 {
                    self.cancel_all();
                }
                let now = lane.now();
                let limit = *give_up_ns.get_or_insert(now + GRACE.as_nanos() as u64);
                if now >= limit {
                    return result.map(|()| false);
                }
            }
        }
        result.map(|()| true)
    }
}

impl Work for Queue {
    fn run(&mut self, lane: &mut Lane) -> Result<(), EngineError> {
        if self.paced {
            threads::wake_punctually();
        }
        let sent = self.send_all(lane);
        if sent.is_err() {
            lane.shared.stop();
        }
        let drained = self.drain(lane);
        sent.and(drained.map(|_| ()))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.in_flight() > 0 {
            // A request hangs: the kernel may still write into its buffer at any time.
            self.buffers.area().abandon();
            return;
        }
        // The kernel takes a ring down some time after it was closed. Until then it would hold the
        // file, and its file system could not be unmounted; taken back, it is released at once.
        // With nothing in flight neither call waits.
        let submitter = self.ring.submitter();
        if self.has_file {
            let _ = submitter.unregister_files();
        }
        if self.has_buffers {
            let _ = submitter.unregister_buffers();
        }
    }
}
