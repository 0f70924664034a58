//! Whether the drive was the same from the first second to the last.

use super::Provoked::{ByTest, InGuest};
use super::Rule;
use crate::session::document::{Run, Series, Severity};
use crate::stats::segments::{Cliff, cliff};
use crate::stats::steady_state::{Corridor, MOST_SLOPE, WINDOW};
use crate::units;

/// Fewer points show no course.
const LEAST_POINTS: usize = 20;
/// A level lasts for at least this share of the run.
const LEAST_LEVEL: usize = 20;
/// A fall by so much that stays is a cliff.
const FALL: f64 = 0.3;
/// So much of the difference between the fifths must go one way: else it is restlessness.
const ONE_WAY: f64 = 0.6;
/// Tests whose course is meant to change.
const CHANGING: [&str; 2] = ["interference", "write-cache"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "throughput-cliff",
        severity: Severity::Warning,
        means: "The throughput fell and stayed low: a cache was full, or something else began. The \
                mean is neither of the two speeds.",
        when: "after some moment at least 30 % less than before it (binary segmentation of the \
               course, levels of at least a twentieth of the run)",
        advice: "measure longer and look at what comes after: --ramp leaves the beginning out",
        provoked: ByTest("a_cache_that_fills_up_is_a_cliff"),
        find: throughput_cliff,
    },
    Rule {
        code: "throughput-drifted",
        severity: Severity::Warning,
        means: "The throughput kept rising or falling: the mean depends on how long was measured.",
        when: "the line through the means of the run's fifths climbs or falls by more than 10 % of \
               the mean (the slope of the SNIA's steady state)",
        advice: "measure until it stays level, or use the test steady-state",
        provoked: ByTest("a_drive_that_gets_slower_and_slower_drifts"),
        find: throughput_drifted,
    },
    Rule {
        code: "temperature-throttled",
        severity: Severity::Warning,
        means: "The drive reached the temperature from which on it may slow down, and it slowed down.",
        when: "the highest temperature reaches the limit that the drive names, and the throughput \
               fell (cliff or drift)",
        advice: "cool it, and measure again from a cold start",
        provoked: InGuest,
        find: temperature_throttled,
    },
    Rule {
        code: "temperature-high",
        severity: Severity::Warning,
        means: "The drive reached the temperature from which on it may slow down.",
        when: "the highest temperature reaches the limit that the drive names",
        advice: "cool it: warmer or longer use will be slower",
        provoked: InGuest,
        find: temperature_high,
    },
    Rule {
        code: "paused",
        severity: Severity::Warning,
        means: "The program did not run for a while: it was stopped (Ctrl-Z, SIGSTOP, a debugger, \
                the cgroup freezer) or the machine was suspended. Requests that were in flight then \
                are not counted, and the time is left out of rates and curves; the drive had a rest \
                meanwhile.",
        when: "a thread that wakes every 50 ms woke at least 0.4 s late and had not waited for a \
               processor, or the machine was suspended",
        advice: "measure again without stopping it",
        provoked: ByTest("a_run_that_is_stopped_for_a_while_says_so_and_its_latencies_do_not"),
        find: paused,
    },
    Rule {
        code: "paused-open-loop",
        severity: Severity::Invalid,
        means: "The program did not run for a while and had a rate to keep: the requests that were \
                due meanwhile came all at once afterwards, and waited for each other.",
        when: "as for paused, with --rate",
        advice: "measure again without stopping it",
        provoked: ByTest("a_run_with_a_rate_that_is_stopped_is_invalid"),
        find: paused_open_loop,
    },
];

fn has_rate(run: &Run) -> bool {
    let rate = run.parameters.get("rate");
    rate.is_some_and(|rate| !rate.is_null())
}

fn paused(run: &Run) -> Option<String> {
    (!has_rate(run)).then(|| pauses(run)).flatten()
}

fn paused_open_loop(run: &Run) -> Option<String> {
    has_rate(run).then(|| pauses(run)).flatten()
}

fn pauses(run: &Run) -> Option<String> {
    let pauses = run.evidence.pauses?;
    let times = match pauses.count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let suspended = match pauses.suspended_ns {
        0 => String::new(),
        time => format!(
            "; the machine was suspended for {}",
            units::latency(time as f64)
        ),
    };
    Some(format!(
        "did not run for {} ({times}, {} at most){suspended}",
        units::latency(pauses.total_ns as f64),
        units::latency(pauses.longest_ns as f64)
    ))
}

/// Throughput over the time of the run, where the test shows that.
fn course(run: &Run) -> Option<&Series> {
    let series = run.findings.series("throughput-over-time")?;
    let telling = series.points.len() >= LEAST_POINTS && !CHANGING.contains(&run.test.as_str());
    telling.then_some(series)
}

fn rates(series: &Series) -> Vec<f64> {
    series.points.iter().map(|point| point[1]).collect()
}

fn fall(series: &Series) -> Option<Cliff> {
    let rates = rates(series);
    cliff(&rates, (rates.len() / LEAST_LEVEL).max(3), FALL)
}

fn throughput_cliff(run: &Run) -> Option<String> {
    let series = course(run)?;
    let cliff = fall(series)?;
    let before = &series.points[..cliff.at];
    let bytes: f64 = widths(before)
        .zip(before)
        .map(|(width, point)| width * point[1])
        .sum();
    Some(format!(
        "after {} and {} the throughput fell from {} to {}",
        units::latency(series.points[cliff.at][0]),
        units::capacity(bytes),
        units::throughput(cliff.before),
        units::throughput(cliff.after)
    ))
}

/// Seconds that each point of a course stands for, from their distance in nanoseconds.
fn widths(points: &[[f64; 2]]) -> impl Iterator<Item = f64> {
    let width = match points {
        [first, second, ..] => (second[0] - first[0]) / 1e9,
        _ => 0.0,
    };
    std::iter::repeat_n(width, points.len())
}

/// The fifths of a course against the rule of the steady state, unless they go up and down.
fn drift(series: &Series) -> Option<Corridor> {
    let rates = rates(series);
    let each = rates.len() / WINDOW;
    let late = &rates[rates.len() - each * WINDOW..];
    let fifths: Vec<f64> = late
        .chunks_exact(each)
        .map(|part| part.iter().sum::<f64>() / each as f64)
        .collect();
    let corridor = Corridor::of(&fifths)?;
    let climb = corridor.climb.abs();
    (climb > MOST_SLOPE && climb >= ONE_WAY * corridor.range).then_some(corridor)
}

fn throughput_drifted(run: &Run) -> Option<String> {
    let series = course(run).filter(|series| fall(series).is_none())?;
    let corridor = drift(series)?;
    Some(format!(
        "the throughput {} from {} to {} over the run",
        if corridor.climb > 0.0 { "rose" } else { "fell" },
        units::throughput(corridor.line_begin),
        units::throughput(corridor.line_end)
    ))
}

/// What was measured of a drive that became too warm.
fn hot(run: &Run) -> Option<String> {
    let seen = run.evidence.temperature?;
    let limit = seen
        .limit_celsius
        .filter(|limit| seen.highest_celsius >= *limit)?;
    Some(format!(
        "{:.0} C at the start, {:.0} C at most; its limit is {limit:.0} C",
        seen.begin_celsius, seen.highest_celsius
    ))
}

fn slowed_down(run: &Run) -> Option<String> {
    throughput_cliff(run)
        .or_else(|| throughput_drifted(run).filter(|evidence| evidence.contains("fell")))
}

fn temperature_throttled(run: &Run) -> Option<String> {
    Some(format!("{}, and {}", hot(run)?, slowed_down(run)?))
}

fn temperature_high(run: &Run) -> Option<String> {
    hot(run).filter(|_| slowed_down(run).is_none())
}
