//! Tests of the checks for cliffs, drift and temperature.

use super::*;
use crate::session::document::{ChartAxis, DriveTemperature, MetricUnit, Series, SeriesId};

/// A run with this throughput, one value per 0.1 s.
fn run_with_throughput(rates: impl IntoIterator<Item = f64>) -> BenchmarkRun {
    let mut run = empty_run();
    run.findings.set_series(Series {
        id: SeriesId::parse("throughput-over-time"),
        x: ChartAxis::named("time", MetricUnit::Nanoseconds),
        y: ChartAxis::named("throughput", MetricUnit::BytesPerSecond),
        points: rates
            .into_iter()
            .enumerate()
            .map(|(index, rate)| [index as f64 * 1e8, rate])
            .collect(),
        intervals: Vec::new(),
    });
    run
}

/// A constant rate with small fluctuations.
fn noisy_level(rate: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| rate * (1.0 + 0.01 * ((index * 7 % 5) as f64 - 2.0)))
}

#[test]
fn lasting_throughput_drop_is_cliff() {
    let run = run_with_throughput(noisy_level(900e6, 30).chain(noisy_level(150e6, 70)));
    assert_evidence_contains(
        "throughput-cliff",
        &run,
        &["3.00 s", "2.70 GB", "900 MB/s", "150 MB/s"],
    );
    assert_eq!(
        rule_evidence("throughput-drifted", &run),
        None,
        "that is said already"
    );
    let dip = run_with_throughput(
        noisy_level(900e6, 40)
            .chain(noisy_level(150e6, 6))
            .chain(noisy_level(900e6, 54)),
    );
    assert_eq!(rule_evidence("throughput-cliff", &dip), None);
    let small = run_with_throughput(noisy_level(900e6, 50).chain(noisy_level(700e6, 50)));
    assert_eq!(rule_evidence("throughput-cliff", &small), None, "22 %");
}

#[test]
fn monotonic_throughput_change_is_drift() {
    let slope = |share: f64| {
        run_with_throughput(
            (0..100).map(move |index| 500e6 * (1.0 + share * f64::from(index) / 99.0)),
        )
    };
    assert_evidence_contains(
        "throughput-drifted",
        &slope(-0.2),
        &["fell", "490 MB/s", "410 MB/s"],
    );
    assert_evidence_contains("throughput-drifted", &slope(0.3), &["rose"]);
    let late_start = [0.0, 0.0, 100e6, 100e6, 105e6].into_iter();
    assert_evidence_contains(
        "throughput-drifted",
        &run_with_throughput(late_start.flat_map(|rate| [rate; 20])),
        &["rose from 0 B/s to 105 MB/s"],
    );
    assert_eq!(rule_evidence("throughput-drifted", &slope(-0.1)), None);
    assert_eq!(
        rule_evidence(
            "throughput-drifted",
            &run_with_throughput(noisy_level(500e6, 100))
        ),
        None
    );
    let restless = (0..100).map(|index| if index / 20 % 2 == 0 { 400e6 } else { 600e6 });
    assert_eq!(
        rule_evidence("throughput-drifted", &run_with_throughput(restless)),
        None,
        "up and down"
    );
}

#[test]
fn short_or_self_disturbing_runs_get_no_stability_verdict() {
    let short = run_with_throughput(noisy_level(900e6, 10).chain(noisy_level(150e6, 9)));
    assert_eq!(rule_evidence("throughput-cliff", &short), None);
    let falling = run_with_throughput(noisy_level(900e6, 30).chain(noisy_level(150e6, 70)));
    let of_varying_load = evidence_for("throughput-cliff", &falling, Workload::VARYING);
    assert_eq!(of_varying_load, None);
}

#[test]
fn high_temperature_with_throughput_decline_is_throttling() {
    let heated = |mut run: BenchmarkRun, highest: f64, limit: Option<f64>| {
        run.evidence.temperature = Some(DriveTemperature {
            initial_celsius: 41.0,
            max_celsius: highest,
            throttle_celsius: limit,
        });
        run
    };
    let fallen = || run_with_throughput(noisy_level(900e6, 30).chain(noisy_level(150e6, 70)));
    let hot = heated(fallen(), 84.0, Some(84.0));
    assert_evidence_contains("temperature-throttled", &hot, &["41 C", "84 C", "900 MB/s"]);
    assert_eq!(rule_evidence("temperature-high", &hot), None);
    let level = heated(
        run_with_throughput(noisy_level(900e6, 100)),
        85.0,
        Some(84.0),
    );
    assert_evidence_contains(
        "temperature-high",
        &level,
        &["85 C", "the drive's limit is 84 C"],
    );
    assert_eq!(rule_evidence("temperature-throttled", &level), None);
    assert_eq!(
        rule_evidence("temperature-throttled", &heated(fallen(), 83.9, Some(84.0))),
        None
    );
    assert_eq!(
        rule_evidence("temperature-throttled", &heated(fallen(), 99.0, None)),
        None
    );
    let rising = run_with_throughput((0..100).map(|index| 500e6 * (1.0 + f64::from(index) / 99.0)));
    let rising = heated(rising, 90.0, Some(84.0));
    assert!(
        rule_evidence("temperature-high", &rising).is_some(),
        "it became faster"
    );
}
