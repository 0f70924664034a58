//! Sums of many requests of one device, in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::matcher::MatchErrors;
use super::request::{RequestActor, RequestOperation, TracedRequest};
use crate::stats::latency::histogram::LatencyHistogram;
use crate::stats::sorting::SortList as _;

/// Limit on distinct threads. Requests of further threads are aggregated in one entry.
const MAX_THREADS: usize = 4096;

/// Mean of many times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeanTime {
    count: u64,
    total_ns: u64,
}

impl MeanTime {
    fn record(&mut self, length: Option<u64>) {
        if let Some(length) = length {
            self.count += 1;
            self.total_ns = self.total_ns.saturating_add(length);
        }
    }

    /// The mean in nanoseconds; `None` without a known time.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64)
    }
}

/// The requests of one operation, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OperationCounts {
    /// Number of requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of requests that were merged into them.
    pub merged: u64,
    /// Number of requests that are part of a larger bio.
    pub split: u64,
    /// Number of requeues.
    pub requeued: u64,
    /// Number of failed requests.
    pub failed: u64,
}

/// The requests of one operation.
#[derive(Debug, Clone, Default)]
pub struct OperationLatency {
    /// Their numbers.
    pub counts: OperationCounts,
    /// Time from queueing to completion.
    pub q2c: LatencyHistogram,
    /// Time before dispatch.
    pub q2d: LatencyHistogram,
    /// Time in driver and drive.
    pub d2c: LatencyHistogram,
    /// Time until a request was allocated.
    pub q2g: MeanTime,
    /// Time from allocation to insertion into the scheduler's queue.
    pub g2i: MeanTime,
    /// Time in the scheduler's queue.
    pub i2d: MeanTime,
}

impl OperationLatency {
    fn record(&mut self, request: &TracedRequest) {
        let stages = request.timestamps.stages();
        let counts = &mut self.counts;
        counts.requests += 1;
        counts.bytes += request.bytes;
        counts.merged += u64::from(request.merged_count);
        counts.split += u64::from(request.is_split);
        counts.requeued += u64::from(request.requeue_count);
        counts.failed += u64::from(request.error != 0);
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

/// The requests of one thread.
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
    /// Times from queueing to completion.
    pub q2c: MeanTime,
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

    /// Fraction of the requests that are attributed because of dirtied pages, 0 to 1.
    #[must_use]
    pub fn writeback_share(&self) -> f64 {
        self.writeback_requests as f64 / self.requests.max(1) as f64
    }
}

/// Sums of many requests.
#[derive(Debug, Clone, Default)]
pub struct RequestSummary {
    /// Number of requests.
    pub requests: u64,
    /// By operation.
    pub operations: BTreeMap<RequestOperation, OperationLatency>,
    threads: HashMap<Option<RequestActor>, PerThreadStats>,
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
        let operation = self.operations.entry(request.operation).or_default();
        operation.record(request);
        let has_room = self.threads.len() < MAX_THREADS;
        let actor = request.charged_actor();
        let actor = actor.filter(|actor| has_room || self.threads.contains_key(&Some(*actor)));
        self.threads.entry(actor).or_default().record(request);
    }

    /// The threads with most bytes, those first; `None` are unknown threads and those beyond a limit.
    #[must_use]
    pub fn top_threads(&self, most: usize) -> Vec<(Option<RequestActor>, PerThreadStats)> {
        let all = self.threads.iter();
        let mut threads: Vec<_> = all.map(|(actor, stats)| (*actor, *stats)).collect();
        threads.sort_list_by_key(|(actor, stats)| {
            let bytes = stats.read_bytes + stats.written_bytes;
            (Reverse(bytes), Reverse(stats.requests), *actor)
        });
        threads.truncate(most);
        threads
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
    fn summary_merges_threads_beyond_the_limit() {
        let mut summary = RequestSummary::default();
        for pid in 0..2 * MAX_THREADS as u32 {
            summary.record(&request(pid, RequestOperation::Read, 1));
        }
        assert!(summary.threads.len() <= MAX_THREADS + 1);
        let counted: u64 = summary.threads.values().map(|thread| thread.requests).sum();
        assert_eq!(counted, summary.requests);
    }
}
