//! Many requests summed up, in bounded memory.

use std::collections::{BTreeMap, HashMap};

use super::matcher::Gaps;
use super::operation::Operation;
use super::request::{Actor, Request};
use crate::probe::trace::event::Number;
use crate::stats::latency::Latency;

/// Threads that are told apart. The requests of those that come when there are more are summed
/// up under one name.
const ACTORS: usize = 4096;

/// One stage's length over many requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageLatency {
    /// Requests of which it is known.
    pub count: u64,
    /// All of it, in nanoseconds.
    pub total_ns: u64,
    /// The longest.
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

    /// The mean in nanoseconds, if there was any.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns as f64 / self.count as f64)
    }
}

/// The requests of one operation on one device.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many others joined them.
    pub merged: u64,
    /// How many are parts of something larger.
    pub split: u64,
    /// How often a driver gave one back.
    pub requeued: u64,
    /// How many failed.
    pub failed: u64,
    /// From the block layer's entrance to completion.
    pub q2c: Latency,
    /// Before the driver.
    pub q2d: Latency,
    /// In the driver and the drive.
    pub d2c: Latency,
    /// Until a request was allocated.
    pub q2g: StageLatency,
    /// From there into the scheduler's queue.
    pub g2i: StageLatency,
    /// In the scheduler's queue.
    pub i2d: StageLatency,
}

impl Distribution {
    fn record(&mut self, request: &Request) {
        let stages = request.times.stages();
        self.requests += 1;
        self.bytes += request.bytes;
        self.merged += u64::from(request.merged);
        self.split += u64::from(request.split);
        self.requeued += u64::from(request.requeued);
        self.failed += u64::from(request.error != 0);
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

/// What one thread's requests cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Toll {
    /// How many.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// How many were charged because of pages made dirty, not because of having been handed over.
    pub written_back: u64,
    /// Times from entrance to completion, summed over requests.
    pub taken: StageLatency,
}

impl Toll {
    fn record(&mut self, request: &Request) {
        self.requests += 1;
        match request.operation {
            Operation::Read => self.read_bytes += request.bytes,
            Operation::Write => self.written_bytes += request.bytes,
            _ => {}
        }
        self.written_back += u64::from(request.dirtied_by.is_some());
        self.taken.record(request.times.stages().q2c);
    }
}

/// Many requests summed up.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// How many.
    pub requests: u64,
    /// By device and operation.
    pub distributions: BTreeMap<(Number, Operation), Distribution>,
    /// By thread; `None` is everybody else: threads that are not known, and those beyond the
    /// number that are told apart.
    pub tolls: HashMap<Option<Actor>, Toll>,
    /// Events that the kernel lost.
    pub lost: u64,
    /// What could not be put together.
    pub gaps: Gaps,
    /// Requests that were not complete when the trace ended.
    pub under_way: u64,
}

impl Summary {
    /// Takes note of a request.
    pub fn record(&mut self, request: &Request) {
        self.requests += 1;
        self.distributions
            .entry((request.device, request.operation))
            .or_default()
            .record(request);
        let charged = request
            .charged()
            .filter(|actor| self.tolls.len() < ACTORS || self.tolls.contains_key(&Some(*actor)));
        self.tolls.entry(charged).or_default().record(request);
    }

    /// Threads, those that moved most bytes first.
    #[must_use]
    pub fn top(&self) -> Vec<(Option<Actor>, Toll)> {
        let mut tolls: Vec<_> = self
            .tolls
            .iter()
            .map(|(actor, toll)| (*actor, *toll))
            .collect();
        tolls.sort_by_key(|(actor, toll)| {
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
    use super::super::request::Times;
    use super::*;
    use crate::probe::trace::event::Name;

    fn request(pid: u32, operation: Operation, bytes: u64) -> Request {
        Request {
            operation,
            bytes,
            submitter: Some(Actor {
                pid,
                name: Name::of(b"x"),
            }),
            times: Times {
                queued: Some(0),
                issued: Some(10),
                completed: 100,
                ..Times::default()
            },
            ..Request::plain()
        }
    }

    #[test]
    fn requests_are_counted_by_device_operation_and_thread() {
        let mut summary = Summary::default();
        summary.record(&request(1, Operation::Read, 4096));
        summary.record(&request(1, Operation::Write, 512));
        summary.record(&request(2, Operation::Read, 8192));
        assert_eq!(summary.requests, 3);
        let reads = &summary.distributions[&((8, 0), Operation::Read)];
        assert_eq!((reads.requests, reads.bytes), (2, 12_288));
        assert_eq!(reads.d2c.max(), Some(90));
        assert_eq!(reads.q2d.max(), Some(10));
        assert_eq!((reads.i2d.count, reads.i2d.mean()), (0, None));
        let top = summary.top();
        assert_eq!(top[0].0.unwrap().pid, 2);
        assert_eq!((top[1].1.read_bytes, top[1].1.written_bytes), (4096, 512));
    }

    #[test]
    fn threads_beyond_the_limit_are_summed_up() {
        let mut summary = Summary::default();
        for pid in 0..2 * ACTORS as u32 {
            summary.record(&request(pid, Operation::Read, 1));
        }
        assert!(summary.tolls.len() <= ACTORS + 1);
        let counted: u64 = summary.tolls.values().map(|toll| toll.requests).sum();
        assert_eq!(counted, summary.requests);
    }
}
