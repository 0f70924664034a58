//! What concurrency-read and concurrency-write share: a sweep over the queue depth.

use super::budget::Budget;
use super::common::{self, place, series};
use super::forecast::Phases;
use super::{Bench, BenchError, Chart, Forecast, Kind, Parameter, Parameters, Shape, Value};
use crate::drive::Target;
use crate::engine::{Limits, Operation, Outcome, Pattern, Plan};
use crate::session::document::{Figure, Severity, Unit, Verdict};
use crate::stats::concurrency::{Step, in_flight, knee, saturated, scores};

/// Deepest queue.
pub(super) const MAX_DEPTH: Parameter = Parameter {
    name: "max-depth",
    kind: Kind::Count {
        least: 1,
        most: 1024,
    },
    help: "the sweep doubles the depth from 1 up to this",
    default: |_| Value::Count(256),
};

/// Weight of throughput in the score.
pub(super) const ALPHA: Parameter = Parameter {
    name: "alpha",
    kind: Kind::Number {
        least: 0.0,
        most: 1.0,
    },
    help: "weight of throughput in the score, 0 to 1; response time (p90) has the rest",
    default: |_| Value::Number(0.8),
};

/// Whether to stop when nothing is to be gained.
pub(super) const EARLY_STOP: Parameter = Parameter {
    name: "early-stop",
    kind: Kind::Word(&["yes", "no"]),
    help: "end when two doublings in a row brought nothing but longer response times",
    default: |_| Value::Word("yes".to_owned()),
};

/// Time for the whole sweep; a disk needs more for its percentiles.
pub(super) const DURATION: Parameter = Parameter {
    help: "time for the whole sweep, shared out to the depths",
    ..common::DURATION.with_default(|target| {
        let seconds = if target.rotational() == Some(true) {
            60
        } else {
            27
        };
        Value::Duration(std::time::Duration::from_secs(seconds))
    })
};

/// The charts of both.
pub(super) const CHARTS: &[Chart] = &[
    Chart::new(
        "IOPS against queue depth",
        Shape::Line,
        &["iops-against-depth"],
    )
    .log_x()
    .marked(&["optimal_depth", "knee_depth"]),
    Chart::new(
        "p90 against queue depth",
        Shape::Line,
        &["p90-against-depth"],
    )
    .log_x()
    .log_y()
    .marked(&["optimal_depth", "knee_depth"]),
    Chart::new(
        "Score against queue depth",
        Shape::Line,
        &["score-against-depth"],
    )
    .log_x()
    .marked(&["optimal_depth"]),
];

/// The headline of both.
pub(super) const HEADLINE: &[&str] = &[
    "optimal_depth",
    "optimal_depth_iops",
    "speedup",
    "knee_depth",
    "iops_max",
];

fn whole_plan(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    common::plan(target, parameters, operation, Pattern::Random)
}

/// 1, 2, 4 ... up to the deepest, which is always among them.
fn depths(parameters: &Parameters) -> Vec<u32> {
    let most = parameters.count("max-depth").unwrap_or(256);
    let most = u32::try_from(most).unwrap_or(256).max(1);
    let mut depths: Vec<u32> = (0..31)
        .map(|power| 1 << power)
        .take_while(|depth| *depth < most)
        .collect();
    depths.push(most);
    depths
}

pub(super) fn forecast(
    operation: Operation,
    target: &Target,
    parameters: &Parameters,
) -> Result<Forecast, BenchError> {
    let plan = whole_plan(operation, target, parameters)?;
    let depths = depths(parameters);
    let does = if operation.writes() {
        "writes"
    } else {
        "reads"
    };
    let written = plan.limits.bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(", at most {}", common::written_share(bytes, target))
    });
    Ok(Forecast {
        sentence: format!(
            "{does} {} at random places of {}, with 1 to {} in flight in {} steps{amount}",
            common::blocks(plan.block_size),
            place(target),
            depths.last().copied().unwrap_or(1),
            depths.len(),
        ),
        time: Phases::sharing(plan.limits)
            .then_all(depths.iter().map(|depth| Plan {
                depth: *depth,
                limits: Limits::default(),
                ..plan.clone()
            }))
            .time(target),
        reads: plan.limits.bytes.filter(|_| !operation.writes()),
        writes: written,
    })
}

pub(super) fn run(operation: Operation, bench: &mut Bench<'_>) -> Result<(), BenchError> {
    let whole = whole_plan(operation, bench.target, bench.parameters)?;
    let depths = depths(bench.parameters);
    let early = bench.parameters.word("early-stop") != "no";
    let block = u64::from(whole.block_size.largest());
    let mut budget = Budget::new(whole.limits);
    let mut sweep = Sweep {
        alpha: bench.parameters.number("alpha").unwrap_or(0.8),
        ..Sweep::default()
    };
    for (index, depth) in depths.iter().enumerate() {
        let left = (depths.len() - index) as u64;
        let Some(limits) = budget.share(left, block, Limits::default()) else {
            break;
        };
        let plan = Plan {
            depth: *depth,
            limits,
            // Other addresses at each depth: the drive's cache must not know them yet.
            seed: whole.seed.wrapping_add(index as u64),
            ..whole.clone()
        };
        let phase = format!("depth {depth}");
        let outcome = bench.execute(&phase, 1.0 / depths.len() as f64, &plan)?;
        budget.spend(&outcome);
        sweep.add(*depth, &outcome);
        sweep.report(bench);
        bench.phase_finished();
        if bench.stopped() || (early && saturated(&sweep.steps)) {
            break;
        }
    }
    Ok(())
}

/// What was measured at the depths so far.
#[derive(Debug, Default)]
struct Sweep {
    alpha: f64,
    steps: Vec<Step>,
    /// Requests in flight by Little's law, step by step.
    reached: Vec<f64>,
    /// How far the IOPS may be off, as a share, step by step.
    margins: Vec<f64>,
    /// Depths at which p90 could not be known.
    unknown: Vec<u32>,
}

impl Sweep {
    fn add(&mut self, depth: u32, outcome: &Outcome) {
        let tally = &outcome.tally;
        let mut latency = tally.read.latency.clone();
        latency.merge(&tally.write.latency);
        let seconds = outcome.elapsed.as_secs_f64();
        let (Some(p90), Some(mean)) = (latency.percentile(90.0), latency.mean()) else {
            self.unknown.push(depth);
            return;
        };
        let iops = tally.requests() as f64 / seconds;
        self.steps.push(Step {
            depth,
            iops,
            p90_ns: p90 as f64,
        });
        self.reached.push(in_flight(iops, mean));
        // Answers scatter by their standard deviation; those of so many requests by its square root's
        // share.
        let scatter = latency.standard_deviation().unwrap_or(mean) / mean;
        self.margins
            .push(1.96 * scatter / (tally.requests() as f64).sqrt());
    }

    fn curve(
        &self,
        name: &str,
        y: (&str, Unit),
        value: impl Fn(usize) -> f64,
        bench: &mut Bench<'_>,
    ) {
        let points = self.steps.iter().enumerate();
        let points = points.map(|(index, step)| [f64::from(step.depth), value(index)]);
        bench.series(series(
            name,
            ("queue depth", Unit::Count),
            y,
            points.collect(),
        ));
    }

    fn report(&self, bench: &mut Bench<'_>) {
        let scores = scores(&self.steps, self.alpha);
        self.curve(
            "iops-against-depth",
            ("IOPS", Unit::PerSecond),
            |at| self.steps[at].iops,
            bench,
        );
        self.curve(
            "p90-against-depth",
            ("p90", Unit::Nanoseconds),
            |at| self.steps[at].p90_ns,
            bench,
        );
        self.curve(
            "score-against-depth",
            ("score", Unit::Ratio),
            |at| scores[at],
            bench,
        );
        self.curve(
            "depth-reached",
            ("in flight", Unit::Count),
            |at| self.reached[at],
            bench,
        );
        self.figures(&scores, bench);
        self.verdicts(bench);
    }

    fn figures(&self, scores: &[f64], bench: &mut Bench<'_>) {
        let indices = 0..self.steps.len();
        // Of depths alike the shallowest: the last of the reversed ones.
        let best = |value: &dyn Fn(usize) -> f64| {
            indices
                .clone()
                .rev()
                .max_by(|one, other| value(*one).total_cmp(&value(*other)))
        };
        let (Some(optimal), Some(most)) = (best(&|at| scores[at]), best(&|at| self.steps[at].iops))
        else {
            return;
        };
        let iops = |name, at: usize| {
            let value = self.steps[at].iops;
            let margin = value * self.margins[at];
            Figure::new(name, value, Unit::PerSecond).within(value - margin, value + margin)
        };
        bench.figure(iops("optimal_depth_iops", optimal));
        bench.figure(iops("iops_max", most));
        let mut put = |name, value: f64, unit| bench.figure(Figure::new(name, value, unit));
        let (step, highest) = (&self.steps[optimal], &self.steps[most]);
        put("optimal_depth", f64::from(step.depth), Unit::Count);
        put("optimal_depth_p90", step.p90_ns, Unit::Nanoseconds);
        put("iops_max_depth", f64::from(highest.depth), Unit::Count);
        put("iops_max_p90", highest.p90_ns, Unit::Nanoseconds);
        if let Some(single) = self.steps.first().filter(|step| step.depth == 1) {
            put("speedup", step.iops / single.iops, Unit::Ratio);
        }
        if let Some(knee) = knee(&self.steps) {
            put("knee_depth", f64::from(self.steps[knee].depth), Unit::Count);
        }
    }

    fn verdicts(&self, bench: &mut Bench<'_>) {
        let missed = self
            .steps
            .iter()
            .zip(&self.reached)
            .find(|(step, reached)| **reached < 0.9 * f64::from(step.depth) && step.depth > 1);
        if let Some((step, reached)) = missed {
            bench.verdict(common::depth_missed(f64::from(step.depth), *reached));
        }
        if !self.unknown.is_empty() {
            let depths: Vec<String> = self.unknown.iter().map(u32::to_string).collect();
            bench.verdict(Verdict::new(
                "too-few-samples-at-depth",
                Severity::Warning,
                format!(
                    "p90 cannot be known at depth {}: fewer than 10 requests lie beyond it",
                    depths.join(", ")
                ),
                "give it more --duration",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, codes, simulate, value};

    #[test]
    fn the_depth_of_a_drive_with_eight_servers_is_found() {
        let test = find("cncread").unwrap();
        let finished = simulate(
            test,
            "sim:constant,latency=100us,parallel=8",
            &[("duration", "2s")],
        );
        assert_eq!(value(&finished, "optimal_depth"), 8.0);
        assert!((value(&finished, "speedup") - 8.0).abs() < 0.1);
        assert!((value(&finished, "optimal_depth_iops") / 80_000.0 - 1.0).abs() < 0.02);
        // Two doublings beyond 8 bring nothing: it ends there.
        let curve = finished.findings.series("iops-against-depth").unwrap();
        assert_eq!(curve.points.last().unwrap()[0], 32.0);
        assert!(codes(&finished).is_empty(), "{:?}", codes(&finished));
    }

    #[test]
    fn without_an_early_stop_every_depth_is_tried() {
        let test = find("cncwrite").unwrap();
        let set = [
            ("duration", "2s"),
            ("early-stop", "no"),
            ("max-depth", "48"),
        ];
        let finished = simulate(test, "sim:constant,parallel=2", &set);
        let curve = finished.findings.series("iops-against-depth").unwrap();
        let depths: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
        assert_eq!(depths, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0]);
    }

    #[test]
    fn too_short_a_sweep_says_what_is_missing() {
        let test = find("cncread").unwrap();
        let finished = simulate(test, "sim:constant,latency=10ms", &[("duration", "1s")]);
        assert!(codes(&finished).contains(&"too-few-samples-at-depth"));
        assert!(finished.findings.figure("optimal_depth").is_none());
    }

    #[test]
    fn the_forecast_names_the_sweep() {
        let target = fake::target(10_000_000_000);
        let test = find("cncwrite").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert!(
            forecast.sentence.contains("1 to 256 in flight in 9 steps"),
            "{forecast:?}"
        );
        assert_eq!(forecast.writes, Some(8 << 30));
    }
}
