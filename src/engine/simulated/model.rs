//! Interface of a simulated drive, and the queue of the simple ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One request to a simulated drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimRequest {
    /// Byte address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it is a write.
    pub is_write: bool,
}

impl SimRequest {
    /// First byte after the request.
    pub fn end(&self) -> u64 {
        self.address + u64::from(self.bytes)
    }
}

/// A completed request of a simulated drive. The earliest is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimCompletion {
    /// Completion time in nanoseconds since power-on.
    pub completed_at_ns: u64,
    /// The id that the request was submitted with.
    pub id: u64,
    /// Bytes transferred, or an error number of the kernel (`libc::EIO`).
    pub result: Result<u32, i32>,
}

/// A simulated drive. It contains its own queue and can therefore reorder requests (native command
/// queuing). Time is monotonic and continues from one execution to the next, like the rotation of a
/// platter.
pub trait DriveModel: Send {
    /// Receives a request at a time in nanoseconds since power-on.
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest);

    /// Serves the queue up to a time and returns the next request that completes by then; `None`
    /// when there is none. A service that begins after that time must not be decided yet, because
    /// more requests may arrive before. Completions are returned in order of time.
    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion>;
}

/// A drive that serves requests in the order of their submission: later ones do not change the
/// result of earlier ones.
pub trait ServeInOrder: Send {
    /// Serves a request that arrives at `now_ns`. Returns when it completes, and its result.
    fn serve(&mut self, now_ns: u64, request: SimRequest) -> (u64, Result<u32, i32>);
}

/// The queue of a drive that serves in order.
pub(super) struct OrderedQueue<S> {
    drive: S,
    /// Scheduled completions with their order of submission.
    scheduled: BinaryHeap<Reverse<(u64, u64, SimCompletion)>>,
    submitted: u64,
}

impl<S: ServeInOrder> OrderedQueue<S> {
    pub(super) fn new(drive: S) -> Self {
        Self {
            drive,
            scheduled: BinaryHeap::new(),
            submitted: 0,
        }
    }
}

impl<S: ServeInOrder> DriveModel for OrderedQueue<S> {
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest) {
        let (completed_at_ns, result) = self.drive.serve(now_ns, request);
        let done = SimCompletion {
            completed_at_ns,
            id,
            result,
        };
        self.submitted += 1;
        self.scheduled
            .push(Reverse((completed_at_ns, self.submitted, done)));
    }

    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion> {
        let Reverse((at_ns, ..)) = self.scheduled.peek()?;
        if *at_ns > until_ns {
            return None;
        }
        self.scheduled.pop().map(|Reverse((.., done))| done)
    }
}
