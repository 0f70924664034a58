//! 95 % confidence intervals of the metrics that every timed measurement yields.

use std::time::Duration;

use crate::session::document::{Findings, Metric, MetricKind, VariantKey};
use crate::stats::general::confidence::{
    MeanEstimate, common_shift_margin, effective_sample_size, percentile_interval,
    run_mean_estimate, run_ratio_estimate,
};
use crate::stats::general::timeline::RunTimeline;
use crate::stats::latency::histogram::LatencyHistogram;

/// Adds confidence intervals to the rates, latencies and percentiles of a variant, or without one to
/// those of the benchmark itself, where the time series of the run over `elapsed` permits an estimate.
pub fn set_intervals(
    findings: &mut Findings,
    variant: Option<&VariantKey>,
    latency: &LatencyHistogram,
    timeline: &RunTimeline,
    elapsed: Duration,
) {
    let rates = timeline.rates_over_time(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    let column = |index: usize| rates.iter().map(|rate| rate[index]).collect::<Vec<_>>();
    let (mut iops, mut throughput) = (run_mean_estimate(&column(1)), run_mean_estimate(&column(2)));
    let mut waiting = mean_latency_estimate(timeline, rates.len());
    if iops.is_none() || waiting.is_none() {
        // Rate and latency share one definition: if one drifts, so does the other, even where its
        // own series appears stationary.
        (iops, throughput, waiting) = (None, None, None);
    }
    let own = |metric: &&mut Metric| !metric.id.is_nested() && metric.id.variant() == variant;
    for metric in findings.metrics.iter_mut().filter(own) {
        let limits = match metric.id.kind() {
            Some(MetricKind::Iops) => metric_interval(metric, iops),
            Some(MetricKind::Throughput) => metric_interval(metric, throughput),
            Some(MetricKind::Latency | MetricKind::LatencyMean) => metric_interval(metric, waiting),
            Some(MetricKind::LatencyPercentile(percentile)) => waiting.and_then(|waiting| {
                percentile_metric_interval(metric, percentile.percent(), latency, waiting)
            }),
            _ => None,
        };
        if let Some([low, high]) = limits {
            (metric.low, metric.high) = (Some(low.max(0.0)), Some(high));
        }
    }
}

/// Latency per request over the first complete buckets.
fn mean_latency_estimate(timeline: &RunTimeline, complete_buckets: usize) -> Option<MeanEstimate> {
    let buckets = timeline.buckets().iter().take(complete_buckets);
    let pairs: Vec<[f64; 2]> = buckets
        .map(|bucket| [bucket.latency_sum_ns as f64, bucket.requests as f64])
        .collect();
    run_ratio_estimate(&pairs)
}

/// Applies the estimate's margin to the metric, which also includes incomplete buckets.
fn metric_interval(metric: &Metric, estimate: Option<MeanEstimate>) -> Option<[f64; 2]> {
    let margin = estimate?.margin_of_error()?;
    Some([metric.value - margin, metric.value + margin])
}

/// The interval from the rank, at least as wide as a common shift of all latencies allows.
fn percentile_metric_interval(
    metric: &Metric,
    percent: f64,
    latency: &LatencyHistogram,
    waiting: MeanEstimate,
) -> Option<[f64; 2]> {
    let (count, deviation) = (latency.count(), latency.stddev_ns()?);
    let independent = effective_sample_size(count, deviation, waiting.standard_error);
    let [low, high] = percentile_interval(percent, independent)?;
    let common = common_shift_margin(&waiting, count, deviation)?;
    Some([
        (latency.value_at_percent(low)? as f64).min(metric.value * (1.0 - common)),
        (latency.value_at_percent(high)? as f64).max(metric.value * (1.0 + common)),
    ])
}

#[cfg(test)]
mod tests;
