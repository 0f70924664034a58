//! Tests that measure the same thing in several ways, one after the other, to be laid side by side.

use std::time::Duration;

use super::budget::Budget;
use super::confidence;
use super::forecast::Phases;
use super::rounds::Rounds;
use super::sweep::{SweepSchedule, Turn};
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

/// What a benchmark does around the passes of a sweep.
pub trait PassHook {
    /// Before a pass, such as to change a setting; `false` ends the sweep.
    fn before(&mut self, bench: &mut Bench<'_>, point: usize) -> bool {
        let _ = (bench, point);
        true
    }

    /// After a pass, with what it and all rounds so far gave.
    fn after(&mut self, findings: &mut Findings, turn: Turn, outcome: &Outcome, total: &Total) {
        let _ = (findings, turn, outcome, total);
    }
}

/// Nothing besides measuring.
#[derive(Debug, Clone, Copy)]
pub struct Nothing;

impl PassHook for Nothing {}

/// Measures all passes in several rounds, each in an order of its own, within these limits together,
/// and puts down the metrics of all rounds with their intervals. Returns the passes' rates, in
/// requests per second.
///
/// # Errors
/// When one could not be started.
pub fn in_rounds(
    bench: &mut Bench<'_>,
    limits: Limits,
    passes: &[Pass],
    seed: u64,
    hook: &mut dyn PassHook,
) -> Result<Rounds, BenchError> {
    let mut schedule = SweepSchedule::new(passes.len(), limits, seed);
    let mut rounds = PassRounds::new(passes.len(), seed);
    let mut totals = vec![Total::default(); passes.len()];
    let own = |point: usize| {
        let plan = &passes[point].plan;
        (u64::from(plan.block_size.largest()), plan.limits)
    };
    while let Some(turn) = schedule.next(bench, own) {
        let pass = &passes[turn.point];
        if !hook.before(bench, turn.point) {
            break;
        }
        let plan = turn.plan(&pass.plan);
        let outcome = bench.execute(&turn.phase(&pass.label), schedule.share(), &plan)?;
        schedule.spend(&outcome);
        if rounds.add(turn, &outcome) {
            let total = &mut totals[turn.point];
            total.add(&outcome);
            put_total(&mut bench.findings, pass, total, &rounds, turn.point);
            hook.after(&mut bench.findings, turn, &outcome, total);
        }
        bench.phase_finished();
    }
    Ok(rounds.rates)
}

/// What every pass gave in each round.
struct PassRounds {
    rates: Rounds,
    means: Rounds,
    slowest: Rounds,
}

impl PassRounds {
    fn new(passes: usize, seed: u64) -> Self {
        let rounds = Rounds::new(passes, seed);
        Self {
            rates: rounds.clone(),
            means: rounds.clone(),
            slowest: rounds,
        }
    }

    /// Whether it gave anything.
    fn add(&mut self, Turn { point, round, .. }: Turn, outcome: &Outcome) -> bool {
        let seconds = whole_time(outcome).as_secs_f64();
        let requests = outcome.tally.requests();
        if requests == 0 || seconds <= 0.0 {
            return false;
        }
        self.rates.add(point, round, requests as f64 / seconds);
        let latency = latency_of(outcome);
        if let (Some(mean), Some(slowest)) = (latency.mean(), latency.at_rank(99.0)) {
            self.means.add(point, round, mean);
            self.slowest.add(point, round, slowest as f64);
        }
        true
    }
}

/// The phases of [`in_rounds`].
#[must_use]
pub fn phases_in_rounds(limits: Limits, passes: &[Pass]) -> Phases {
    Phases::sharing(limits).then_rounds(passes.iter().map(|pass| pass.plan.clone()))
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

/// The metrics of [`put`] over all rounds, with the intervals that the rounds' scatter gives.
fn put_total(
    findings: &mut Findings,
    pass: &Pass,
    total: &Total,
    rounds: &PassRounds,
    point: usize,
) {
    put_figures(findings, &pass.key, total.bytes, total.time, &total.latency);
    for (name, rounds) in [
        ("iops", &rounds.rates),
        ("throughput", &rounds.rates),
        ("latency", &rounds.means),
        ("latency_p99", &rounds.slowest),
    ] {
        let name = format!("{}_{name}", pass.key);
        let figure = findings
            .figures
            .iter_mut()
            .find(|figure| figure.name == name.as_str());
        let Some(figure) = figure else { continue };
        if let Some([low, high]) = rounds.interval_around(point, figure.value) {
            (figure.low, figure.high) = (Some(low), Some(high));
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

/// Metrics of one outcome: `KEY_iops`, `KEY_throughput`, `KEY_latency` (the mean) and
/// `KEY_latency_p99`, with the intervals that the course of the pass gives.
pub fn put(findings: &mut Findings, key: &str, outcome: &Outcome) {
    let (bytes, time) = (outcome.tally.bytes(), whole_time(outcome));
    let latency = latency_of(outcome);
    put_figures(findings, key, bytes, time, &latency);
    let mut timeline = outcome.tally.read.timeline.clone();
    timeline.merge(&outcome.tally.write.timeline);
    confidence::bound_as(findings, key, &latency, &timeline, outcome.elapsed);
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
