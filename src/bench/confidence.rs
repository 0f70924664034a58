//! 95 % limits of the figures that every measurement over time yields.

use std::time::Duration;

use crate::session::document::{Figure, Findings};
use crate::stats::confidence::{
    Estimate, common_margin, effective_count, mean_of_run, percentile_limits, quotient_of_run,
};
use crate::stats::latency::Latency;
use crate::stats::timeline::Timeline;

/// Gives `iops`, `throughput`, `latency_mean` and the percentiles among the findings their limits,
/// as far as the course of the run over `elapsed` lets them be had.
pub fn bound(findings: &mut Findings, latency: &Latency, timeline: &Timeline, elapsed: Duration) {
    bound_named(findings, str::to_owned, latency, timeline, elapsed);
}

/// The same for the metrics of one pass, `KEY_iops`, `KEY_throughput`, `KEY_latency` and
/// `KEY_latency_p99`.
pub fn bound_as(
    findings: &mut Findings,
    key: &str,
    latency: &Latency,
    timeline: &Timeline,
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
    bound_named(findings, own, latency, timeline, elapsed);
}

/// `own` says which of the metrics of [`bound`] one is, by its name.
fn bound_named(
    findings: &mut Findings,
    own: impl Fn(&str) -> String,
    latency: &Latency,
    timeline: &Timeline,
    elapsed: Duration,
) {
    let rates = timeline.rates(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    let column = |index: usize| rates.iter().map(|rate| rate[index]).collect::<Vec<_>>();
    let (mut iops, mut throughput) = (mean_of_run(&column(1)), mean_of_run(&column(2)));
    let mut waiting = mean_wait(timeline, rates.len());
    if iops.is_none() || waiting.is_none() {
        // One definition for rate and time: where the one drifts, the other does too, whatever its
        // own series happens to look like.
        (iops, throughput, waiting) = (None, None, None);
    }
    for figure in &mut findings.figures {
        let limits = match own(&figure.name).as_str() {
            "iops" => around(figure, iops),
            "throughput" => around(figure, throughput),
            "latency_mean" => around(figure, waiting),
            name => percent_of(name)
                .and_then(|percent| around_percentile(figure, percent, latency, waiting?)),
        };
        if let Some([low, high]) = limits {
            (figure.low, figure.high) = (Some(low.max(0.0)), Some(high));
        }
    }
}

/// Response time per request over the first so many buckets, which are the whole ones.
fn mean_wait(timeline: &Timeline, whole: usize) -> Option<Estimate> {
    let buckets = timeline.buckets().iter().take(whole);
    let pairs: Vec<[f64; 2]> = buckets
        .map(|bucket| [bucket.waited_ns as f64, bucket.requests as f64])
        .collect();
    quotient_of_run(&pairs)
}

/// The estimate's margin around the figure, which also counts what no whole bucket holds.
fn around(figure: &Figure, estimate: Option<Estimate>) -> Option<[f64; 2]> {
    let margin = estimate?.margin()?;
    Some([figure.value - margin, figure.value + margin])
}

/// What its rank leaves open, and at least what all response times may be shifted together.
fn around_percentile(
    figure: &Figure,
    percent: f64,
    latency: &Latency,
    waiting: Estimate,
) -> Option<[f64; 2]> {
    let (count, deviation) = (latency.count(), latency.standard_deviation()?);
    let independent = effective_count(count, deviation, waiting.standard_error);
    let [low, high] = percentile_limits(percent, independent)?;
    let common = common_margin(&waiting, count, deviation)?;
    Some([
        (latency.at_rank(low)? as f64).min(figure.value * (1.0 - common)),
        (latency.at_rank(high)? as f64).max(figure.value * (1.0 + common)),
    ])
}

fn percent_of(name: &str) -> Option<f64> {
    name.strip_prefix("latency_p")?.parse().ok()
}

#[cfg(test)]
mod tests;
