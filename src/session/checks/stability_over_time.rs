//! Checks whether the drive's performance was constant over the run.

use super::processors::is_machine_busy;
use super::rule::CheckRule;
use crate::session::document::check::{
    CheckEvidence, CheckId, HighTemperature, Stall, Throttling, ThroughputChange, TimedDrop,
};
use crate::session::document::{BenchmarkRun, Series, SeriesId};
use crate::stats::general::segments;
use crate::stats::general::segments::LevelDrop;
use crate::stats::latency::steady_state::{MAX_SLOPE, SteadyStateWindow, WINDOW_ROUNDS};

/// Below this number of points a trend is not determined.
const MIN_POINTS: usize = 20;
/// A level lasts for at least 1/20 of the run.
const MIN_LEVEL_DIVISOR: usize = 20;
/// A permanent drop by at least this fraction is a cliff.
const MIN_LEVEL_DROP: f64 = 0.3;
/// Minimum fraction of the change between the fifths that has one direction; below it the series
/// fluctuates and does not drift.
const MIN_MONOTONIC_FRACTION: f64 = 0.6;

pub(super) const TIME_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::ThroughputCliff, throughput_cliff).for_constant_load(),
    CheckRule::new(CheckId::ThroughputDrifted, throughput_drifted)
        .for_constant_load()
        .unless(CheckId::ThroughputCliff),
    CheckRule::new(CheckId::TemperatureThrottled, temperature_throttled).for_constant_load(),
    CheckRule::new(CheckId::TemperatureHigh, temperature_high)
        .unless(CheckId::TemperatureThrottled),
    CheckRule::new(CheckId::Stalled, stalled),
    CheckRule::new(CheckId::Paused, paused),
    CheckRule::new(CheckId::PausedOpenLoop, paused_open_loop),
];

fn stalled(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let stalls = run.evidence.stalls?;
    Some(CheckEvidence::Stalled(Stall {
        count: stalls.count,
        longest_ns: stalls.longest_ns as f64,
        longest_start_ns: stalls.longest_start_ns as f64,
        total_ns: stalls.total_ns as f64,
    }))
}

fn paused(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let pauses = run
        .evidence
        .pauses
        .filter(|_| !run.typed_parameters().is_open_loop())?;
    Some(CheckEvidence::Paused(pauses))
}

fn paused_open_loop(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let pauses = run
        .evidence
        .pauses
        .filter(|_| run.typed_parameters().is_open_loop())?;
    Some(CheckEvidence::PausedOpenLoop(pauses))
}

/// Throughput over the time of the run, if the benchmark records it.
fn throughput_series(run: &BenchmarkRun) -> Option<&Series> {
    let series = run.findings.series(&SeriesId::THROUGHPUT_OVER_TIME)?;
    (series.points.len() >= MIN_POINTS).then_some(series)
}

fn series_values(series: &Series) -> Vec<f64> {
    series.points.iter().map(|point| point[1]).collect()
}

fn series_level_drop(series: &Series) -> Option<LevelDrop> {
    let rates = series_values(series);
    segments::find_level_drop(
        &rates,
        (rates.len() / MIN_LEVEL_DIVISOR).max(3),
        MIN_LEVEL_DROP,
    )
}

/// Throughput over time, unless busy CPUs explain its changes: `machine-busy` then names the cause.
fn undisturbed_series(run: &BenchmarkRun) -> Option<&Series> {
    (!is_machine_busy(run)).then_some(())?;
    throughput_series(run)
}

fn throughput_cliff(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let series = undisturbed_series(run)?;
    let cliff = series_level_drop(series)?;
    let before = &series.points[..cliff.first_index_after];
    let bytes = point_durations(before)
        .zip(before)
        .map(|(width, point)| width * point[1])
        .sum();
    Some(CheckEvidence::ThroughputCliff(TimedDrop {
        after_ns: series.points[cliff.first_index_after][0],
        after_bytes: bytes,
        before: cliff.mean_before,
        after: cliff.mean_after,
    }))
}

/// Seconds that each point of a series covers, from the points' distance in nanoseconds.
fn point_durations(points: &[[f64; 2]]) -> impl Iterator<Item = f64> {
    let width = match points {
        [first, second, ..] => (second[0] - first[0]) / 1e9,
        _ => 0.0,
    };
    std::iter::repeat_n(width, points.len())
}

/// Applies the steady-state criterion to the fifths of a series: the throughput in the first and in the
/// last one. `None` if the throughput was constant or fluctuated.
fn find_drift(series: &Series) -> Option<ThroughputChange> {
    let rates = series_values(series);
    let each = rates.len() / WINDOW_ROUNDS;
    let recent = &rates[rates.len() - each * WINDOW_ROUNDS..];
    let fifths: Vec<f64> = recent
        .chunks_exact(each)
        .map(|part| part.iter().sum::<f64>() / each as f64)
        .collect();
    let window = SteadyStateWindow::of_last_rounds(&fifths)?;
    let slope = window.relative_slope.abs();
    // Not the line's ends, which were not measured and can be below 0.
    let change = ThroughputChange {
        begin: *fifths.first()?,
        end: *fifths.last()?,
    };
    (slope > MAX_SLOPE && slope >= MIN_MONOTONIC_FRACTION * window.relative_range).then_some(change)
}

fn throughput_drifted(run: &BenchmarkRun) -> Option<CheckEvidence> {
    find_drift(undisturbed_series(run)?).map(CheckEvidence::ThroughputDrifted)
}

/// Temperatures of a drive that exceeded its throttling threshold.
fn exceeded_temperature(run: &BenchmarkRun) -> Option<HighTemperature> {
    let seen = run.evidence.temperature?;
    let limit = seen
        .throttle_celsius
        .filter(|limit| seen.max_celsius >= *limit)?;
    Some(HighTemperature {
        initial_celsius: seen.initial_celsius,
        max_celsius: seen.max_celsius,
        throttle_celsius: limit,
    })
}

/// How the throughput fell, by a cliff or a drift.
fn throughput_decline(run: &BenchmarkRun) -> Option<ThroughputChange> {
    let series = throughput_series(run)?;
    if let Some(cliff) = series_level_drop(series) {
        return Some(ThroughputChange {
            begin: cliff.mean_before,
            end: cliff.mean_after,
        });
    }
    find_drift(series).filter(|change| change.end < change.begin)
}

fn temperature_throttled(run: &BenchmarkRun) -> Option<CheckEvidence> {
    Some(CheckEvidence::TemperatureThrottled(Throttling {
        temperature: exceeded_temperature(run)?,
        throughput: throughput_decline(run)?,
    }))
}

fn temperature_high(run: &BenchmarkRun) -> Option<CheckEvidence> {
    exceeded_temperature(run).map(CheckEvidence::TemperatureHigh)
}
