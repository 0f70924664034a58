//! What the Requests screen shows: the latest requests, and all of them summed up. Bounded.

use std::collections::VecDeque;

use super::operation::Operation;
use super::picture::{Counts, Heat, Point, ROWS, Scatter};
use super::request::{Actor, Request};
use super::summary::{Distribution, Summary, Toll};
use super::{Gaps, Number};
use crate::safe_text::SafeText;

/// Requests that are listed.
const LISTED: usize = 1000;
/// Threads that are listed.
const TOP: usize = 20;
/// Width of a column of the pictures: all of them together show a minute.
const COLUMN_NS: u64 = 250_000_000;

/// Takes requests and makes views of them.
#[derive(Debug)]
pub struct Board {
    device: SafeText,
    began: u64,
    summary: Summary,
    heat: Heat,
    scatter: Scatter,
    latest: VecDeque<Request>,
    before: (u64, u64),
}

/// One kind of request on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationView {
    /// The device.
    pub device: Number,
    /// What they do.
    pub operation: Operation,
    /// How many there were.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Mean time before the driver, in nanoseconds.
    pub queue_ns: Option<f64>,
    /// Mean time in the driver and the drive.
    pub drive_ns: Option<f64>,
    /// From entrance to completion: what half of them beat.
    pub p50_ns: Option<u64>,
    /// What 99 % of them beat.
    pub p99_ns: Option<u64>,
    /// The slowest.
    pub max_ns: Option<u64>,
    /// How many others joined them.
    pub merged: u64,
    /// How many failed.
    pub failed: u64,
}

/// Everything at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestsView {
    /// The device that is followed.
    pub device: SafeText,
    /// When that began, on the trace's clock.
    pub began: u64,
    /// Up to when everything is in it.
    pub until: u64,
    /// Requests that were completed since it began.
    pub requests: u64,
    /// Requests completed per second since the view before; `None` for the first.
    pub per_second: Option<f64>,
    /// Events that the kernel lost.
    pub lost: u64,
    /// What could not be put together.
    pub gaps: Gaps,
    /// Requests that are not complete.
    pub under_way: u64,
    /// By device and operation.
    pub operations: Vec<OperationView>,
    /// Threads that moved most.
    pub top: Vec<(Option<Actor>, Toll)>,
    /// Columns of time, the oldest first: when it begins, and how many requests took how long
    /// (see [`Heat::row_begins`]).
    pub heat: Vec<(u64, [Counts; ROWS])>,
    /// A selection of places and times.
    pub scatter: Vec<Point>,
    /// The latest requests, the newest first.
    pub latest: Vec<Request>,
}

impl Board {
    /// An empty board of a device, from a time on the trace's clock.
    #[must_use]
    pub fn new(device: &str, began: u64) -> Self {
        Self {
            device: device.into(),
            began,
            summary: Summary::default(),
            heat: Heat::new(COLUMN_NS),
            scatter: Scatter::new(COLUMN_NS),
            latest: VecDeque::with_capacity(LISTED),
            before: (began, 0),
        }
    }

    /// Takes the next requests.
    pub fn add(&mut self, requests: &[Request]) {
        for request in requests {
            self.summary.record(request);
            self.heat.record(request);
            self.scatter.record(request);
        }
        let listed = &requests[requests.len().saturating_sub(LISTED)..];
        let surplus = (self.latest.len() + listed.len()).saturating_sub(LISTED);
        self.latest.drain(..surplus);
        self.latest.extend(listed.iter().cloned());
    }

    /// Takes note of how the trace stands.
    pub fn stand(&mut self, lost: u64, gaps: Gaps, under_way: u64) {
        self.summary.lost = lost;
        self.summary.gaps = gaps;
        self.summary.under_way = under_way;
    }

    /// The view at a time on the trace's clock.
    pub fn view(&mut self, until: u64) -> RequestsView {
        let (time, count) = self.before;
        let seconds = until.saturating_sub(time) as f64 / 1e9;
        let requests = self.summary.requests;
        self.before = (until, requests);
        let mut top = self.summary.top();
        top.truncate(TOP);
        RequestsView {
            device: self.device.clone(),
            began: self.began,
            until,
            requests,
            per_second: (seconds > 0.0).then(|| (requests - count) as f64 / seconds),
            lost: self.summary.lost,
            gaps: self.summary.gaps,
            under_way: self.summary.under_way,
            operations: self.summary.distributions.iter().map(operation).collect(),
            top,
            heat: self.heat.columns().map(|(at, rows)| (at, *rows)).collect(),
            scatter: self.scatter.points().copied().collect(),
            latest: self.latest.iter().rev().cloned().collect(),
        }
    }
}

fn operation(
    ((device, operation), distribution): (&(Number, Operation), &Distribution),
) -> OperationView {
    OperationView {
        device: *device,
        operation: *operation,
        requests: distribution.requests,
        bytes: distribution.bytes,
        queue_ns: distribution.q2d.mean(),
        drive_ns: distribution.d2c.mean(),
        p50_ns: distribution.q2c.percentile(50.0),
        p99_ns: distribution.q2c.percentile(99.0),
        max_ns: distribution.q2c.max(),
        merged: distribution.merged,
        failed: distribution.failed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Times;
    use super::*;
    use crate::probe::trace::event::Flags;

    fn request(index: u64) -> Request {
        Request {
            flags: Flags::of(b"R"),
            sector: index,
            times: Times {
                queued: Some(index * 1000),
                completed: index * 1000 + 500,
                ..Times::default()
            },
            ..Request::plain()
        }
    }

    #[test]
    fn the_newest_requests_come_first_and_the_rate_is_that_of_the_interval() {
        let mut board = Board::new("sda", 0);
        let requests: Vec<Request> = (0..3000).map(request).collect();
        board.add(&requests[..10]);
        board.view(1_000_000_000);
        board.add(&requests);
        let view = board.view(2_000_000_000);
        assert_eq!(view.latest.len(), LISTED);
        assert_eq!(
            (view.latest[0].sector, view.latest[999].sector),
            (2999, 2000)
        );
        assert_eq!((view.requests, view.per_second), (3010, Some(3000.0)));
        assert_eq!(view.operations[0].p50_ns, Some(500));
    }
}
