//! Confidence intervals for a steady drive, a short run, and drives with known true values.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

use super::*;
use crate::session::document::{Metric, MetricId};

const SECOND: u64 = 1_000_000_000;

/// A drive with 1000 requests per second for 10 s and slightly varying latency.
fn steady_drive() -> (LatencyHistogram, RunTimeline) {
    let (mut latency, mut timeline) = (LatencyHistogram::default(), RunTimeline::default());
    for request in 0..10_000_u64 {
        // Pseudo-random scatter, reproducible.
        let wait = 900_000 + request.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 200_000;
        latency.record(wait);
        timeline.record(request * SECOND / 1000 + wait / 10, 4096, wait);
    }
    (latency, timeline)
}

fn findings_of_latency(latency: &LatencyHistogram) -> Findings {
    let mut findings = Findings::default();
    for (name, value) in [
        ("latency_mean", latency.mean().unwrap()),
        ("latency_p50", latency.percentile(50.0).unwrap() as f64),
        ("latency_p99.9", latency.percentile(99.9).unwrap() as f64),
        ("latency_max", latency.max().unwrap() as f64),
    ] {
        findings.set_metric(Metric::new(MetricId::parse(name), value));
    }
    findings.set_metric(Metric::new(MetricId::IOPS, 1000.0));
    findings
}

#[test]
fn confidence_intervals_of_steady_run_are_narrow() {
    let (latency, timeline) = steady_drive();
    let mut findings = findings_of_latency(&latency);
    set_intervals(
        &mut findings,
        None,
        &latency,
        &timeline,
        Duration::from_secs(10),
    );
    for name in ["iops", "latency_mean", "latency_p50", "latency_p99.9"] {
        let metric = findings.metric(&MetricId::parse(name)).unwrap();
        let (low, high) = (metric.low.unwrap(), metric.high.unwrap());
        assert!(low <= metric.value && metric.value <= high, "{metric:?}");
        assert!(high - low < 0.05 * metric.value, "{metric:?}");
    }
    assert_eq!(findings.metric(&MetricId::LATENCY_MAX).unwrap().low, None);
}

#[test]
fn confidence_intervals_of_short_run_are_absent() {
    let (mut latency, mut timeline) = (LatencyHistogram::default(), RunTimeline::default());
    for request in 0..20_000_u64 {
        latency.record(25_000);
        timeline.record(request * 25_000, 4096, 25_000);
    }
    let mut findings = findings_of_latency(&latency);
    set_intervals(
        &mut findings,
        None,
        &latency,
        &timeline,
        Duration::from_millis(500),
    );
    assert!(findings.metrics.iter().all(|metric| metric.low.is_none()));
}

/// A drive with one request in flight and autocorrelated lognormal latencies: each keeps the
/// fraction `memory` of the previous deviation.
struct CorrelatedDrive {
    log_deviation: f64,
    correlation: f64,
    random: Xoshiro256PlusPlus,
}

/// Median and spread (of the logarithm) of the latencies.
const MEDIAN_NS: f64 = 1e6;
const SPREAD: f64 = 0.25;

impl CorrelatedDrive {
    fn run(memory: f64, seed: u64, seconds: u64) -> (LatencyHistogram, RunTimeline) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut drive = Self {
            log_deviation: random.sample::<f64, _>(StandardNormal),
            correlation: memory,
            random,
        };
        let (mut latency, mut timeline) = (LatencyHistogram::default(), RunTimeline::default());
        let mut now = 0;
        while now < seconds * SECOND {
            let wait = drive.next();
            now += wait;
            latency.record(wait);
            timeline.record(now, 4096, wait);
        }
        (latency, timeline)
    }

    fn next(&mut self) -> u64 {
        let fresh = (1.0 - self.correlation * self.correlation).sqrt()
            * self.random.sample::<f64, _>(StandardNormal);
        self.log_deviation = self.correlation * self.log_deviation + fresh;
        (MEDIAN_NS * (SPREAD * self.log_deviation).exp()) as u64
    }
}

/// Per metric: how many of `runs` yielded an interval, and how many intervals cover the true value.
fn interval_coverage(memory: f64, runs: u64, truths: &[(&str, f64)]) -> Vec<(u32, u32)> {
    let mut counts = vec![(0, 0); truths.len()];
    for seed in 0..runs {
        let (latency, timeline) = CorrelatedDrive::run(memory, seed * 7919 + 1, 10);
        let elapsed = Duration::from_nanos(10 * SECOND);
        let mut findings = Findings::default();
        let percentile = |percent| latency.percentile(percent).unwrap() as f64;
        for (name, value) in [
            ("iops", latency.count() as f64 / 10.0),
            ("latency_mean", latency.mean().unwrap()),
            ("latency_p50", percentile(50.0)),
            ("latency_p99", percentile(99.0)),
        ] {
            findings.set_metric(Metric::new(MetricId::parse(name), value));
        }
        set_intervals(&mut findings, None, &latency, &timeline, elapsed);
        for ((name, truth), (given, held)) in truths.iter().zip(&mut counts) {
            let metric = findings.metric(&MetricId::parse(name)).unwrap();
            if let (Some(low), Some(high)) = (metric.low, metric.high) {
                *given += 1;
                *held += u32::from(low <= *truth && *truth <= high);
            }
        }
    }
    counts
}

#[test]
fn confidence_intervals_of_correlated_drive_cover_truth() {
    // Quantiles of the normal distribution: 0 and 2.3263; the lognormal mean is exp(s^2 / 2).
    let mean = MEDIAN_NS * (SPREAD * SPREAD / 2.0).exp();
    let truths = [
        ("iops", 1e9 / mean),
        ("latency_mean", mean),
        ("latency_p50", MEDIAN_NS),
        ("latency_p99", MEDIAN_NS * (SPREAD * 2.3263).exp()),
    ];
    // Independent, and correlated over a tenth of a second.
    for memory in [0.0, 0.9, 0.99] {
        let runs = 60;
        for ((name, _), (given, held)) in
            truths.iter().zip(interval_coverage(memory, runs, &truths))
        {
            // A high percentile may rest on too few independent requests.
            let enough = if *name == "latency_p99" { 0.0 } else { 0.9 };
            let share = f64::from(given) / runs as f64;
            assert!(share >= enough, "{name} {memory}: {given} given");
            if given < 10 {
                continue;
            }
            let share = f64::from(held) / f64::from(given);
            assert!(share >= 0.88, "{name} {memory}: {held} of {given}");
        }
    }
}

/// A drive with one request in flight that alternates between long fast and slow periods, in tenths
/// of a second, and stalls once.
fn changing_drive(factor: u64) -> (LatencyHistogram, RunTimeline) {
    let (mut latency, mut timeline) = (LatencyHistogram::default(), RunTimeline::default());
    let mut now = 0;
    while now < 10 * SECOND {
        let stretch = now / (7 * SECOND / 10);
        let wait = match stretch % 3 {
            _ if latency.count() == 5000 => SECOND / 10,
            1 => 220_000,
            _ => 150_000,
        } * factor;
        now += wait;
        latency.record(wait);
        timeline.record(now, 4096, wait);
    }
    (latency, timeline)
}

fn findings_with_intervals(factor: u64) -> Findings {
    let (latency, timeline) = changing_drive(factor);
    let mut findings = Findings::default();
    let iops = latency.count() as f64 / 10.0;
    findings.set_metric(Metric::new(MetricId::IOPS, iops));
    let mean = latency.mean().unwrap();
    findings.set_metric(Metric::new(MetricId::LATENCY_MEAN, mean));
    set_intervals(
        &mut findings,
        None,
        &latency,
        &timeline,
        Duration::from_nanos(10 * SECOND),
    );
    findings
}

#[test]
fn confidence_of_iops_and_latency_at_depth_1_is_equal() {
    use crate::session::compare::ratio::{
        BetterDirection, RatioJudgement, pool_metrics, ratio_to_baseline,
    };
    let (slow, fast) = (findings_with_intervals(4), findings_with_intervals(1));
    let judged = |name: &str, better| {
        let sample = |findings: &Findings| {
            pool_metrics(&[findings.metric(&MetricId::parse(name)).unwrap()]).unwrap()
        };
        ratio_to_baseline(&sample(&slow), &sample(&fast), Some(better))
            .unwrap()
            .judgement
    };
    assert_eq!(
        judged("iops", BetterDirection::HigherIsBetter),
        Some(RatioJudgement::Faster)
    );
    assert_eq!(
        judged("latency_mean", BetterDirection::LowerIsBetter),
        Some(RatioJudgement::Faster)
    );
}
