//! What the sweep shows: its curves, and the depths that stand out.

use crate::bench::Bench;
use crate::bench::common;
use crate::bench::passes::latency_of;
use crate::bench::rounds::{Compared, NoBest, ROUNDS, Rounds};
use crate::bench::sweep::Turn;
use crate::engine::{Outcome, Plan};
use crate::session::document::{Axis, Figure, Severity, Unit, Verdict};
use crate::stats::concurrency::{Step, in_flight, knee, saturated, score};
use crate::stats::latency::Latency;

/// A depth is as good as the best from this share of its score, or of its IOPS, on.
const AS_GOOD: f64 = 0.95;
/// The p90 of one round rests on this many requests at least; its scatter from round to round shows
/// what that is worth.
const LEAST_IN_ROUND: u64 = 20;
/// A deeper queue that gives more than this times the IOPS is worth measuring.
const WORTHWHILE: f64 = 1.02;

/// What was measured at the depths so far.
#[derive(Debug)]
pub(super) struct DepthSweep {
    alpha: f64,
    depths: Vec<u32>,
    /// Response times of all rounds.
    latency: Vec<Latency>,
    /// Requests per second.
    rates: Rounds,
    /// p90 in nanoseconds.
    p90s: Rounds,
    /// Requests in flight by Little's law.
    reached: Rounds,
}

impl DepthSweep {
    /// Nothing measured yet; `alpha` is the weight of throughput in the score.
    pub(super) fn new(depths: &[u32], alpha: f64, seed: u64) -> Self {
        let rounds = Rounds::new(depths.len(), seed);
        Self {
            alpha,
            depths: depths.to_vec(),
            latency: vec![Latency::default(); depths.len()],
            rates: rounds.clone(),
            p90s: rounds.clone(),
            reached: rounds,
        }
    }

    /// Adds a phase.
    pub(super) fn add(&mut self, turn: Turn, plan: &Plan, outcome: &Outcome) {
        let Turn { point, round, .. } = turn;
        let latency = latency_of(outcome);
        self.latency[point].merge(&latency);
        let (Some(mean), Some(rate)) = (latency.mean(), rate(plan, outcome)) else {
            return;
        };
        self.rates.add(point, round, rate);
        // What was in flight while the queue ran empty counts as well: not more than was asked for.
        let seconds = plan.limits.duration.filter(|_| plan.ramp.is_zero());
        let seconds = seconds.map_or(outcome.elapsed, |time| time.min(outcome.elapsed));
        let reached = in_flight(latency.count() as f64 / seconds.as_secs_f64(), mean);
        let depth = f64::from(plan.depth);
        self.reached.add(point, round, reached.min(depth));
        let enough = latency.count() >= LEAST_IN_ROUND;
        if let Some(p90) = latency.at_rank(90.0).filter(|_| enough) {
            self.p90s.add(point, round, p90 as f64);
        }
    }

    /// The depths whose IOPS and p90 are known, with their indices.
    fn steps(&self) -> Vec<(usize, Step)> {
        let step = |point: usize| {
            let step = Step {
                depth: self.depths[point],
                iops: self.rates.mean(point)?,
                p90_ns: self.latency[point].percentile(90.0)? as f64,
            };
            Some((point, step))
        };
        (0..self.depths.len()).filter_map(step).collect()
    }

    /// The known depths in one round.
    fn steps_of_round(&self, points: &[usize], round: usize) -> Option<Vec<Step>> {
        let step = |point: &usize| {
            Some(Step {
                depth: self.depths[*point],
                iops: self.rates.at(*point, round)?,
                p90_ns: self.p90s.at(*point, round)?,
            })
        };
        points.iter().map(step).collect()
    }

    /// Indices of depths that cannot pay: those behind two doublings that brought nothing but longer
    /// response times, where no deeper one brought more either.
    pub(super) fn futile(&self) -> Vec<usize> {
        let (points, steps): (Vec<usize>, Vec<Step>) = self.steps().into_iter().unzip();
        let is_last = |last: &usize| {
            let most = steps[*last].iops * WORTHWHILE;
            saturated(&steps[..=*last]) && steps[*last..].iter().all(|step| step.iops <= most)
        };
        match (0..steps.len()).find(is_last) {
            Some(last) => points[last + 1..].to_vec(),
            None => Vec::new(),
        }
    }

    /// The score of every depth in every round, by the best IOPS and the best p90 of all rounds.
    fn scores(&self) -> Rounds {
        let steps: Vec<Step> = self.steps().into_iter().map(|(_, step)| step).collect();
        let most = steps.iter().map(|step| step.iops).fold(0.0, f64::max);
        let least = steps.iter().map(|step| step.p90_ns);
        let least = least.fold(f64::INFINITY, f64::min);
        let mut rounds = Rounds::new(self.depths.len(), self.rates.seed());
        for (point, step) in self.steps() {
            for round in 0..ROUNDS {
                let values = (self.rates.at(point, round), self.p90s.at(point, round));
                let (Some(iops), Some(p90_ns)) = values else {
                    continue;
                };
                let step = Step {
                    iops,
                    p90_ns,
                    ..step
                };
                rounds.add(point, round, score(&step, (most, least), self.alpha));
            }
        }
        rounds
    }

    /// Sets the curves.
    pub(super) fn report(&self, bench: &mut Bench<'_>) {
        let known: Vec<usize> = self.steps().iter().map(|(point, _)| *point).collect();
        let places: Vec<f64> = known
            .iter()
            .map(|point| f64::from(self.depths[*point]))
            .collect();
        let x = || Axis::new("queue depth", Unit::Count);
        for (name, y, rounds) in [
            ("iops-against-depth", ("IOPS", Unit::PerSecond), &self.rates),
            (
                "score-against-depth",
                ("score", Unit::Ratio),
                &self.scores(),
            ),
            ("depth-reached", ("in flight", Unit::Count), &self.reached),
        ] {
            let rounds = rounds.only(&known);
            bench.series(rounds.series(name, x(), Axis::new(y.0, y.1), &places));
        }
        let p90 = |(point, step): (usize, Step)| {
            let interval = self.p90s.interval_around(point, step.p90_ns);
            ([f64::from(step.depth), step.p90_ns], interval)
        };
        bench.series(common::series_within(
            "p90-against-depth",
            ("queue depth", Unit::Count),
            ("p90", Unit::Nanoseconds),
            self.steps().into_iter().map(p90).collect(),
        ));
    }

    /// Sets the metrics of the depths that stand out, and the checks.
    pub(super) fn conclude(&self, bench: &mut Bench<'_>) {
        let steps = self.steps();
        // Depths that were left out after the first round are none to choose from.
        let points: Vec<usize> = steps
            .iter()
            .map(|(point, _)| *point)
            .filter(|point| self.rates.of(*point).len() > 1)
            .collect();
        self.quality(bench);
        if !steps.is_empty() {
            self.put_optimal(bench, &points);
            self.put_most(bench, &points);
            self.put_knee(bench, &points);
        }
    }

    /// IOPS, p90 and the depth itself under these names.
    fn put_depth(&self, bench: &mut Bench<'_>, point: usize, [depth, iops, p90]: [&str; 3]) {
        let value = f64::from(self.depths[point]);
        bench.figure(Figure::new(depth, value, Unit::Count));
        if let Some(figure) = self.rates.figure(point, iops, Unit::PerSecond) {
            bench.figure(figure);
        }
        if let Some(value) = self.latency[point].percentile(90.0) {
            let figure = Figure::new(p90, value as f64, Unit::Nanoseconds)
                .from_observations(self.latency[point].count());
            bench.figure(match self.p90s.interval_around(point, value as f64) {
                Some([low, high]) => figure.within(low, high),
                None => figure,
            });
        }
    }

    fn put_optimal(&self, bench: &mut Bench<'_>, points: &[usize]) {
        let optimal = match self.scores().only(points).first_as_good(AS_GOOD) {
            Ok(optimal) => points[optimal],
            Err(reason) => {
                let code = ("no-optimal-depth", Severity::Note);
                return self.no_best(bench, points, reason, code, "optimal depth");
            }
        };
        let names = ["optimal_depth", "optimal_depth_iops", "optimal_depth_p90"];
        self.put_depth(bench, optimal, names);
        let single = self.depths.iter().position(|depth| *depth == 1);
        let speedup = single.and_then(|single| self.rates.quotient(optimal, single));
        if let Some(speedup) = speedup {
            bench.figure(speedup.figure("speedup"));
        }
    }

    fn put_most(&self, bench: &mut Bench<'_>, points: &[usize]) {
        match self.rates.only(points).first_as_good(AS_GOOD) {
            Ok(most) => {
                let names = ["iops_max_depth", "iops_max", "iops_max_p90"];
                self.put_depth(bench, points[most], names);
            }
            Err(reason) => {
                let best = "depth with the most IOPS";
                let code = ("no-best-iops-depth", Severity::Note);
                self.no_best(bench, points, reason, code, best);
            }
        }
    }

    fn no_best(
        &self,
        bench: &mut Bench<'_>,
        points: &[usize],
        reason: NoBest,
        code: (&str, Severity),
        best: &str,
    ) {
        if bench.stopped() {
            return;
        }
        let names: Vec<String> = points
            .iter()
            .map(|point| self.depths[*point].to_string())
            .collect();
        let compared = Compared {
            code,
            best,
            points: "depths",
            advice: "a longer --duration narrows the intervals; if all depths are alike, 1 is enough",
        };
        bench.verdict(reason.verdict(compared, &names));
    }

    /// The knee, where all rounds have it at one depth.
    fn put_knee(&self, bench: &mut Bench<'_>, points: &[usize]) {
        let of_round = |round: usize| self.steps_of_round(points, round);
        let rounds: Vec<Vec<Step>> = (0..ROUNDS).filter_map(of_round).collect();
        let knees: Vec<Option<usize>> = rounds.iter().map(|steps| knee(steps)).collect();
        let Some((first, others)) = knees.split_first() else {
            return;
        };
        if others.is_empty() || knees.iter().all(Option::is_none) {
            return;
        }
        let alike = others.iter().all(|knee| knee == first);
        if let Some(knee) = first.filter(|_| alike) {
            let depth = f64::from(self.depths[points[knee]]);
            bench.figure(Figure::new("knee_depth", depth, Unit::Count));
        } else if !bench.stopped() {
            let depth = |knee: &Option<usize>| {
                knee.map_or("none".to_owned(), |knee| {
                    self.depths[points[knee]].to_string()
                })
            };
            let depths: Vec<String> = knees.iter().map(depth).collect();
            bench.verdict(knee_differs(&depths));
        }
    }

    /// The checks on what was measured.
    fn quality(&self, bench: &mut Bench<'_>) {
        let missed = (0..self.depths.len()).find_map(|point| {
            let (depth, reached) = (f64::from(self.depths[point]), self.reached.mean(point)?);
            (reached < 0.9 * depth && depth > 1.0).then_some((depth, reached))
        });
        if let Some((depth, reached)) = missed {
            bench.verdict(common::depth_missed(depth, reached));
        }
        let unknown: Vec<String> = (0..self.depths.len())
            // What a stop left out is no news.
            .filter(|point| !bench.stopped() || self.rates.mean(*point).is_some())
            .filter(|point| self.latency[*point].percentile(90.0).is_none())
            .map(|point| self.depths[point].to_string())
            .collect();
        if !unknown.is_empty() {
            bench.verdict(too_few_samples(&unknown.join(", ")));
        }
    }
}

/// Requests per second with a full queue. At the end of its time a phase has `depth` requests in
/// flight, which it waits for while the queue runs empty: they are left out, but for half of the one
/// that was about to be done.
fn rate(plan: &Plan, outcome: &Outcome) -> Option<f64> {
    let seconds = outcome.elapsed.as_secs_f64();
    let all = outcome.tally.requests() as f64;
    let in_flight = f64::from(plan.depth);
    let time = plan.limits.duration.filter(|time| {
        let to_the_end = *time <= outcome.elapsed && plan.ramp.is_zero();
        to_the_end && plan.depth > 1 && all > 2.0 * in_flight
    });
    let rate = match time {
        Some(time) => (all - in_flight + 0.5) / time.as_secs_f64(),
        None => all / seconds,
    };
    (seconds > 0.0 && all > 0.0).then_some(rate)
}

fn knee_differs(depths: &[String]) -> Verdict {
    Verdict::new(
        "knee-differs",
        Severity::Note,
        format!(
            "the curve of IOPS bends at another depth from round to round ({}): no knee is named",
            depths.join(", ")
        ),
        "a longer --duration steadies the curve",
    )
}

fn too_few_samples(depths: &str) -> Verdict {
    Verdict::new(
        "too-few-samples-at-depth",
        Severity::Warning,
        format!("p90 cannot be known at depth {depths}: fewer than 10 requests lie beyond it"),
        "give it more --duration",
    )
}
