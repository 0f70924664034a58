//! Tests of the checks for cliffs, drift and temperature.

use super::*;
use crate::session::document::{DriveTemperature, Series, SeriesKind};

/// Sets the throughput, one value per 0.1 s.
fn set_throughput(run: &mut BenchmarkRun, rates: impl IntoIterator<Item = f64>) {
    let rates = rates.into_iter().enumerate();
    let points = rates.map(|(index, rate)| [index as f64 * 1e8, rate]);
    let series = Series::new(SeriesKind::ThroughputOverTime, points.collect());
    run.findings.set_series(series);
}

/// Levels in MB/s for a number of points each, with small fluctuations.
fn set_levels(run: &mut BenchmarkRun, levels: &[(f64, usize)]) {
    let levels = levels.iter().flat_map(|(rate, count)| {
        (0..*count).map(move |index| rate * 1e6 * (1.0 + 0.01 * ((index * 7 % 5) as f64 - 2.0)))
    });
    set_throughput(run, levels);
}

fn set_slope(run: &mut BenchmarkRun, share: f64) {
    let rates = (0..100).map(|index| 500e6 * (1.0 + share * f64::from(index) / 99.0));
    set_throughput(run, rates);
}

fn set_temperature(run: &mut BenchmarkRun, max_celsius: f64, throttle_celsius: Option<f64>) {
    run.evidence.temperature = Some(DriveTemperature {
        initial_celsius: 41.0,
        max_celsius,
        throttle_celsius,
    });
}

const FALL: [(f64, usize); 2] = [(900.0, 30), (150.0, 70)];

#[test]
fn lasting_throughput_drop_is_cliff() {
    let code = "throughput-cliff";
    assert_cases(
        empty_run,
        &[
            (
                code,
                |run| set_levels(run, &FALL),
                &["3.00 s", "2.70 GB", "900 MB/s", "150 MB/s"],
            ),
            // That is said already.
            ("throughput-drifted", |run| set_levels(run, &FALL), &[]),
            // A dip, 22 %, too short.
            (
                code,
                |run| set_levels(run, &[(900.0, 40), (150.0, 6), (900.0, 54)]),
                &[],
            ),
            (
                code,
                |run| set_levels(run, &[(900.0, 50), (700.0, 50)]),
                &[],
            ),
            (code, |run| set_levels(run, &[(900.0, 10), (150.0, 9)]), &[]),
        ],
    );
    let mut run = empty_run();
    set_levels(&mut run, &FALL);
    assert_eq!(evidence_for(code, &run, Workload::VARYING), None);
}

#[test]
fn monotonic_throughput_change_is_drift() {
    let code = "throughput-drifted";
    assert_cases(
        empty_run,
        &[
            (
                code,
                |run| set_slope(run, -0.2),
                &["fell", "490 MB/s", "410 MB/s"],
            ),
            (code, |run| set_slope(run, 0.3), &["rose"]),
            (code, |run| set_slope(run, -0.1), &[]),
            (code, |run| set_levels(run, &[(500.0, 100)]), &[]),
            (
                code,
                |run| {
                    let late_start = [0.0, 0.0, 100e6, 100e6, 105e6].into_iter();
                    set_throughput(run, late_start.flat_map(|rate| [rate; 20]));
                },
                &["rose from 0 B/s to 105 MB/s"],
            ),
            // Up and down.
            (
                code,
                |run| {
                    let restless = [400e6, 600e6, 400e6, 600e6, 400e6].into_iter();
                    set_throughput(run, restless.flat_map(|rate| [rate; 20]));
                },
                &[],
            ),
        ],
    );
}

#[test]
fn high_temperature_with_throughput_decline_is_throttling() {
    let [throttled, high] = ["temperature-throttled", "temperature-high"];
    fn fall_at(run: &mut BenchmarkRun, celsius: f64, limit: Option<f64>) {
        set_levels(run, &FALL);
        set_temperature(run, celsius, limit);
    }
    assert_cases(
        empty_run,
        &[
            (
                throttled,
                |run| fall_at(run, 84.0, Some(84.0)),
                &["41 C", "84 C", "900 MB/s"],
            ),
            (high, |run| fall_at(run, 84.0, Some(84.0)), &[]),
            (throttled, |run| fall_at(run, 83.9, Some(84.0)), &[]),
            (throttled, |run| fall_at(run, 99.0, None), &[]),
            (
                high,
                |run| {
                    set_levels(run, &[(900.0, 100)]);
                    set_temperature(run, 85.0, Some(84.0));
                },
                &["85 C", "the drive's limit is 84 C"],
            ),
            // It became faster.
            (
                high,
                |run| {
                    set_slope(run, 1.0);
                    set_temperature(run, 90.0, Some(84.0));
                },
                &["90 C"],
            ),
        ],
    );
}
