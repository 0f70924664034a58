//! Metrics that every latency distribution yields.

use std::time::Duration;

use super::intervals;
use crate::engine::IoStats;
use crate::session::document::{Findings, LatencySummary, Metric, MetricId, Series, SeriesKind};
use crate::stats::latency::histogram::LatencyHistogram;

pub use crate::stats::latency::histogram::PERCENTILES;

/// Rate, throughput and latencies of an outcome as metrics, series and distributions.
pub fn report_throughput_metrics(findings: &mut Findings, stats: &IoStats, elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    let requests = stats.requests();
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let per_second = |amount: u64| amount as f64 / seconds;
    findings
        .set_metric(Metric::new(MetricId::IOPS, per_second(requests)).with_observations(requests));
    findings.set_metric(
        Metric::new(MetricId::THROUGHPUT, per_second(stats.bytes())).with_observations(requests),
    );
    let latency = report_latencies(findings, stats);
    let timeline = stats.counts_over_time();
    intervals::set_intervals(findings, None, &latency, &timeline, elapsed);
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let rates = timeline.rates_over_time(elapsed_ns);
    let over_time = |column: usize| {
        let points = rates.iter().map(|rate| [rate[0] * 1e9, rate[column]]);
        points.collect()
    };
    findings.set_series(Series::new(SeriesKind::IopsOverTime, over_time(1)));
    findings.set_series(Series::new(SeriesKind::ThroughputOverTime, over_time(2)));
}

/// Sets `share_slower`, the fraction of requests slower than `--slower-than`, if that option is
/// set.
pub fn report_slower_than(findings: &mut Findings, stats: &IoStats, target: Option<Duration>) {
    let Some(target) = target else { return };
    let nanoseconds = u64::try_from(target.as_nanos()).unwrap_or(u64::MAX);
    let latency = stats.latency();
    if let Some(share) = latency.fraction_slower_than(nanoseconds) {
        findings.set_metric(
            Metric::new(MetricId::SHARE_SLOWER, share).with_observations(latency.count()),
        );
    }
}

/// A series of points with a 95 % confidence interval each.
#[must_use]
pub fn series_with_intervals(
    kind: SeriesKind,
    points: Vec<([f64; 2], Option<[f64; 2]>)>,
) -> Series {
    let (points, intervals) = points.into_iter().unzip();
    Series::new(kind, points).with_intervals(intervals)
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
    let metric = |id, value: f64| Metric::new(id, value).with_observations(count);
    if let Some(mean) = latency.mean() {
        findings.set_metric(metric(MetricId::LATENCY_MEAN, mean));
    }
    for percent in PERCENTILES {
        if let Some(value) = latency.percentile(percent) {
            findings.set_metric(metric(MetricId::latency_percentile(percent), value as f64));
        }
    }
    if let Some(max) = latency.max() {
        findings.set_metric(metric(MetricId::LATENCY_MAX, max as f64));
    }
}

/// A distribution in its stored form; `None` when it is empty.
#[must_use]
pub fn latency_summary(latency: &LatencyHistogram) -> Option<LatencySummary> {
    LatencySummary::from_histogram(latency)
}
