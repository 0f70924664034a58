//! The figures that every distribution yields.

use std::time::Duration;

use crate::bench::confidence;
use crate::engine::Tally;
use crate::session::document::{Axis, Figure, Findings, LatencySummary, Series, Unit};
use crate::stats::latency::Latency;

pub use crate::stats::latency::PERCENTILES;

/// Rate, throughput and response times of an outcome, as figures, series and distributions.
pub fn report_throughput(findings: &mut Findings, tally: &Tally, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    let requests = tally.requests();
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let per_second = |amount: u64| amount as f64 / seconds;
    findings.put_figure(
        Figure::new("iops", per_second(requests), Unit::PerSecond).from_observations(requests),
    );
    findings.put_figure(
        Figure::new(
            "throughput",
            per_second(tally.bytes()),
            Unit::BytesPerSecond,
        )
        .from_observations(requests),
    );
    let mut all = tally.read.latency.clone();
    all.merge(&tally.write.latency);
    report_latency(findings, &all);
    findings.latency.read = summary(&tally.read.latency);
    findings.latency.write = summary(&tally.write.latency);
    let mut timeline = tally.read.timeline.clone();
    timeline.merge(&tally.write.timeline);
    confidence::bound(findings, &all, &timeline, elapsed);
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates(elapsed_ns);
    findings.put_series(over_time("iops-over-time", Unit::PerSecond, &rates, 1));
    findings.put_series(over_time(
        "throughput-over-time",
        Unit::BytesPerSecond,
        &rates,
        2,
    ));
}

/// Adds how many requests were slower than `--slower-than`, where that was asked for: the figure
/// `share_slower`.
pub fn report_slower(findings: &mut Findings, tally: &Tally, target: Option<Duration>) {
    let Some(target) = target else { return };
    let nanoseconds = u64::try_from(target.as_nanos()).unwrap_or(u64::MAX);
    let mut all = tally.read.latency.clone();
    all.merge(&tally.write.latency);
    if let Some(share) = all.share_slower_than(nanoseconds) {
        findings.put_figure(
            Figure::new("share_slower", share, Unit::Ratio).from_observations(all.count()),
        );
    }
}

/// A series of points between two quantities.
#[must_use]
pub fn series(name: &str, x: (&str, Unit), y: (&str, Unit), points: Vec<[f64; 2]>) -> Series {
    Series {
        name: name.into(),
        x: Axis::new(x.0, x.1),
        y: Axis::new(y.0, y.1),
        points,
        intervals: Vec::new(),
    }
}

/// A series of points between two quantities, with the 95 % limits of each point.
#[must_use]
pub fn series_within(
    name: &str,
    x: (&str, Unit),
    y: (&str, Unit),
    points: Vec<([f64; 2], Option<[f64; 2]>)>,
) -> Series {
    let (points, intervals) = points.into_iter().unzip();
    series(name, x, y, points).within(intervals)
}

fn over_time(name: &str, unit: Unit, rates: &[[f64; 3]], column: usize) -> Series {
    let quantity = if unit == Unit::PerSecond {
        "IOPS"
    } else {
        "throughput"
    };
    Series {
        name: name.into(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new(quantity, unit),
        points: rates
            .iter()
            .map(|rate| [rate[0] * 1e9, rate[column]])
            .collect(),
        intervals: Vec::new(),
    }
}

/// Mean, percentiles and maximum of a distribution, as figures `latency_mean`, `latency_p50` ...
pub fn report_latency(findings: &mut Findings, latency: &Latency) {
    let count = latency.count();
    let figure = |name: &str, value: f64| {
        Figure::new(name, value, Unit::Nanoseconds).from_observations(count)
    };
    if let Some(mean) = latency.mean() {
        findings.put_figure(figure("latency_mean", mean));
    }
    for percent in PERCENTILES {
        if let Some(value) = latency.percentile(percent) {
            findings.put_figure(figure(&format!("latency_p{percent}"), value as f64));
        }
    }
    if let Some(max) = latency.max() {
        findings.put_figure(figure("latency_max", max as f64));
    }
}

/// A distribution as the document keeps it; `None` when it is empty.
#[must_use]
pub fn summary(latency: &Latency) -> Option<LatencySummary> {
    LatencySummary::of(latency)
}
