//! Shared by sequential-read and sequential-write: zones, their rates, and the analysis.

mod zones;

use std::ops::Range;
use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::{describe_target, series};
use crate::bench::{
    BenchError, ChartShape, ChartSpec, Forecast, ParameterKind, ParameterSet, ParameterSpec,
    ParameterValue, RunContext,
};
use crate::bench::{FioGap, FioJob};
use crate::drive::Target;
use crate::engine::{
    AccessPattern, EndReason, ExecutionOutcome, IoOperation, IoStats, Plan, PlanLimits, ZoneMap,
};
use crate::session::document::check::{
    CheckEvidence, CheckId, UniformThroughput, UnmeasuredZones, ZoneCountDoubt, ZoneRequests,
    ZoneThroughputs,
};
use crate::session::document::{Findings, Metric, MetricUnit};
use crate::stats::general::segments::{LevelSegment, find_segments};
use crate::stats::latency::histogram::LatencyHistogram;
use crate::units;

/// Number of zones in the window.
const ZONE_COUNT: u64 = 100;
/// Bytes moved per zone, unless the zone is smaller.
const BYTES_PER_ZONE: u64 = 128 << 20;
/// Minimum number of measured zones in a zone of the drive: fewer are a transient disturbance.
const MIN_ZONES_PER_LEVEL: usize = 3;
/// Minimum requests, per request in flight, for a zone's own rate to be meaningful.
const MIN_REQUESTS_PER_DEPTH: u64 = 10;
/// Minimum requests in the median measured zone for a reliable count of the drive's zones: of
/// simulated disks with up to 2 % outliers, none with as many was miscounted.
const ENOUGH_TO_COUNT: u64 = 32;
/// Minimum mean number of measured zones per zone of the drive for a complete count.
const ENOUGH_IN_ZONE: usize = 5;
/// Minimum ratio of the rates at the beginning and the end for partition advice.
const MIN_ADVICE_RATIO: f64 = 1.15;

pub(crate) const BLOCK_SIZE: ParameterSpec =
    framework::BLOCK_SIZE.with_default(|_| ParameterValue::Size(1 << 20));
pub(crate) const DEPTH: ParameterSpec = framework::DEPTH.with_default(|_| ParameterValue::Count(4));
/// No time limit by default: every zone is measured completely.
pub(crate) const DURATION: ParameterSpec =
    framework::DURATION.with_default(|_| ParameterValue::Unset);
pub(crate) const ZONE_BYTES: ParameterSpec = ParameterSpec {
    name: "zone-bytes",
    kind: ParameterKind::Size { least: 1 },
    help: "bytes moved in each of the 100 zones; other limits are shared out to the zones",
    default_for: |_| ParameterValue::Size(BYTES_PER_ZONE),
};

pub(crate) const CHARTS: &[ChartSpec] = &[ChartSpec::new(
    "Throughput against address",
    ChartShape::Steps,
    &["throughput-over-address", "zones-over-address"],
)];

pub(crate) const HEADLINE: &[&str] = &[
    "throughput_mean",
    "throughput_min",
    "throughput_max",
    "zones",
    "full_copy_time",
];

/// Checks of both sequential benchmarks.
pub(crate) const CHECKS: &[CheckId] = &[
    CheckId::FastStart,
    CheckId::NoZones,
    CheckId::ZoneTooShort,
    CheckId::ZonesNotMeasured,
    CheckId::ZonesUncertain,
];

/// Measurement of one part of the address space.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MeasuredZone {
    offset: u64,
    bytes: u64,
    bytes_per_second: f64,
    /// Rate without the slowest pieces, used to detect the drive's zones.
    typical: f64,
}

fn complete_plan(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    framework::build_plan(target, parameters, operation, AccessPattern::Sequential)
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

pub(crate) fn forecast(
    operation: IoOperation,
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

pub(crate) fn run(operation: IoOperation, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
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
    operation: IoOperation,
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
    let mut report_so_far = |findings: &mut Findings, tally: &IoStats, elapsed: Duration| {
        let measured =
            self::zones::zones_in_progress(map, block, tally, elapsed.as_nanos() as f64, duration);
        set_metrics(findings, operation, &measured, &combined_latency(tally));
    };
    let outcome = bench.execute_phase(&phase, 1.0, &plan, Some(&mut report_so_far), &mut |_| {})?;
    let measured = self::zones::zones_of_outcome(map, block, &outcome, &plan);
    let latency = combined_latency(&outcome.stats);
    set_metrics(&mut bench.findings, operation, &measured, &latency);
    let fewest = measured.iter().map(|zone| zone.bytes / block).min();
    if let Some(requests) =
        fewest.filter(|it| *it < MIN_REQUESTS_PER_DEPTH * u64::from(whole.depth))
    {
        bench.set_check(CheckEvidence::ZoneTooShort(ZoneRequests {
            requests,
            depth: whole.depth,
        }));
    }
    if let Some(evidence) = zones_not_measured(&measured, map, &plan, &outcome) {
        bench.set_check(evidence);
    }
    bench.phase_finished();
    Ok(measured)
}

/// Latencies of reads and writes together.
fn combined_latency(tally: &IoStats) -> LatencyHistogram {
    let mut latency = tally.read.latency.clone();
    latency.merge(&tally.write.latency);
    latency
}

/// The check for a possible miscount of the drive's zones: too few requests given outliers, or
/// zones too small.
fn uncertain_count(found: usize, measured: usize, median: u64) -> Option<CheckEvidence> {
    let doubt = if median < ENOUGH_TO_COUNT {
        ZoneCountDoubt::FewRequests {
            median_requests: median,
            needed_requests: ENOUGH_TO_COUNT,
        }
    } else if found * ENOUGH_IN_ZONE > measured {
        ZoneCountDoubt::ManyZones { found, measured }
    } else {
        return None;
    };
    Some(CheckEvidence::ZonesUncertain(doubt))
}

/// The check for zones that the time limit excluded.
fn zones_not_measured(
    measured: &[MeasuredZone],
    map: &ZoneMap,
    plan: &Plan,
    outcome: &ExecutionOutcome,
) -> Option<CheckEvidence> {
    let missing = map.zones().saturating_sub(measured.len() as u64);
    let limited =
        plan.limits.duration.is_some() && matches!(outcome.end_reason, EndReason::Completed);
    (missing > 0 && limited).then(|| {
        CheckEvidence::ZonesNotMeasured(UnmeasuredZones {
            missing,
            zones: map.zones(),
        })
    })
}

pub(crate) fn fio(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<FioJob, FioGap> {
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
    let each = (parameters.bytes("zone-bytes").unwrap_or(BYTES_PER_ZONE) / block).max(1);
    let limited = [
        plan.limits.bytes.map(|bytes| (bytes / block).max(1)),
        plan.limits.requests,
        Some(each.saturating_mul(ZONE_COUNT)),
    ];
    let requests = limited.into_iter().flatten().min().unwrap_or(u64::MAX);
    ZoneMap::new(plan, ZONE_COUNT, requests)
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

/// Sets the metrics of the zones measured so far.
fn set_metrics(
    findings: &mut Findings,
    operation: IoOperation,
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
    let rate = |name, value| {
        Metric::new(name, value, MetricUnit::BytesPerSecond).with_observations(observations)
    };
    let offset =
        |name, zone: &MeasuredZone| Metric::new(name, zone.offset as f64, MetricUnit::Bytes);
    let mean = mean_throughput(zones);
    findings.set_metric(rate("throughput_mean", mean));
    findings.set_metric(rate("throughput_min", slowest.bytes_per_second));
    findings.set_metric(rate("throughput_max", fastest.bytes_per_second));
    findings.set_metric(offset("throughput_min_offset", slowest));
    findings.set_metric(offset("throughput_max_offset", fastest));
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
    findings.set_series(series(
        "throughput-over-address",
        ("address", MetricUnit::Bytes),
        ("throughput", MetricUnit::BytesPerSecond),
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
    bench.set_metric(Metric::new("zones", steps.len() as f64, MetricUnit::Count));
    let mut requests: Vec<u64> = zones.iter().map(|zone| zone.bytes / block).collect();
    requests.sort_unstable();
    let median = requests[requests.len() / 2];
    if (steps.len() > 1 || bench.target.is_rotational() == Some(true))
        && let Some(evidence) = uncertain_count(steps.len(), zones.len(), median)
    {
        bench.set_check(evidence);
    }
    let copy_ns =
        framework::underlying_capacity(bench.target) as f64 / mean_throughput(zones) * 1e9;
    bench.set_metric(Metric::new(
        "full_copy_time",
        copy_ns,
        MetricUnit::Nanoseconds,
    ));
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
    bench.set_series(series(
        "zones-over-address",
        ("address", MetricUnit::Bytes),
        ("mean of the zone", MetricUnit::BytesPerSecond),
        edges.collect(),
    ));
    if framework::addresses_are_physical(bench.target)
        && let Some(evidence) = partition_advice(&rates, &steps, bench.target.is_rotational())
    {
        bench.set_check(evidence);
    }
}

/// The check with the location for a fast partition, or with the reason why it does not matter.
fn partition_advice(
    rates: &[f64],
    steps: &[LevelSegment],
    rotational: Option<bool>,
) -> Option<CheckEvidence> {
    let tenth = (rates.len() / 10).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let throughputs = ZoneThroughputs {
        first_tenth: mean(&rates[..tenth]),
        last_tenth: mean(&rates[rates.len() - tenth..]),
    };
    let falls = steps
        .windows(2)
        .all(|pair| pair[1].mean < pair[0].mean * 1.05);
    if throughputs.first_tenth / throughputs.last_tenth >= MIN_ADVICE_RATIO && falls {
        return Some(CheckEvidence::FastStart(throughputs));
    }
    (rotational == Some(true) && steps.len() == 1).then(|| {
        CheckEvidence::NoZones(UniformThroughput {
            throughput: mean(rates),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::framework::context::FinishedRun;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::FakeDrive;
    use crate::session::document::RunState;

    const SIZE: u64 = 100 << 30;

    /// 200 MB/s in the first half, 100 MB/s in the second.
    fn two_speed_latency(asked: &fake::FakeRequest<'_>) -> Option<u64> {
        let rate = if asked.address < SIZE / 2 { 200 } else { 100 };
        Some(u64::from(asked.bytes) * 1000 / rate * u64::from(asked.plan.depth))
    }

    #[test]
    fn sequential_explanation_names_bytes_of_all_zones() {
        let all = units::format_size(ZONE_COUNT * BYTES_PER_ZONE);
        for name in ["sequential-read", "sequential-write"] {
            let explanation = find_benchmark(name).unwrap().description().explanation;
            assert!(
                explanation.contains(&format!("{all} in all")),
                "{all}: {explanation}"
            );
        }
    }

    #[test]
    fn sequential_zones_lie_in_window_and_respect_limits() {
        let target = fake::simulated_target(SIZE);
        let test = find_benchmark("seqread").unwrap();
        for (set, zones, most) in [
            (&[][..], 100, 12_800),
            (
                &[("window-begin", "3%"), ("window-end", "50GB")],
                100,
                12_800,
            ),
            (&[("block-size", "64MiB"), ("window-end", "1GB")], 14, 14),
            (&[("bytes", "150MiB")], 100, 100),
            (&[("requests", "37")], 37, 37),
        ] {
            let parameters = fake::parameters(test, &target, set);
            let plan = complete_plan(IoOperation::Read, &target, &parameters).unwrap();
            let map = zone_map(&plan, &parameters);
            assert_eq!((map.zones(), map.requests()), (zones, most), "{set:?}");
            let last = map.request_address(map.requests() - 1).unwrap();
            assert!(map.zone_begin(0) >= plan.window.start);
            assert!(last + u64::from(plan.block_size.max_bytes()) <= plan.window.end);
        }
    }

    /// A drive with one zone, read completely with ten requests in each of the 100 zones.
    fn run_on_small_drive(set: &[(&str, &str)]) -> FinishedRun {
        let set = [&[("block-size", "64KiB")], set].concat();
        let drive = "sim:constant,size=62.5MiB,parallel=32,latency=1ms,clock=virtual";
        fake::run_on_simulated(find_benchmark("seqread").unwrap(), drive, &set)
    }

    #[test]
    fn sequential_read_of_small_drive_keeps_queue_full() {
        for depth in [1, 4, 32_u32] {
            let finished = run_on_small_drive(&[("depth", &depth.to_string())]);
            // Every channel completes a request per millisecond.
            let expected = f64::from(depth) * 65_536.0 * 1000.0;
            let mean = fake::metric_value(&finished, "throughput_mean");
            assert!(
                (mean / expected - 1.0).abs() < 0.03,
                "depth {depth}: {mean} {expected}"
            );
            let codes = fake::check_codes(&finished);
            assert_eq!(
                codes.contains(&"zone-too-short".to_owned()),
                depth > 1,
                "depth {depth}"
            );
        }
    }

    #[test]
    fn sequential_read_with_time_limit_keeps_queue_full_across_zones() {
        for depth in [1, 4, 32_u32] {
            // Half of the time for the whole drive.
            let all = 1000.0 / f64::from(depth);
            let limit = format!("{:.0}ms", all / 2.0);
            let finished =
                run_on_small_drive(&[("depth", &depth.to_string()), ("duration", &limit)]);
            let expected = f64::from(depth) * 65_536.0 * 1000.0;
            let mean = fake::metric_value(&finished, "throughput_mean");
            assert!(
                (mean / expected - 1.0).abs() < 0.07,
                "depth {depth}: {mean} {expected}"
            );
            let curve = finished.findings.series("throughput-over-address").unwrap();
            let last = curve.points.last().unwrap()[0];
            assert!(last > 0.85 * 62.5 * 1_048_576.0, "depth {depth}: {last}");
        }
    }

    #[test]
    fn sequential_read_with_long_time_limit_reads_every_block() {
        for depth in ["1", "4"] {
            let [timed, whole] = [
                &[("depth", depth), ("duration", "60s")][..],
                &[("depth", depth)],
            ]
            .map(|set| fake::metric_value(&run_on_small_drive(set), "throughput_mean"));
            assert!((timed / whole - 1.0).abs() < 1e-6, "{timed} {whole}");
        }
    }

    #[test]
    fn sequential_read_with_time_limit_counts_disk_zones_at_any_depth() {
        // All zones take 72 s.
        for duration in ["30s", "60s"] {
            for depth in ["1", "4", "32"] {
                let set = [("depth", depth), ("duration", duration)];
                let test = find_benchmark("seqread").unwrap();
                let finished = fake::run_on_simulated(test, "sim:hdd,clock=virtual", &set);
                let zones = fake::metric_value(&finished, "zones");
                assert_eq!(zones, 16.0, "depth {depth}, {duration}");
                assert!(!finished.findings.has_check(CheckId::ZonesUncertain));
            }
        }
    }

    #[test]
    fn count_of_zones_is_uncertain_where_they_are_too_short_or_too_many() {
        let test = find_benchmark("seqread").unwrap();
        for (name, set) in [
            (
                "sim:hdd,clock=virtual",
                &[("depth", "1"), ("duration", "10s")][..],
            ),
            ("sim:hdd,clock=virtual,zones=24", &[]),
        ] {
            let finished = fake::run_on_simulated(test, name, set);
            let codes = fake::check_codes(&finished);
            assert!(
                codes.contains(&"zones-uncertain".to_owned()),
                "{name}: {codes:?}"
            );
        }
    }

    #[test]
    fn sequential_read_of_two_speed_disk_finds_two_zones() {
        let fake = FakeDrive::new(two_speed_latency);
        let target = fake::simulated_target(SIZE);
        let finished = fake::run_on_fake(find_benchmark("seqread").unwrap(), &target, &[], &fake);
        let findings = &finished.findings;
        let value = |name| findings.metric(name).unwrap().value;
        assert_eq!(finished.state, RunState::Finished);
        assert!((value("throughput_max") / 200e6 - 1.0).abs() < 0.01);
        assert!((value("throughput_min") / 100e6 - 1.0).abs() < 0.01);
        assert!((value("throughput_mean") / 133.3e6 - 1.0).abs() < 0.01);
        assert_eq!(value("zones"), 2.0);
        assert_eq!(value("throughput_max_offset"), 0.0);
        assert!(value("throughput_min_offset") >= SIZE as f64 / 2.0 - 1e9);
        let copy = SIZE as f64 / value("throughput_mean") * 1e9;
        assert!((value("full_copy_time") / copy - 1.0).abs() < 1e-9);
        match findings.check(CheckId::FastStart) {
            Some(CheckEvidence::FastStart(rates)) => {
                assert!((rates.first_tenth / rates.last_tenth / 2.0 - 1.0).abs() < 0.01);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sequential_read_counts_disk_zones_at_any_depth() {
        let value = |depth: &str, name: &str| {
            let set = [("depth", depth)];
            let finished = fake::run_on_simulated(
                find_benchmark("seqread").unwrap(),
                "sim:hdd,clock=virtual",
                &set,
            );
            fake::metric_value(&finished, name)
        };
        let alone = value("1", "throughput_mean");
        for depth in ["1", "4", "32"] {
            assert_eq!(value(depth, "zones"), 16.0, "depth {depth}");
            let mean = value(depth, "throughput_mean");
            assert!(
                (mean / alone - 1.0).abs() < 0.02,
                "depth {depth}: {mean} {alone}"
            );
        }
    }

    #[test]
    fn sequential_read_with_short_limit_reaches_end_of_drive() {
        for set in [("duration", "2s"), ("bytes", "200MiB"), ("requests", "150")] {
            let fake = FakeDrive::new(two_speed_latency);
            let target = fake::simulated_target(SIZE);
            let finished =
                fake::run_on_fake(find_benchmark("seqwrite").unwrap(), &target, &[set], &fake);
            let curve = finished.findings.series("throughput-over-address").unwrap();
            let last = curve.points.last().unwrap()[0];
            assert!(last >= SIZE as f64 * 0.7, "{set:?} ends at {last}");
        }
    }

    #[test]
    fn sequential_read_of_uniform_drive_gives_no_advice() {
        let fake = FakeDrive::new(|_| Some(1_000_000));
        let finished = fake::run_on_fake(
            find_benchmark("seqread").unwrap(),
            &fake::simulated_target(SIZE),
            &[("bytes", "1GiB"), ("depth", "1")],
            &fake,
        );
        assert_eq!(finished.findings.metric("zones").unwrap().value, 1.0);
        assert!(finished.findings.verdicts.is_empty());
    }

    #[test]
    fn sequential_read_after_failure_keeps_measured_zones() {
        let fake = FakeDrive::new(|asked| (asked.address < SIZE / 2).then_some(1_000_000));
        let target = fake::simulated_target(SIZE);
        let finished = fake::run_on_fake(
            find_benchmark("seqread").unwrap(),
            &target,
            &[("zone-bytes", "4MiB")],
            &fake,
        );
        assert_eq!(finished.state, RunState::Failed);
        let curve = finished.findings.series("throughput-over-address").unwrap();
        assert_eq!(curve.points.len(), 50);
    }
}
