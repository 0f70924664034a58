//! Metrics that every latency distribution yields.

use std::time::Duration;

use super::intervals;
use crate::engine::IoStats;
use crate::session::document::{ChartAxis, Findings, LatencySummary, Metric, MetricUnit, Series};
use crate::stats::latency::histogram::LatencyHistogram;

pub use crate::stats::latency::histogram::PERCENTILES;

/// Rate, throughput and latencies of an outcome as metrics, series and distributions.
pub fn report_throughput_metrics(findings: &mut Findings, tally: &IoStats, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    let requests = tally.requests();
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let per_second = |amount: u64| amount as f64 / seconds;
    findings.set_metric(
        Metric::new("iops", per_second(requests), MetricUnit::PerSecond)
            .with_observations(requests),
    );
    findings.set_metric(
        Metric::new(
            "throughput",
            per_second(tally.bytes()),
            MetricUnit::BytesPerSecond,
        )
        .with_observations(requests),
    );
    let latency = report_latencies(findings, tally);
    let timeline = tally.counts_over_time();
    intervals::set_intervals(findings, &latency, &timeline, elapsed);
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates_over_time(elapsed_ns);
    findings.set_series(rate_series(
        "iops-over-time",
        MetricUnit::PerSecond,
        &rates,
        1,
    ));
    findings.set_series(rate_series(
        "throughput-over-time",
        MetricUnit::BytesPerSecond,
        &rates,
        2,
    ));
}

/// Sets `share_slower`, the fraction of requests slower than `--slower-than`, if that option is
/// set.
pub fn report_slower_than(findings: &mut Findings, tally: &IoStats, target: Option<Duration>) {
    let Some(target) = target else { return };
    let nanoseconds = u64::try_from(target.as_nanos()).unwrap_or(u64::MAX);
    let latency = tally.latency();
    if let Some(share) = latency.fraction_slower_than(nanoseconds) {
        findings.set_metric(
            Metric::new("share_slower", share, MetricUnit::Ratio)
                .with_observations(latency.count()),
        );
    }
}

/// A series of points of one quantity over another.
#[must_use]
pub fn series(
    name: &str,
    x: (&str, MetricUnit),
    y: (&str, MetricUnit),
    points: Vec<[f64; 2]>,
) -> Series {
    Series {
        name: name.into(),
        x: ChartAxis::new(x.0, x.1),
        y: ChartAxis::new(y.0, y.1),
        points,
        intervals: Vec::new(),
    }
}

/// A series of points of one quantity over another, with a 95 % confidence interval each.
#[must_use]
pub fn series_with_intervals(
    name: &str,
    x: (&str, MetricUnit),
    y: (&str, MetricUnit),
    points: Vec<([f64; 2], Option<[f64; 2]>)>,
) -> Series {
    let (points, intervals) = points.into_iter().unzip();
    series(name, x, y, points).with_intervals(intervals)
}

fn rate_series(name: &str, unit: MetricUnit, rates: &[[f64; 3]], column: usize) -> Series {
    let quantity = if unit == MetricUnit::PerSecond {
        "IOPS"
    } else {
        "throughput"
    };
    Series {
        name: name.into(),
        x: ChartAxis::new("time", MetricUnit::Nanoseconds),
        y: ChartAxis::new(quantity, unit),
        points: rates
            .iter()
            .map(|rate| [rate[0] * 1e9, rate[column]])
            .collect(),
        intervals: Vec::new(),
    }
}

/// The latency distribution of each direction, and the metrics of both together, which are returned.
pub fn report_latencies(findings: &mut Findings, stats: &IoStats) -> LatencyHistogram {
    let latency = stats.latency();
    report_latency_metrics(findings, &latency);
    findings.latency.read = latency_summary(&stats.read.latency);
    findings.latency.write = latency_summary(&stats.write.latency);
    latency
}

/// Mean, percentiles and maximum of a distribution as metrics `latency_mean`, `latency_p50` ...
pub fn report_latency_metrics(findings: &mut Findings, latency: &LatencyHistogram) {
    let count = latency.count();
    let figure = |name: &str, value: f64| {
        Metric::new(name, value, MetricUnit::Nanoseconds).with_observations(count)
    };
    if let Some(mean) = latency.mean() {
        findings.set_metric(figure("latency_mean", mean));
    }
    for percent in PERCENTILES {
        if let Some(value) = latency.percentile(percent) {
            findings.set_metric(figure(&format!("latency_p{percent}"), value as f64));
        }
    }
    if let Some(max) = latency.max() {
        findings.set_metric(figure("latency_max", max as f64));
    }
}

/// A distribution in its stored form; `None` when it is empty.
#[must_use]
pub fn latency_summary(latency: &LatencyHistogram) -> Option<LatencySummary> {
    LatencySummary::from_histogram(latency)
}
