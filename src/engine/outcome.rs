//! The result of an execution.

use std::time::Duration;

use super::error::EngineError;
use crate::stats::general::timeline::RunTimeline;
use crate::stats::latency::histogram::LatencyHistogram;

/// Statistics of one direction.
#[derive(Debug, Clone, Default)]
pub struct DirectionStats {
    /// Latencies; their count is the number of requests.
    pub latency: LatencyHistogram,
    /// Bytes transferred.
    pub bytes: u64,
    /// Requests and bytes by time since the start.
    pub counts_over_time: RunTimeline,
}

/// Requests and bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Number of reads.
    pub read_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Number of writes.
    pub write_ios: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl IoCounts {
    /// Counts one more request of `bytes` bytes.
    #[inline(always)]
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

/// Statistics since the end of ramp_time.
#[derive(Debug, Clone, Default)]
pub struct IoStats {
    /// Statistics of reads.
    pub read: DirectionStats,
    /// Statistics of writes.
    pub write: DirectionStats,
    /// Requests that transferred less than requested without an error.
    pub short_transfers: u64,
    /// Requests and bytes that count nowhere else: those during ramp_time or during a pause of this
    /// process.
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

    /// Latencies of both directions together.
    #[must_use]
    pub fn latency(&self) -> LatencyHistogram {
        let mut latency = self.read.latency.clone();
        latency.merge(&self.write.latency);
        latency
    }

    /// Requests and bytes of both directions by time since the start.
    #[must_use]
    pub fn counts_over_time(&self) -> RunTimeline {
        let mut counts = self.read.counts_over_time.clone();
        counts.merge(&self.write.counts_over_time);
        counts
    }

    /// All requests and bytes that were submitted to the medium, including ramp_time.
    #[must_use]
    pub fn all_counts(&self) -> IoCounts {
        let mut counts = self.ramp_counts;
        counts += IoCounts {
            read_ios: self.read.latency.count(),
            read_bytes: self.read.bytes,
            write_ios: self.write.latency.count(),
            written_bytes: self.write.bytes,
        };
        counts
    }
}

/// The latest state of an execution, published 5 to 10 times a second.
#[derive(Debug, Clone, Default)]
pub struct ExecutionSnapshot {
    /// Time since the end of ramp_time; zero during ramp_time.
    pub elapsed: Duration,
    /// Whether ramp_time has not ended yet.
    pub in_ramp_time: bool,
    /// Completed fraction of the plan, 0 to 1; `None` where the plan has no end of its own.
    pub completed_fraction: Option<f64>,
    /// Statistics up to now.
    pub stats: IoStats,
}

/// One request of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Byte address on the medium.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it was a write.
    pub is_write: bool,
    /// Submission time in nanoseconds since the execution's origin. With an open loop, the
    /// scheduled time.
    pub start_ns: u64,
    /// Completion time on the same clock.
    pub end_ns: u64,
}

/// A request that the medium answered with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedRequest {
    /// Byte address on the medium.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it was a write.
    pub is_write: bool,
    /// The kernel's error number (errno(3)).
    pub errno: i32,
}

/// Errors of the medium that did not end the execution ([`Plan::continue_on_error`](super::Plan)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestErrors {
    /// Number of failed requests.
    pub count: u64,
    /// The first ones of each worker, at most [`MAX_LISTED_ERRORS`] in all.
    pub first: Vec<FailedRequest>,
}

/// Failed requests that are listed.
pub const MAX_LISTED_ERRORS: usize = 16;

impl RequestErrors {
    /// Counts one more.
    pub fn add(&mut self, failed: FailedRequest) {
        self.count += 1;
        if self.first.len() < MAX_LISTED_ERRORS {
            self.first.push(failed);
        }
    }

    /// Adds those of another worker or phase.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        let room = MAX_LISTED_ERRORS - self.first.len();
        self.first.extend(other.first.iter().take(room));
    }
}

/// Why an execution ended.
#[derive(Debug)]
pub enum EndReason {
    /// A limit of the plan was reached, or its last address.
    Completed,
    /// The user cancelled it.
    Cancelled,
    /// A request failed; the statistics before it are valid.
    Failed(EngineError),
}

/// CPU time of the threads that submitted the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user_time: Duration,
    /// In kernel mode.
    pub system_time: Duration,
}

/// Durations of the flush and of closing the descriptor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FinishTimes {
    /// The flush that the plan requests; zero where it requests none.
    pub sync_time: Duration,
    /// `close(2)`.
    pub close_time: Duration,
}

/// The result of an execution, complete or not.
#[derive(Debug)]
pub struct ExecutionOutcome {
    /// Why the execution ended.
    pub end_reason: EndReason,
    /// Time from the end of ramp_time to the last counted completion.
    pub elapsed: Duration,
    /// Statistics of the counted requests.
    pub stats: IoStats,
    /// Logged requests in order of completion (per worker, workers one after the other); empty
    /// without a log.
    pub request_log: Vec<LoggedRequest>,
    /// CPU time, including ramp_time.
    pub cpu_time: CpuTime,
    /// Time in which the threads that submitted the requests were ready and waited for a CPU, summed
    /// over the threads, ramp_time included (/proc/thread-self/schedstat); `None` in virtual time, or
    /// where the kernel does not report it.
    pub run_delay: Option<Duration>,
    /// Failed requests that did not end the execution.
    pub errors: RequestErrors,
    /// Durations of the steps after the last request, where the plan has them; excluded from
    /// `elapsed`.
    pub finish_times: Option<FinishTimes>,
}

impl ExecutionOutcome {
    /// That amount per second of `elapsed`; `None` without a time.
    #[must_use]
    pub fn per_second(&self, amount: u64) -> Option<f64> {
        (!self.elapsed.is_zero()).then(|| amount as f64 / self.elapsed.as_secs_f64())
    }
}
