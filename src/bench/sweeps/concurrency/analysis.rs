//! Results of the sweep: curves and characteristic depths.

use serde_json::json;

use crate::bench::RunContext;
use crate::bench::framework;
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, NoOptimum, SoughtOptimum, SweepRounds};
use crate::bench::framework::sweep::SweepTurn;
use crate::engine::{ExecutionOutcome, Plan};
use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, SeriesKind, Verdict};
use crate::stats::latency::concurrency::{
    DepthStep, depth_score, is_saturated, knee_index, max_mean_in_flight, mean_in_flight,
};
use crate::stats::latency::histogram::LatencyHistogram;

/// Fraction of the best score or IOPS from which a depth is equivalent to the best.
const EQUIVALENCE_FRACTION: f64 = 0.95;
/// Minimum requests in one round for its p90; the scatter between rounds shows its accuracy.
const MIN_REQUESTS_IN_ROUND: u64 = 20;
/// Minimum ratio of IOPS that makes a deeper queue worth measuring.
const MIN_WORTHWHILE_SPEEDUP: f64 = 1.02;

const DEPTH_ADVICE: &str =
    "use a longer --duration for narrower intervals; if all depths are equal, use depth 1";

pub(super) const OPTIMAL_DEPTH: SoughtOptimum = SoughtOptimum {
    check: Check::note(
        "no-optimal-depth",
        "The differences between the queue depths do not determine the optimal one.",
    ),
    optimum: "optimal depth",
    points: "depths",
    format: |depth| depth.to_string(),
    advice: DEPTH_ADVICE,
};
pub(super) const BEST_IOPS_DEPTH: SoughtOptimum = SoughtOptimum {
    check: Check::note(
        "no-best-iops-depth",
        "The differences between the queue depths do not determine the one with the most IOPS.",
    ),
    optimum: "depth with the most IOPS",
    ..OPTIMAL_DEPTH
};
pub(super) const KNEE_DIFFERS: Check = Check::note(
    "knee-differs",
    "The knee of the IOPS curve is at another depth in each round.",
);
pub(super) const TOO_FEW_SAMPLES_AT_DEPTH: Check = Check::warning(
    "too-few-samples-at-depth",
    "There are too few requests at some depths to estimate p90.",
);

/// Results per depth from the rounds so far.
#[derive(Debug)]
pub(crate) struct DepthSweep {
    alpha: f64,
    depths: Vec<u32>,
    /// Latencies of all rounds.
    latencies: Vec<LatencyHistogram>,
    iops: SweepRounds,
    /// p90 latency in nanoseconds.
    p90_latencies: SweepRounds,
    /// Mean requests in flight by Little's law.
    reached_depths: SweepRounds,
    /// Upper bounds of these while the queue was kept full.
    reached_bounds: SweepRounds,
}

impl DepthSweep {
    /// Creates it without any measurements; `alpha` is the weight of throughput in the score.
    pub(crate) fn new(depths: &[u32], alpha: f64, seed: u64) -> Self {
        let rounds = SweepRounds::new(depths.len(), seed);
        Self {
            alpha,
            depths: depths.to_vec(),
            latencies: vec![LatencyHistogram::default(); depths.len()],
            iops: rounds.clone(),
            p90_latencies: rounds.clone(),
            reached_depths: rounds.clone(),
            reached_bounds: rounds,
        }
    }

    pub(crate) fn add_phase(&mut self, turn: SweepTurn, plan: &Plan, outcome: &ExecutionOutcome) {
        let SweepTurn { point, round, .. } = turn;
        let latency = outcome.stats.latency();
        self.latencies[point].merge(&latency);
        let (Some(mean), Some(rate)) = (latency.mean(), full_queue_iops(plan, outcome)) else {
            return;
        };
        self.iops.set_value(point, round, rate);
        // Requests completed while the queue drains count as well: clamp to the requested depth.
        let seconds = plan.limits.duration.filter(|_| plan.ramp_time.is_zero());
        let seconds = seconds.map_or(outcome.elapsed, |time| time.min(outcome.elapsed));
        let reached = mean_in_flight(latency.count() as f64 / seconds.as_secs_f64(), mean);
        let depth = f64::from(plan.depth);
        self.reached_depths
            .set_value(point, round, reached.min(depth));
        let bound = max_mean_in_flight(
            latency.count(),
            (mean, latency.max().unwrap_or_default() as f64),
            outcome.elapsed.as_nanos() as f64,
            depth,
        );
        self.reached_bounds.set_value(point, round, bound);
        let enough = latency.count() >= MIN_REQUESTS_IN_ROUND;
        if let Some(p90) = latency.value_at_percent(90.0).filter(|_| enough) {
            self.p90_latencies.set_value(point, round, p90 as f64);
        }
    }

    /// Depths with known IOPS and p90, with their indices.
    fn steps(&self) -> Vec<(usize, DepthStep)> {
        let step = |point: usize| {
            let step = DepthStep {
                depth: self.depths[point],
                iops: self.iops.mean(point)?,
                p90_ns: self.latencies[point].percentile(90.0)? as f64,
            };
            Some((point, step))
        };
        (0..self.depths.len()).filter_map(step).collect()
    }

    /// Depths with known values in one round.
    fn steps_of_round(&self, points: &[usize], round: usize) -> Option<Vec<DepthStep>> {
        let step = |point: &usize| {
            Some(DepthStep {
                depth: self.depths[*point],
                iops: self.iops.value_in_round(*point, round)?,
                p90_ns: self.p90_latencies.value_in_round(*point, round)?,
            })
        };
        points.iter().map(step).collect()
    }

    /// Indices of depths without benefit: those after two doublings that only increased latency, if
    /// no deeper one increased IOPS either.
    pub(crate) fn depths_without_gain(&self) -> Vec<usize> {
        let (points, steps): (Vec<usize>, Vec<DepthStep>) = self.steps().into_iter().unzip();
        let is_last = |last: &usize| {
            let most = steps[*last].iops * MIN_WORTHWHILE_SPEEDUP;
            is_saturated(&steps[..=*last]) && steps[*last..].iter().all(|step| step.iops <= most)
        };
        match (0..steps.len()).find(is_last) {
            Some(last) => points[last + 1..].to_vec(),
            None => Vec::new(),
        }
    }

    /// The score of every depth in every round, relative to the best IOPS and the best p90 of all
    /// rounds.
    fn scores(&self) -> SweepRounds {
        let steps: Vec<DepthStep> = self.steps().into_iter().map(|(_, step)| step).collect();
        let most = steps.iter().map(|step| step.iops).fold(0.0, f64::max);
        let least = steps.iter().map(|step| step.p90_ns);
        let least = least.fold(f64::INFINITY, f64::min);
        let mut rounds = SweepRounds::new(self.depths.len(), self.iops.seed());
        for (point, step) in self.steps() {
            for round in 0..DEFAULT_ROUNDS {
                let values = (
                    self.iops.value_in_round(point, round),
                    self.p90_latencies.value_in_round(point, round),
                );
                let (Some(iops), Some(p90_ns)) = values else {
                    continue;
                };
                let step = DepthStep {
                    iops,
                    p90_ns,
                    ..step
                };
                rounds.set_value(point, round, depth_score(&step, (most, least), self.alpha));
            }
        }
        rounds
    }

    pub(crate) fn set_series(&self, bench: &mut RunContext<'_>) {
        let known: Vec<usize> = self.steps().iter().map(|(point, _)| *point).collect();
        let levels: Vec<f64> = known
            .iter()
            .map(|point| f64::from(self.depths[*point]))
            .collect();
        for (kind, rounds) in [
            (SeriesKind::IopsAgainstDepth, &self.iops),
            (SeriesKind::ScoreAgainstDepth, &self.scores()),
            (SeriesKind::DepthReached, &self.reached_depths),
        ] {
            let rounds = rounds.select_points(&known);
            bench.set_series(rounds.series_of_means(kind, &levels));
        }
        let p90 = |(point, step): (usize, DepthStep)| {
            let interval = self.p90_latencies.interval_around(point, step.p90_ns);
            ([f64::from(step.depth), step.p90_ns], interval)
        };
        bench.set_series(framework::series_with_intervals(
            SeriesKind::P90AgainstDepth,
            self.steps().into_iter().map(p90).collect(),
        ));
    }

    /// Sets the metrics of the characteristic depths, and the checks.
    pub(crate) fn set_results(&self, bench: &mut RunContext<'_>) {
        let steps = self.steps();
        // Depths skipped after the first round are no candidates.
        let points: Vec<usize> = steps
            .iter()
            .map(|(point, _)| *point)
            .filter(|point| self.iops.values_of_point(*point).len() > 1)
            .collect();
        self.check_quality(bench);
        if !steps.is_empty() {
            self.set_optimal_depth(bench, &points);
            self.set_max_iops_depth(bench, &points);
            self.set_knee(bench, &points);
        }
    }

    /// Sets the depth itself, its IOPS and its p90 as these metrics.
    fn set_depth_metrics(
        &self,
        bench: &mut RunContext<'_>,
        point: usize,
        [depth, iops, p90]: [MetricId; 3],
    ) {
        let value = f64::from(self.depths[point]);
        bench.set_metric(Metric::new(depth, value));
        if let Some(metric) = self.iops.metric_of_point(point, iops) {
            bench.set_metric(metric);
        }
        if let Some(value) = self.latencies[point].percentile(90.0) {
            let metric =
                Metric::new(p90, value as f64).with_observations(self.latencies[point].count());
            bench.set_metric(
                match self.p90_latencies.interval_around(point, value as f64) {
                    Some([low, high]) => metric.with_interval(low, high),
                    None => metric,
                },
            );
        }
    }

    fn set_optimal_depth(&self, bench: &mut RunContext<'_>, points: &[usize]) {
        let optimal = match self
            .scores()
            .select_points(points)
            .first_equivalent_to_best(EQUIVALENCE_FRACTION)
        {
            Ok(optimal) => points[optimal],
            Err(reason) => {
                return self.report_no_optimum(bench, points, reason, OPTIMAL_DEPTH);
            }
        };
        let metrics = [
            MetricId::OPTIMAL_DEPTH,
            MetricId::OPTIMAL_DEPTH_IOPS,
            MetricId::OPTIMAL_DEPTH_P90,
        ];
        self.set_depth_metrics(bench, optimal, metrics);
        let single = self.depths.iter().position(|depth| *depth == 1);
        let speedup = single.and_then(|single| self.iops.ratio_of_points(optimal, single));
        if let Some(speedup) = speedup {
            bench.set_metric(speedup.to_metric(MetricId::SPEEDUP));
        }
    }

    fn set_max_iops_depth(&self, bench: &mut RunContext<'_>, points: &[usize]) {
        match self
            .iops
            .select_points(points)
            .first_equivalent_to_best(EQUIVALENCE_FRACTION)
        {
            Ok(most) => {
                let metrics = [
                    MetricId::IOPS_MAX_DEPTH,
                    MetricId::IOPS_MAX,
                    MetricId::IOPS_MAX_P90,
                ];
                self.set_depth_metrics(bench, points[most], metrics);
            }
            Err(reason) => self.report_no_optimum(bench, points, reason, BEST_IOPS_DEPTH),
        }
    }

    fn report_no_optimum(
        &self,
        bench: &mut RunContext<'_>,
        points: &[usize],
        reason: NoOptimum,
        sought: SoughtOptimum,
    ) {
        if bench.is_stopped() {
            return;
        }
        let depths = points.iter().map(|point| f64::from(self.depths[*point]));
        bench.set_check(reason.verdict(sought, &depths.collect::<Vec<_>>()));
    }

    /// Sets the knee if all rounds have it at the same depth.
    fn set_knee(&self, bench: &mut RunContext<'_>, points: &[usize]) {
        let of_round = |round: usize| self.steps_of_round(points, round);
        let rounds: Vec<Vec<DepthStep>> = (0..DEFAULT_ROUNDS).filter_map(of_round).collect();
        let knees: Vec<Option<usize>> = rounds.iter().map(|steps| knee_index(steps)).collect();
        let Some((first, others)) = knees.split_first() else {
            return;
        };
        if others.is_empty() || knees.iter().all(Option::is_none) {
            return;
        }
        let alike = others.iter().all(|knee| knee == first);
        if let Some(knee) = first.filter(|_| alike) {
            let depth = f64::from(self.depths[points[knee]]);
            bench.set_metric(Metric::new(MetricId::KNEE_DEPTH, depth));
        } else if !bench.is_stopped() {
            let depth = |knee: &Option<usize>| knee.map(|knee| self.depths[points[knee]]);
            let depths: Vec<Option<u32>> = knees.iter().map(depth).collect();
            bench.set_check(knee_differs(&depths));
        }
    }

    /// Sets the checks on the quality of the measurement.
    fn check_quality(&self, bench: &mut RunContext<'_>) {
        let missed = (0..self.depths.len()).find_map(|point| {
            let bound = self.reached_bounds.mean(point)?;
            let depth = f64::from(self.depths[point]);
            let remedy = "measure this depth with random-read or random-write and several workers";
            framework::below_target_depth(depth, bound, remedy)
        });
        if let Some(verdict) = missed {
            bench.set_check(verdict);
        }
        let depths: Vec<u32> = (0..self.depths.len())
            // After a stop, missing depths are expected.
            .filter(|point| !bench.is_stopped() || self.iops.mean(*point).is_some())
            .filter(|point| self.latencies[*point].percentile(90.0).is_none())
            .map(|point| self.depths[point])
            .collect();
        if !depths.is_empty() {
            bench.set_check(too_few_samples(&depths));
        }
    }
}

fn knee_differs(depths: &[Option<u32>]) -> Verdict {
    let words: Vec<String> = depths
        .iter()
        .map(|depth| depth.map_or("none".to_owned(), |depth| depth.to_string()))
        .collect();
    KNEE_DIFFERS.found(
        format!(
            "the knee of the IOPS curve differs from round to round ({}): it is not determined",
            words.join(", ")
        ),
        "use a longer --duration for a more stable curve",
        json!({ "depths": depths }),
    )
}

fn too_few_samples(depths: &[u32]) -> Verdict {
    let words: Vec<String> = depths.iter().map(u32::to_string).collect();
    TOO_FEW_SAMPLES_AT_DEPTH.found(
        format!(
            "p90 is not determined at depth {}: fewer than 10 requests are beyond it",
            words.join(", ")
        ),
        "use a longer --duration",
        json!({ "depths": depths }),
    )
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
