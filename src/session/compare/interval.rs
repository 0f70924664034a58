//! Reasons why a metric has no 95 % confidence interval.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use crate::session::checks::THROUGHPUT_DRIFTED;
use crate::session::document::{BenchmarkRun, Metric, MetricId, MetricKind};

/// Minimum run time for the confidence interval of a mean, in nanoseconds.
const MIN_ELAPSED_NS: u64 = 2_000_000_000;

/// Why a side has no 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MissingInterval {
    /// The run is too short, or has too few requests for this percentile.
    TooShort,
    /// The rate increases or decreases throughout the run: there is no stable mean.
    Drifting,
    /// The benchmark does not estimate an interval for this metric.
    NotEstimated,
    /// The interval includes 0, so that a ratio has no confidence interval.
    ReachesZero,
}

impl MissingInterval {
    /// A short description of the reason.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::TooShort => "run too short",
            Self::Drifting => "rate drifting",
            Self::NotEstimated => "no 95 % CI",
            Self::ReachesZero => "95 % CI reaches 0",
        }
    }
}

/// A side that prevents the judgement of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NotDetermined {
    /// Index of the side.
    pub session: usize,
    /// Why the side has no interval.
    pub missing_interval_of: MissingInterval,
}

/// Why this metric of the run has no interval; `None` if it has one.
pub(super) fn missing_interval(run: &BenchmarkRun, metric: &Metric) -> Option<MissingInterval> {
    if metric.low.is_some() && metric.high.is_some() {
        return None;
    }
    let is_percentile = matches!(metric.id.kind(), Some(MetricKind::LatencyPercentile(_)));
    let means = [MetricId::IOPS, MetricId::THROUGHPUT, MetricId::LATENCY_MEAN];
    if !is_percentile && !means.contains(&metric.id) {
        return Some(MissingInterval::NotEstimated);
    }
    let drifts = run.findings.has_check(THROUGHPUT_DRIFTED);
    let rate = [MetricId::IOPS, MetricId::THROUGHPUT].map(|id| run.findings.metric(&id));
    let rate_has_interval = rate.iter().flatten().any(|rate| rate.low.is_some());
    Some(if rate_has_interval || run.elapsed_ns < MIN_ELAPSED_NS {
        // Only this percentile lacks an interval: too few requests are beyond it.
        MissingInterval::TooShort
    } else if drifts || rate.iter().any(Option::is_some) {
        MissingInterval::Drifting
    } else {
        MissingInterval::NotEstimated
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample;

    fn run_without_interval(name: &str, elapsed_ns: u64) -> BenchmarkRun {
        let mut run = sample::sample_run(name, 1000.0, 1.0);
        run.elapsed_ns = elapsed_ns;
        run.findings.metrics[0].low = None;
        run.findings.metrics[0].high = None;
        run
    }

    fn reason(run: &BenchmarkRun, name: &str) -> Option<MissingInterval> {
        missing_interval(run, run.findings.metric(&MetricId::parse(name)).unwrap())
    }

    #[test]
    fn mean_without_interval_is_too_short_or_drifting_by_run_length() {
        let short = run_without_interval("iops", MIN_ELAPSED_NS - 1);
        assert_eq!(reason(&short, "iops"), Some(MissingInterval::TooShort));
        let long = run_without_interval("iops", 60_000_000_000);
        assert_eq!(reason(&long, "iops"), Some(MissingInterval::Drifting));
        assert_eq!(reason(&sample::sample_run("iops", 1.0, 0.1), "iops"), None);
    }

    #[test]
    fn percentile_without_interval_is_too_short() {
        let mut run = sample::sample_run("iops", 1000.0, 1.0);
        let metric = Metric::new(MetricId::LATENCY_P99_9, 5e6);
        run.findings.set_metric(metric);
        assert_eq!(
            reason(&run, "latency_p99.9"),
            Some(MissingInterval::TooShort)
        );
        let mut drifting = run_without_interval("iops", 60_000_000_000);
        let metric = Metric::new(MetricId::LATENCY_P99_9, 5e6);
        drifting.findings.set_metric(metric);
        assert_eq!(
            reason(&drifting, "latency_p99.9"),
            Some(MissingInterval::Drifting)
        );
    }

    #[test]
    fn metric_that_never_has_interval_is_not_estimated() {
        let mut run = sample::sample_run("iops", 1000.0, 1.0);
        let metric = Metric::new(MetricId::THROUGHPUT_MIN, 5e6);
        run.findings.set_metric(metric);
        assert_eq!(
            reason(&run, "throughput_min"),
            Some(MissingInterval::NotEstimated)
        );
    }
}
