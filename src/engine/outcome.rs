//! What an engine found.

use std::time::Duration;

use crate::stats::general::timeline::RunTimeline;
use crate::stats::latency::histogram::LatencyHistogram;

/// Requests of one direction.
#[derive(Debug, Clone, Default)]
pub struct DirectionStats {
    /// Response times; its count is the number of requests.
    pub latency: LatencyHistogram,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests and bytes by time since the start.
    pub counts_over_time: RunTimeline,
}

/// Requests and bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Reads.
    pub read_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub write_ios: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl IoCounts {
    /// Counts one more request.
    #[inline]
    pub fn add_request(&mut self, writes: bool, bytes: u64) {
        let (requests, sum) = match writes {
            true => (&mut self.write_ios, &mut self.written_bytes),
            false => (&mut self.read_ios, &mut self.read_bytes),
        };
        *requests += 1;
        *sum += bytes;
    }
}

impl std::ops::AddAssign for IoCounts {
    fn add_assign(&mut self, other: Self) {
        self.read_ios += other.read_ios;
        self.read_bytes += other.read_bytes;
        self.write_ios += other.write_ios;
        self.written_bytes += other.written_bytes;
    }
}

/// All that was counted since the ramp ended.
#[derive(Debug, Clone, Default)]
pub struct IoStats {
    /// Of reads.
    pub read: DirectionStats,
    /// Of writes.
    pub write: DirectionStats,
    /// Requests that transferred less than was asked for without an error.
    pub short_transfers: u64,
    /// What was moved during the ramp, or while this process was paused, and counts nowhere else.
    pub ramp_counts: IoCounts,
}

impl IoStats {
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
    pub fn all_counts(&self) -> IoCounts {
        let mut moved = self.ramp_counts;
        moved += IoCounts {
            read_ios: self.read.latency.count(),
            read_bytes: self.read.bytes,
            write_ios: self.write.latency.count(),
            written_bytes: self.write.bytes,
        };
        moved
    }
}

/// The latest state of an execution, published 5 to 10 times a second.
#[derive(Debug, Clone, Default)]
pub struct ExecutionSnapshot {
    /// Time since the ramp ended; zero while it lasts.
    pub elapsed: Duration,
    /// Whether the ramp still lasts.
    pub in_ramp_time: bool,
    /// How much of the plan is done, 0 to 1; `None` where the plan has no end of its own.
    pub completed_fraction: Option<f64>,
    /// What was counted up to now.
    pub stats: IoStats,
}

/// One request of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Byte address on the medium.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it wrote.
    pub is_write: bool,
    /// When it was handed over, in nanoseconds since the execution's origin. With an open loop
    /// the intended time.
    pub start_ns: u64,
    /// When its completion was seen, on the same clock.
    pub end_ns: u64,
}

/// Why an execution came to its end.
#[derive(Debug)]
pub enum EndReason {
    /// A limit of the plan, or its last address.
    Completed,
    /// The user stopped it.
    Cancelled,
    /// A request failed; what was counted before stands.
    Failed(super::EngineError),
}

/// Processor time of the threads that sent the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user_time: Duration,
    /// In the kernel.
    pub system_time: Duration,
}

/// What making the data durable and closing the descriptor took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FinishTimes {
    /// The flush that the plan asked for; zero where it asked for none.
    pub sync_time: Duration,
    /// `close(2)`.
    pub close_time: Duration,
}

/// What an execution found, complete or not.
#[derive(Debug)]
pub struct ExecutionOutcome {
    /// Why it ended.
    pub end_reason: EndReason,
    /// From the end of the ramp to the last completion that was counted.
    pub elapsed: Duration,
    /// What was counted.
    pub stats: IoStats,
    /// Requests in order of completion (per worker, workers one after the other), if asked for.
    pub request_log: Vec<LoggedRequest>,
    /// Times at which this process did not run (it was stopped, or the machine was suspended), in
    /// nanoseconds since the origin; they are no part of `elapsed`.
    pub pauses: Vec<std::ops::Range<u64>>,
    /// Processor time, the ramp included.
    pub cpu_time: CpuTime,
    /// The steps after the last request, if the plan asked for them; not part of `elapsed`.
    pub finish_times: Option<FinishTimes>,
}
