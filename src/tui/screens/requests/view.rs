//! What the Requests screen shows: the latest requests, and totals. Bounded.

use std::collections::{HashMap, VecDeque};

use super::charts::{HeatmapColumn, RequestCharts, ScatterPoint};
use crate::files::safe_text::SafeText;
use crate::trace::requests::{
    DeviceNumber, OperationCounts, OperationLatency, PerThreadStats, RequestActor,
    RequestOperation, RequestSummary, TracedRequest,
};

/// Maximum number of listed requests.
const MAX_LISTED_REQUESTS: usize = 1000;
/// Maximum number of listed threads.
const MAX_LISTED_THREADS: usize = 20;

/// Aggregates requests and creates views.
#[derive(Debug)]
pub struct RequestAggregator {
    device: SafeText,
    started_at: u64,
    summary: RequestSummary,
    charts: RequestCharts,
    latest_requests: VecDeque<TracedRequest>,
    /// Time and number of requests of the previous view.
    previous: (u64, u64),
}

/// Statistics of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationView {
    /// The operation.
    pub operation: RequestOperation,
    /// Numbers of its requests.
    pub counts: OperationCounts,
    /// Mean time between queueing and dispatch to the driver (Q2D), in nanoseconds.
    pub q2d_mean_ns: Option<f64>,
    /// Mean time between dispatch and completion (D2C), in nanoseconds.
    pub d2c_mean_ns: Option<f64>,
    /// Median, 99th percentile and maximum of the time from queueing to completion, in nanoseconds.
    pub q2c_ns: [Option<u64>; 3],
}

impl OperationView {
    fn new((operation, sums): (&RequestOperation, &OperationLatency)) -> Self {
        let q2c = &sums.q2c;
        Self {
            operation: *operation,
            counts: sums.counts,
            q2d_mean_ns: sums.q2d.mean(),
            d2c_mean_ns: sums.d2c.mean(),
            q2c_ns: [q2c.percentile(50.0), q2c.percentile(99.0), q2c.max()],
        }
    }
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
    /// Requests in flight.
    pub in_flight: u64,
    /// By operation.
    pub operations: Vec<OperationView>,
    /// Threads with the most bytes.
    pub top_threads: Vec<(Option<RequestActor>, PerThreadStats)>,
    /// Columns of the latency heat map, the oldest first: the start of each, and its counts by row
    /// (see [`row_start_ns`](super::charts::row_start_ns)).
    pub heatmap: Vec<(u64, HeatmapColumn)>,
    /// Sampled points of offset against time.
    pub scatter: Vec<ScatterPoint>,
    /// The latest requests, the newest first.
    pub latest_requests: Vec<TracedRequest>,
    /// Their seek distances in bytes, in the same order (see `seek_distances`).
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
            charts: RequestCharts::default(),
            latest_requests: VecDeque::with_capacity(MAX_LISTED_REQUESTS),
            previous: (began, 0),
        }
    }

    /// Adds the next completed requests.
    pub fn add_requests(&mut self, requests: &[TracedRequest]) {
        for request in requests {
            self.summary.record(request);
            self.charts.record(request);
        }
        let listed = &requests[requests.len().saturating_sub(MAX_LISTED_REQUESTS)..];
        let count = self.latest_requests.len() + listed.len();
        self.latest_requests
            .drain(..count.saturating_sub(MAX_LISTED_REQUESTS));
        self.latest_requests.extend(listed.iter().cloned());
    }

    /// Stores the numbers of lost events and of requests in flight.
    pub fn set_trace_status(&mut self, lost_events: u64, in_flight: u64) {
        self.summary.lost_events = lost_events;
        self.summary.in_flight = in_flight;
    }

    /// The view at a time on the trace's clock.
    pub fn view(&mut self, until: u64) -> RequestsView {
        let summary = &self.summary;
        let (time, count) = std::mem::replace(&mut self.previous, (until, summary.requests));
        let seconds = until.saturating_sub(time) as f64 / 1e9;
        RequestsView {
            device: self.device.clone(),
            started_at: self.started_at,
            complete_until: until,
            requests: summary.requests,
            requests_per_s: (seconds > 0.0).then(|| (summary.requests - count) as f64 / seconds),
            lost_events: summary.lost_events,
            in_flight: summary.in_flight,
            operations: summary.operations.iter().map(OperationView::new).collect(),
            top_threads: summary.top_threads(MAX_LISTED_THREADS),
            heatmap: self.charts.heatmap().collect(),
            scatter: self.charts.points().collect(),
            latest_requests: self.latest_requests.iter().rev().cloned().collect(),
            seek_distances: seek_distances(self.latest_requests.iter().rev()),
        }
    }
}

/// The seek distance of each request in bytes: from the end of the request that was issued to the
/// same device before it to its first sector; 0 is sequential, negative is backwards (btt(1), "seek
/// distance" of D). `None` for the first request, for one that was not issued or whose issue was not
/// traced, and for one without data.
fn seek_distances<'a>(requests: impl Iterator<Item = &'a TracedRequest>) -> Vec<Option<i64>> {
    let requests: Vec<&TracedRequest> = requests.collect();
    let mut by_issue: Vec<(u64, usize)> = requests
        .iter()
        .enumerate()
        .filter(|(_, request)| request.bytes > 0)
        .filter_map(|(index, request)| Some((request.timestamps.issued?, index)))
        .collect();
    by_issue.sort_unstable();
    let mut ends: HashMap<DeviceNumber, i128> = HashMap::new();
    let mut distances = vec![None; requests.len()];
    for (_, index) in by_issue {
        let request = requests[index];
        let start = i128::from(request.sector) * 512;
        let end = start + i128::from(request.bytes);
        if let Some(previous) = ends.insert(request.device, end) {
            distances[index] = i64::try_from(start - previous).ok();
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::RwbsFlags;
    use crate::trace::requests::RequestTimestamps;

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
        assert_eq!(view.operations[0].q2c_ns[0], Some(500));
    }

    fn issued_request(sector: u64, issued: Option<u64>) -> TracedRequest {
        TracedRequest {
            sector,
            timestamps: RequestTimestamps {
                issued,
                completed: 100,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::block_read()
        }
    }

    #[test]
    fn seek_distance_is_from_the_end_of_the_request_issued_before() {
        // Listed in the order of completion, which differs from that of issue.
        let flush = TracedRequest {
            bytes: 0,
            ..issued_request(0, Some(15))
        };
        let other_device = TracedRequest {
            device: (8, 16),
            ..issued_request(999, Some(12))
        };
        let requests = [
            issued_request(16, Some(20)),
            issued_request(0, Some(10)),
            issued_request(8, Some(30)),
            issued_request(8, None),
            flush,
            other_device,
        ];
        assert_eq!(
            seek_distances(requests.iter()),
            [Some(4096), None, Some(-8192), None, None, None]
        );
    }
}
