//! Checks whether the drive's performance was constant over the run.

use super::CheckRule;
use super::ProvokedBy::{ByIntegrationTest, InVirtualMachine};
use crate::session::document::{BenchmarkRun, Series, SeriesId, Severity};
use crate::stats::general::segments;
use crate::stats::general::segments::LevelDrop;
use crate::stats::latency::steady_state::{MAX_SLOPE, SteadyStateWindow, WINDOW_ROUNDS};
use crate::units;

/// Below this number of points a trend is not determined.
const MIN_POINTS: usize = 20;
/// A level lasts for at least 1/20 of the run.
const MIN_LEVEL_DIVISOR: usize = 20;
/// A lasting drop by at least this fraction is a cliff.
const MIN_LEVEL_DROP: f64 = 0.3;
/// Minimum fraction of the change between the fifths that has one direction; below it the series
/// fluctuates and does not drift.
const MIN_MONOTONIC_FRACTION: f64 = 0.6;
/// Benchmarks whose rate changes by design.
const EXCLUDED_BENCHMARKS: [&str; 2] = ["interference", "write-cache"];

pub(super) const TIME_RULES: &[CheckRule] = &[
    CheckRule {
        code: "throughput-cliff",
        severity: Severity::Warning,
        meaning: "The throughput fell and stayed low: a cache was full, or something else began. The \
                mean is neither of the two speeds.",
        condition: "after some moment at least 30 % less than before it (binary segmentation of the \
               course, levels of at least a twentieth of the run)",
        advice: "measure longer and look at what comes after: --ramp leaves the beginning out",
        provoked: ByIntegrationTest("filling_cache_is_flagged_as_throughput_drop"),
        find_evidence: throughput_cliff,
    },
    CheckRule {
        code: "throughput-drifted",
        severity: Severity::Warning,
        meaning: "The throughput kept rising or falling: the mean depends on how long was measured.",
        condition: "the line through the means of the run's fifths climbs or falls by more than 10 % of \
               the mean (the slope of the SNIA's steady state)",
        advice: "measure until it stays level, or use the test steady-state",
        provoked: ByIntegrationTest("slowing_drive_is_flagged_as_drift"),
        find_evidence: throughput_drifted,
    },
    CheckRule {
        code: "temperature-throttled",
        severity: Severity::Warning,
        meaning: "The drive reached the temperature from which on it may slow down, and it slowed down.",
        condition: "the highest temperature reaches the limit that the drive names, and the throughput \
               fell (cliff or drift)",
        advice: "cool it, and measure again from a cold start",
        provoked: InVirtualMachine,
        find_evidence: temperature_throttled,
    },
    CheckRule {
        code: "temperature-high",
        severity: Severity::Warning,
        meaning: "The drive reached the temperature from which on it may slow down.",
        condition: "the highest temperature reaches the limit that the drive names",
        advice: "cool it: warmer or longer use will be slower",
        provoked: InVirtualMachine,
        find_evidence: temperature_high,
    },
    CheckRule {
        code: "paused",
        severity: Severity::Warning,
        meaning: "The program did not run for a while: it was stopped (Ctrl-Z, SIGSTOP, a debugger, \
                the cgroup freezer) or the machine was suspended. Requests that were in flight then \
                are not counted, and the time is left out of rates and curves; the drive had a rest \
                meanwhile.",
        condition: "a thread that wakes every 50 ms woke at least 0.4 s late and had not waited for a \
               processor, or the machine was suspended",
        advice: "measure again without stopping it",
        provoked: ByIntegrationTest("paused_run_is_flagged_and_latencies_exclude_pause"),
        find_evidence: paused_evidence,
    },
    CheckRule {
        code: "paused-open-loop",
        severity: Severity::Invalid,
        meaning: "The program did not run for a while and had a rate to keep: the requests that were \
                due meanwhile came all at once afterwards, and waited for each other.",
        condition: "as for paused, with --rate",
        advice: "measure again without stopping it",
        provoked: ByIntegrationTest("paused_run_with_arrival_rate_is_invalid"),
        find_evidence: paused_open_loop,
    },
];

fn is_open_loop(run: &BenchmarkRun) -> bool {
    let rate = run.parameters.get("rate");
    rate.is_some_and(|rate| !rate.is_null())
}

fn paused_evidence(run: &BenchmarkRun) -> Option<String> {
    (!is_open_loop(run)).then(|| describe_pauses(run)).flatten()
}

fn paused_open_loop(run: &BenchmarkRun) -> Option<String> {
    is_open_loop(run).then(|| describe_pauses(run)).flatten()
}

fn describe_pauses(run: &BenchmarkRun) -> Option<String> {
    let pauses = run.evidence.pauses?;
    let times = match pauses.count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let suspended = match pauses.suspended_ns {
        0 => String::new(),
        time => format!(
            "; the machine was suspended for {}",
            units::format_latency(time as f64)
        ),
    };
    Some(format!(
        "did not run for {} ({times}, {} at most){suspended}",
        units::format_latency(pauses.total_ns as f64),
        units::format_latency(pauses.longest_ns as f64)
    ))
}

/// Throughput over the time of the run, if the benchmark records it.
fn throughput_series(run: &BenchmarkRun) -> Option<&Series> {
    let series = run.findings.series(&SeriesId::THROUGHPUT_OVER_TIME)?;
    let telling =
        series.points.len() >= MIN_POINTS && !EXCLUDED_BENCHMARKS.contains(&run.test.as_str());
    telling.then_some(series)
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

fn throughput_cliff(run: &BenchmarkRun) -> Option<String> {
    let series = throughput_series(run)?;
    let cliff = series_level_drop(series)?;
    let before = &series.points[..cliff.first_index_after];
    let bytes: f64 = point_durations(before)
        .zip(before)
        .map(|(width, point)| width * point[1])
        .sum();
    Some(format!(
        "after {} and {} the throughput fell from {} to {}",
        units::format_latency(series.points[cliff.first_index_after][0]),
        units::format_capacity(bytes),
        units::format_throughput(cliff.mean_before),
        units::format_throughput(cliff.mean_after)
    ))
}

/// Seconds that each point of a series covers, from the points' distance in nanoseconds.
fn point_durations(points: &[[f64; 2]]) -> impl Iterator<Item = f64> {
    let width = match points {
        [first, second, ..] => (second[0] - first[0]) / 1e9,
        _ => 0.0,
    };
    std::iter::repeat_n(width, points.len())
}

/// Applies the steady-state criterion to the fifths of a series; `None` if they fluctuate.
fn find_drift(series: &Series) -> Option<SteadyStateWindow> {
    let rates = series_values(series);
    let each = rates.len() / WINDOW_ROUNDS;
    let late = &rates[rates.len() - each * WINDOW_ROUNDS..];
    let fifths: Vec<f64> = late
        .chunks_exact(each)
        .map(|part| part.iter().sum::<f64>() / each as f64)
        .collect();
    let corridor = SteadyStateWindow::of_last_rounds(&fifths)?;
    let climb = corridor.relative_slope.abs();
    (climb > MAX_SLOPE && climb >= MIN_MONOTONIC_FRACTION * corridor.relative_range)
        .then_some(corridor)
}

fn throughput_drifted(run: &BenchmarkRun) -> Option<String> {
    let series = throughput_series(run).filter(|series| series_level_drop(series).is_none())?;
    let corridor = find_drift(series)?;
    Some(format!(
        "the throughput {} from {} to {} over the run",
        if corridor.relative_slope > 0.0 {
            "rose"
        } else {
            "fell"
        },
        units::format_throughput(corridor.fit_at_begin),
        units::format_throughput(corridor.fit_at_end)
    ))
}

/// Describes the temperatures of a drive that exceeded its throttling threshold.
fn temperature_exceeded(run: &BenchmarkRun) -> Option<String> {
    let seen = run.evidence.temperature?;
    let limit = seen
        .throttle_celsius
        .filter(|limit| seen.max_celsius >= *limit)?;
    Some(format!(
        "{:.0} C at the start, {:.0} C at most; its limit is {limit:.0} C",
        seen.initial_celsius, seen.max_celsius
    ))
}

fn throughput_declined(run: &BenchmarkRun) -> Option<String> {
    throughput_cliff(run)
        .or_else(|| throughput_drifted(run).filter(|evidence| evidence.contains("fell")))
}

fn temperature_throttled(run: &BenchmarkRun) -> Option<String> {
    Some(format!(
        "{}, and {}",
        temperature_exceeded(run)?,
        throughput_declined(run)?
    ))
}

fn temperature_high(run: &BenchmarkRun) -> Option<String> {
    temperature_exceeded(run).filter(|_| throughput_declined(run).is_none())
}
