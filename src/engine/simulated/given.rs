//! Simple drives with known properties, against which benchmarks are tested.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::model::{OrderedQueue, ServeInOrder, SimRequest};
use super::parameters::{SimError, SimParameters, SimulatedDrive, SimulatedKind};
use crate::engine::request_generator::saturating_nanoseconds;
use crate::units;

/// `sim:constant`: all requests have the same latency.
pub(super) const CONSTANT: SimulatedKind = SimulatedKind {
    name: "constant",
    parameters: "latency throughput parallel",
    rotational: None,
    build: |parameters| {
        let latency_ns = parameters.time("latency", 100e3)? as u64;
        build_servers(parameters, vec![(latency_ns, 1)], 0..0)
    },
};

/// `sim:given`: a list of latencies, such as `latencies=100us*7+8ms*3`, which begins again at its end.
pub(super) const GIVEN: SimulatedKind = SimulatedKind {
    name: "given",
    parameters: "latencies throughput parallel",
    rotational: None,
    build: |parameters| {
        let latencies = parameters.parsed("latencies", parse_latencies)?;
        build_servers(parameters, latencies.unwrap_or(vec![(100_000, 1)]), 0..0)
    },
};

/// `sim:failing`: a range of addresses cannot be read or written.
pub(super) const FAILING: SimulatedKind = SimulatedKind {
    name: "failing",
    parameters: "latency throughput parallel begin length",
    rotational: None,
    build: |parameters| {
        let latency_ns = parameters.time("latency", 100e3)? as u64;
        let begin = parameters.size("begin", 500_000_000)?;
        let end = begin.saturating_add(parameters.size("length", 4096)?);
        build_servers(parameters, vec![(latency_ns, 1)], begin..end)
    },
};

/// `LATENCY*COUNT+...`: latencies in nanoseconds and for how many requests each.
fn parse_latencies(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let parse = |part: &str| {
        let (latency, count) = part.split_once('*').unwrap_or((part, "1"));
        let latency = units::parse_duration(latency).map_err(|error| error.to_string())?;
        let count = count.parse().ok().filter(|count| *count > 0);
        let count = count.ok_or_else(|| format!("{part}: write a count of at least 1"))?;
        Ok((saturating_nanoseconds(latency), count))
    };
    text.split('+').map(parse).collect()
}

fn build_servers(
    parameters: &SimParameters,
    latencies: Vec<(u64, u64)>,
    failing_range: Range<u64>,
) -> Result<SimulatedDrive, SimError> {
    let parallel = parameters.count("parallel", 1)?.max(1);
    let servers = Servers {
        latencies,
        bytes_per_second: parameters.size("throughput", 0)?,
        failing_range,
        free_at_ns: (0..parallel).map(|_| Reverse(0)).collect(),
        served: 0,
    };
    let size = parameters.size("size", 10_000_000_000)?;
    parameters.build_around(OrderedQueue::new(servers), size, None)
}

/// Identical servers, first come, first served.
struct Servers {
    /// Latencies in nanoseconds and for how many requests each, in turn.
    latencies: Vec<(u64, u64)>,
    /// 0 transfers in no time.
    bytes_per_second: u64,
    failing_range: Range<u64>,
    /// When each server becomes idle.
    free_at_ns: BinaryHeap<Reverse<u64>>,
    served: u64,
}

impl Servers {
    /// Latency of the next request.
    fn next_latency_ns(&mut self) -> u64 {
        let total: u64 = self.latencies.iter().map(|(_, count)| count).sum();
        let mut index = self.served % total;
        self.served += 1;
        let mine = self.latencies.iter().find(|(_, count)| {
            let is_mine = index < *count;
            index = index.saturating_sub(*count);
            is_mine
        });
        mine.map_or(0, |(latency_ns, _)| *latency_ns)
    }
}

impl ServeInOrder for Servers {
    fn serve(&mut self, now_ns: u64, request: SimRequest) -> (u64, Result<u32, i32>) {
        let transfer = u128::from(request.bytes) * 1_000_000_000;
        let transfer_ns = transfer.checked_div(u128::from(self.bytes_per_second));
        let takes_ns = self.next_latency_ns() + transfer_ns.unwrap_or(0) as u64;
        let Reverse(free_ns) = self.free_at_ns.pop().unwrap_or_default();
        let end_ns = free_ns.max(now_ns).saturating_add(takes_ns);
        self.free_at_ns.push(Reverse(end_ns));
        let fails =
            request.address < self.failing_range.end && request.end() > self.failing_range.start;
        let result = if fails {
            Err(libc::EIO)
        } else {
            Ok(request.bytes)
        };
        (end_ns, result)
    }
}
