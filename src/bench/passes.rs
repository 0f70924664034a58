//! Tests that measure the same thing in several ways, one after the other, to be laid side by side.

use std::time::Duration;

use super::budget::Budget;
use super::{Bench, BenchError};
use crate::engine::{Limits, Outcome, Plan};
use crate::session::document::{Figure, Findings, Unit};
use crate::stats::latency::Latency;

/// One way to measure.
#[derive(Debug, Clone)]
pub struct Pass {
    /// What is being done, for people.
    pub label: String,
    /// What its figures begin with: `KEY_iops`, `KEY_throughput` and so on.
    pub key: String,
    /// What the engine does; its limits are this pass's own.
    pub plan: Plan,
}

impl Pass {
    /// A pass.
    pub fn new(label: impl Into<String>, key: impl Into<String>, plan: Plan) -> Self {
        Self {
            label: label.into(),
            key: key.into(),
            plan,
        }
    }
}

/// What became of a test's passes.
pub struct Passes<'a, 'b> {
    bench: &'a mut Bench<'b>,
    budget: Budget,
    left: u64,
    share: f64,
}

impl<'a, 'b> Passes<'a, 'b> {
    /// `count` passes that stand for `share` (0 to 1) of the test, within these limits together.
    pub fn new(bench: &'a mut Bench<'b>, limits: Limits, count: usize, share: f64) -> Self {
        Self {
            bench,
            budget: Budget::new(limits),
            left: count as u64,
            share: share / count.max(1) as f64,
        }
    }

    /// Measures the next one and puts down its figures; `None` when a limit is used up or the test
    /// was stopped before.
    ///
    /// # Errors
    /// When the pass could not be started.
    pub fn next(&mut self, pass: &Pass) -> Result<Option<Outcome>, BenchError> {
        if self.bench.stopped() {
            return Ok(None);
        }
        let block = u64::from(pass.plan.block_size.largest());
        let Some(limits) = self.budget.share(self.left, block, pass.plan.limits) else {
            return Ok(None);
        };
        self.left = self.left.saturating_sub(1);
        let plan = Plan {
            limits,
            ..pass.plan.clone()
        };
        let outcome = self.bench.execute(&pass.label, self.share, &plan)?;
        self.budget.spend(&outcome);
        put(&mut self.bench.findings, &pass.key, &outcome);
        self.bench.phase_finished();
        Ok(Some(outcome))
    }

    /// The test that they belong to.
    pub fn bench(&mut self) -> &mut Bench<'b> {
        self.bench
    }
}

/// Measures all passes that the limits let through.
///
/// # Errors
/// When one could not be started.
pub fn all(
    bench: &mut Bench<'_>,
    limits: Limits,
    share: f64,
    passes: &[Pass],
) -> Result<(), BenchError> {
    let mut running = Passes::new(bench, limits, passes.len(), share);
    for pass in passes {
        running.next(pass)?;
    }
    Ok(())
}

/// How long a pass took until its data was safe and its file closed.
#[must_use]
pub fn whole_time(outcome: &Outcome) -> Duration {
    let finish = outcome.finish.unwrap_or_default();
    outcome.elapsed + finish.sync + finish.close
}

/// Response times of both directions.
#[must_use]
pub fn latency_of(outcome: &Outcome) -> Latency {
    let mut latency = outcome.tally.read.latency.clone();
    latency.merge(&outcome.tally.write.latency);
    latency
}

/// Figures of one outcome: `KEY_iops`, `KEY_throughput`, `KEY_latency` (the mean) and
/// `KEY_latency_p99`.
pub fn put(findings: &mut Findings, key: &str, outcome: &Outcome) {
    let seconds = whole_time(outcome).as_secs_f64();
    let (requests, latency) = (outcome.tally.requests(), latency_of(outcome));
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let mut put = |name: &str, value: f64, unit| {
        let name = format!("{key}_{name}");
        findings.put_figure(Figure::new(&name, value, unit).from_observations(requests));
    };
    put("iops", requests as f64 / seconds, Unit::PerSecond);
    put(
        "throughput",
        outcome.tally.bytes() as f64 / seconds,
        Unit::BytesPerSecond,
    );
    if let Some(mean) = latency.mean() {
        put("latency", mean, Unit::Nanoseconds);
    }
    if let Some(p99) = latency.percentile(99.0) {
        put("latency_p99", p99 as f64, Unit::Nanoseconds);
    }
}

/// One figure as a multiple of another, under a new name; nothing where either is unknown.
pub fn put_ratio(findings: &mut Findings, name: &str, of: &str, to: &str) -> Option<f64> {
    let value = |name: &str| findings.figure(name).map(|figure| figure.value);
    let ratio = value(of)? / value(to).filter(|value| *value > 0.0)?;
    findings.put_figure(Figure::new(name, ratio, Unit::Ratio));
    Some(ratio)
}
