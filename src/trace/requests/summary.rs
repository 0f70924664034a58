//! Aggregates of many requests, in bounded memory.

use std::collections::{BTreeMap, HashMap};

use super::matcher::MatchErrors;
use super::request::{RequestActor, RequestOperation, TracedRequest};
use crate::stats::latency::histogram::LatencyHistogram;
use crate::stats::sorting::SortList as _;
use crate::trace::events::event::DeviceNumber;

/// Limit on distinct threads. Requests of further threads are aggregated in one entry.
const MAX_THREADS: usize = 4096;

/// Latency of one stage over many requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageLatency {
    /// Number of requests with a known value.
    pub count: u64,
    /// Sum, in nanoseconds.
    pub total_ns: u64,
    /// Maximum, in nanoseconds.
    pub max_ns: u64,
}

impl StageLatency {
    fn record(&mut self, length: Option<u64>) {
        if let Some(length) = length {
            self.count += 1;
            self.total_ns = self.total_ns.saturating_add(length);
            self.max_ns = self.max_ns.max(length);
        }
    }

    /// The mean in nanoseconds; `None` without requests.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64)
    }
}

/// The requests of one operation on one device.
#[derive(Debug, Clone, Default)]
pub struct OperationLatency {
    /// Number of requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of requests that were merged into them.
    pub merged_count: u64,
    /// Number of requests that are part of a larger bio.
    pub split_requests: u64,
    /// Number of requeues.
    pub requeue_count: u64,
    /// Number of failed requests.
    pub failed_requests: u64,
    /// Time from queueing to completion.
    pub q2c: LatencyHistogram,
    /// Time before dispatch.
    pub q2d: LatencyHistogram,
    /// Time in driver and drive.
    pub d2c: LatencyHistogram,
    /// Time until a request was allocated.
    pub q2g: StageLatency,
    /// Time from allocation to insertion into the scheduler's queue.
    pub g2i: StageLatency,
    /// Time in the scheduler's queue.
    pub i2d: StageLatency,
}

impl OperationLatency {
    fn record(&mut self, request: &TracedRequest) {
        let stages = request.timestamps.stages();
        self.requests += 1;
        self.bytes += request.bytes;
        self.merged_count += u64::from(request.merged_count);
        self.split_requests += u64::from(request.is_split);
        self.requeue_count += u64::from(request.requeue_count);
        self.failed_requests += u64::from(request.error != 0);
        for (latency, length) in [
            (&mut self.q2c, stages.q2c),
            (&mut self.q2d, stages.q2d),
            (&mut self.d2c, stages.d2c),
        ] {
            if let Some(length) = length {
                latency.record(length);
            }
        }
        self.q2g.record(stages.q2g);
        self.g2i.record(stages.g2i);
        self.i2d.record(stages.i2d);
    }
}

/// Statistics of one thread's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerThreadStats {
    /// Number of requests.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Number of requests that are attributed because of dirtied pages, not because of submission.
    pub writeback_requests: u64,
    /// Times from queueing to completion, summed over requests.
    pub q2c: StageLatency,
}

impl PerThreadStats {
    fn record(&mut self, request: &TracedRequest) {
        self.requests += 1;
        match request.operation {
            RequestOperation::Read => self.read_bytes += request.bytes,
            RequestOperation::Write => self.written_bytes += request.bytes,
            _ => {}
        }
        self.writeback_requests += u64::from(request.dirtied_by.is_some());
        self.q2c.record(request.timestamps.stages().q2c);
    }
}

/// Aggregate of many requests.
#[derive(Debug, Clone, Default)]
pub struct RequestSummary {
    /// Number of requests.
    pub requests: u64,
    /// By device and operation.
    pub operation_latencies: BTreeMap<(DeviceNumber, RequestOperation), OperationLatency>,
    /// By thread; `None` collects unknown threads and those beyond the limit.
    pub thread_stats: HashMap<Option<RequestActor>, PerThreadStats>,
    /// Events that the kernel lost.
    pub lost_events: u64,
    /// Events that could not be matched.
    pub match_errors: MatchErrors,
    /// Requests that were not complete when the trace ended.
    pub in_flight: u64,
}

impl RequestSummary {
    /// Adds a request.
    pub fn record(&mut self, request: &TracedRequest) {
        self.requests += 1;
        self.operation_latencies
            .entry((request.device, request.operation))
            .or_default()
            .record(request);
        let actor = request.charged_actor().filter(|actor| {
            self.thread_stats.len() < MAX_THREADS || self.thread_stats.contains_key(&Some(*actor))
        });
        self.thread_stats.entry(actor).or_default().record(request);
    }

    /// Threads, sorted by bytes, largest first.
    #[must_use]
    pub fn top_threads(&self) -> Vec<(Option<RequestActor>, PerThreadStats)> {
        let mut tolls: Vec<_> = self
            .thread_stats
            .iter()
            .map(|(actor, toll)| (*actor, *toll))
            .collect();
        tolls.sort_list_by_key(|(actor, toll)| {
            let bytes = toll.read_bytes + toll.written_bytes;
            (
                std::cmp::Reverse(bytes),
                std::cmp::Reverse(toll.requests),
                *actor,
            )
        });
        tolls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;
    use crate::trace::requests::request::RequestTimestamps;

    fn request(pid: u32, operation: RequestOperation, bytes: u64) -> TracedRequest {
        TracedRequest {
            operation,
            bytes,
            submitter: Some(RequestActor {
                pid,
                name: ThreadName::from_field(b"x"),
            }),
            timestamps: RequestTimestamps {
                queued: Some(0),
                issued: Some(10),
                completed: 100,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::block_read()
        }
    }

    #[test]
    fn summary_counts_requests_by_device_operation_and_thread() {
        let mut summary = RequestSummary::default();
        summary.record(&request(1, RequestOperation::Read, 4096));
        summary.record(&request(1, RequestOperation::Write, 512));
        summary.record(&request(2, RequestOperation::Read, 8192));
        assert_eq!(summary.requests, 3);
        let reads = &summary.operation_latencies[&((8, 0), RequestOperation::Read)];
        assert_eq!((reads.requests, reads.bytes), (2, 12_288));
        assert_eq!(reads.d2c.max(), Some(90));
        assert_eq!(reads.q2d.max(), Some(10));
        assert_eq!((reads.i2d.count, reads.i2d.mean_ns()), (0, None));
        let top = summary.top_threads();
        assert_eq!(top[0].0.unwrap().pid, 2);
        assert_eq!((top[1].1.read_bytes, top[1].1.written_bytes), (4096, 512));
    }

    #[test]
    fn summary_merges_threads_beyond_the_limit() {
        let mut summary = RequestSummary::default();
        for pid in 0..2 * MAX_THREADS as u32 {
            summary.record(&request(pid, RequestOperation::Read, 1));
        }
        assert!(summary.thread_stats.len() <= MAX_THREADS + 1);
        let counted: u64 = summary
            .thread_stats
            .values()
            .map(|thread| thread.requests)
            .sum();
        assert_eq!(counted, summary.requests);
    }
}
