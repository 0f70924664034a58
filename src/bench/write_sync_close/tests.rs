use std::collections::BTreeSet;

use crate::bench::find;
use crate::bench::tests::fake::{self, Fake, value};
use crate::drive::Target;
use crate::drive::random::{scatter, unit};
use crate::engine::CacheMode;

#[test]
fn write_sync_and_close_are_timed_apart() {
    let fake = Fake::new(|asked| Some(u64::from(asked.bytes)));
    let target = fake::target(64 << 20);
    let finished = fake::run(find("wsc").unwrap(), &target, &[], &fake);
    assert_eq!(value(&finished, "write_time"), f64::from(64 << 20));
    assert_eq!(value(&finished, "sync_time"), 20e6);
    assert_eq!(value(&finished, "close_time"), 10e3);
    // 64 MiB in 67.1 ms of writing, 20 ms of syncing and 10 us of closing.
    let rate = 67_108_864.0 / 0.087_118_864;
    assert!((value(&finished, "buffered_4k_throughput") / rate - 1.0).abs() < 1e-6);
    let curve = finished
        .findings
        .series("sync-time-against-record-size")
        .unwrap();
    assert_eq!(curve.points.len(), 7);
    for key in ["fsync_buffered", "o_dsync_direct", "sync_file_range_direct"] {
        value(&finished, &format!("{key}_throughput"));
    }
}

#[test]
fn every_cell_of_the_tables_is_a_figure() {
    let fake = Fake::new(|_| Some(1000));
    let finished = fake::run(find("wsc").unwrap(), &fake::target(64 << 20), &[], &fake);
    let cells = finished
        .findings
        .tables
        .iter()
        .flat_map(|table| &table.rows);
    for cell in cells
        .flat_map(|row| &row.cells)
        .filter(|cell| !cell.ends_with("p99"))
    {
        value(&finished, cell);
    }
}

#[test]
fn where_there_is_no_direct_half_it_says_so() {
    let fake = Fake::new(|_| Some(1000));
    let target = Target {
        direct: false,
        ..fake::target(4 << 20)
    };
    let finished = fake::run(find("wsc").unwrap(), &target, &[], &fake);
    assert_eq!(fake::codes(&finished), ["no-direct"]);
    assert!(
        fake.plans
            .lock()
            .unwrap()
            .iter()
            .all(|plan| plan.cache == CacheMode::Keep)
    );
}

#[test]
fn the_forecast_counts_every_byte() {
    let target = fake::target(64 << 20);
    let test = find("wsc").unwrap();
    let parameters = fake::parameters(test, &target, &[]);
    let fake = Fake::new(|_| Some(1000));
    fake::run(test, &target, &[], &fake);
    let plans = fake.plans.lock().unwrap();
    let planned: u64 = plans.iter().filter_map(|plan| plan.limits.bytes).sum();
    assert_eq!(
        test.forecast(&target, &parameters).unwrap().writes,
        Some(planned)
    );
}

#[test]
fn times_of_a_noisy_drive_have_intervals_that_cover_them() {
    let (mut covered, mut orders) = (0, BTreeSet::new());
    for seed in 0..30_u64 {
        // 10 ns a byte, up to 10 % more or less from phase to phase.
        let fake = Fake::new(move |asked: &fake::Asked<'_>| {
            let noise = 0.9 + 0.2 * unit(scatter(asked.plan.seed ^ (seed << 50)));
            Some((10.0 * f64::from(asked.bytes) * noise) as u64)
        });
        let set = [("file-bytes", "4MiB"), ("seed", &*seed.to_string())];
        let finished = fake::run(find("wsc").unwrap(), &fake::target(64 << 20), &set, &fake);
        let figure = finished.findings.figure("write_time").unwrap();
        let truth = 10.0 * f64::from(4 << 20);
        let limits = figure.low.unwrap()..=figure.high.unwrap();
        covered += u32::from(limits.contains(&truth));
        let rate = finished.findings.figure("fsync_direct_throughput").unwrap();
        assert!(rate.low.is_some() && rate.high.is_some());
        let plans = fake.plans.into_inner().unwrap();
        let sizes = plans.iter().map(|plan| plan.block_size.largest());
        orders.insert(sizes.take(10).collect::<Vec<u32>>());
    }
    assert!(covered >= 26, "{covered} of 30");
    assert!(orders.len() > 20);
}

#[test]
fn file_that_a_limit_cuts_short_has_no_times() {
    let fake = Fake::new(|_| Some(10_000_000));
    let set = [("duration", "2s")];
    let finished = fake::run(find("wsc").unwrap(), &fake::target(64 << 20), &set, &fake);
    assert!(fake::codes(&finished).contains(&"file-cut-short"));
    assert!(finished.findings.figure("buffered_4k_write_time").is_none());
    value(&finished, "buffered_4k_throughput");
}
