use super::description::{OPTIMAL_DEPTH, TOO_FEW_SAMPLES_AT_DEPTH};
use crate::bench::find_benchmark;
use crate::bench::tests::fake;
use crate::bench::tests::fake::{
    FakeDrive, FakeRequest, check_codes, metric_value, run_on_simulated,
};
use crate::session::document::{MetricId, SeriesId};
use crate::stats::random::{splitmix64, unit_interval};

#[test]
fn concurrency_optimum_of_drive_with_eight_servers_is_found() {
    let test = find_benchmark("cncread").unwrap();
    let finished = run_on_simulated(
        test,
        "sim:constant,latency=100us,parallel=8",
        &[("duration", "2s")],
    );
    assert_eq!(metric_value(&finished, &MetricId::OPTIMAL_DEPTH), 8.0);
    assert!((metric_value(&finished, &MetricId::SPEEDUP) - 8.0).abs() < 0.1);
    assert!((metric_value(&finished, &MetricId::OPTIMAL_DEPTH_IOPS) / 80_000.0 - 1.0).abs() < 0.02);
    assert_eq!(metric_value(&finished, &MetricId::IOPS_MAX_DEPTH), 8.0);
    for name in [
        "optimal_depth_iops",
        "optimal_depth_p90",
        "speedup",
        "iops_max",
    ] {
        let metric = finished.findings.metric(&MetricId::parse(name)).unwrap();
        assert!(metric.low.is_some() && metric.high.is_some(), "{metric:?}");
    }
    // Two doublings beyond 8 bring no benefit: deeper queues have one round only, and no
    // confidence interval.
    let curve = finished
        .findings
        .series(&SeriesId::IOPS_AGAINST_DEPTH)
        .unwrap();
    let values: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
    let bounded = |at: f64| {
        let index = values.iter().position(|position| *position == at).unwrap();
        curve.confidence_interval(index).is_some()
    };
    assert!(bounded(1.0) && bounded(32.0) && !bounded(64.0) && !bounded(256.0));
    assert!(
        check_codes(&finished).is_empty(),
        "{:?}",
        check_codes(&finished)
    );
}

/// A drive with parallel servers of 100 us each, and up to 4 % variation between phases.
fn noisy_drive(servers: u32) -> FakeDrive<impl Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> {
    FakeDrive::new(move |request| {
        let waves = f64::from(request.plan.depth.max(servers)) / f64::from(servers);
        let noise = unit_interval(splitmix64(request.plan.seed));
        Some((100_000.0 * waves * (1.0 + 0.04 * noise)) as u64)
    })
}

#[test]
fn concurrency_optimum_of_noisy_drive_found_and_speedup_interval_covers_truth() {
    let (mut found, mut wrong, mut covered) = (0, 0, 0);
    for seed in 0..20_u64 {
        let set = [("duration", "1s"), ("seed", &*seed.to_string())];
        let test = find_benchmark("cncread").unwrap();
        let finished = fake::run_on_fake(
            test,
            &fake::simulated_target(1 << 30),
            &set,
            &noisy_drive(8),
        );
        match finished.findings.metric(&MetricId::OPTIMAL_DEPTH) {
            Some(metric) if metric.value == 8.0 => found += 1,
            Some(_) => wrong += 1,
            None => assert!(finished.findings.has_check(OPTIMAL_DEPTH.check)),
        }
        let speedup = finished.findings.metric(&MetricId::SPEEDUP);
        covered +=
            u32::from(speedup.is_some_and(|speedup| {
                (speedup.low.unwrap()..=speedup.high.unwrap()).contains(&8.0)
            }));
    }
    assert!(found >= 17 && wrong <= 1, "{found} found, {wrong} wrong");
    assert!(covered + 3 >= found, "{covered} of {found} covered");
}

#[test]
fn concurrency_with_equal_depths_has_no_optimum() {
    let mut named = 0;
    for seed in 0..20_u64 {
        let seed = seed.to_string();
        // Only throughput counts, and the drive serves one request at a time.
        let set = [
            ("duration", "1s"),
            ("alpha", "1"),
            ("early-stop", "no"),
            ("max-depth", "16"),
            ("seed", &*seed),
        ];
        let test = find_benchmark("cncwrite").unwrap();
        let finished = fake::run_on_fake(
            test,
            &fake::simulated_target(1 << 30),
            &set,
            &noisy_drive(1),
        );
        for (metric, code) in [
            ("optimal_depth", "no-optimal-depth"),
            ("iops_max_depth", "no-best-iops-depth"),
        ] {
            let best = finished.findings.metric(&MetricId::parse(metric)).is_some();
            named += u32::from(best);
            assert_eq!(check_codes(&finished).contains(&code.to_owned()), !best);
        }
        assert_eq!(
            finished.findings.metric(&MetricId::SPEEDUP).is_some(),
            finished.findings.metric(&MetricId::OPTIMAL_DEPTH).is_some()
        );
    }
    assert!(named <= 2, "{named} of 40 name a best");
}

#[test]
fn concurrency_without_early_stop_measures_every_depth() {
    let test = find_benchmark("cncwrite").unwrap();
    let set = [
        ("duration", "2s"),
        ("early-stop", "no"),
        ("max-depth", "48"),
    ];
    let finished = run_on_simulated(test, "sim:constant,parallel=2", &set);
    let curve = finished
        .findings
        .series(&SeriesId::IOPS_AGAINST_DEPTH)
        .unwrap();
    let depths: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
    assert_eq!(depths, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0]);
}

#[test]
fn concurrency_sweep_cut_short_reports_missing_results() {
    let test = find_benchmark("cncread").unwrap();
    let finished = run_on_simulated(test, "sim:constant,latency=10ms", &[("duration", "1s")]);
    assert!(
        finished.findings.has_check(TOO_FEW_SAMPLES_AT_DEPTH),
        "{:?} {:?}",
        check_codes(&finished),
        finished.findings.metrics
    );
    assert!(finished.findings.metric(&MetricId::OPTIMAL_DEPTH).is_none());
}

#[test]
fn concurrency_forecast_names_sweep() {
    let target = fake::simulated_target(10_000_000_000);
    let test = find_benchmark("cncwrite").unwrap();
    let parameters = fake::parameters(test, &target, &[]);
    let forecast = test.forecast(&target, &parameters).unwrap();
    assert!(
        forecast
            .sentence
            .contains("queue depths 1 to 256 in 9 steps"),
        "{forecast:?}"
    );
    assert_eq!(forecast.max_written_bytes, Some(8 << 30));
}
