//! Counts the completions of one worker and publishes the counts a few times a second.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use super::EngineError;
use super::io_target::transferred_bytes;
use super::outcome::{
    DirectionStats, FailedRequest, IoCounts, IoStats, LoggedRequest, RequestErrors,
};
use super::plan::Plan;
use super::request_generator::{ScheduledRequest, saturating_nanoseconds};

/// Interval between two publications of a worker when there are few workers.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(100);
/// With more workers than this, each publishes less often, which bounds the total cost.
const MAX_WORKERS_AT_FULL_RATE: u32 = 16;

/// The published statistics of one or several workers.
pub type SharedStats = Arc<Mutex<IoStats>>;

/// Counts the completions of one worker. Recording performs no allocation and takes no lock. The
/// counts move to the shared statistics when their lock is free and the publication interval has
/// passed.
#[derive(Debug)]
pub struct CompletionRecorder {
    unpublished: IoStats,
    shared_stats: SharedStats,
    log: Vec<LoggedRequest>,
    errors: RequestErrors,
    continue_on_error: bool,
    /// Every n-th request is logged.
    log_interval: u32,
    /// Requests since the last logged one.
    requests_since_logged: u32,
    ramp_end_ns: u64,
    last_completion_ns: u64,
    next_publish_ns: u64,
    publish_interval_ns: u64,
}

/// What a worker recorded besides its statistics.
#[derive(Debug, Default)]
pub struct FinishedRecords {
    /// Logged requests in order of completion.
    pub log: Vec<LoggedRequest>,
    /// End of the last counted request in nanoseconds since the origin.
    pub last_completion_ns: u64,
    /// Requests that failed without ending the execution.
    pub errors: RequestErrors,
}

impl CompletionRecorder {
    /// For one of the `threads` threads of a plan.
    #[must_use]
    pub fn new(slot: SharedStats, plan: &Plan, threads: u32) -> Self {
        let pace = threads.div_ceil(MAX_WORKERS_AT_FULL_RATE).max(1);
        let publish_every_ns = saturating_nanoseconds(PUBLISH_INTERVAL * pace);
        Self {
            unpublished: IoStats::default(),
            shared_stats: slot,
            log: Vec::with_capacity(plan.log_capacity.div_ceil(threads as usize)),
            errors: RequestErrors::default(),
            continue_on_error: plan.continue_on_error,
            log_interval: plan.log_interval.max(1),
            requests_since_logged: 0,
            ramp_end_ns: saturating_nanoseconds(plan.ramp_time),
            last_completion_ns: 0,
            next_publish_ns: publish_every_ns,
            publish_interval_ns: publish_every_ns,
        }
    }

    /// Records what the kernel answered to a request of `target`: the number of bytes, or a negative
    /// error number.
    ///
    /// # Errors
    /// [`EngineError::RequestFailed`] for an error that ends the execution.
    #[inline(always)]
    pub fn record_answer(
        &mut self,
        target: &str,
        request: &ScheduledRequest,
        (start_ns, end_ns): (u64, u64),
        answer: i32,
    ) -> Result<(), EngineError> {
        match transferred_bytes(target, request, answer) {
            Ok(bytes) => self.record(request, start_ns, end_ns, bytes),
            Err(_) if self.continue_on_error && is_medium_error(-answer) => {
                self.record_error(request, -answer);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Records a request that started and ended at these times (nanoseconds since the origin).
    #[inline(always)]
    fn record(&mut self, request: &ScheduledRequest, start_ns: u64, end_ns: u64, transferred: u32) {
        let job = request.request;
        if !request.counted {
            self.unpublished
                .ramp_counts
                .add_request(job.writes, u64::from(transferred));
            return;
        }
        let start_ns = request.scheduled_ns.unwrap_or(start_ns);
        let direction = match job.writes {
            true => &mut self.unpublished.write,
            false => &mut self.unpublished.read,
        };
        let waited_ns = end_ns.saturating_sub(start_ns);
        direction.latency.record(waited_ns);
        direction.bytes += u64::from(transferred);
        let at_ns = end_ns.saturating_sub(self.ramp_end_ns);
        direction
            .counts_over_time
            .record(at_ns, u64::from(transferred), waited_ns);
        self.unpublished.short_transfers += u64::from(transferred < job.length);
        self.last_completion_ns = self.last_completion_ns.max(end_ns);
        self.requests_since_logged = self.requests_since_logged.saturating_add(1);
        if self.requests_since_logged >= self.log_interval && self.log.len() < self.log.capacity() {
            self.requests_since_logged = 0;
            self.log.push(LoggedRequest {
                address: job.offset,
                bytes: job.length,
                is_write: job.writes,
                start_ns,
                end_ns,
            });
        }
    }

    /// Publishes the new counts if the interval has passed and the lock is free.
    #[inline(always)]
    pub fn publish(&mut self, now_ns: u64) {
        if now_ns < self.next_publish_ns {
            return;
        }
        self.next_publish_ns = now_ns.saturating_add(self.publish_interval_ns);
        match self.shared_stats.try_lock() {
            Ok(mut total) => merge_and_clear(&mut total, &mut self.unpublished),
            Err(TryLockError::Poisoned(error)) => {
                merge_and_clear(&mut error.into_inner(), &mut self.unpublished)
            }
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Counts a request that failed with this error number, and that does not end the execution.
    #[cold]
    fn record_error(&mut self, request: &ScheduledRequest, errno: i32) {
        let job = request.request;
        self.errors.add(FailedRequest {
            address: job.offset,
            bytes: job.length,
            is_write: job.writes,
            errno,
        });
    }

    /// Publishes the remaining counts and returns what else was recorded.
    pub fn finish(mut self) -> FinishedRecords {
        let mut total = self
            .shared_stats
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        merge_and_clear(&mut total, &mut self.unpublished);
        drop(total);
        FinishedRecords {
            log: self.log,
            last_completion_ns: self.last_completion_ns,
            errors: self.errors,
        }
    }
}

/// Whether another request may succeed after this error: it concerns the blocks of the request, not the
/// target as a whole (block/blk-core.c, `blk_errors`).
fn is_medium_error(errno: i32) -> bool {
    [
        libc::EIO,
        libc::EILSEQ,
        libc::ENODATA,
        libc::EREMOTEIO,
        libc::ETIMEDOUT,
        libc::EBADMSG,
    ]
    .contains(&errno)
}

/// Moves all counts from `fresh` to `total`.
fn merge_and_clear(total: &mut IoStats, fresh: &mut IoStats) {
    merge_and_clear_direction(&mut total.read, &mut fresh.read);
    merge_and_clear_direction(&mut total.write, &mut fresh.write);
    total.short_transfers += std::mem::take(&mut fresh.short_transfers);
    total.ramp_counts += std::mem::take(&mut fresh.ramp_counts);
}

fn merge_and_clear_direction(total: &mut DirectionStats, fresh: &mut DirectionStats) {
    if fresh.latency.count() == 0 {
        return;
    }
    total.latency.merge(&fresh.latency);
    total.counts_over_time.merge(&fresh.counts_over_time);
    total.bytes += std::mem::take(&mut fresh.bytes);
    fresh.latency.reset();
    fresh.counts_over_time.reset();
}

/// Adds the published statistics to a sum.
pub fn add_shared_stats(sum: &mut IoStats, slot: &SharedStats) {
    let part = slot.lock().unwrap_or_else(PoisonError::into_inner);
    for (sum, part) in [(&mut sum.read, &part.read), (&mut sum.write, &part.write)] {
        if part.latency.count() > 0 {
            sum.latency.merge(&part.latency);
            sum.counts_over_time.merge(&part.counts_over_time);
            sum.bytes += part.bytes;
        }
    }
    sum.short_transfers += part.short_transfers;
    sum.ramp_counts += part.ramp_counts;
}

/// Clears statistics and keeps their memory.
pub fn clear_stats(stats: &mut IoStats) {
    for direction in [&mut stats.read, &mut stats.write] {
        direction.latency.reset();
        direction.counts_over_time.reset();
        direction.bytes = 0;
    }
    stats.short_transfers = 0;
    stats.ramp_counts = IoCounts::default();
}
