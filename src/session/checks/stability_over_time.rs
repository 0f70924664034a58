//! Checks whether the drive's performance was constant over the run.

use serde_json::{Value, json};

use super::processors::is_machine_busy;
use super::rule::{Rule, Run};
use crate::session::document::check::{Check, Found};
use crate::session::document::{DriveTemperature, PauseEvidence, Series, SeriesId};
use crate::stats::general::segments;
use crate::stats::general::segments::LevelDrop;
use crate::stats::latency::steady_state::{MAX_SLOPE, SteadyStateWindow, WINDOW_ROUNDS};
use crate::units;

/// Below this number of points a trend is not determined.
const MIN_POINTS: usize = 20;
/// A level lasts for at least 1/20 of the run.
const MIN_LEVEL_DIVISOR: usize = 20;
/// A permanent drop by at least this fraction is a cliff.
const MIN_LEVEL_DROP: f64 = 0.3;
/// Minimum fraction of the change between the fifths that has one direction; below it the series
/// fluctuates and does not drift.
const MIN_MONOTONIC_FRACTION: f64 = 0.6;

/// A rate that rises or falls throughout the run: its mean depends on the duration.
pub const THROUGHPUT_DRIFTED: Check = Check::warning(
    "throughput-drifted",
    "The throughput rose or fell throughout the run: the mean depends on the duration.",
);

pub(super) const RULES: &[Rule] = &[
    Rule::warning(
        "throughput-cliff",
        "The throughput fell and stayed low, for example because a cache was full: the mean is neither \
             of the two speeds.",
        "from some time on at least 30 % less than before (binary segmentation of the throughput \
                    over time, levels of at least a twentieth of the run); not with busy CPUs",
        throughput_cliff,
    ),
    Rule::of(
        THROUGHPUT_DRIFTED,
        "the regression line through the means of the run's fifths rises or falls by more than \
                    10 % of the mean (the slope criterion of SNIA's steady state); not with busy CPUs",
        throughput_drifted,
    ),
    Rule::warning(
        "temperature-throttled",
        "The drive reached the temperature at which it may throttle, and its throughput fell.",
        "the highest temperature reaches the limit that the drive reports, and the throughput \
                    fell (cliff or drift)",
        temperature_throttled,
    ),
    Rule::warning(
        "temperature-high",
        "The drive reached the temperature at which it may throttle.",
        "the highest temperature reaches the limit that the drive reports",
        temperature_high,
    ),
    Rule::warning(
        "stalled",
        "No request completed for at least two seconds although requests were in flight.",
        "at least 2 s, 5 times the mean latency and 5 arrival intervals without a completion, or \
                    10 s before the first; times in which the program did not run do not count",
        stalled,
    ),
    Rule::invalid(
        "paused",
        "The program was stopped (Ctrl-Z, SIGSTOP, a debugger, the cgroup freezer), or the machine was \
             suspended: latencies, rates and curves contain that time, and with --rate the requests that \
             were due in it were issued at once afterwards.",
        "a thread that wakes every 50 ms woke at least 0.4 s late without waiting for a CPU, or \
                    the machine was suspended",
        paused,
    ),
];

/// Throughput over time of a constant load, if the benchmark records it.
fn throughput_series<'a>(run: &Run<'a>) -> Option<&'a Series> {
    let series = run.findings.series(&SeriesId::THROUGHPUT_OVER_TIME)?;
    (run.workload.is_constant && series.points.len() >= MIN_POINTS).then_some(series)
}

fn level_drop(series: &Series) -> Option<LevelDrop> {
    let rates: Vec<f64> = series.points.iter().map(|point| point[1]).collect();
    let shortest = (rates.len() / MIN_LEVEL_DIVISOR).max(3);
    segments::find_level_drop(&rates, shortest, MIN_LEVEL_DROP)
}

fn throughput_cliff(run: &Run<'_>) -> Option<Found> {
    let series = throughput_series(run)?;
    let cliff = level_drop(series)?;
    // Busy CPUs explain a change: `machine-busy` then names the cause.
    if is_machine_busy(run) {
        return None;
    }
    let (before, after) = series.points.split_at(cliff.first_index_after);
    let after_ns = after.first()?[0];
    let width_ns = before.get(1)?[0] - before.first()?[0];
    let after_bytes: f64 = before.iter().map(|point| width_ns / 1e9 * point[1]).sum();
    Some(Found::new(
        format!(
            "after {} and {} the throughput fell from {} to {}",
            units::format_latency(after_ns),
            units::format_capacity(after_bytes),
            units::format_throughput(cliff.mean_before),
            units::format_throughput(cliff.mean_after)
        ),
        run.advice(
            &["measure longer and use the lower throughput; --ramp excludes the beginning"],
            "measure longer and use the lower throughput",
        ),
        json!({
            "after_ns": after_ns, "after_bytes": after_bytes, "before": cliff.mean_before,
            "after": cliff.mean_after,
        }),
    ))
}

/// Mean throughput of the first and of the last part of a run, in bytes per second.
#[derive(Clone, Copy)]
struct ThroughputChange {
    begin: f64,
    end: f64,
}

impl ThroughputChange {
    /// Such as `the throughput fell from 500 MB/s to 400 MB/s`.
    fn text(self) -> String {
        let direction = if self.end > self.begin {
            "rose"
        } else {
            "fell"
        };
        format!(
            "the throughput {direction} from {} to {}",
            units::format_throughput(self.begin),
            units::format_throughput(self.end)
        )
    }

    fn facts(self) -> Value {
        json!({ "begin": self.begin, "end": self.end })
    }
}

/// Applies the steady-state criterion to the fifths of a series: the throughput in the first and in the
/// last one. `None` if the throughput was constant or fluctuated.
fn find_drift(series: &Series) -> Option<ThroughputChange> {
    let each = series.points.len() / WINDOW_ROUNDS;
    let recent = &series.points[series.points.len() - each * WINDOW_ROUNDS..];
    let fifths: Vec<f64> = recent
        .chunks_exact(each)
        .map(|part| part.iter().map(|point| point[1]).sum::<f64>() / each as f64)
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

fn throughput_drifted(run: &Run<'_>) -> Option<Found> {
    let series = throughput_series(run)?;
    if is_machine_busy(run) || level_drop(series).is_some() {
        return None;
    }
    let change = find_drift(series)?;
    Some(Found::new(
        format!("{} over the run", change.text()),
        "measure until the throughput is constant, or use the benchmark steady-state",
        change.facts(),
    ))
}

/// Temperatures of a drive that exceeded its throttling threshold, and that threshold.
fn exceeded_temperature(run: &Run<'_>) -> Option<(DriveTemperature, f64)> {
    let seen = run.evidence.temperature?;
    let limit = seen.throttle_celsius?;
    (seen.max_celsius >= limit).then_some((seen, limit))
}

fn temperature_text((seen, limit): (DriveTemperature, f64)) -> String {
    format!(
        "{:.0} C at the start, {:.0} C at most; the drive's limit is {limit:.0} C",
        seen.initial_celsius, seen.max_celsius
    )
}

fn temperature_facts((seen, limit): (DriveTemperature, f64)) -> Value {
    json!({
        "initial_celsius": seen.initial_celsius, "max_celsius": seen.max_celsius,
        "throttle_celsius": limit,
    })
}

/// How the throughput fell, by a cliff or a drift.
fn throughput_decline(run: &Run<'_>) -> Option<ThroughputChange> {
    let series = throughput_series(run)?;
    let cliff = level_drop(series).map(|cliff| ThroughputChange {
        begin: cliff.mean_before,
        end: cliff.mean_after,
    });
    cliff.or_else(|| find_drift(series).filter(|change| change.end < change.begin))
}

fn temperature_throttled(run: &Run<'_>) -> Option<Found> {
    let temperature = exceeded_temperature(run)?;
    let change = throughput_decline(run)?;
    Some(Found::new(
        format!("{}; {}", temperature_text(temperature), change.text()),
        "cool the drive, and repeat the run from a low temperature",
        json!({ "temperature": temperature_facts(temperature), "throughput": change.facts() }),
    ))
}

fn temperature_high(run: &Run<'_>) -> Option<Found> {
    let temperature = exceeded_temperature(run)?;
    if throughput_decline(run).is_some() {
        return None;
    }
    Some(Found::new(
        temperature_text(temperature),
        "cool the drive: it may throttle when it is used longer or in a warmer room",
        temperature_facts(temperature),
    ))
}

fn stalled(run: &Run<'_>) -> Option<Found> {
    let stalls = run.evidence.stalls?;
    let time = |nanoseconds: u64| units::format_latency(nanoseconds as f64);
    let others = match stalls.count {
        0 | 1 => String::new(),
        count => format!(" ({count} times, {} together)", time(stalls.total_ns)),
    };
    Some(Found::new(
        format!(
            "no request completed for {}, from {} after the start on{others}",
            time(stalls.longest_ns),
            time(stalls.longest_start_ns)
        ),
        "look in the kernel log (`dmesg`) for resets and timeouts of the drive at that time; other causes \
         are a server that does not answer, a limit of the cgroup, and garbage collection of an SSD",
        json!({
            "count": stalls.count, "longest_ns": stalls.longest_ns as f64,
            "longest_start_ns": stalls.longest_start_ns as f64, "total_ns": stalls.total_ns as f64,
        }),
    ))
}

fn paused(run: &Run<'_>) -> Option<Found> {
    let PauseEvidence {
        count,
        total_ns,
        longest_ns,
        suspended_ns,
    } = run.evidence.pauses?;
    let time = |nanoseconds: u64| units::format_latency(nanoseconds as f64);
    let times = match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let suspended = match suspended_ns {
        0 => String::new(),
        suspended => format!("; the machine was suspended for {}", time(suspended)),
    };
    Some(Found::new(
        format!(
            "the program did not run for {} ({times}, {} at most){suspended}",
            time(total_ns),
            time(longest_ns)
        ),
        "repeat the run without stopping it",
        json!({
            "count": count, "total_ns": total_ns, "longest_ns": longest_ns,
            "suspended_ns": suspended_ns,
        }),
    ))
}
