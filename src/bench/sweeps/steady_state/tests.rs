use super::NOT_STEADY;
use crate::bench::find_benchmark;
use crate::bench::tests::fake;
use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value, run_on_simulated};
use crate::session::document::{MetricId, SeriesId};

#[test]
fn steady_state_of_constant_drive_is_reached_after_five_rounds() {
    let set = [("round-time", "1s"), ("precondition", "1"), ("depth", "1")];
    let finished = run_on_simulated(
        find_benchmark("steady-state").unwrap(),
        "sim:constant,size=1GB",
        &set,
    );
    assert_eq!(metric_value(&finished, &MetricId::STEADY_STATE_ROUND), 5.0);
    assert!((metric_value(&finished, &MetricId::STEADY_STATE_IOPS) / 10_000.0 - 1.0).abs() < 0.01);
    assert!(check_codes(&finished).is_empty());
}

#[test]
fn steady_state_throughput_drop_names_cache_size() {
    // 1 GB of writes of 128 KiB each, then slow ones until the end.
    let name = "sim:given,size=4GB,latencies=100us*7629+1ms*100000000";
    let set = [("round-time", "2s"), ("precondition", "1")];
    let finished = run_on_simulated(find_benchmark("steady-state").unwrap(), name, &set);
    // Buckets of 100 ms hold 131 MB of fast writes.
    assert!((metric_value(&finished, &MetricId::CACHE_BYTES) / 1e9 - 1.0).abs() < 0.15);
    assert_eq!(check_codes(&finished), ["write-cliff"]);
    assert!((metric_value(&finished, &MetricId::STEADY_STATE_IOPS) / 1000.0 - 1.0).abs() < 0.02);
}

#[test]
fn steady_state_of_drifting_drive_is_not_reached() {
    let fake = FakeDrive::new(|request| {
        // Each round has its own seed.
        Some(if request.plan.seed.is_multiple_of(2) {
            100_000
        } else {
            200_000
        })
    });
    let set = [
        ("rounds", "8"),
        ("round-time", "1s"),
        ("precondition", "0"),
        ("depth", "1"),
    ];
    let finished = fake::run_on_fake(
        find_benchmark("steady-state").unwrap(),
        &fake::simulated_target(1 << 30),
        &set,
        &fake,
    );
    assert!(
        finished
            .findings
            .metric(&MetricId::STEADY_STATE_IOPS)
            .is_none()
    );
    assert!(finished.findings.has_check(NOT_STEADY));
    assert_eq!(
        finished
            .findings
            .series(&SeriesId::IOPS_BY_ROUND)
            .unwrap()
            .points
            .len(),
        8
    );
}

#[test]
fn steady_state_forecast_names_bytes_and_fraction() {
    let target = fake::simulated_target(100 << 30);
    let test = find_benchmark("steady-state").unwrap();
    let parameters = fake::parameters(test, &target, &[]);
    let forecast = test.forecast(&target, &parameters).unwrap();
    assert_eq!(forecast.max_written_bytes, Some(400 << 30));
    assert!(
        forecast
            .sentence
            .contains("200 GiB (2.00 times the target)"),
        "{forecast:?}"
    );
    assert!(
        forecast.sentence.contains("4.00 times the target"),
        "{forecast:?}"
    );
}

#[test]
fn steady_state_writes_no_more_than_forecast() {
    let fake = FakeDrive::new(|_| Some(10_000));
    let target = fake::simulated_target(1 << 30);
    let set = [("bytes", "1536MiB")];
    let finished = fake::run_on_fake(
        find_benchmark("steady-state").unwrap(),
        &target,
        &set,
        &fake,
    );
    let written: f64 = finished
        .findings
        .series(&SeriesId::THROUGHPUT_AGAINST_WRITTEN)
        .unwrap()
        .points
        .last()
        .unwrap()[0];
    assert!(written <= f64::from(1536 << 20), "{written}");
}
