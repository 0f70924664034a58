//! Benchmarks that compare variants of one measurement, run one after the other.

use std::time::Duration;

use super::forecast::PlannedPhases;
use super::intervals;
use super::metric_families::MetricFamily;
use super::rounds::SweepRounds;
use super::sweep::{SweepSchedule, SweepTurn};
use crate::bench::{BenchError, RunContext};
use crate::engine::{ExecutionOutcome, Plan, PlanLimits};
use crate::session::document::{Findings, Metric, MetricId, MetricKind, Percentile, VariantKey};
use crate::stats::latency::histogram::LatencyHistogram;

const LATENCY_P99: MetricKind = MetricKind::LatencyPercentile(Percentile::from_tenths(990));

/// The metrics of every variant, as [`set_variant_metrics`] sets them.
pub const VARIANT_METRICS: &[MetricFamily] = &[MetricFamily::Own(&[
    MetricKind::Iops,
    MetricKind::Throughput,
    MetricKind::Latency,
    LATENCY_P99,
])];

/// Columns of a table of variants: IOPS, mean latency and p99.
pub const LATENCY_COLUMNS: [(&str, MetricKind); 3] = [
    ("IOPS", MetricKind::Iops),
    ("mean", MetricKind::Latency),
    ("p99", LATENCY_P99),
];

/// Rows of a table with one row for each variant.
#[must_use]
pub fn table_rows(variants: &[Variant]) -> Vec<(&str, VariantKey)> {
    let rows = variants.iter();
    rows.map(|variant| (variant.label.as_str(), variant.key.clone()))
        .collect()
}

/// One variant of a measurement.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Label for the user.
    pub label: String,
    /// First part of the metrics' names: `KEY_iops`, `KEY_throughput` and so on.
    pub key: VariantKey,
    /// Plan to execute, with the limits of this variant.
    pub plan: Plan,
}

impl Variant {
    /// Creates a variant.
    pub fn new(label: impl Into<String>, key: VariantKey, plan: Plan) -> Self {
        Self {
            label: label.into(),
            key,
            plan,
        }
    }
}

/// Hook around the variants of a sweep.
pub trait PassHook {
    /// Runs after a variant, with its outcome and its totals over all rounds so far.
    fn after_variant(
        &mut self,
        findings: &mut Findings,
        turn: SweepTurn,
        outcome: &ExecutionOutcome,
        total: &VariantTotal,
    ) {
        let _ = (findings, turn, outcome, total);
    }
}

/// A hook that does nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoHook;

impl PassHook for NoHook {}

/// Measures all variants in several rounds, each in its own random order, within common limits.
/// Sets the metrics of all rounds with their confidence intervals. Returns the rates of the
/// variants in requests per second.
///
/// # Errors
/// When a variant could not be started.
pub fn measure_in_rounds(
    bench: &mut RunContext<'_>,
    limits: PlanLimits,
    variants: &[Variant],
    seed: u64,
    hook: &mut dyn PassHook,
) -> Result<SweepRounds, BenchError> {
    let mut schedule = SweepSchedule::new(variants.len(), limits, seed);
    let mut rounds = PassRounds::new(variants.len(), seed);
    let mut totals = vec![VariantTotal::default(); variants.len()];
    let own = |point: usize| {
        let plan = &variants[point].plan;
        (u64::from(plan.block_size.max_bytes()), plan.limits)
    };
    while let Some(turn) = schedule.next_turn(bench, own) {
        let variant = &variants[turn.point];
        let plan = turn.turn_plan(&variant.plan);
        let outcome = bench.execute(
            &turn.phase_label(&variant.label),
            schedule.phase_fraction(),
            &plan,
        )?;
        schedule.consume_outcome(&outcome);
        if rounds.add(turn, &outcome) {
            let total = &mut totals[turn.point];
            total.add(&outcome);
            set_total_metrics(&mut bench.findings, variant, total, &rounds, turn.point);
            hook.after_variant(&mut bench.findings, turn, &outcome, total);
        }
        bench.phase_finished();
    }
    Ok(rounds.throughputs)
}

/// Values of every variant in each round.
struct PassRounds {
    throughputs: SweepRounds,
    mean_latencies: SweepRounds,
    p99_latencies: SweepRounds,
}

impl PassRounds {
    fn new(variants: usize, seed: u64) -> Self {
        let rounds = SweepRounds::new(variants, seed);
        Self {
            throughputs: rounds.clone(),
            mean_latencies: rounds.clone(),
            p99_latencies: rounds,
        }
    }

    /// Adds an outcome; returns whether it has any data.
    fn add(
        &mut self,
        SweepTurn { point, round, .. }: SweepTurn,
        outcome: &ExecutionOutcome,
    ) -> bool {
        let seconds = total_time(outcome).as_secs_f64();
        let requests = outcome.stats.requests();
        if requests == 0 || seconds <= 0.0 {
            return false;
        }
        self.throughputs
            .set_value(point, round, requests as f64 / seconds);
        let latency = outcome.stats.latency();
        if let (Some(mean), Some(slowest)) = (latency.mean(), latency.value_at_percent(99.0)) {
            self.mean_latencies.set_value(point, round, mean);
            self.p99_latencies.set_value(point, round, slowest as f64);
        }
        true
    }
}

/// The phases of [`measure_in_rounds`].
#[must_use]
pub fn planned_rounds(limits: PlanLimits, variants: &[Variant]) -> PlannedPhases {
    PlannedPhases::with_even_shares(limits)
        .add_rounds(variants.iter().map(|variant| variant.plan.clone()))
}

/// Totals of a variant over all rounds.
#[derive(Debug, Clone, Default)]
pub struct VariantTotal {
    /// Latencies.
    pub latency: LatencyHistogram,
    bytes: u64,
    total_time: Duration,
}

impl VariantTotal {
    fn add(&mut self, outcome: &ExecutionOutcome) {
        self.latency.merge(&outcome.stats.latency());
        self.bytes += outcome.stats.bytes();
        self.total_time += total_time(outcome);
    }
}

/// The metrics of [`set_variant_metrics`] over all rounds, with confidence intervals from the
/// scatter of the rounds.
fn set_total_metrics(
    findings: &mut Findings,
    variant: &Variant,
    total: &VariantTotal,
    rounds: &PassRounds,
    point: usize,
) {
    set_prefixed_metrics(
        findings,
        &variant.key,
        total.bytes,
        total.total_time,
        &total.latency,
    );
    for (kind, rounds) in [
        (MetricKind::Iops, &rounds.throughputs),
        (MetricKind::Throughput, &rounds.throughputs),
        (MetricKind::Latency, &rounds.mean_latencies),
        (LATENCY_P99, &rounds.p99_latencies),
    ] {
        let id = MetricId::of_variant(variant.key.clone(), kind);
        let run_metric = findings.metrics.iter_mut().find(|metric| metric.id == id);
        let Some(run_metric) = run_metric else {
            continue;
        };
        if let Some([low, high]) = rounds.interval_around(point, run_metric.value) {
            (run_metric.low, run_metric.high) = (Some(low), Some(high));
        }
    }
}

/// Time until the data was durable and the file closed.
#[must_use]
pub fn total_time(outcome: &ExecutionOutcome) -> Duration {
    let finish = outcome.finish_times.unwrap_or_default();
    outcome.elapsed + finish.sync_time + finish.close_time
}

/// Metrics of one outcome: `KEY_iops`, `KEY_throughput`, `KEY_latency` (the mean) and
/// `KEY_latency_p99`, with confidence intervals from the time series of the run.
pub fn set_variant_metrics(findings: &mut Findings, key: &VariantKey, outcome: &ExecutionOutcome) {
    let (bytes, time) = (outcome.stats.bytes(), total_time(outcome));
    let latency = outcome.stats.latency();
    set_prefixed_metrics(findings, key, bytes, time, &latency);
    let timeline = outcome.stats.counts_over_time();
    intervals::set_variant_intervals(findings, key, &latency, &timeline, outcome.elapsed);
}

fn set_prefixed_metrics(
    findings: &mut Findings,
    key: &VariantKey,
    bytes: u64,
    time: Duration,
    latency: &LatencyHistogram,
) {
    let (requests, seconds) = (latency.count(), time.as_secs_f64());
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let mut put = |kind, value: f64| {
        let id = MetricId::of_variant(key.clone(), kind);
        findings.set_metric(Metric::new(id, value).with_observations(requests));
    };
    put(MetricKind::Iops, requests as f64 / seconds);
    put(MetricKind::Throughput, bytes as f64 / seconds);
    if let Some(mean) = latency.mean() {
        put(MetricKind::Latency, mean);
    }
    if let Some(p99) = latency.percentile(99.0) {
        put(LATENCY_P99, p99 as f64);
    }
}
