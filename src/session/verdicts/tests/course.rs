//! Cliffs, drift, heat.

use super::*;
use crate::session::document::{Axis, Series, Temperature, Unit};

/// A run whose throughput went like this, a value every tenth of a second.
fn course(rates: impl IntoIterator<Item = f64>) -> Run {
    let mut run = run();
    run.findings.put_series(Series {
        name: "throughput-over-time".into(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new("throughput", Unit::BytesPerSecond),
        points: rates
            .into_iter()
            .enumerate()
            .map(|(index, rate)| [index as f64 * 1e8, rate])
            .collect(),
        intervals: Vec::new(),
    });
    run
}

/// Level, but not quite.
fn level(rate: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| rate * (1.0 + 0.01 * ((index * 7 % 5) as f64 - 2.0)))
}

#[test]
fn a_fall_that_stays_is_a_cliff() {
    let run = course(level(900e6, 30).chain(level(150e6, 70)));
    assert_found(
        "throughput-cliff",
        &run,
        &["3.00 s", "2.70 GB", "900 MB/s", "150 MB/s"],
    );
    assert_eq!(
        found("throughput-drifted", &run),
        None,
        "that is said already"
    );
    let dip = course(
        level(900e6, 40)
            .chain(level(150e6, 6))
            .chain(level(900e6, 54)),
    );
    assert_eq!(found("throughput-cliff", &dip), None);
    let small = course(level(900e6, 50).chain(level(700e6, 50)));
    assert_eq!(found("throughput-cliff", &small), None, "22 %");
}

#[test]
fn what_keeps_falling_or_rising_drifts() {
    let slope = |share: f64| {
        course((0..100).map(move |index| 500e6 * (1.0 + share * f64::from(index) / 99.0)))
    };
    assert_found(
        "throughput-drifted",
        &slope(-0.2),
        &["fell", "490 MB/s", "410 MB/s"],
    );
    assert_found("throughput-drifted", &slope(0.3), &["rose"]);
    assert_eq!(found("throughput-drifted", &slope(-0.1)), None);
    assert_eq!(
        found("throughput-drifted", &course(level(500e6, 100))),
        None
    );
    let restless = (0..100).map(|index| if index / 20 % 2 == 0 { 400e6 } else { 600e6 });
    assert_eq!(
        found("throughput-drifted", &course(restless)),
        None,
        "up and down"
    );
}

#[test]
fn short_runs_and_tests_that_disturb_themselves_have_no_course() {
    let short = course(level(900e6, 10).chain(level(150e6, 9)));
    assert_eq!(found("throughput-cliff", &short), None);
    let mut meant = course(level(900e6, 30).chain(level(150e6, 70)));
    meant.test = "interference".into();
    assert_eq!(found("throughput-cliff", &meant), None);
}

#[test]
fn heat_that_slows_down_is_throttling() {
    let heated = |mut run: Run, highest: f64, limit: Option<f64>| {
        run.evidence.temperature = Some(Temperature {
            begin_celsius: 41.0,
            highest_celsius: highest,
            limit_celsius: limit,
        });
        run
    };
    let fallen = || course(level(900e6, 30).chain(level(150e6, 70)));
    let hot = heated(fallen(), 84.0, Some(84.0));
    assert_found("temperature-throttled", &hot, &["41 C", "84 C", "900 MB/s"]);
    assert_eq!(found("temperature-high", &hot), None);
    let level = heated(course(level(900e6, 100)), 85.0, Some(84.0));
    assert_found("temperature-high", &level, &["85 C", "its limit is 84 C"]);
    assert_eq!(found("temperature-throttled", &level), None);
    assert_eq!(
        found("temperature-throttled", &heated(fallen(), 83.9, Some(84.0))),
        None
    );
    assert_eq!(
        found("temperature-throttled", &heated(fallen(), 99.0, None)),
        None
    );
    let rising = course((0..100).map(|index| 500e6 * (1.0 + f64::from(index) / 99.0)));
    let rising = heated(rising, 90.0, Some(84.0));
    assert!(
        found("temperature-high", &rising).is_some(),
        "it became faster"
    );
}
