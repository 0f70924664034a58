//! 95 % confidence intervals of the metrics that every timed measurement yields.

use std::time::Duration;

use crate::session::document::{Findings, Metric};
use crate::stats::general::confidence::{
    MeanEstimate, common_shift_margin, effective_sample_size, percentile_interval,
    run_mean_estimate, run_ratio_estimate,
};
use crate::stats::general::timeline::RunTimeline;
use crate::stats::latency::histogram::LatencyHistogram;

/// Adds confidence intervals to `iops`, `throughput`, `latency_mean` and the percentiles, where the
/// time series of the run over `elapsed` permits an estimate.
pub fn set_intervals(
    findings: &mut Findings,
    latency: &LatencyHistogram,
    timeline: &RunTimeline,
    elapsed: Duration,
) {
    set_named_intervals(findings, str::to_owned, latency, timeline, elapsed);
}

/// Like [`set_intervals`], for the metrics of one variant: `KEY_iops`, `KEY_throughput`,
/// `KEY_latency` and `KEY_latency_p99`.
pub fn set_variant_intervals(
    findings: &mut Findings,
    key: &str,
    latency: &LatencyHistogram,
    timeline: &RunTimeline,
    elapsed: Duration,
) {
    let own = |name: &str| {
        let name = name
            .strip_prefix(key)
            .and_then(|name| name.strip_prefix('_'));
        match name.unwrap_or_default() {
            "latency" => "latency_mean".to_owned(),
            name => name.to_owned(),
        }
    };
    set_named_intervals(findings, own, latency, timeline, elapsed);
}

/// `own` maps a metric's name to its name in [`set_intervals`].
fn set_named_intervals(
    findings: &mut Findings,
    own: impl Fn(&str) -> String,
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
    for figure in &mut findings.figures {
        let limits = match own(&figure.name).as_str() {
            "iops" => metric_interval(figure, iops),
            "throughput" => metric_interval(figure, throughput),
            "latency_mean" => metric_interval(figure, waiting),
            name => percentile_of_metric(name)
                .and_then(|percent| percentile_metric_interval(figure, percent, latency, waiting?)),
        };
        if let Some([low, high]) = limits {
            (figure.low, figure.high) = (Some(low.max(0.0)), Some(high));
        }
    }
}

/// Latency per request over the first complete buckets.
fn mean_latency_estimate(timeline: &RunTimeline, whole: usize) -> Option<MeanEstimate> {
    let buckets = timeline.buckets().iter().take(whole);
    let pairs: Vec<[f64; 2]> = buckets
        .map(|bucket| [bucket.latency_sum_ns as f64, bucket.requests as f64])
        .collect();
    run_ratio_estimate(&pairs)
}

/// Applies the estimate's margin to the metric, which also includes incomplete buckets.
fn metric_interval(figure: &Metric, estimate: Option<MeanEstimate>) -> Option<[f64; 2]> {
    let margin = estimate?.margin_of_error()?;
    Some([figure.value - margin, figure.value + margin])
}

/// The interval from the rank, at least as wide as a common shift of all latencies allows.
fn percentile_metric_interval(
    figure: &Metric,
    percent: f64,
    latency: &LatencyHistogram,
    waiting: MeanEstimate,
) -> Option<[f64; 2]> {
    let (count, deviation) = (latency.count(), latency.stddev_ns()?);
    let independent = effective_sample_size(count, deviation, waiting.standard_error);
    let [low, high] = percentile_interval(percent, independent)?;
    let common = common_shift_margin(&waiting, count, deviation)?;
    Some([
        (latency.value_at_percent(low)? as f64).min(figure.value * (1.0 - common)),
        (latency.value_at_percent(high)? as f64).max(figure.value * (1.0 + common)),
    ])
}

fn percentile_of_metric(name: &str) -> Option<f64> {
    name.strip_prefix("latency_p")?.parse().ok()
}

#[cfg(test)]
mod tests;
