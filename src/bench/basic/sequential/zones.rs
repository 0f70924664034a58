//! Throughput per zone, from the completions of one execution over all zones.

use std::time::Duration;

use crate::engine::{AccessPattern, ExecutionOutcome, IoStats, Plan, PlanLimits, ZoneMap};
use crate::stats::general::timeline::RunTimeline;
use crate::stats::latency::histogram::LatencyHistogram;

/// Number of zones in the window.
pub(super) const ZONE_COUNT: u64 = 100;
/// Maximum number of logged requests; beyond it only every n-th request is logged.
const MAX_LOGGED_REQUESTS: u64 = 1 << 17;
/// Headroom of the log: the threads of one worker do not make equal numbers of requests.
const LOG_HEADROOM: u64 = 4;
/// Maximum number of separately timed pieces per zone, and minimum completions in each.
const PIECES: usize = 16;
const LEAST_IN_PIECE: f64 = 4.0;
/// Minimum number of pieces to omit any.
const ENOUGH_PIECES: usize = 4;
/// One of this many pieces, the slowest, is omitted from the typical rate.
const LEFT_OUT: usize = 4;

/// Measurement of one part of the address space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeasuredZone {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) bytes_per_second: f64,
    /// Rate without the slowest pieces, used to detect the drive's zones.
    pub(super) typical: f64,
}

/// The zones of a plan.
pub(super) fn map_of(plan: &Plan) -> ZoneMap {
    let AccessPattern::Zones { zones, requests } = plan.pattern else {
        return ZoneMap::new(plan, ZONE_COUNT, 0);
    };
    ZoneMap::new(plan, zones, requests)
}

/// Whether the zones leave no block of the window out.
pub(super) fn is_whole_window(plan: &Plan) -> bool {
    map_of(plan).requests() == ZoneMap::new(plan, ZONE_COUNT, u64::MAX).requests()
}

/// A pass of at most this many requests in the zones of a plan, within what is left of the limits.
pub(super) fn plan_of_pass(plan: &Plan, requests: u64, left: PlanLimits) -> Plan {
    let block = u64::from(plan.block_size.max_bytes());
    let in_bytes = left.bytes.map(|bytes| (bytes / block).max(1));
    let limits = [in_bytes, left.requests].into_iter().flatten();
    let map = ZoneMap::new(plan, ZONE_COUNT, limits.fold(requests, u64::min));
    let (log_capacity, log_interval) = log_capacity_and_interval(map.requests());
    Plan {
        pattern: AccessPattern::Zones {
            zones: map.zones(),
            requests: map.requests(),
        },
        limits: PlanLimits {
            duration: plan.limits.duration.and(left.duration),
            ..PlanLimits::default()
        },
        log_capacity,
        log_interval,
        ..plan.clone()
    }
}

/// The zones of all passes together. A zone that a pass has not measured keeps what it had.
pub(super) fn merge_passes(before: &[MeasuredZone], pass: &[MeasuredZone]) -> Vec<MeasuredZone> {
    let mut zones = before.to_vec();
    for zone in pass {
        match zones.binary_search_by_key(&zone.offset, |it| it.offset) {
            Ok(at) => zones[at] = zones[at].plus(zone),
            Err(at) => zones.insert(at, *zone),
        }
    }
    zones
}

/// Bytes over time of all zones together: the rate of moving them one after the other.
pub(super) fn mean_throughput(zones: &[MeasuredZone]) -> f64 {
    let bytes: f64 = zones.iter().map(|zone| zone.bytes as f64).sum();
    let seconds: f64 = zones
        .iter()
        .map(|zone| zone.bytes as f64 / zone.bytes_per_second)
        .sum();
    bytes / seconds
}

/// What all passes together measured.
#[derive(Debug, Default)]
pub(super) struct MeasuredPasses {
    pub(super) zones: Vec<MeasuredZone>,
    pub(super) latency: LatencyHistogram,
    /// Time of the first pass.
    pub(super) first_pass: Duration,
    /// The fewest requests in a zone of the first pass.
    pub(super) fewest_requests: Option<u64>,
}

impl MeasuredPasses {
    /// The same with a further pass, which may not be complete.
    pub(super) fn with_pass(&self, zones: &[MeasuredZone], stats: &IoStats) -> Self {
        let mut latency = self.latency.clone();
        latency.merge(&stats.latency());
        Self {
            zones: merge_passes(&self.zones, zones),
            latency,
            ..*self
        }
    }
}

impl MeasuredZone {
    /// The same zone in two passes: its bytes over its time.
    fn plus(self, other: &Self) -> Self {
        let bytes = self.bytes + other.bytes;
        let time = |rate: fn(&Self) -> f64| {
            self.bytes as f64 / rate(&self) + other.bytes as f64 / rate(other)
        };
        Self {
            offset: self.offset,
            bytes,
            bytes_per_second: bytes as f64 / time(|zone| zone.bytes_per_second),
            typical: bytes as f64 / time(|zone| zone.typical),
        }
    }
}

/// Log settings for this many requests: capacity, and sampling interval.
fn log_capacity_and_interval(requests: u64) -> (usize, u32) {
    let every = requests.div_ceil(MAX_LOGGED_REQUESTS).max(1);
    let room = requests
        .min(MAX_LOGGED_REQUESTS)
        .saturating_mul(LOG_HEADROOM);
    (
        usize::try_from(room).unwrap_or(usize::MAX),
        u32::try_from(every).unwrap_or(u32::MAX),
    )
}

/// Cumulative completions over time: `[nanoseconds, requests]`, ascending.
type CompletionCurve = Vec<[f64; 2]>;

/// Curve from the log of an execution, which contains every `every`-th request.
fn curve_from_log(outcome: &ExecutionOutcome, every: u32) -> CompletionCurve {
    let mut ends: Vec<u64> = outcome
        .request_log
        .iter()
        .map(|request| request.end_ns)
        .collect();
    ends.sort_unstable();
    let mut curve: CompletionCurve = ends
        .iter()
        .zip(1_u32..)
        .map(|(end, number)| [*end as f64, f64::from(number) * f64::from(every)])
        .collect();
    let transferred = outcome.stats.all_counts();
    let all = (transferred.read_ios + transferred.write_ios) as f64;
    if curve.last().is_none_or(|last| last[1] < all) {
        curve.push([outcome.elapsed.as_nanos() as f64, all]);
    }
    curve
}

/// Curve from the timeline, with the resolution of its buckets.
fn curve_from_timeline(timeline: &RunTimeline, now_ns: f64) -> CompletionCurve {
    let mut sum = 0.0;
    let buckets = timeline.buckets().iter().zip(1_u32..);
    buckets
        .map(|(bucket, number)| {
            sum += bucket.requests as f64;
            let end = f64::from(number) * timeline.width_ns() as f64;
            [end.min(now_ns), sum]
        })
        .collect()
}

/// Time at which this many requests were complete; `None` if never.
fn time_of_completion(curve: &CompletionCurve, requests: f64) -> Option<f64> {
    if requests <= 0.0 {
        return Some(0.0);
    }
    let after = curve.partition_point(|point| point[1] < requests);
    let [end, done] = *curve.get(after)?;
    let [start, before] = match after {
        0 => [0.0, 0.0],
        _ => curve[after - 1],
    };
    Some(start + (end - start) * (requests - before) / (done - before))
}

/// Requests per nanosecond between two completion counts, without the slowest quarter of the
/// pieces. These contain the seek to the zone and its outliers, which are not a property of the
/// medium: one outlier of 60 ms reduces the rate of a zone that is read for 0.3 s by a fifth.
fn typical(curve: &CompletionCurve, (from, to): (f64, f64), every: f64) -> Option<f64> {
    let pieces = ((to - from) / (LEAST_IN_PIECE * every)) as usize;
    let pieces = pieces.min(PIECES);
    if pieces < ENOUGH_PIECES {
        return None;
    }
    let size = (to - from) / pieces as f64;
    let edges = (0..=pieces).map(|edge| time_of_completion(curve, from + size * edge as f64));
    let edges: Vec<f64> = edges.collect::<Option<_>>()?;
    let mut times: Vec<f64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
    times.sort_by(f64::total_cmp);
    times.truncate(pieces - pieces / LEFT_OUT);
    let time: f64 = times.iter().sum();
    (time > 0.0).then(|| size * times.len() as f64 / time)
}

/// The complete zones, with `requests` made in each. The time of a zone extends from the completion
/// that completes the zones before it to its own last completion. Requests are sent in order and
/// the queue is full at both times, so that a single slow request near the boundary shifts no time
/// from one zone to its neighbour.
fn completed_zones(
    map: &ZoneMap,
    (block, every): (u64, u32),
    curve: &CompletionCurve,
    requests: impl IntoIterator<Item = f64>,
) -> Vec<MeasuredZone> {
    let mut zones = Vec::new();
    let (mut first, mut before, mut began) = (None, 0.0, 0.0);
    let mut done = 0.0;
    for (zone, requests) in (0..map.zones()).zip(requests) {
        if requests <= 0.0 {
            continue;
        }
        done += requests;
        let begin = *first.get_or_insert(zone);
        let Some(ended) = time_of_completion(curve, done) else {
            break;
        };
        // Simultaneous completions do not separate neighbouring zones, which are merged into one.
        if ended > began {
            let bytes = (done - before) * block as f64;
            let rate = bytes / ((ended - began) / 1e9);
            let typical = typical(curve, (before, done), f64::from(every));
            zones.push(MeasuredZone {
                offset: map.zone_begin(begin),
                bytes: bytes as u64,
                bytes_per_second: rate,
                typical: typical.map_or(rate, |typical| typical * block as f64 * 1e9),
            });
            (first, before, began) = (None, done, ended);
        }
    }
    zones
}

/// Requests per zone if only their number ends a zone.
fn requests_per_zone(map: &ZoneMap) -> impl Iterator<Item = f64> {
    (0..map.zones()).map(|zone| (map.requests_before(zone + 1) - map.requests_before(zone)) as f64)
}

/// Requests per zone according to the log, which contains every `every`-th request.
fn requests_per_logged_zone(map: &ZoneMap, outcome: &ExecutionOutcome, every: u32) -> Vec<f64> {
    let mut counts = vec![0.0; map.zones() as usize];
    for request in &outcome.request_log {
        counts[map.zone_of_address(request.address) as usize] += f64::from(every);
    }
    counts
}

/// Requests per zone under a time limit, from the completions so far: a zone ends with its last
/// request or at its time limit. Accurate if the queue is short compared with a zone.
fn requests_per_timed_zone(map: &ZoneMap, curve: &CompletionCurve, duration: Duration) -> Vec<f64> {
    let share = duration.as_nanos() as f64 / map.zones() as f64;
    let last = curve.last().copied().unwrap_or([0.0, 0.0]);
    let until = |time: f64| -> f64 {
        let after = curve.partition_point(|point| point[0] < time);
        let before = after
            .checked_sub(1)
            .map_or([0.0, 0.0], |index| curve[index]);
        let next = curve.get(after).copied().unwrap_or(last);
        let width = next[0] - before[0];
        match width > 0.0 {
            true => before[1] + (next[1] - before[1]) * ((time - before[0]) / width).min(1.0),
            false => next[1],
        }
    };
    let mut done = 0.0;
    let mut one = |(all, zone): (f64, u32)| {
        let due = until(share * f64::from(zone));
        let requests = match last[0] < share * f64::from(zone) {
            // Before its time limit, a zone is complete only with all of its requests.
            true => all,
            false => all.min(due - done).max(0.0),
        };
        done += requests;
        requests
    };
    requests_per_zone(map).zip(1..).map(&mut one).collect()
}

fn zone_of_outcome(offset: u64, outcome: &ExecutionOutcome) -> Option<MeasuredZone> {
    let (bytes, seconds) = (outcome.stats.bytes(), outcome.elapsed.as_secs_f64());
    let rate = bytes as f64 / seconds;
    (bytes > 0 && seconds > 0.0).then_some(MeasuredZone {
        offset,
        bytes,
        bytes_per_second: rate,
        typical: rate,
    })
}

/// The zones of a finished execution. If it ended within its first zone, that zone is included as
/// far as it was measured.
pub(super) fn zones_of_outcome(plan: &Plan, outcome: &ExecutionOutcome) -> Vec<MeasuredZone> {
    let map = &map_of(plan);
    let every = plan.log_interval;
    let curve = curve_from_log(outcome, every);
    let requests = match plan.limits.duration {
        None => requests_per_zone(map).collect(),
        Some(_) => requests_per_logged_zone(map, outcome, every),
    };
    let block = u64::from(plan.block_size.max_bytes());
    let mut zones = completed_zones(map, (block, every), &curve, requests);
    if zones.is_empty() {
        zones.extend(zone_of_outcome(map.zone_begin(0), outcome));
    }
    zones
}

/// Approximate data of the zones complete so far, during an execution.
pub(super) fn zones_in_progress(
    plan: &Plan,
    io_stats: &IoStats,
    elapsed: Duration,
) -> Vec<MeasuredZone> {
    let map = &map_of(plan);
    let curve = curve_from_timeline(&io_stats.counts_over_time(), elapsed.as_nanos() as f64);
    let requests = match plan.limits.duration {
        None => requests_per_zone(map).collect(),
        Some(duration) => requests_per_timed_zone(map, &curve, duration),
    };
    let block = u64::from(plan.block_size.max_bytes());
    completed_zones(map, (block, 1), &curve, requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{AccessPattern, Plan};

    const MIB: u64 = 1 << 20;

    fn zone_map(zones: u64, requests: u64) -> ZoneMap {
        let plan = Plan::single_depth_reads(AccessPattern::Sequential, 1 << 20, 0..1000 * MIB);
        ZoneMap::new(&plan, zones, requests)
    }

    #[test]
    fn zone_rates_are_unaffected_by_slow_request_at_boundary() {
        // Four in flight, a completion per millisecond; the tenth request completes 3 ms late.
        let mut curve: CompletionCurve = (1..=20_u32)
            .map(|number| [f64::from(number) * 1e6, f64::from(number)])
            .collect();
        curve[9][0] = 13e6;
        curve.sort_by(|one, other| one[0].total_cmp(&other[0]));
        for (point, number) in curve.iter_mut().zip(1_u32..) {
            point[1] = f64::from(number);
        }
        let zones = completed_zones(&zone_map(2, 20), (MIB, 1), &curve, [10.0, 10.0]);
        let rates: Vec<f64> = zones
            .iter()
            .map(|zone| zone.bytes_per_second / MIB as f64)
            .collect();
        assert!(
            rates.iter().all(|rate| (rate / 1000.0 - 1.0).abs() < 0.12),
            "{rates:?}"
        );
    }

    #[test]
    fn zones_with_simultaneous_completions_are_merged() {
        let curve = vec![[1e6, 1.0], [1e6, 2.0], [1e6, 3.0], [2e6, 4.0]];
        let zones = completed_zones(&zone_map(4, 4), (MIB, 1), &curve, [1.0; 4]);
        let bytes: Vec<u64> = zones.iter().map(|zone| zone.bytes / MIB).collect();
        assert_eq!(bytes, [1, 3]);
    }

    #[test]
    fn zones_unfinished_are_excluded() {
        let curve = vec![[1e6, 2.0], [2e6, 5.0]];
        assert_eq!(
            completed_zones(&zone_map(4, 8), (MIB, 1), &curve, [2.0; 4]).len(),
            2
        );
    }

    #[test]
    fn zone_with_time_limit_ends_by_time_or_by_requests() {
        // A completion per millisecond; zones of 10 requests, or of 5 ms.
        let curve: CompletionCurve = (1..=20_u32)
            .map(|number| [f64::from(number) * 1e6, f64::from(number)])
            .collect();
        let timed = |milliseconds| {
            requests_per_timed_zone(
                &zone_map(4, 40),
                &curve,
                Duration::from_millis(milliseconds),
            )
        };
        assert_eq!(timed(20), [5.0; 4]);
        // 20 ms each: two zones are complete, the others are not yet.
        assert_eq!(timed(80), [10.0; 4]);
        assert_eq!(
            completed_zones(&zone_map(4, 40), (MIB, 1), &curve, timed(80)).len(),
            2
        );
    }
}
