//! Optimal queue depth for random reads or writes.

mod description;
#[cfg(test)]
mod tests;

use serde_json::json;

use self::description::{
    ALPHA, BEST_IOPS_DEPTH, EARLY_STOP, KNEE_DIFFERS, MAX_DEPTH, OPTIMAL_DEPTH,
    TOO_FEW_SAMPLES_AT_DEPTH,
};
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::operation::Operation;
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, SweepRounds};
use crate::bench::framework::sweep::{Point, Sweep, Turn};
use crate::bench::{BenchError, Benchmark, Description, ParameterSet, Phases, RunContext};
use crate::drive::Target;
use crate::engine::{AccessPattern, ExecutionOutcome, Plan, PlanLimits};
use crate::session::document::{Metric, MetricId, SeriesKind};
use crate::stats::latency::concurrency::{
    DepthStep, depth_score, is_saturated, knee_index, max_mean_in_flight, mean_in_flight,
};

/// A sweep over the queue depth with random requests.
pub struct ConcurrencyBenchmark {
    /// Read or write.
    pub operation: Operation,
}

/// Minimum ratio of IOPS that makes a deeper queue worth measuring.
const MIN_WORTHWHILE_SPEEDUP: f64 = 1.02;

impl Benchmark for ConcurrencyBenchmark {
    fn description(&self) -> &'static Description {
        match self.operation {
            Operation::Read => &description::READ,
            Operation::Write => &description::WRITE,
        }
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let sweep = sweep(self.operation, target, parameters)?;
        let first = &sweep.points[0].plan;
        let sentence = format!(
            "{} {} at random offsets of {}, at queue depths 1 to {} in {} steps and {DEFAULT_ROUNDS} \
             rounds",
            self.operation.verb(),
            framework::describe_block_size(first.block_size),
            describe_target(target),
            parameters.get(MAX_DEPTH),
            sweep.points.len(),
        );
        let phases = sweep.phases(sentence);
        let shallow = Plan {
            limits: framework::plan_limits(parameters),
            ..first.clone()
        };
        // The limit of bytes of a sweep that writes is its points'.
        Ok(match self.operation {
            Operation::Read => phases.with_wakeup_phase(&shallow, parameters),
            Operation::Write => phases,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut sweep = sweep(self.operation, bench.target, bench.parameters)?;
        let mut depths = Depths::new(sweep.points.len(), bench.parameters.get(ALPHA));
        while let Some(turn) = sweep.next_turn(bench) {
            let outcome = sweep.execute(bench, &turn)?;
            depths.add(&turn, &outcome);
            depths.set_curves(bench, &sweep);
            bench.phase_finished();
            if bench.parameters.get(EARLY_STOP) && turn.ends_round && turn.round == 0 {
                for point in depths.without_gain(&sweep) {
                    sweep.skip_point(point);
                }
            }
        }
        depths.check_quality(bench, &sweep);
        depths.set_optimum(bench, &sweep);
        depths.set_maximum(bench, &sweep);
        depths.set_knee(bench, &sweep);
        bench.phase_finished();
        bench.measure_wakeup(&self.phases(bench.target, bench.parameters)?)
    }
}

/// Points at depths 1, 2, 4 ... up to the maximum, which is always included.
fn sweep(
    operation: Operation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Sweep, BenchError> {
    let pattern = AccessPattern::Random;
    let whole = framework::build_plan(target, parameters, operation.into(), pattern)?;
    let max = parameters.get(MAX_DEPTH);
    let powers = (0..31).map(|power| 1_u32 << power);
    let depths: Vec<u32> = powers
        .take_while(|depth| *depth < max)
        .chain([max])
        .collect();
    // All phases take equally long: time saved by skipped depths is not spent on the others.
    let phases = (depths.len() * DEFAULT_ROUNDS) as u32;
    let point = |depth: &u32| {
        let plan = Plan {
            depth: *depth,
            limits: PlanLimits {
                duration: whole.limits.duration.map(|time| time / phases),
                ..PlanLimits::default()
            },
            ..whole.clone()
        };
        Point::at(f64::from(*depth), format!("depth {depth}"), plan)
    };
    Sweep::new(target, parameters, depths.iter().map(point).collect())
}

/// What is measured at each depth beside the latencies.
struct Depths {
    /// Weight of throughput in the score.
    alpha: f64,
    /// Requests per second with a full queue.
    iops: SweepRounds,
    /// p90 latency in nanoseconds, however few requests are beyond it: the scatter of the rounds shows
    /// its accuracy.
    p90: SweepRounds,
    /// Mean requests in flight by Little's law.
    reached: SweepRounds,
    /// Upper bounds of these while the queue was kept full.
    reached_bounds: SweepRounds,
}

impl Depths {
    fn new(points: usize, alpha: f64) -> Self {
        let rounds = SweepRounds::new(points);
        Self {
            alpha,
            iops: rounds.clone(),
            p90: rounds.clone(),
            reached: rounds.clone(),
            reached_bounds: rounds,
        }
    }

    fn add(&mut self, turn: &Turn, outcome: &ExecutionOutcome) {
        let (point, round, plan) = (turn.point, turn.round, &turn.plan);
        let latency = outcome.stats.latency();
        let measured = latency.mean().zip(latency.value_at_percent(90.0));
        let (Some((mean, p90)), Some(rate)) = (measured, full_queue_iops(plan, outcome)) else {
            return;
        };
        self.iops.set_value(point, round, rate);
        self.p90.set_value(point, round, p90 as f64);
        // Requests completed while the queue drains count as well: clamp to the requested depth.
        let seconds = plan.limits.duration.filter(|_| plan.ramp_time.is_zero());
        let seconds = seconds.map_or(outcome.elapsed, |time| time.min(outcome.elapsed));
        let reached = mean_in_flight(latency.count() as f64 / seconds.as_secs_f64(), mean);
        let depth = f64::from(plan.depth);
        self.reached.set_value(point, round, reached.min(depth));
        let bound = max_mean_in_flight(
            latency.count(),
            (mean, latency.max().unwrap_or_default() as f64),
            outcome.elapsed.as_nanos() as f64,
            depth,
        );
        self.reached_bounds.set_value(point, round, bound);
    }

    /// Mean IOPS and p90 of each measured depth, with its index.
    fn steps(&self, sweep: &Sweep) -> Vec<(usize, DepthStep)> {
        let step = |point: usize| {
            let step = DepthStep {
                depth: sweep.points[point].plan.depth,
                iops: self.iops.mean(point)?,
                p90_ns: self.p90.mean(point)?,
            };
            Some((point, step))
        };
        (0..sweep.points.len()).filter_map(step).collect()
    }

    /// Indices of depths without benefit: those after two doublings that only increased latency, if no
    /// deeper one increased IOPS either.
    fn without_gain(&self, sweep: &Sweep) -> Vec<usize> {
        let (points, steps): (Vec<usize>, Vec<DepthStep>) = self.steps(sweep).into_iter().unzip();
        let is_last = |last: &usize| {
            let most = steps[*last].iops * MIN_WORTHWHILE_SPEEDUP;
            is_saturated(&steps[..=*last]) && steps[*last..].iter().all(|step| step.iops <= most)
        };
        match (0..steps.len()).find(is_last) {
            Some(last) => points[last + 1..].to_vec(),
            None => Vec::new(),
        }
    }

    /// The score of every depth in every round, relative to the best IOPS and the best p90 of all.
    fn scores(&self, sweep: &Sweep) -> SweepRounds {
        let steps = self.steps(sweep);
        let most = steps.iter().map(|(_, step)| step.iops).fold(0.0, f64::max);
        let least = steps
            .iter()
            .map(|(_, step)| step.p90_ns)
            .fold(f64::INFINITY, f64::min);
        let mut scores = SweepRounds::new(sweep.points.len());
        for (point, step) in steps {
            for round in 0..DEFAULT_ROUNDS {
                let iops = self.iops.value_in_round(point, round);
                let p90 = self.p90.value_in_round(point, round);
                if let Some((iops, p90_ns)) = iops.zip(p90) {
                    let step = DepthStep {
                        iops,
                        p90_ns,
                        ..step
                    };
                    let score = depth_score(&step, (most, least), self.alpha);
                    scores.set_value(point, round, score);
                }
            }
        }
        scores
    }

    fn set_curves(&self, bench: &mut RunContext<'_>, sweep: &Sweep) {
        sweep.set_series(bench, SeriesKind::IopsAgainstDepth, &self.iops);
        sweep.set_series(bench, SeriesKind::ScoreAgainstDepth, &self.scores(sweep));
        sweep.set_series(bench, SeriesKind::DepthReached, &self.reached);
        let p90 = |point: usize| {
            let p90 = sweep.totals[point].latency.percentile(90.0)? as f64;
            Some((
                [sweep.points[point].value, p90],
                self.p90.interval_around(point, p90),
            ))
        };
        bench.set_series(framework::series_with_intervals(
            SeriesKind::P90AgainstDepth,
            (0..sweep.points.len()).filter_map(p90).collect(),
        ));
    }

    /// The smallest depth as good as the one with the best score, with its IOPS and p90.
    fn set_optimum(&self, bench: &mut RunContext<'_>, sweep: &Sweep) {
        let Some(optimal) = sweep.find_optimum(bench, &self.scores(sweep), OPTIMAL_DEPTH) else {
            return;
        };
        let depth = sweep.points[optimal].value;
        bench.set_metric(Metric::new(MetricId::OPTIMAL_DEPTH, depth));
        let iops = self
            .iops
            .metric_of_point(optimal, MetricId::OPTIMAL_DEPTH_IOPS);
        let p90 = self.p90_metric(sweep, optimal, MetricId::OPTIMAL_DEPTH_P90);
        let speedup = self.iops.ratio_of_points(optimal, 0);
        let speedup = speedup.map(|speedup| speedup.to_metric(MetricId::SPEEDUP));
        for metric in [iops, p90, speedup].into_iter().flatten() {
            bench.set_metric(metric);
        }
    }

    /// The highest IOPS, and the smallest depth that is as good.
    fn set_maximum(&self, bench: &mut RunContext<'_>, sweep: &Sweep) {
        let candidates = sweep.candidates();
        let highest = self.iops.select_points(&candidates).highest();
        let highest = highest.map(|index| candidates[index]);
        let iops = highest.and_then(|point| self.iops.metric_of_point(point, MetricId::IOPS_MAX));
        let smallest = sweep.find_optimum(bench, &self.iops, BEST_IOPS_DEPTH);
        let depth = smallest.map(|point| sweep.points[point].value);
        let depth = depth.map(|depth| Metric::new(MetricId::IOPS_MAX_DEPTH, depth));
        let p90 = smallest.and_then(|point| self.p90_metric(sweep, point, MetricId::IOPS_MAX_P90));
        for metric in [depth, iops, p90].into_iter().flatten() {
            bench.set_metric(metric);
        }
    }

    /// p90 over all rounds; `None` where too few requests are beyond it.
    fn p90_metric(&self, sweep: &Sweep, point: usize, id: MetricId) -> Option<Metric> {
        let latency = &sweep.totals[point].latency;
        let p90 = latency.percentile(90.0)? as f64;
        let metric = self.p90.metric_around(point, id, p90);
        Some(metric.with_observations(latency.count()))
    }

    /// Sets the knee if all rounds have it at the same depth.
    fn set_knee(&self, bench: &mut RunContext<'_>, sweep: &Sweep) {
        let candidates = sweep.candidates();
        let steps_of_round = |round: usize| {
            let step = |point: &usize| {
                Some(DepthStep {
                    depth: sweep.points[*point].plan.depth,
                    iops: self.iops.value_in_round(*point, round)?,
                    p90_ns: self.p90.value_in_round(*point, round)?,
                })
            };
            candidates.iter().map(step).collect::<Option<Vec<_>>>()
        };
        let depth_of_knee = |steps: Vec<DepthStep>| Some(steps[knee_index(&steps)?].depth);
        let rounds = (0..DEFAULT_ROUNDS).filter_map(steps_of_round);
        let knees: Vec<Option<u32>> = rounds.map(depth_of_knee).collect();
        if knees.len() < 2 || knees.iter().all(Option::is_none) {
            return;
        }
        if let Some(depth) = knees[0].filter(|_| knees.iter().all(|knee| *knee == knees[0])) {
            bench.set_metric(Metric::new(MetricId::KNEE_DEPTH, f64::from(depth)));
        } else if !bench.is_stopped() {
            let word =
                |knee: &Option<u32>| knee.map_or("none".to_owned(), |depth| depth.to_string());
            let words: Vec<String> = knees.iter().map(word).collect();
            bench.set_check(KNEE_DIFFERS.found(
                format!(
                    "the knee of the IOPS curve differs from round to round ({}): it is not determined",
                    words.join(", ")
                ),
                "use a longer --duration for a more stable curve",
                json!({ "depths": knees }),
            ));
        }
    }

    /// Sets the checks on the quality of the measurement.
    fn check_quality(&self, bench: &mut RunContext<'_>, sweep: &Sweep) {
        let missed = sweep.points.iter().enumerate().find_map(|(index, point)| {
            let bound = self.reached_bounds.mean(index)?;
            let remedy = "measure this depth with random-read or random-write and several workers";
            framework::below_target_depth(point.value, bound, remedy)
        });
        if let Some(verdict) = missed {
            bench.set_check(verdict);
        }
        let depths: Vec<u32> = (0..sweep.points.len())
            // After a stop, missing depths are expected.
            .filter(|point| !bench.is_stopped() || self.iops.mean(*point).is_some())
            .filter(|point| sweep.totals[*point].latency.percentile(90.0).is_none())
            .map(|point| sweep.points[point].plan.depth)
            .collect();
        if depths.is_empty() {
            return;
        }
        let words: Vec<String> = depths.iter().map(u32::to_string).collect();
        bench.set_check(TOO_FEW_SAMPLES_AT_DEPTH.found(
            format!(
                "p90 is not determined at depth {}: fewer than 10 requests are beyond it",
                words.join(", ")
            ),
            "use a longer --duration",
            json!({ "depths": depths }),
        ));
    }
}

/// Requests per second with a full queue. At the end of its run time a phase has `depth` requests
/// in flight and waits for them while the queue drains. The rate excludes these, except for half of
/// the request that was about to complete. `None` where the time is not known.
fn full_queue_iops(plan: &Plan, outcome: &ExecutionOutcome) -> Option<f64> {
    let rate = outcome.per_second(outcome.stats.requests())?;
    let all = outcome.stats.requests() as f64;
    let in_flight = f64::from(plan.depth);
    let time = plan.limits.duration.filter(|time| {
        let to_the_end = *time <= outcome.elapsed && plan.ramp_time.is_zero();
        to_the_end && plan.depth > 1 && all > 2.0 * in_flight
    });
    let rate = match time {
        Some(time) => (all - in_flight + 0.5) / time.as_secs_f64(),
        None => rate,
    };
    (all > 0.0).then_some(rate)
}
