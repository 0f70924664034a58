//! Sequential reads or writes: throughput over the address space.

mod description;
mod fast_start;
#[cfg(test)]
mod tests;
mod zones;

use std::ops::Range;
use std::time::Duration;

use serde_json::json;

use self::description::{ZONE_BYTES, ZONE_TOO_SHORT, ZONES_NOT_MEASURED, ZONES_UNCERTAIN};
use self::fast_start::{addresses_are_of_medium, partition_advice};
use self::zones::MeasuredZone;
use crate::bench::framework;
use crate::bench::framework::context::PhaseHooks;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::operation::Operation;
use crate::bench::{
    BenchError, Benchmark, Description, FioGap, FioJob, Forecast, ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, EndReason, ExecutionOutcome, IoStats, Plan, PlanLimits, ZoneMap,
};
use crate::session::document::{Findings, Metric, MetricId, Series, SeriesKind, Verdict};
use crate::stats::general::segments::find_segments;
use crate::stats::latency::histogram::LatencyHistogram;
use crate::units;

/// Number of zones in the window.
const ZONE_COUNT: u64 = 100;
/// Minimum number of measured zones in a zone of the drive: fewer are a transient disturbance.
const MIN_ZONES_PER_LEVEL: usize = 3;
/// Minimum requests, per request in flight, for a zone's own rate to be meaningful.
const MIN_REQUESTS_PER_DEPTH: u64 = 10;
/// Minimum requests in the median measured zone for a reliable count of the drive's zones: of
/// simulated disks with up to 2 % outliers, none with as many was miscounted.
const ENOUGH_TO_COUNT: u64 = 32;
/// Minimum mean number of measured zones per zone of the drive for a complete count.
const ENOUGH_IN_ZONE: usize = 5;

/// Large requests in 100 equidistant zones of the window, ascending.
pub struct SequentialBenchmark {
    /// Read or write.
    pub operation: Operation,
}

impl Benchmark for SequentialBenchmark {
    fn description(&self) -> &'static Description {
        description::of(self.operation)
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        forecast(self.operation, target, parameters)
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        run(self.operation, bench)
    }

    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        fio(self.operation, target, parameters)
    }
}

fn complete_plan(
    operation: Operation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    framework::build_plan(
        target,
        parameters,
        operation.into(),
        AccessPattern::Sequential,
    )
}

fn planned_phases(whole: &Plan, map: &ZoneMap) -> PlannedPhases {
    let block = u64::from(whole.block_size.max_bytes());
    let zones = (0..map.zones()).map(|zone| {
        let bytes = (map.requests_before(zone + 1) - map.requests_before(zone)) * block;
        let start = map.zone_begin(zone);
        Plan {
            window: start..start + bytes,
            limits: PlanLimits {
                bytes: Some(bytes),
                ..PlanLimits::default()
            },
            ..whole.clone()
        }
    });
    // A single execution over all zones has the ramp time only once.
    let ramped = |(index, plan): (usize, Plan)| Plan {
        ramp_time: match whole.limits.duration {
            None if index > 0 => Duration::ZERO,
            _ => plan.ramp_time,
        },
        ..plan
    };
    PlannedPhases::with_even_shares(whole.limits).add_phases(zones.enumerate().map(ramped))
}

fn forecast(
    operation: Operation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Forecast, BenchError> {
    let plan = complete_plan(operation, target, parameters)?;
    let map = zone_map(&plan, parameters);
    let most = map.requests() * u64::from(plan.block_size.max_bytes());
    let amount = if operation.writes() {
        format!(
            "writes at most {}",
            framework::describe_written_bytes(most, target)
        )
    } else {
        format!("reads at most {}", units::format_size(most))
    };
    Ok(Forecast {
        sentence: format!(
            "{amount} in {} zones of {}, ascending, {} at a time",
            map.zones(),
            describe_target(target),
            framework::describe_block_size(plan.block_size),
        ),
        run_time: planned_phases(&plan, &map).run_time(target),
        max_read_bytes: (!operation.writes()).then_some(most),
        max_written_bytes: operation.writes().then_some(most),
    })
}

fn run(operation: Operation, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let whole = complete_plan(operation, bench.target, bench.parameters)?;
    let map = zone_map(&whole, bench.parameters);
    let measured = measure_zones(operation, bench, &whole, &map)?;
    let block = u64::from(whole.block_size.max_bytes());
    set_results(bench, &measured, block, whole.window);
    Ok(())
}

/// One execution over all zones, which keeps the queue full from zone to zone. Under a time limit
/// each zone gets at least an even fraction of the time.
fn measure_zones(
    operation: Operation,
    bench: &mut RunContext<'_>,
    whole: &Plan,
    map: &ZoneMap,
) -> Result<Vec<MeasuredZone>, BenchError> {
    let block = u64::from(whole.block_size.max_bytes());
    let (log, log_every) = self::zones::log_capacity_and_interval(map.requests());
    let duration = whole.limits.duration;
    let plan = Plan {
        pattern: AccessPattern::Zones {
            zones: map.zones(),
            requests: map.requests(),
        },
        // The zone map already contains the limits on bytes and requests.
        limits: PlanLimits {
            duration,
            ..PlanLimits::default()
        },
        log_capacity: log,
        log_interval: log_every,
        ..whole.clone()
    };
    let phase = format!("{} zones", map.zones());
    let mut report_so_far = |findings: &mut Findings, io_stats: &IoStats, elapsed: Duration| {
        let measured = self::zones::zones_in_progress(
            map,
            block,
            io_stats,
            elapsed.as_nanos() as f64,
            duration,
        );
        set_metrics(findings, operation, &measured, &io_stats.latency());
    };
    let hooks = PhaseHooks {
        report: Some(&mut report_so_far),
        ..PhaseHooks::default()
    };
    let outcome = bench.execute_phase(&phase, 1.0, &plan, hooks)?;
    let measured = self::zones::zones_of_outcome(map, block, &outcome, &plan);
    let latency = outcome.stats.latency();
    set_metrics(&mut bench.findings, operation, &measured, &latency);
    let fewest = measured.iter().map(|zone| zone.bytes / block).min();
    if let Some(requests) =
        fewest.filter(|it| *it < MIN_REQUESTS_PER_DEPTH * u64::from(whole.depth))
    {
        bench.set_check(zone_too_short(requests, whole.depth));
    }
    if let Some(verdict) = zones_not_measured(&measured, map, &plan, &outcome) {
        bench.set_check(verdict);
    }
    bench.phase_finished();
    Ok(measured)
}

fn zone_too_short(requests: u64, depth: u32) -> Verdict {
    let plural = if requests == 1 { "" } else { "s" };
    ZONE_TOO_SHORT.found(
        format!(
            "a zone holds {requests} request{plural}, fewer than 10 x depth {depth}: the throughput of a \
             single zone depends on requests of the adjacent zones; the mean of all zones does not"
        ),
        "use a smaller --block-size or --depth, or a larger --zone-bytes",
        json!({ "requests": requests, "depth": depth }),
    )
}

/// The check for a possible miscount of the drive's zones: too few requests given outliers, or
/// zones too small.
fn uncertain_count(found: usize, measured: usize, median: u64) -> Option<Verdict> {
    let (reason, facts) = if median < ENOUGH_TO_COUNT {
        (
            format!(
                "half of the measured zones hold {median} requests or fewer, and {ENOUGH_TO_COUNT} are \
                 needed: a single slow request may look like another zone"
            ),
            json!({
                "reason": "few-requests",
                "median_requests": median,
                "needed_requests": ENOUGH_TO_COUNT,
            }),
        )
    } else if found * ENOUGH_IN_ZONE > measured {
        (
            format!(
                "{found} zones of the drive were found with {measured} measured ones: smaller zones may \
                 have been missed"
            ),
            json!({ "reason": "many-zones", "found": found, "measured": measured }),
        )
    } else {
        return None;
    };
    Some(ZONES_UNCERTAIN.found(
        format!("the number of zones is uncertain: {reason}"),
        "use a longer --duration or a smaller --block-size; the benchmark geometry counts the zones of \
         a disk by its tracks",
        facts,
    ))
}

/// The check for zones that the time limit excluded.
fn zones_not_measured(
    measured: &[MeasuredZone],
    map: &ZoneMap,
    plan: &Plan,
    outcome: &ExecutionOutcome,
) -> Option<Verdict> {
    let missing = map.zones().saturating_sub(measured.len() as u64);
    let limited =
        plan.limits.duration.is_some() && matches!(outcome.end_reason, EndReason::Completed);
    if missing == 0 || !limited {
        return None;
    }
    Some(ZONES_NOT_MEASURED.found(
        format!(
            "{missing} of {} zones have no throughput: a request takes longer than their share of the \
             time",
            map.zones()
        ),
        "use a longer --duration, or a smaller --block-size or --depth",
        json!({ "missing": missing, "zones": map.zones() }),
    ))
}

fn fio(operation: Operation, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
    let plan = complete_plan(operation, target, parameters).map_err(|_| FioGap::Parameters)?;
    if plan.limits.duration.is_some() {
        return Err(FioGap::TimeLimitedZones);
    }
    let map = zone_map(&plan, parameters);
    let block = u64::from(plan.block_size.max_bytes());
    let range = |zone: u64| {
        let requests = map.requests_before(zone + 1) - map.requests_before(zone);
        let start = map.zone_begin(zone);
        start..start + requests * block
    };
    let ranges: Vec<Range<u64>> = (0..map.zones()).map(range).collect();
    FioJob::sequential_job(&plan, &ranges)
}

/// The zones and their requests: up to `--zone-bytes` at the beginning of each, within the limits
/// of the whole benchmark.
fn zone_map(plan: &Plan, parameters: &ParameterSet) -> ZoneMap {
    let block = u64::from(plan.block_size.max_bytes());
    let each = (parameters.get(ZONE_BYTES) / block).max(1);
    let limited = [
        plan.limits.bytes.map(|bytes| (bytes / block).max(1)),
        plan.limits.requests,
        Some(each.saturating_mul(ZONE_COUNT)),
    ];
    let requests = limited.into_iter().flatten().min().unwrap_or(u64::MAX);
    ZoneMap::new(plan, ZONE_COUNT, requests)
}

/// Sets the metrics of the zones measured so far.
fn set_metrics(
    findings: &mut Findings,
    operation: Operation,
    zones: &[MeasuredZone],
    latency: &LatencyHistogram,
) {
    let by_rate = |left: &&MeasuredZone, right: &&MeasuredZone| {
        left.bytes_per_second.total_cmp(&right.bytes_per_second)
    };
    // `max_by` returns the last of equal elements; the reversed order makes it the first.
    let fastest = zones.iter().rev().max_by(by_rate);
    let (Some(slowest), Some(fastest)) = (zones.iter().min_by(by_rate), fastest) else {
        return;
    };
    let observations = zones.len() as u64;
    let rate = |id, value| Metric::new(id, value).with_observations(observations);
    let offset = |id, zone: &MeasuredZone| Metric::new(id, zone.offset as f64);
    let mean = mean_throughput(zones);
    findings.set_metric(rate(MetricId::THROUGHPUT_MEAN, mean));
    findings.set_metric(rate(MetricId::THROUGHPUT_MIN, slowest.bytes_per_second));
    findings.set_metric(rate(MetricId::THROUGHPUT_MAX, fastest.bytes_per_second));
    findings.set_metric(offset(MetricId::THROUGHPUT_MIN_OFFSET, slowest));
    findings.set_metric(offset(MetricId::THROUGHPUT_MAX_OFFSET, fastest));
    framework::report_latency_metrics(findings, latency);
    let summary = framework::latency_summary(latency);
    if operation.writes() {
        findings.latency.write = summary;
    } else {
        findings.latency.read = summary;
    }
    let points = zones
        .iter()
        .map(|zone| [zone.offset as f64, zone.bytes_per_second]);
    findings.set_series(Series::new(
        SeriesKind::ThroughputOverAddress,
        points.collect(),
    ));
}

/// Bytes over time of all zones together: the rate of moving them one after the other.
fn mean_throughput(zones: &[MeasuredZone]) -> f64 {
    let bytes: f64 = zones.iter().map(|zone| zone.bytes as f64).sum();
    let seconds: f64 = zones
        .iter()
        .map(|zone| zone.bytes as f64 / zone.bytes_per_second)
        .sum();
    bytes / seconds
}

/// Sets what follows from the whole curve: the drive's zones, the location for a fast partition,
/// and the time of a full copy.
fn set_results(bench: &mut RunContext<'_>, zones: &[MeasuredZone], block: u64, window: Range<u64>) {
    let rates: Vec<f64> = zones.iter().map(|zone| zone.typical).collect();
    if rates.len() < 4 * MIN_ZONES_PER_LEVEL {
        return;
    }
    let steps = find_segments(&rates, MIN_ZONES_PER_LEVEL);
    bench.set_metric(Metric::new(MetricId::ZONES, steps.len() as f64));
    let mut requests: Vec<u64> = zones.iter().map(|zone| zone.bytes / block).collect();
    requests.sort_unstable();
    let median = requests[requests.len() / 2];
    // The zones of a file are those of its file system's layout.
    if addresses_are_of_medium(bench.target)
        && (steps.len() > 1 || bench.target.is_rotational() == Some(true))
        && let Some(verdict) = uncertain_count(steps.len(), zones.len(), median)
    {
        bench.set_check(verdict);
    }
    let copy_ns =
        framework::underlying_capacity(bench.target) as f64 / mean_throughput(zones) * 1e9;
    bench.set_metric(Metric::new(MetricId::FULL_COPY_TIME, copy_ns));
    let edges = steps.iter().flat_map(|step| {
        let end = zones
            .get(step.range.end)
            .map_or(window.end, |zone| zone.offset);
        let mean = mean_throughput(&zones[step.range.clone()]);
        [
            [zones[step.range.start].offset as f64, mean],
            [end as f64, mean],
        ]
    });
    bench.set_series(Series::new(SeriesKind::ZonesOverAddress, edges.collect()));
    if addresses_are_of_medium(bench.target)
        && let Some(verdict) = partition_advice(&rates, &steps, bench.target.is_rotational())
    {
        bench.set_check(verdict);
    }
}
