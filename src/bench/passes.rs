//! Tests that measure the same thing in several ways, one after the other, to be laid side by side.

use std::time::Duration;

use super::budget::Budget;
use super::forecast::Phases;
use super::rounds::{ROUNDS, Rounds};
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

/// Measures all passes in several rounds, each in an order of its own, within these limits together,
/// and puts down the figures of all rounds with their intervals. `done` gets what a pass found in all
/// rounds so far.
///
/// # Errors
/// When one could not be started.
pub fn in_rounds(
    bench: &mut Bench<'_>,
    limits: Limits,
    passes: &[Pass],
    seed: u64,
    done: &mut dyn FnMut(&mut Findings, &Pass, &Total),
) -> Result<Rounds, BenchError> {
    let mut rounds = Rounds::new(passes.len(), seed);
    let mut totals = vec![Total::default(); passes.len()];
    let order = rounds.order(ROUNDS);
    let mut budget = Budget::new(limits);
    for (index, point) in order.iter().copied().enumerate() {
        if bench.stopped() {
            break;
        }
        let (pass, round) = (&passes[point], index / passes.len());
        let left = (order.len() - index) as u64;
        let block = u64::from(pass.plan.block_size.largest());
        let Some(limits) = budget.share(left, block, pass.plan.limits) else {
            break;
        };
        let plan = Plan {
            limits,
            // What one round has read or written must not help the next.
            seed: pass.plan.seed.wrapping_add((round as u64) << 32),
            ..pass.plan.clone()
        };
        let label = format!("{}, round {} of {ROUNDS}", pass.label, round + 1);
        let outcome = bench.execute(&label, 1.0 / order.len() as f64, &plan)?;
        budget.spend(&outcome);
        let seconds = whole_time(&outcome).as_secs_f64();
        if outcome.tally.requests() > 0 && seconds > 0.0 {
            rounds.add(point, outcome.tally.requests() as f64 / seconds);
            totals[point].add(&outcome);
            put_total(&mut bench.findings, pass, &totals[point], &rounds, point);
            done(&mut bench.findings, pass, &totals[point]);
        }
        bench.phase_finished();
    }
    Ok(rounds)
}

/// The phases of [`in_rounds`].
#[must_use]
pub fn phases_in_rounds(limits: Limits, passes: &[Pass]) -> Phases {
    let plans = (0..ROUNDS).flat_map(|_| passes.iter().map(|pass| pass.plan.clone()));
    Phases::sharing(limits).then_all(plans)
}

/// What a pass found in all its rounds.
#[derive(Debug, Clone, Default)]
pub struct Total {
    /// Response times.
    pub latency: Latency,
    bytes: u64,
    time: Duration,
}

impl Total {
    fn add(&mut self, outcome: &Outcome) {
        self.latency.merge(&latency_of(outcome));
        self.bytes += outcome.tally.bytes();
        self.time += whole_time(outcome);
    }
}

/// The figures of [`put`] over all rounds; rates have the interval of the rounds' rates.
fn put_total(findings: &mut Findings, pass: &Pass, total: &Total, rounds: &Rounds, point: usize) {
    put_figures(findings, &pass.key, total.bytes, total.time, &total.latency);
    let name = format!("{}_iops", pass.key);
    let (Some(spread), Some(mean)) = (
        rounds.figure(point, &name, Unit::PerSecond),
        rounds.mean(point),
    ) else {
        return;
    };
    let (Some(low), Some(high)) = (spread.low, spread.high) else {
        return;
    };
    let (below, above) = (low / mean, high / mean);
    for name in ["iops", "throughput"] {
        let name = format!("{}_{name}", pass.key);
        let figure = findings
            .figures
            .iter_mut()
            .find(|figure| figure.name == name.as_str());
        if let Some(figure) = figure {
            // Rounds of unequal length have another mean than all their requests over all their time.
            (figure.low, figure.high) = (
                Some((figure.value * below).min(figure.value)),
                Some((figure.value * above).max(figure.value)),
            );
        }
    }
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
    let (bytes, time) = (outcome.tally.bytes(), whole_time(outcome));
    put_figures(findings, key, bytes, time, &latency_of(outcome));
}

fn put_figures(findings: &mut Findings, key: &str, bytes: u64, time: Duration, latency: &Latency) {
    let (requests, seconds) = (latency.count(), time.as_secs_f64());
    if requests == 0 || seconds <= 0.0 {
        return;
    }
    let mut put = |name: &str, value: f64, unit| {
        let name = format!("{key}_{name}");
        findings.put_figure(Figure::new(&name, value, unit).from_observations(requests));
    };
    put("iops", requests as f64 / seconds, Unit::PerSecond);
    put("throughput", bytes as f64 / seconds, Unit::BytesPerSecond);
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
