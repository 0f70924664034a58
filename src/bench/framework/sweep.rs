//! One measurement at several points, such as queue depths, block sizes or data patterns.
//!
//! Every round measures every point once, in a new random order, so that changes of the drive over
//! time (temperature, caches, other users) do not favour a point. The limits of the sweep are
//! divided evenly among all phases, so that several rounds take no longer than one pass with the
//! same limits.

use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;

use super::budget::PhaseBudget;
use super::metric_families::MetricFamily;
use super::options::{CACHE, SEED};
use super::phases::{Phase, Phases};
use super::plan_builder::plan_limits;
use super::rounds::{DEFAULT_ROUNDS, SoughtOptimum, SweepRounds};
use crate::bench::{BenchError, ParameterSet, RunContext};
use crate::drive::Target;
use crate::engine::{EngineError, ExecutionOutcome, Plan, PlanError, PlanLimits};
use crate::session::document::{
    Findings, Metric, MetricId, MetricKind, MetricTable, Percentile, SeriesKind, VariantKey,
};
use crate::stats::latency::histogram::LatencyHistogram;
use crate::stats::random::shuffle;

const LATENCY_P99: MetricKind = MetricKind::LatencyPercentile(Percentile::from_tenths(990));

/// What a point with metrics of its own reports, unless it reports less.
pub const POINT_METRICS: &[MetricKind] = &[
    MetricKind::Iops,
    MetricKind::Throughput,
    MetricKind::Latency,
    LATENCY_P99,
];

/// [`POINT_METRICS`] as a family of every variant.
pub const VARIANT_METRICS: &[MetricFamily] = &[MetricFamily::Own(POINT_METRICS)];

/// Columns of a table of points: IOPS, mean latency and p99.
pub const LATENCY_COLUMNS: [(&str, MetricKind); 3] = [
    ("IOPS", MetricKind::Iops),
    ("mean", MetricKind::Latency),
    ("p99", LATENCY_P99),
];

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct Point {
    /// Label for the user.
    pub label: String,
    /// The swept value: its position in curves.
    pub value: f64,
    /// What is executed; its limits are those of one phase.
    pub plan: Plan,
    /// First part of the names of its metrics (`KEY_iops`), and which ones it reports.
    pub metrics: Option<(VariantKey, &'static [MetricKind])>,
}

impl Point {
    /// A point on a curve.
    pub fn at(value: f64, label: impl Into<String>, plan: Plan) -> Self {
        Self {
            label: label.into(),
            value,
            plan,
            metrics: None,
        }
    }

    /// A variant with the metrics [`POINT_METRICS`].
    pub fn variant(label: impl Into<String>, key: VariantKey, plan: Plan) -> Self {
        Self {
            metrics: Some((key, POINT_METRICS)),
            ..Self::at(0.0, label, plan)
        }
    }

    /// First part of the names of its metrics.
    #[must_use]
    pub fn key(&self) -> Option<&VariantKey> {
        self.metrics.as_ref().map(|(key, _)| key)
    }
}

/// A table with one row for each point that has metrics.
#[must_use]
pub fn table(name: &str, columns: &[(&str, MetricKind)], points: &[Point]) -> MetricTable {
    let rows: Vec<(&str, VariantKey)> = points
        .iter()
        .filter_map(|point| Some((point.label.as_str(), point.key()?.clone())))
        .collect();
    MetricTable::cross_product(name, columns, &rows)
}

/// One phase of a sweep.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Index of the point.
    pub point: usize,
    /// Index of the round.
    pub round: usize,
    /// Whether this is the last phase of its round.
    pub ends_round: bool,
    /// Label for the user: `LABEL, round 2 of 4`.
    pub label: String,
    /// The plan of the point with the limits of this phase and a seed of its own, so that no phase
    /// profits from data that another phase read or wrote.
    pub plan: Plan,
}

/// Results of a point over all rounds so far.
#[derive(Debug, Clone, Default)]
pub struct PointTotal {
    /// Latencies.
    pub latency: LatencyHistogram,
    bytes: u64,
    /// Time until the data was durable and the files were closed.
    time: Duration,
}

impl PointTotal {
    fn add(&mut self, outcome: &ExecutionOutcome) {
        self.latency.merge(&outcome.stats.latency());
        self.bytes += outcome.stats.bytes();
        self.time += total_time(outcome);
    }
}

/// A sweep: its points, what of it remains, and what was measured.
#[derive(Debug)]
pub struct Sweep {
    /// The points in their natural order.
    pub points: Vec<Point>,
    /// Requests per second until the data was durable.
    pub iops: SweepRounds,
    /// Bytes per second until the data was durable.
    pub throughputs: SweepRounds,
    /// Mean latencies in nanoseconds.
    pub mean_latencies: SweepRounds,
    p99_latencies: SweepRounds,
    /// Over all rounds, by point.
    pub totals: Vec<PointTotal>,
    limits: PlanLimits,
    /// Indices of the points in measuring order, round after round.
    order: Vec<usize>,
    position: usize,
    is_skipped: Vec<bool>,
    budget: PhaseBudget,
    /// Whether the time limit ended a phase.
    is_limited_by_time: bool,
}

impl Sweep {
    /// A sweep over these points within the limits of the parameters, whose seed determines the order.
    ///
    /// # Errors
    /// When a plan does not fit the target: before the first phase, not in the middle of the run.
    pub fn new(
        target: &Target,
        parameters: &ParameterSet,
        points: Vec<Point>,
    ) -> Result<Self, BenchError> {
        check_plans(target, parameters, &points)?;
        let seed = parameters.find(SEED).unwrap_or_default();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut order = Vec::with_capacity(DEFAULT_ROUNDS * points.len());
        for _ in 0..DEFAULT_ROUNDS {
            let mut round: Vec<usize> = (0..points.len()).collect();
            shuffle(&mut round, &mut random);
            order.append(&mut round);
        }
        let limits = plan_limits(parameters);
        let empty = SweepRounds::new(points.len());
        Ok(Self {
            iops: empty.clone(),
            throughputs: empty.clone(),
            mean_latencies: empty.clone(),
            p99_latencies: empty,
            totals: vec![PointTotal::default(); points.len()],
            is_skipped: vec![false; points.len()],
            position: 0,
            is_limited_by_time: false,
            budget: PhaseBudget::new(limits),
            limits,
            order,
            points,
        })
    }

    /// The whole sweep, which does what the sentence says.
    #[must_use]
    pub fn phases(&self, sentence: String) -> Phases {
        let points = self.points.iter();
        let phases = points.map(|point| Phase::new(point.label.clone(), point.plan.clone()));
        Phases::of_points(sentence, self.limits, phases.collect())
    }

    /// The next phase; `None` at the end, when a limit is used up, or when the benchmark is stopped.
    pub fn next_turn(&mut self, bench: &mut RunContext<'_>) -> Option<Turn> {
        if bench.is_stopped() {
            return None;
        }
        while self.is_skipped[*self.order.get(self.position)?] {
            self.position += 1;
            bench.skip_fraction(self.share());
        }
        let to_come: Vec<usize> = (self.position..self.order.len())
            .filter(|position| !self.is_skipped[self.order[*position]])
            .collect();
        let index = self.order[self.position];
        let point = &self.points[index];
        let block = u64::from(point.plan.block_size.max_bytes());
        let limits =
            self.budget
                .next_phase_limits(to_come.len() as u64, block, point.plan.limits)?;
        let count = self.points.len();
        let round = self.position / count;
        let same_round = to_come
            .iter()
            .filter(|position| **position / count == round);
        let turn = Turn {
            point: index,
            round,
            ends_round: same_round.count() == 1,
            label: format!("{}, round {} of {DEFAULT_ROUNDS}", point.label, round + 1),
            plan: Plan {
                limits,
                ramp_time: point.plan.ramp_time / DEFAULT_ROUNDS as u32,
                seed: point
                    .plan
                    .seed
                    .wrapping_add((round as u64) << 32)
                    .wrapping_add((index as u64) << 16),
                ..point.plan.clone()
            },
        };
        self.position += 1;
        Some(turn)
    }

    /// Fraction (0 to 1) of the sweep that one phase represents.
    #[must_use]
    pub fn share(&self) -> f64 {
        1.0 / self.order.len().max(1) as f64
    }

    /// Excludes a point from the remaining rounds.
    pub fn skip_point(&mut self, point: usize) {
        self.is_skipped[point] = true;
    }

    /// Executes a phase and [adds](Self::add) its outcome.
    ///
    /// # Errors
    /// When the phase could not be started.
    pub fn execute(
        &mut self,
        bench: &mut RunContext<'_>,
        turn: &Turn,
    ) -> Result<ExecutionOutcome, BenchError> {
        let outcome = bench.execute(&turn.label, self.share(), &turn.plan)?;
        self.add(&mut bench.findings, turn, &outcome);
        Ok(outcome)
    }

    /// Adds the outcome of a phase, and sets the metrics of its point.
    pub fn add(&mut self, findings: &mut Findings, turn: &Turn, outcome: &ExecutionOutcome) {
        self.budget.consume_outcome(outcome);
        let time = turn.plan.limits.duration;
        self.is_limited_by_time |= time.is_some_and(|time| outcome.elapsed >= time);
        let (point, round) = (turn.point, turn.round);
        let seconds = total_time(outcome).as_secs_f64();
        let requests = outcome.stats.requests();
        if requests == 0 || seconds <= 0.0 {
            return;
        }
        self.totals[point].add(outcome);
        self.iops.set_value(point, round, requests as f64 / seconds);
        let bytes = outcome.stats.bytes() as f64;
        self.throughputs.set_value(point, round, bytes / seconds);
        let latency = outcome.stats.latency();
        if let (Some(mean), Some(p99)) = (latency.mean(), latency.value_at_percent(99.0)) {
            self.mean_latencies.set_value(point, round, mean);
            self.p99_latencies.set_value(point, round, p99 as f64);
        }
        self.set_metrics_of_point(findings, point);
    }

    /// Sets the metrics of a point over all rounds so far, with intervals from the scatter of the rounds.
    fn set_metrics_of_point(&self, findings: &mut Findings, point: usize) {
        let Some((key, kinds)) = &self.points[point].metrics else {
            return;
        };
        let PointTotal {
            latency,
            bytes,
            time,
        } = &self.totals[point];
        let (requests, seconds) = (latency.count(), time.as_secs_f64());
        for kind in *kinds {
            let p99 = || latency.percentile(99.0).map(|p99| p99 as f64);
            let (rounds, value) = match kind {
                MetricKind::Iops => (&self.iops, Some(requests as f64 / seconds)),
                MetricKind::Throughput => (&self.throughputs, Some(*bytes as f64 / seconds)),
                MetricKind::Latency => (&self.mean_latencies, latency.mean()),
                _ => (&self.p99_latencies, p99()),
            };
            if let Some(value) = value {
                let id = MetricId::of_variant(key.clone(), *kind);
                let metric = rounds.metric_around(point, id, value);
                findings.set_metric(metric.with_observations(requests));
            }
        }
        self.sort_metrics(findings);
    }

    /// Orders the metrics as the points, after those of the benchmark itself, whatever the order of
    /// measurement.
    pub fn sort_metrics(&self, findings: &mut Findings) {
        let position = |metric: &Metric| {
            let Some(key) = metric.id.variant() else {
                return (0, String::new());
            };
            let point = self
                .points
                .iter()
                .position(|point| point.key() == Some(key));
            match point {
                Some(point) => (point + 1, String::new()),
                None => (usize::MAX, key.to_string()),
            }
        };
        findings.metrics.sort_by_cached_key(position);
    }

    /// Measures all points; only their own metrics are reported.
    ///
    /// # Errors
    /// When a phase could not be started.
    pub fn run(&mut self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        while let Some(turn) = self.next_turn(bench) {
            self.execute(bench, &turn)?;
            bench.phase_finished();
        }
        Ok(())
    }

    /// What makes the run longer: an option of the limit that ended its phases.
    #[must_use]
    pub fn longer(&self) -> &'static str {
        if self.is_limited_by_time {
            "a longer --duration"
        } else if self.limits.bytes.is_some() {
            "more --bytes"
        } else {
            "more --requests"
        }
    }

    /// The swept values, in the order of the points.
    #[must_use]
    pub fn positions(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.value).collect()
    }

    /// Sets the curve of the means of these rounds over the swept values.
    pub fn set_series(&self, bench: &mut RunContext<'_>, kind: SeriesKind, rounds: &SweepRounds) {
        bench.set_series(rounds.series_of_means(kind, &self.positions()));
    }

    /// Indices of the points that were not excluded.
    #[must_use]
    pub fn candidates(&self) -> Vec<usize> {
        let points = 0..self.points.len();
        points.filter(|point| !self.is_skipped[*point]).collect()
    }

    /// The first point as good as the best in these rounds, of those that were not excluded. Where none
    /// is named, the check says why, unless the benchmark was stopped.
    pub fn find_optimum(
        &self,
        bench: &mut RunContext<'_>,
        rounds: &SweepRounds,
        sought: SoughtOptimum,
    ) -> Option<usize> {
        let points = self.candidates();
        let rounds = rounds.select_points(&points);
        match rounds.first_as_good_as_best(sought.equal_is_first) {
            Ok(index) => Some(points[index]),
            Err(reason) => {
                let positions: Vec<f64> = points
                    .iter()
                    .map(|point| self.points[*point].value)
                    .collect();
                if !bench.is_stopped() {
                    bench.set_check(reason.verdict(sought, &positions));
                }
                None
            }
        }
    }
}

fn check_plans(
    target: &Target,
    parameters: &ParameterSet,
    points: &[Point],
) -> Result<(), BenchError> {
    for point in points {
        point.plan.validate(target).map_err(|error| {
            // The page cache is no way out for a benchmark without that option.
            let advice = match parameters.find(CACHE) {
                Some(_) => error.advice,
                None => "change the parameter that the message names",
            };
            EngineError::InvalidPlan(PlanError { advice, ..error })
        })?;
    }
    Ok(())
}

/// Time until the data was durable and the file closed.
#[must_use]
pub fn total_time(outcome: &ExecutionOutcome) -> Duration {
    let finish = outcome.finish_times.unwrap_or_default();
    outcome.elapsed + finish.sync_time + finish.close_time
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::bench::find_benchmark;
    use crate::bench::framework::rounds::DEFAULT_ROUNDS;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::FakeDrive;
    use crate::engine::Plan;

    /// Plans of a sweep over three block sizes.
    fn executed_plans(limit: (&str, &str), seed: u64) -> Vec<Plan> {
        let fake = FakeDrive::new(|_| Some(1_000_000));
        let seed = seed.to_string();
        let set = [
            limit,
            ("seed", &*seed),
            ("min-block", "4KiB"),
            ("max-block", "16KiB"),
        ];
        let test = find_benchmark("block-size-read").unwrap();
        fake::run_on_fake(test, &fake::simulated_target(1 << 30), &set, &fake);
        fake.executed_plans.into_inner().unwrap()
    }

    fn sizes(plans: &[Plan]) -> Vec<u32> {
        plans
            .iter()
            .map(|plan| plan.block_size.max_bytes())
            .collect()
    }

    #[test]
    fn sweep_measures_every_point_per_round_within_limits() {
        let plans = executed_plans(("duration", "12s"), 1);
        assert_eq!(plans.len(), 3 * DEFAULT_ROUNDS);
        for round in plans.chunks(3) {
            let mut sizes = sizes(round);
            sizes.sort_unstable();
            assert_eq!(sizes, [4096, 8192, 16384]);
        }
        let time: Duration = plans.iter().filter_map(|plan| plan.limits.duration).sum();
        assert!(time <= Duration::from_millis(12_001), "{time:?}");
        let mut seeds: Vec<u64> = plans.iter().map(|plan| plan.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), plans.len());
    }

    #[test]
    fn sweep_order_depends_on_seed_and_requests_are_limited_together() {
        let order = |seed| {
            let plans = executed_plans(("requests", "100"), seed);
            let all: u64 = plans.iter().filter_map(|plan| plan.limits.requests).sum();
            assert_eq!(all, 100);
            sizes(&plans)
        };
        assert_eq!(order(1), order(1));
        assert!((2..10).any(|seed| order(seed) != order(1)));
    }

    #[test]
    fn blocks_that_do_not_fit_are_refused_before_the_first_phase() {
        for (name, options) in [
            ("write-sync-close", [("block-size", "5000B")]),
            ("write-cache", [("block-size", "5000B")]),
            ("block-size-write", [("min-block", "1000B")]),
        ] {
            let (test, target) = (
                find_benchmark(name).unwrap(),
                fake::simulated_target(1 << 30),
            );
            let parameters = fake::parameters(test, &target, &options);
            let error = test.forecast(&target, &parameters).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("multiple of the logical block size"),
                "{error}"
            );
            let has_cache_option = name == "block-size-write";
            assert_eq!(
                error.advice().contains("--cache"),
                has_cache_option,
                "{name}"
            );
            let fake = FakeDrive::new(|_| Some(1000));
            fake::run_on_fake(test, &target, &options, &fake);
            assert!(fake.executed_plans.lock().unwrap().is_empty(), "{name}");
        }
    }
}
