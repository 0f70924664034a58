use super::checks::{FAST_START, MEAN_INCLUDES_SEEKS, ZONES_UNCERTAIN};
use super::*;
use crate::bench::find_benchmark;
use crate::bench::framework::context::FinishedRun;
use crate::bench::tests::fake;
use crate::bench::tests::fake::FakeDrive;
use crate::session::document::RunState;
use crate::session::document::{MetricId, SeriesId};
use crate::units;

const SIZE: u64 = 100 << 30;

/// 200 MB/s in the first half, 100 MB/s in the second.
fn two_speed_latency(request: &fake::FakeRequest<'_>) -> Option<u64> {
    let rate = if request.address < SIZE / 2 { 200 } else { 100 };
    Some(u64::from(request.bytes) * 1000 / rate * u64::from(request.plan.depth))
}

#[test]
fn sequential_explanation_names_bytes_of_all_zones() {
    let all = units::format_size(ZONE_COUNT * (128 << 20));
    for name in ["sequential-read", "sequential-write"] {
        let explanation = find_benchmark(name).unwrap().description().explanation;
        assert!(
            explanation.contains(&format!("{all} in total")),
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
        let phases = test.phases(&target, &parameters).unwrap();
        let plan = &phases.groups[0].phases[0].plan;
        let map = zones::map_of(plan);
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
        let mean = fake::metric_value(&finished, &MetricId::THROUGHPUT_MEAN);
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
        let finished = run_on_small_drive(&[("depth", &depth.to_string()), ("duration", &limit)]);
        let expected = f64::from(depth) * 65_536.0 * 1000.0;
        let mean = fake::metric_value(&finished, &MetricId::THROUGHPUT_MEAN);
        assert!(
            (mean / expected - 1.0).abs() < 0.07,
            "depth {depth}: {mean} {expected}"
        );
        let curve = finished
            .findings
            .series(&SeriesId::THROUGHPUT_OVER_ADDRESS)
            .unwrap();
        let last = curve.points.last().unwrap()[0];
        assert!(last > 0.85 * 62.5 * 1_048_576.0, "depth {depth}: {last}");
    }
}

/// Time and bytes of the executed plans, and the number of passes.
fn passes(set: &[(&str, &str)], latency_ns: u64) -> (Duration, u64, usize) {
    let drive = FakeDrive::new(move |_| Some(latency_ns));
    let target = fake::simulated_target(1 << 30);
    let finished = fake::run_on_fake(find_benchmark("seqread").unwrap(), &target, set, &drive);
    let counts = finished.cpu_usage.counts;
    let executed = drive.executed_plans.lock().unwrap().len();
    let requests = u32::try_from(counts.read_ios).unwrap();
    let time = Duration::from_nanos(latency_ns) * requests / 4;
    (time, counts.read_bytes, executed)
}

#[test]
fn sequential_read_of_a_fast_drive_repeats_its_passes() {
    // 1024 requests, 4 at a time, of 1 ms each: a pass takes 0.26 s.
    let (time, _, executed) = passes(&[], 1_000_000);
    assert_eq!(executed, 40);
    assert!(
        time.abs_diff(Duration::from_secs(10)) < Duration::from_millis(500),
        "{time:?}"
    );
    // A single pass that takes longer.
    assert_eq!(passes(&[], 100_000_000).2, 1);
    // Limits: until the first of them.
    let (time, ..) = passes(&[("duration", "3s")], 1_000_000);
    assert!(
        time.abs_diff(Duration::from_secs(3)) < Duration::from_millis(150),
        "{time:?}"
    );
    assert_eq!(
        passes(&[("bytes", "3GiB"), ("duration", "1h")], 1_000_000).1,
        3 << 30
    );
    assert_eq!(passes(&[("requests", "1500")], 1_000_000).1, 1500 << 20);
    assert_eq!(
        passes(&[("requests", "500"), ("bytes", "1TiB")], 1_000_000).1,
        500 << 20
    );
}

#[test]
fn mean_of_short_zones_of_a_disk_is_said_to_include_seeks() {
    let test = find_benchmark("seqread").unwrap();
    for (set, expected) in [
        (&[][..], false),
        (&[("bytes", "400MiB")][..], true),
        (&[("zone-bytes", "4MiB")], true),
        (&[("duration", "5s")], true),
        (&[("duration", "60s")], false),
    ] {
        let finished = fake::run_on_simulated(test, "sim:hdd,clock=virtual", set);
        assert_eq!(
            finished.findings.has_check(MEAN_INCLUDES_SEEKS),
            expected,
            "{set:?}"
        );
    }
}

#[test]
fn sequential_read_with_long_time_limit_reads_every_block() {
    for depth in ["1", "4"] {
        let [timed, whole] = [
            &[("depth", depth), ("duration", "60s")][..],
            &[("depth", depth)],
        ]
        .map(|set| fake::metric_value(&run_on_small_drive(set), &MetricId::THROUGHPUT_MEAN));
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
            let zones = fake::metric_value(&finished, &MetricId::ZONES);
            assert_eq!(zones, 16.0, "depth {depth}, {duration}");
            assert!(!finished.findings.has_check(ZONES_UNCERTAIN));
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
    let value = |name| findings.metric(&MetricId::parse(name)).unwrap().value;
    assert_eq!(finished.state, RunState::Finished);
    assert!((value("throughput_max") / 200e6 - 1.0).abs() < 0.01);
    assert!((value("throughput_min") / 100e6 - 1.0).abs() < 0.01);
    assert!((value("throughput_mean") / 133.3e6 - 1.0).abs() < 0.01);
    assert_eq!(value("zones"), 2.0);
    assert_eq!(value("throughput_max_offset"), 0.0);
    assert!(value("throughput_min_offset") >= SIZE as f64 / 2.0 - 1e9);
    let copy = SIZE as f64 / value("throughput_mean") * 1e9;
    assert!((value("full_copy_time") / copy - 1.0).abs() < 1e-9);
    let found = findings.verdicts.iter().find(|it| it.is_of(FAST_START));
    let rate = |key: &str| found.unwrap().facts[key].as_f64().unwrap();
    assert!((rate("first_tenth") / rate("last_tenth") / 2.0 - 1.0).abs() < 0.01);
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
        fake::metric_value(&finished, &MetricId::parse(name))
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
        let curve = finished
            .findings
            .series(&SeriesId::THROUGHPUT_OVER_ADDRESS)
            .unwrap();
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
    assert_eq!(
        finished.findings.metric(&MetricId::ZONES).unwrap().value,
        1.0
    );
    assert!(finished.findings.verdicts.is_empty());
}

#[test]
fn sequential_read_after_failure_keeps_measured_zones() {
    let fake = FakeDrive::new(|request| (request.address < SIZE / 2).then_some(1_000_000));
    let target = fake::simulated_target(SIZE);
    let finished = fake::run_on_fake(
        find_benchmark("seqread").unwrap(),
        &target,
        &[("zone-bytes", "4MiB")],
        &fake,
    );
    assert_eq!(finished.state, RunState::Failed);
    let curve = finished
        .findings
        .series(&SeriesId::THROUGHPUT_OVER_ADDRESS)
        .unwrap();
    assert_eq!(curve.points.len(), 50);
}
