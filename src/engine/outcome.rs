//! What an engine found.

use std::time::Duration;

use crate::stats::latency::Latency;
use crate::stats::timeline::Timeline;

/// Requests of one direction.
#[derive(Debug, Clone, Default)]
pub struct Direction {
    /// Response times; its count is the number of requests.
    pub latency: Latency,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests and bytes by time since the start.
    pub timeline: Timeline,
}

/// Requests and bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Moved {
    /// Counts one more request.
    #[inline]
    pub fn count(&mut self, writes: bool, bytes: u64) {
        let (requests, sum) = match writes {
            true => (&mut self.writes, &mut self.written_bytes),
            false => (&mut self.reads, &mut self.read_bytes),
        };
        *requests += 1;
        *sum += bytes;
    }
}

impl std::ops::AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
    }
}

/// All that was counted since the ramp ended.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Of reads.
    pub read: Direction,
    /// Of writes.
    pub write: Direction,
    /// Requests that transferred less than was asked for without an error.
    pub short: u64,
    /// What was moved during the ramp, or while this process was paused, and counts nowhere else.
    pub ramp: Moved,
}

impl Tally {
    /// Requests of both directions.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.read.latency.count() + self.write.latency.count()
    }

    /// Bytes of both directions.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read.bytes + self.write.bytes
    }

    /// All that was asked of the medium, the ramp included.
    #[must_use]
    pub fn moved(&self) -> Moved {
        let mut moved = self.ramp;
        moved += Moved {
            reads: self.read.latency.count(),
            read_bytes: self.read.bytes,
            writes: self.write.latency.count(),
            written_bytes: self.write.bytes,
        };
        moved
    }
}

/// The latest state of an execution, published 5 to 10 times a second.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Time since the ramp ended; zero while it lasts.
    pub elapsed: Duration,
    /// Whether the ramp still lasts.
    pub ramping: bool,
    /// How much of the plan is done, 0 to 1; `None` where the plan has no end of its own.
    pub fraction: Option<f64>,
    /// What was counted up to now.
    pub tally: Tally,
}

/// One request of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Byte address on the medium.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it wrote.
    pub wrote: bool,
    /// When it was handed over, in nanoseconds since the execution's origin. With an open loop
    /// the intended time.
    pub start_ns: u64,
    /// When its completion was seen, on the same clock.
    pub end_ns: u64,
}

/// Why an execution came to its end.
#[derive(Debug)]
pub enum End {
    /// A limit of the plan, or its last address.
    Done,
    /// The user stopped it.
    Cancelled,
    /// A request failed; what was counted before stands.
    Failed(super::EngineError),
}

/// Processor time of the threads that sent the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// What making the data durable and closing the descriptor took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FinishTimes {
    /// The flush that the plan asked for; zero where it asked for none.
    pub sync: Duration,
    /// `close(2)`.
    pub close: Duration,
}

/// What an execution found, complete or not.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// From the end of the ramp to the last completion that was counted.
    pub elapsed: Duration,
    /// What was counted.
    pub tally: Tally,
    /// Requests in order of completion (per worker, workers one after the other), if asked for.
    pub log: Vec<Request>,
    /// Times at which this process did not run (it was stopped, or the machine was suspended), in
    /// nanoseconds since the origin; they are no part of `elapsed`.
    pub pauses: Vec<std::ops::Range<u64>>,
    /// Processor time, the ramp included.
    pub cpu: CpuTime,
    /// The steps after the last request, if the plan asked for them; not part of `elapsed`.
    pub finish: Option<FinishTimes>,
}
