//! What sequential-read and sequential-write share: zones, their rates, and what they mean.

mod zones;

use std::ops::Range;
use std::time::Duration;

use super::common::{self, place, series};
use super::forecast::Phases;
use super::{Bench, BenchError, Chart, Forecast, Kind, Parameter, Parameters, Shape, Value};
use super::{FioGap, FioJob};
use crate::drive::Target;
use crate::engine::{End, Limits, Operation, Outcome, Pattern, Plan, Tally, ZoneMap};
use crate::session::document::{Figure, Findings, Severity, Unit, Verdict};
use crate::stats::latency::Latency;
use crate::stats::segments::{Segment, segments};
use crate::units;

/// Zones of the window.
const ZONES: u64 = 100;
/// Bytes moved in each zone, unless the zone is smaller.
const BYTES_PER_ZONE: u64 = 128 << 20;
/// Measured zones that make a zone of the drive: fewer are a hiccup.
const LEAST_ZONES: usize = 3;
/// A zone's own rate means something from this many requests for each one in flight on.
const ENOUGH_PER_DEPTH: u64 = 10;
/// Requests in half of the measured zones from which the drive's zones are counted reliably: of simulated disks with up to
/// 2 % outliers, none with as many was miscounted.
const ENOUGH_TO_COUNT: u64 = 32;
/// Measured zones in each zone of the drive, on the average, from which none is overlooked.
const ENOUGH_IN_ZONE: usize = 5;
/// From this ratio of beginning to end on, a place is worth advice.
const WORTH_ADVICE: f64 = 1.15;

/// Size of the requests.
pub(super) const BLOCK_SIZE: Parameter = common::BLOCK_SIZE.with_default(|_| Value::Bytes(1 << 20));
/// Requests in flight.
pub(super) const DEPTH: Parameter = common::DEPTH.with_default(|_| Value::Count(4));
/// No limit in time: every zone is measured in full.
pub(super) const DURATION: Parameter = common::DURATION.with_default(|_| Value::Unset);
/// Bytes of each zone.
pub(super) const ZONE_BYTES: Parameter = Parameter {
    name: "zone-bytes",
    kind: Kind::Size { least: 1 },
    help: "bytes moved in each of the 100 zones; other limits are shared out to the zones",
    default: |_| Value::Bytes(BYTES_PER_ZONE),
};

/// The chart of both.
pub(super) const CHARTS: &[Chart] = &[Chart::new(
    "Throughput against address",
    Shape::Steps,
    &["throughput-over-address", "zones-over-address"],
)];

/// The headline of both.
pub(super) const HEADLINE: &[&str] = &[
    "throughput_mean",
    "throughput_min",
    "throughput_max",
    "zones",
    "full_copy_time",
];

/// One piece of the address space, measured.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Zone {
    offset: u64,
    bytes: u64,
    rate: f64,
    /// The rate without its slowest pieces: what tells the drive's zones apart.
    typical: f64,
}

fn whole_plan(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    common::plan(target, parameters, operation, Pattern::Sequential)
}

fn phases(whole: &Plan, map: &ZoneMap) -> Phases {
    let block = u64::from(whole.block_size.largest());
    let zones = (0..map.zones()).map(|zone| {
        let bytes = (map.requests_before(zone + 1) - map.requests_before(zone)) * block;
        let start = map.address_of_zone(zone);
        Plan {
            window: start..start + bytes,
            limits: Limits {
                bytes: Some(bytes),
                ..Limits::default()
            },
            ..whole.clone()
        }
    });
    // The ramp is made once where all zones are one execution.
    let ramped = |(index, plan): (usize, Plan)| Plan {
        ramp: match whole.limits.duration {
            None if index > 0 => Duration::ZERO,
            _ => plan.ramp,
        },
        ..plan
    };
    Phases::sharing(whole.limits).then_all(zones.enumerate().map(ramped))
}

pub(super) fn forecast(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Forecast, BenchError> {
    let plan = whole_plan(operation, target, parameters)?;
    let map = zone_map(&plan, parameters);
    let most = map.requests() * u64::from(plan.block_size.largest());
    let amount = if operation.writes() {
        format!("writes at most {}", common::written_share(most, target))
    } else {
        format!("reads at most {}", units::size(most))
    };
    Ok(Forecast {
        sentence: format!(
            "{amount} in {} zones of {}, ascending, {} at a time",
            map.zones(),
            place(target),
            common::blocks(plan.block_size),
        ),
        time: phases(&plan, &map).time(target),
        reads: (!operation.writes()).then_some(most),
        writes: operation.writes().then_some(most),
    })
}

pub(super) fn run(operation: Operation, bench: &mut Bench<'_>) -> Result<(), BenchError> {
    let whole = whole_plan(operation, bench.target, bench.parameters)?;
    let map = zone_map(&whole, bench.parameters);
    let measured = measure(operation, bench, &whole, &map)?;
    let block = u64::from(whole.block_size.largest());
    conclude(bench, &measured, block, whole.window);
    Ok(())
}

/// One execution over all zones: the queue stays full from one to the next. Under a time limit each
/// zone has at least its even share of the time.
fn measure(
    operation: Operation,
    bench: &mut Bench<'_>,
    whole: &Plan,
    map: &ZoneMap,
) -> Result<Vec<Zone>, BenchError> {
    let block = u64::from(whole.block_size.largest());
    let (log, log_every) = zones::log_for(map.requests());
    let duration = whole.limits.duration;
    let plan = Plan {
        pattern: Pattern::Zones {
            zones: map.zones(),
            requests: map.requests(),
        },
        // Bytes and requests are in the map.
        limits: Limits {
            duration,
            ..Limits::default()
        },
        log,
        log_every,
        ..whole.clone()
    };
    let phase = format!("{} zones", map.zones());
    let mut report_so_far = |findings: &mut Findings, tally: &Tally, elapsed: Duration| {
        let measured = zones::so_far(map, block, tally, elapsed.as_nanos() as f64, duration);
        report(findings, operation, &measured, &latency_of(tally));
    };
    let outcome = bench.phase(&phase, 1.0, &plan, Some(&mut report_so_far), &mut |_| {})?;
    let measured = zones::of_outcome(map, block, &outcome, &plan);
    let latency = latency_of(&outcome.tally);
    report(&mut bench.findings, operation, &measured, &latency);
    let fewest = measured.iter().map(|zone| zone.bytes / block).min();
    if let Some(requests) = fewest.filter(|it| *it < ENOUGH_PER_DEPTH * u64::from(whole.depth)) {
        bench.verdict(blurred_zones(requests, whole.depth));
    }
    if let Some(verdict) = left_out(&measured, map, &plan, &outcome) {
        bench.verdict(verdict);
    }
    bench.phase_finished();
    Ok(measured)
}

/// Of both directions.
fn latency_of(tally: &Tally) -> Latency {
    let mut latency = tally.read.latency.clone();
    latency.merge(&tally.write.latency);
    latency
}

fn requests_and_depth(requests: u64, depth: u32) -> String {
    let plural = if requests == 1 { "" } else { "s" };
    format!("a zone holds {requests} request{plural}, fewer than 10 x depth {depth}")
}

/// The queue was full all the time, but the zones are too short for their own rates.
fn blurred_zones(requests: u64, depth: u32) -> Verdict {
    Verdict::new(
        "zone-too-short",
        Severity::Note,
        format!(
            "{}: the rate of a single zone depends on where its neighbours' requests complete; the \
             mean of all zones does not",
            requests_and_depth(requests, depth)
        ),
        "a smaller --block-size or --depth, or a larger --zone-bytes, gives every zone more requests",
    )
}

/// Whether the drive's zones may be miscounted: too few requests against outliers, or zones too small.
fn uncertain_count(found: usize, measured: usize, median: u64) -> Option<Verdict> {
    let evidence = if median < ENOUGH_TO_COUNT {
        format!(
            "half of the measured zones hold {median} requests or fewer, and {ENOUGH_TO_COUNT} are \
             needed: a single slow one may look like another zone of the drive"
        )
    } else if found * ENOUGH_IN_ZONE > measured {
        format!(
            "{found} zones of the drive were found with {measured} measured ones: some may be too small \
             to be seen"
        )
    } else {
        return None;
    };
    Some(Verdict::new(
        "zones-uncertain",
        Severity::Note,
        format!("the count of zones is uncertain: {evidence}"),
        "a longer --duration or a smaller --block-size gives every zone more requests; geometry counts \
         the zones of a disk by its tracks",
    ))
}

/// The time limit left no time for some of the zones.
fn left_out(measured: &[Zone], map: &ZoneMap, plan: &Plan, outcome: &Outcome) -> Option<Verdict> {
    let missing = map.zones().saturating_sub(measured.len() as u64);
    let limited = plan.limits.duration.is_some() && matches!(outcome.end, End::Done);
    if missing == 0 || !limited {
        return None;
    }
    Some(Verdict::new(
        "zones-not-measured",
        Severity::Note,
        format!(
            "{missing} of {} zones have no rate of their own: a request takes longer than their share \
             of the time",
            map.zones()
        ),
        "a longer --duration, or a smaller --block-size or --depth, reaches every zone",
    ))
}

pub(super) fn fio(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<FioJob, FioGap> {
    let plan = whole_plan(operation, target, parameters).map_err(|_| FioGap::Parameters)?;
    if plan.limits.duration.is_some() {
        return Err(FioGap::TimedZones);
    }
    let map = zone_map(&plan, parameters);
    let block = u64::from(plan.block_size.largest());
    let range = |zone: u64| {
        let requests = map.requests_before(zone + 1) - map.requests_before(zone);
        let start = map.address_of_zone(zone);
        start..start + requests * block
    };
    let ranges: Vec<Range<u64>> = (0..map.zones()).map(range).collect();
    FioJob::ascending(&plan, &ranges)
}

/// The zones, and the requests in them: up to `--zone-bytes` at the beginning of each, within the
/// limits of the whole.
fn zone_map(plan: &Plan, parameters: &Parameters) -> ZoneMap {
    let block = u64::from(plan.block_size.largest());
    let each = (parameters.bytes("zone-bytes").unwrap_or(BYTES_PER_ZONE) / block).max(1);
    let limited = [
        plan.limits.bytes.map(|bytes| (bytes / block).max(1)),
        plan.limits.requests,
        Some(each.saturating_mul(ZONES)),
    ];
    let requests = limited.into_iter().flatten().min().unwrap_or(u64::MAX);
    ZoneMap::new(plan, ZONES, requests)
}

fn zone_of(offset: u64, outcome: &Outcome) -> Option<Zone> {
    let (bytes, seconds) = (outcome.tally.bytes(), outcome.elapsed.as_secs_f64());
    let rate = bytes as f64 / seconds;
    (bytes > 0 && seconds > 0.0).then_some(Zone {
        offset,
        bytes,
        rate,
        typical: rate,
    })
}

/// The figures of the zones measured so far.
fn report(findings: &mut Findings, operation: Operation, zones: &[Zone], latency: &Latency) {
    let by_rate = |left: &&Zone, right: &&Zone| left.rate.total_cmp(&right.rate);
    // Of zones alike the first: the last of the reversed ones.
    let fastest = zones.iter().rev().max_by(by_rate);
    let (Some(slowest), Some(fastest)) = (zones.iter().min_by(by_rate), fastest) else {
        return;
    };
    let observations = zones.len() as u64;
    let rate = |name, value| {
        Figure::new(name, value, Unit::BytesPerSecond).from_observations(observations)
    };
    let offset = |name, zone: &Zone| Figure::new(name, zone.offset as f64, Unit::Bytes);
    let mean = mean_rate(zones);
    findings.put_figure(rate("throughput_mean", mean));
    findings.put_figure(rate("throughput_min", slowest.rate));
    findings.put_figure(rate("throughput_max", fastest.rate));
    findings.put_figure(offset("throughput_min_offset", slowest));
    findings.put_figure(offset("throughput_max_offset", fastest));
    common::report_latency(findings, latency);
    let summary = common::summary(latency);
    if operation.writes() {
        findings.latency.write = summary;
    } else {
        findings.latency.read = summary;
    }
    let points = zones.iter().map(|zone| [zone.offset as f64, zone.rate]);
    findings.put_series(series(
        "throughput-over-address",
        ("address", Unit::Bytes),
        ("throughput", Unit::BytesPerSecond),
        points.collect(),
    ));
}

/// Bytes over time of all zones together: what moving them one after the other gives.
fn mean_rate(zones: &[Zone]) -> f64 {
    let bytes: f64 = zones.iter().map(|zone| zone.bytes as f64).sum();
    let seconds: f64 = zones.iter().map(|zone| zone.bytes as f64 / zone.rate).sum();
    bytes / seconds
}

/// What the whole curve says: the drive's own zones, where a fast partition belongs, how long a
/// copy of everything takes.
fn conclude(bench: &mut Bench<'_>, zones: &[Zone], block: u64, window: Range<u64>) {
    let rates: Vec<f64> = zones.iter().map(|zone| zone.typical).collect();
    if rates.len() < 4 * LEAST_ZONES {
        return;
    }
    let steps = segments(&rates, LEAST_ZONES);
    bench.figure(Figure::new("zones", steps.len() as f64, Unit::Count));
    let mut requests: Vec<u64> = zones.iter().map(|zone| zone.bytes / block).collect();
    requests.sort_unstable();
    let median = requests[requests.len() / 2];
    if (steps.len() > 1 || bench.target.rotational() == Some(true))
        && let Some(verdict) = uncertain_count(steps.len(), zones.len(), median)
    {
        bench.verdict(verdict);
    }
    let copy_ns = common::capacity(bench.target) as f64 / mean_rate(zones) * 1e9;
    bench.figure(Figure::new("full_copy_time", copy_ns, Unit::Nanoseconds));
    let edges = steps.iter().flat_map(|step| {
        let end = zones
            .get(step.range.end)
            .map_or(window.end, |zone| zone.offset);
        let mean = mean_rate(&zones[step.range.clone()]);
        [
            [zones[step.range.start].offset as f64, mean],
            [end as f64, mean],
        ]
    });
    bench.series(series(
        "zones-over-address",
        ("address", Unit::Bytes),
        ("mean of the zone", Unit::BytesPerSecond),
        edges.collect(),
    ));
    if common::is_medium(bench.target)
        && let Some(verdict) = placement(&rates, &steps, bench.target.rotational())
    {
        bench.verdict(verdict);
    }
}

/// Where a fast partition belongs, or that it does not matter although it should.
fn placement(rates: &[f64], steps: &[Segment], rotational: Option<bool>) -> Option<Verdict> {
    let tenth = (rates.len() / 10).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (begin, end) = (mean(&rates[..tenth]), mean(&rates[rates.len() - tenth..]));
    let falls = steps
        .windows(2)
        .all(|pair| pair[1].mean < pair[0].mean * 1.05);
    if begin / end >= WORTH_ADVICE && falls {
        return Some(Verdict::new(
            "fast-start",
            Severity::Note,
            format!(
                "the first tenth gives {}, the last {}",
                units::throughput(begin),
                units::throughput(end)
            ),
            format!(
                "a fast partition belongs at the start, where it is {} times faster than at the end",
                units::three_digits(begin / end)
            ),
        ));
    }
    (rotational == Some(true) && steps.len() == 1).then(|| {
        Verdict::new(
            "no-zones",
            Severity::Note,
            format!(
                "the kernel says that it rotates, but it gives {} everywhere",
                units::throughput(mean(rates))
            ),
            "a virtual disk, a cache, or an interface slower than the disk's outer tracks would \
             look like this",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::runner::Finished;
    use super::super::tests::fake::{self, Fake};
    use super::*;
    use crate::session::document::RunState;

    const SIZE: u64 = 100 << 30;

    /// 200 MB/s in the first half, 100 MB/s in the second.
    fn two_speeds(asked: &fake::Asked<'_>) -> Option<u64> {
        let rate = if asked.address < SIZE / 2 { 200 } else { 100 };
        Some(u64::from(asked.bytes) * 1000 / rate * u64::from(asked.plan.depth))
    }

    #[test]
    fn explanation_names_the_bytes_of_all_zones() {
        let all = units::size(ZONES * BYTES_PER_ZONE);
        for name in ["sequential-read", "sequential-write"] {
            let explanation = find(name).unwrap().description().explanation;
            assert!(
                explanation.contains(&format!("{all} in all")),
                "{all}: {explanation}"
            );
        }
    }

    #[test]
    fn zones_lie_in_the_window_and_keep_the_limits() {
        let target = fake::target(SIZE);
        let test = find("seqread").unwrap();
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
            let plan = whole_plan(Operation::Read, &target, &parameters).unwrap();
            let map = zone_map(&plan, &parameters);
            assert_eq!((map.zones(), map.requests()), (zones, most), "{set:?}");
            let last = map.address(map.requests() - 1).unwrap();
            assert!(map.address_of_zone(0) >= plan.window.start);
            assert!(last + u64::from(plan.block_size.largest()) <= plan.window.end);
        }
    }

    /// A drive of one zone, all of it read with ten requests in each of the 100 zones.
    fn small(set: &[(&str, &str)]) -> Finished {
        let set = [&[("block-size", "64KiB")], set].concat();
        let drive = "sim:constant,size=62.5MiB,parallel=32,latency=1ms,clock=virtual";
        fake::simulate(find("seqread").unwrap(), drive, &set)
    }

    #[test]
    fn small_drive_is_read_with_a_full_queue() {
        for depth in [1, 4, 32_u32] {
            let finished = small(&[("depth", &depth.to_string())]);
            // Every channel answers each millisecond.
            let expected = f64::from(depth) * 65_536.0 * 1000.0;
            let mean = fake::value(&finished, "throughput_mean");
            assert!(
                (mean / expected - 1.0).abs() < 0.03,
                "depth {depth}: {mean} {expected}"
            );
            let codes = fake::codes(&finished);
            assert_eq!(
                codes.contains(&"zone-too-short"),
                depth > 1,
                "depth {depth}"
            );
        }
    }

    #[test]
    fn time_limit_keeps_the_queue_full_across_zones() {
        for depth in [1, 4, 32_u32] {
            // Half of the time that all of the drive takes.
            let all = 1000.0 / f64::from(depth);
            let limit = format!("{:.0}ms", all / 2.0);
            let finished = small(&[("depth", &depth.to_string()), ("duration", &limit)]);
            let expected = f64::from(depth) * 65_536.0 * 1000.0;
            let mean = fake::value(&finished, "throughput_mean");
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
    fn time_limit_longer_than_needed_reads_every_block() {
        for depth in ["1", "4"] {
            let [timed, whole] = [
                &[("depth", depth), ("duration", "60s")][..],
                &[("depth", depth)],
            ]
            .map(|set| fake::value(&small(set), "throughput_mean"));
            assert!((timed / whole - 1.0).abs() < 1e-6, "{timed} {whole}");
        }
    }

    #[test]
    fn zones_of_a_disk_are_counted_under_a_time_limit_at_any_depth() {
        // All zones take 72 s.
        for duration in ["30s", "60s"] {
            for depth in ["1", "4", "32"] {
                let set = [("depth", depth), ("duration", duration)];
                let test = find("seqread").unwrap();
                let finished = fake::simulate(test, "sim:hdd,clock=virtual", &set);
                let zones = fake::value(&finished, "zones");
                assert_eq!(zones, 16.0, "depth {depth}, {duration}");
                assert!(!fake::codes(&finished).contains(&"zones-uncertain"));
            }
        }
    }

    #[test]
    fn count_of_zones_is_uncertain_where_they_are_too_short_or_too_many() {
        let test = find("seqread").unwrap();
        for (name, set) in [
            (
                "sim:hdd,clock=virtual",
                &[("depth", "1"), ("duration", "10s")][..],
            ),
            ("sim:hdd,clock=virtual,zones=24", &[]),
        ] {
            let finished = fake::simulate(test, name, set);
            let codes = fake::codes(&finished);
            assert!(codes.contains(&"zones-uncertain"), "{name}: {codes:?}");
        }
    }

    #[test]
    fn a_disk_with_two_speeds_has_two_zones_and_a_better_half() {
        let fake = Fake::new(two_speeds);
        let target = fake::target(SIZE);
        let finished = fake::run(find("seqread").unwrap(), &target, &[], &fake);
        let findings = &finished.findings;
        let value = |name| findings.figure(name).unwrap().value;
        assert_eq!(finished.state, RunState::Finished);
        assert!((value("throughput_max") / 200e6 - 1.0).abs() < 0.01);
        assert!((value("throughput_min") / 100e6 - 1.0).abs() < 0.01);
        assert!((value("throughput_mean") / 133.3e6 - 1.0).abs() < 0.01);
        assert_eq!(value("zones"), 2.0);
        assert_eq!(value("throughput_max_offset"), 0.0);
        assert!(value("throughput_min_offset") >= SIZE as f64 / 2.0 - 1e9);
        let copy = SIZE as f64 / value("throughput_mean") * 1e9;
        assert!((value("full_copy_time") / copy - 1.0).abs() < 1e-9);
        let verdict = findings
            .verdicts
            .iter()
            .find(|verdict| verdict.code == "fast-start");
        assert!(
            verdict.unwrap().advice.contains("2.00 times"),
            "{verdict:?}"
        );
    }

    #[test]
    fn zones_of_a_disk_are_counted_at_any_depth() {
        let value = |depth: &str, name: &str| {
            let set = [("depth", depth)];
            let finished = fake::simulate(find("seqread").unwrap(), "sim:hdd,clock=virtual", &set);
            fake::value(&finished, name)
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
    fn a_short_test_still_reaches_the_end_of_the_drive() {
        for set in [("duration", "2s"), ("bytes", "200MiB"), ("requests", "150")] {
            let fake = Fake::new(two_speeds);
            let target = fake::target(SIZE);
            let finished = fake::run(find("seqwrite").unwrap(), &target, &[set], &fake);
            let curve = finished.findings.series("throughput-over-address").unwrap();
            let last = curve.points.last().unwrap()[0];
            assert!(last >= SIZE as f64 * 0.7, "{set:?} ends at {last}");
        }
    }

    #[test]
    fn a_level_drive_gets_no_advice() {
        let fake = Fake::new(|_| Some(1_000_000));
        let finished = fake::run(
            find("seqread").unwrap(),
            &fake::target(SIZE),
            &[("bytes", "1GiB"), ("depth", "1")],
            &fake,
        );
        assert_eq!(finished.findings.figure("zones").unwrap().value, 1.0);
        assert!(finished.findings.verdicts.is_empty());
    }

    #[test]
    fn a_failure_keeps_the_zones_before() {
        let fake = Fake::new(|asked| (asked.address < SIZE / 2).then_some(1_000_000));
        let target = fake::target(SIZE);
        let finished = fake::run(
            find("seqread").unwrap(),
            &target,
            &[("zone-bytes", "4MiB")],
            &fake,
        );
        assert_eq!(finished.state, RunState::Failed);
        let curve = finished.findings.series("throughput-over-address").unwrap();
        assert_eq!(curve.points.len(), 50);
    }
}
