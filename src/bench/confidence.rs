//! 95 % limits of the figures that every measurement over time yields.

use std::time::Duration;

use crate::session::document::{Figure, Findings};
use crate::stats::confidence::{
    Estimate, common_margin, effective_count, mean, percentile_limits, quotient,
};
use crate::stats::latency::Latency;
use crate::stats::timeline::Timeline;

/// Gives `iops`, `throughput`, `latency_mean` and the percentiles among the findings their limits,
/// as far as the course of the run over `elapsed` lets them be had.
pub fn bound(findings: &mut Findings, latency: &Latency, timeline: &Timeline, elapsed: Duration) {
    let rates = timeline.rates(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    let column = |index: usize| rates.iter().map(|rate| rate[index]).collect::<Vec<_>>();
    let waiting = mean_wait(timeline, rates.len());
    for figure in &mut findings.figures {
        let limits = match figure.name.as_str() {
            "iops" => around(figure, mean(&column(1))),
            "throughput" => around(figure, mean(&column(2))),
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
    quotient(&pairs)
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
mod tests {
    use super::*;
    use crate::session::document::Unit;

    const SECOND: u64 = 1_000_000_000;

    /// A drive that serves 1000 requests per second for 10 s, some a little slower than others.
    fn steady() -> (Latency, Timeline) {
        let (mut latency, mut timeline) = (Latency::default(), Timeline::default());
        for request in 0..10_000_u64 {
            // Scattered without pattern, the same each time.
            let wait = 900_000 + request.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 200_000;
            latency.record(wait);
            timeline.record(request * SECOND / 1000 + wait / 10, 4096, wait);
        }
        (latency, timeline)
    }

    fn findings(latency: &Latency) -> Findings {
        let mut findings = Findings::default();
        for (name, value) in [
            ("latency_mean", latency.mean().unwrap()),
            ("latency_p50", latency.percentile(50.0).unwrap() as f64),
            ("latency_p99.9", latency.percentile(99.9).unwrap() as f64),
            ("latency_max", latency.max().unwrap() as f64),
        ] {
            findings.put_figure(Figure::new(name, value, Unit::Nanoseconds));
        }
        findings.put_figure(Figure::new("iops", 1000.0, Unit::PerSecond));
        findings
    }

    #[test]
    fn figures_of_a_steady_run_get_narrow_limits() {
        let (latency, timeline) = steady();
        let mut findings = findings(&latency);
        bound(&mut findings, &latency, &timeline, Duration::from_secs(10));
        for name in ["iops", "latency_mean", "latency_p50", "latency_p99.9"] {
            let figure = findings.figure(name).unwrap();
            let (low, high) = (figure.low.unwrap(), figure.high.unwrap());
            assert!(low <= figure.value && figure.value <= high, "{figure:?}");
            assert!(high - low < 0.05 * figure.value, "{figure:?}");
        }
        assert_eq!(findings.figure("latency_max").unwrap().low, None);
    }

    #[test]
    fn a_short_run_has_figures_without_limits() {
        let (mut latency, mut timeline) = (Latency::default(), Timeline::default());
        for request in 0..20_000_u64 {
            latency.record(25_000);
            timeline.record(request * 25_000, 4096, 25_000);
        }
        let mut findings = findings(&latency);
        bound(
            &mut findings,
            &latency,
            &timeline,
            Duration::from_millis(500),
        );
        assert!(findings.figures.iter().all(|figure| figure.low.is_none()));
    }
}
