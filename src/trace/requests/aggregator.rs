//! Aggregation for the Requests screen: the latest requests, and totals. Bounded.

use std::collections::VecDeque;

use super::charts::{HEATMAP_ROWS, LatencyHeatmap, ReadOtherCounts, RequestScatter, ScatterPoint};
use super::operation::RequestOperation;
use super::request::{RequestActor, TracedRequest};
use super::seek_distance::seek_distances;
use super::summary::{OperationLatency, PerThreadStats, RequestSummary};
use super::{DeviceNumber, MatchErrors};
use crate::files::safe_text::SafeText;

/// Maximum number of listed requests.
const MAX_LISTED_REQUESTS: usize = 1000;
/// Maximum number of listed threads.
const MAX_LISTED_THREADS: usize = 20;
/// Width of a column of the heat maps, in nanoseconds: all columns together show a minute.
const COLUMN_WIDTH_NS: u64 = 250_000_000;

/// Aggregates requests and creates views.
#[derive(Debug)]
pub struct RequestAggregator {
    device: SafeText,
    started_at: u64,
    summary: RequestSummary,
    heatmap: LatencyHeatmap,
    scatter: RequestScatter,
    latest_requests: VecDeque<TracedRequest>,
    previous_count: (u64, u64),
}

/// Statistics of one operation on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationView {
    /// The device.
    pub device: DeviceNumber,
    /// The operation.
    pub operation: RequestOperation,
    /// Number of requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Mean time between queueing and dispatch to the driver (Q2D), in nanoseconds.
    pub q2d_mean_ns: Option<f64>,
    /// Mean time between dispatch and completion (D2C), in nanoseconds.
    pub d2c_mean_ns: Option<f64>,
    /// Median time from queueing to completion, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the time from queueing to completion, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// The longest time from queueing to completion, in nanoseconds.
    pub max_ns: Option<u64>,
    /// Number of requests that were merged into them.
    pub merged: u64,
    /// Number of failed requests.
    pub failed_requests: u64,
}

/// State of the aggregation at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestsView {
    /// The traced device.
    pub device: SafeText,
    /// Start of the trace, on the trace's clock.
    pub started_at: u64,
    /// Time until which the view is complete.
    pub complete_until: u64,
    /// Requests completed since the start.
    pub requests: u64,
    /// Requests completed per second since the previous view; `None` for the first.
    pub requests_per_s: Option<f64>,
    /// Events that the kernel lost.
    pub lost_events: u64,
    /// Events that could not be matched.
    pub match_errors: MatchErrors,
    /// Requests in flight.
    pub in_flight: u64,
    /// By device and operation.
    pub operations: Vec<OperationView>,
    /// Threads with the most bytes.
    pub top_threads: Vec<(Option<RequestActor>, PerThreadStats)>,
    /// Columns of the latency heat map, the oldest first: the start of each, and its counts by row
    /// (see [`LatencyHeatmap::row_start_ns`]).
    pub heatmap: Vec<(u64, [ReadOtherCounts; HEATMAP_ROWS])>,
    /// Sampled points of offset against time.
    pub scatter: Vec<ScatterPoint>,
    /// The latest requests, the newest first.
    pub latest_requests: Vec<TracedRequest>,
    /// Their seek distances in bytes, in the same order (see [`seek_distances`]).
    pub seek_distances: Vec<Option<i64>>,
}

impl RequestAggregator {
    /// Creates an empty aggregation for a device, starting at a time on the trace's clock.
    #[must_use]
    pub fn new(device: &str, began: u64) -> Self {
        Self {
            device: device.into(),
            started_at: began,
            summary: RequestSummary::default(),
            heatmap: LatencyHeatmap::new(COLUMN_WIDTH_NS),
            scatter: RequestScatter::new(COLUMN_WIDTH_NS),
            latest_requests: VecDeque::with_capacity(MAX_LISTED_REQUESTS),
            previous_count: (began, 0),
        }
    }

    /// Adds the next completed requests.
    pub fn add_requests(&mut self, requests: &[TracedRequest]) {
        for request in requests {
            self.summary.record(request);
            self.heatmap.record(request);
            self.scatter.record(request);
        }
        let listed = &requests[requests.len().saturating_sub(MAX_LISTED_REQUESTS)..];
        let surplus =
            (self.latest_requests.len() + listed.len()).saturating_sub(MAX_LISTED_REQUESTS);
        self.latest_requests.drain(..surplus);
        self.latest_requests.extend(listed.iter().cloned());
    }

    /// Stores the status of the trace.
    pub fn set_trace_status(&mut self, lost: u64, gaps: MatchErrors, under_way: u64) {
        self.summary.lost_events = lost;
        self.summary.match_errors = gaps;
        self.summary.in_flight = under_way;
    }

    /// The view at a time on the trace's clock.
    pub fn view(&mut self, until: u64) -> RequestsView {
        let (time, count) = self.previous_count;
        let seconds = until.saturating_sub(time) as f64 / 1e9;
        let requests = self.summary.requests;
        self.previous_count = (until, requests);
        let mut top = self.summary.top_threads();
        top.truncate(MAX_LISTED_THREADS);
        RequestsView {
            device: self.device.clone(),
            started_at: self.started_at,
            complete_until: until,
            requests,
            requests_per_s: (seconds > 0.0).then(|| (requests - count) as f64 / seconds),
            lost_events: self.summary.lost_events,
            match_errors: self.summary.match_errors,
            in_flight: self.summary.in_flight,
            operations: self
                .summary
                .operation_latencies
                .iter()
                .map(operation_view)
                .collect(),
            top_threads: top,
            heatmap: self
                .heatmap
                .columns()
                .map(|(at, rows)| (at, *rows))
                .collect(),
            scatter: self.scatter.points().copied().collect(),
            latest_requests: self.latest_requests.iter().rev().cloned().collect(),
            seek_distances: seek_distances(self.latest_requests.iter().rev()),
        }
    }
}

fn operation_view(
    ((device, operation), distribution): (&(DeviceNumber, RequestOperation), &OperationLatency),
) -> OperationView {
    OperationView {
        device: *device,
        operation: *operation,
        requests: distribution.requests,
        bytes: distribution.bytes,
        q2d_mean_ns: distribution.q2d.mean(),
        d2c_mean_ns: distribution.d2c.mean(),
        p50_ns: distribution.q2c.percentile(50.0),
        p99_ns: distribution.q2c.percentile(99.0),
        max_ns: distribution.q2c.max(),
        merged: distribution.merged_count,
        failed_requests: distribution.failed_requests,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::RwbsFlags;
    use crate::trace::requests::request::RequestTimestamps;

    fn request(index: u64) -> TracedRequest {
        TracedRequest {
            flags: RwbsFlags::from_field(b"R"),
            sector: index,
            timestamps: RequestTimestamps {
                queued: Some(index * 1000),
                completed: index * 1000 + 500,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::block_read()
        }
    }

    #[test]
    fn requests_view_lists_newest_first_with_rate_of_interval() {
        let mut board = RequestAggregator::new("sda", 0);
        let requests: Vec<TracedRequest> = (0..3000).map(request).collect();
        board.add_requests(&requests[..10]);
        board.view(1_000_000_000);
        board.add_requests(&requests);
        let view = board.view(2_000_000_000);
        assert_eq!(view.latest_requests.len(), MAX_LISTED_REQUESTS);
        assert_eq!(
            (
                view.latest_requests[0].sector,
                view.latest_requests[999].sector
            ),
            (2999, 2000)
        );
        assert_eq!((view.requests, view.requests_per_s), (3010, Some(3000.0)));
        assert_eq!(view.operations[0].p50_ns, Some(500));
    }
}
