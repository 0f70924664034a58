use std::collections::BTreeSet;

use super::FILE_TRUNCATED;
use crate::bench::find_benchmark;
use crate::bench::tests::fake;
use crate::bench::tests::fake::{FakeDrive, metric_value};
use crate::drive::{Target, TargetKind};
use crate::engine::CacheMode;
use crate::session::document::{MetricId, MetricKind, SeriesId};
use crate::stats::random::{splitmix64, unit_interval};

#[test]
fn write_sync_close_times_each_step_separately() {
    let fake = FakeDrive::new(|request| Some(u64::from(request.bytes)));
    let target = fake::simulated_target(64 << 20);
    let finished = fake::run_on_fake(find_benchmark("wsc").unwrap(), &target, &[], &fake);
    assert_eq!(
        metric_value(&finished, &MetricId::WRITE_TIME),
        f64::from(64 << 20)
    );
    assert_eq!(metric_value(&finished, &MetricId::SYNC_TIME), 20e6);
    assert_eq!(metric_value(&finished, &MetricId::CLOSE_TIME), 10e3);
    // 64 MiB in 67.1 ms of writing, 20 ms of syncing and 10 us of closing.
    let rate = 67_108_864.0 / 0.087_118_864;
    assert!(
        (metric_value(&finished, &MetricId::parse("buffered_4k_throughput")) / rate - 1.0).abs()
            < 1e-6
    );
    let curve = finished
        .findings
        .series(&SeriesId::SYNC_TIME_AGAINST_RECORD_SIZE)
        .unwrap();
    assert_eq!(curve.points.len(), 7);
    for key in ["fsync_buffered", "o_dsync_direct", "sync_file_range_direct"] {
        metric_value(&finished, &MetricId::parse(&format!("{key}_throughput")));
    }
}

#[test]
fn write_sync_close_table_cells_are_all_metrics() {
    let fake = FakeDrive::new(|_| Some(1000));
    let finished = fake::run_on_fake(
        find_benchmark("wsc").unwrap(),
        &fake::simulated_target(64 << 20),
        &[],
        &fake,
    );
    let cells = finished
        .findings
        .tables
        .iter()
        .flat_map(|table| &table.rows);
    for cell in cells
        .flat_map(|row| &row.cells)
        .filter(|cell| !matches!(cell.kind(), Some(MetricKind::LatencyPercentile(_))))
    {
        metric_value(&finished, cell);
    }
}

#[test]
fn write_sync_close_metrics_have_one_order() {
    let order = |seed: &str| {
        let fake = FakeDrive::new(|_| Some(1000));
        let target = fake::simulated_target(64 << 20);
        let test = find_benchmark("wsc").unwrap();
        let finished = fake::run_on_fake(test, &target, &[("seed", seed)], &fake);
        let metrics = finished.findings.metrics.into_iter();
        metrics
            .map(|metric| metric.id.to_string())
            .collect::<Vec<_>>()
    };
    let names = order("1");
    assert_eq!(names, order("2"));
    let first = [
        "write_time",
        "sync_time",
        "close_time",
        "buffered_4k_throughput",
    ];
    assert_eq!(names[..4], first);
}

#[test]
fn write_sync_close_without_direct_io_is_reported() {
    let fake = FakeDrive::new(|_| Some(1000));
    let target = Target {
        kind: TargetKind::ScratchFile,
        supports_direct_io: false,
        ..fake::simulated_target(4 << 20)
    };
    let finished = fake::run_on_fake(find_benchmark("wsc").unwrap(), &target, &[], &fake);
    assert_eq!(fake::check_codes(&finished), ["no-direct"]);
    assert!(
        fake.executed_plans
            .lock()
            .unwrap()
            .iter()
            .all(|plan| plan.cache_mode == CacheMode::Keep)
    );
}

#[test]
fn write_sync_close_forecast_counts_every_byte() {
    let target = fake::simulated_target(64 << 20);
    let test = find_benchmark("wsc").unwrap();
    let parameters = fake::parameters(test, &target, &[]);
    let fake = FakeDrive::new(|_| Some(1000));
    fake::run_on_fake(test, &target, &[], &fake);
    let plans = fake.executed_plans.lock().unwrap();
    let planned: u64 = plans.iter().filter_map(|plan| plan.limits.bytes).sum();
    assert_eq!(
        test.forecast(&target, &parameters)
            .unwrap()
            .max_written_bytes,
        Some(planned)
    );
}

#[test]
fn write_sync_close_intervals_of_noisy_drive_cover_truth() {
    let (mut covered, mut orders) = (0, BTreeSet::new());
    for seed in 0..30_u64 {
        // 10 ns per byte, up to 10 % variation between phases.
        let fake = FakeDrive::new(move |request: &fake::FakeRequest<'_>| {
            let noise = 0.9 + 0.2 * unit_interval(splitmix64(request.plan.seed ^ (seed << 50)));
            Some((10.0 * f64::from(request.bytes) * noise) as u64)
        });
        let set = [("file-bytes", "4MiB"), ("seed", &*seed.to_string())];
        let finished = fake::run_on_fake(
            find_benchmark("wsc").unwrap(),
            &fake::simulated_target(64 << 20),
            &set,
            &fake,
        );
        let metric = finished.findings.metric(&MetricId::WRITE_TIME).unwrap();
        let truth = 10.0 * f64::from(4 << 20);
        let limits = metric.low.unwrap()..=metric.high.unwrap();
        covered += u32::from(limits.contains(&truth));
        let rate = finished
            .findings
            .metric(&MetricId::parse("fsync_direct_throughput"))
            .unwrap();
        assert!(rate.low.is_some() && rate.high.is_some());
        let plans = fake.executed_plans.into_inner().unwrap();
        let sizes = plans.iter().map(|plan| plan.block_size.max_bytes());
        orders.insert(sizes.take(10).collect::<Vec<u32>>());
    }
    assert!(covered >= 26, "{covered} of 30");
    assert!(orders.len() > 20);
}

#[test]
fn write_sync_close_of_truncated_file_has_no_times() {
    let fake = FakeDrive::new(|_| Some(10_000_000));
    let set = [("duration", "2s")];
    let finished = fake::run_on_fake(
        find_benchmark("wsc").unwrap(),
        &fake::simulated_target(64 << 20),
        &set,
        &fake,
    );
    assert!(finished.findings.has_check(FILE_TRUNCATED));
    assert!(
        finished
            .findings
            .metric(&MetricId::parse("buffered_4k_write_time"))
            .is_none()
    );
    metric_value(&finished, &MetricId::parse("buffered_4k_throughput"));
}
