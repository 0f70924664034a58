//! What concurrency-read and concurrency-write share: a sweep over the queue depth.

mod analysis;

use super::common::{self, place};
use super::forecast::Phases;
use super::rounds::ROUNDS;
use super::sweep::SweepSchedule;
use super::{Bench, BenchError, Chart, Forecast, Kind, Parameter, Parameters, Shape, Value};
use crate::drive::Target;
use crate::engine::{Limits, Operation, Pattern, Plan};
use analysis::DepthSweep;

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
    help: "leave out depths from the second round on that in the first brought nothing but longer \
           response times",
    default: |_| Value::Word("yes".to_owned()),
};

/// Time for the whole sweep; a disk needs more for its percentiles.
pub(super) const DURATION: Parameter = Parameter {
    help: "time for the whole sweep, shared out to the depths and rounds",
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
            "{does} {} at random places of {}, with 1 to {} in flight in {} steps and {ROUNDS} \
             rounds{amount}",
            common::blocks(plan.block_size),
            place(target),
            depths.last().copied().unwrap_or(1),
            depths.len(),
        ),
        time: Phases::sharing(plan.limits)
            .then_rounds(depths.iter().map(|depth| Plan {
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
    let alpha = bench.parameters.number("alpha").unwrap_or(0.8);
    let mut schedule = SweepSchedule::new(depths.len(), whole.limits, whole.seed);
    // All rounds last equally long: what an early end saves is not spent on the others.
    let phases = u32::try_from(schedule.phases()).unwrap_or(u32::MAX);
    let own = Limits {
        duration: whole.limits.duration.map(|time| time / phases),
        ..Limits::default()
    };
    let mut sweep = DepthSweep::new(&depths, alpha, whole.seed);
    while let Some(turn) = schedule.next(bench, |_| (block, own)) {
        let depth = depths[turn.point];
        let plan = Plan {
            depth,
            ..turn.plan(&whole)
        };
        let phase = turn.phase(&format!("depth {depth}"));
        let outcome = bench.execute(&phase, schedule.share(), &plan)?;
        schedule.spend(&outcome);
        sweep.add(turn, &plan, &outcome);
        sweep.report(bench);
        bench.phase_finished();
        if early && turn.ends_round && turn.round == 0 {
            for point in sweep.futile() {
                schedule.leave_out(point);
            }
        }
    }
    sweep.conclude(bench);
    bench.phase_finished();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Asked, Fake, codes, simulate, value};
    use crate::drive::random::{scatter, unit};

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
        assert_eq!(value(&finished, "iops_max_depth"), 8.0);
        for name in [
            "optimal_depth_iops",
            "optimal_depth_p90",
            "speedup",
            "iops_max",
        ] {
            let figure = finished.findings.figure(name).unwrap();
            assert!(figure.low.is_some() && figure.high.is_some(), "{figure:?}");
        }
        // Two doublings beyond 8 bring nothing: deeper queues have one round only, and no interval.
        let curve = finished.findings.series("iops-against-depth").unwrap();
        let places: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
        let bounded = |at: f64| {
            let index = places.iter().position(|place| *place == at).unwrap();
            curve.interval(index).is_some()
        };
        assert!(bounded(1.0) && bounded(32.0) && !bounded(64.0) && !bounded(256.0));
        assert!(codes(&finished).is_empty(), "{:?}", codes(&finished));
    }

    /// A drive with so many servers of 100 us each, whose phases differ by up to 4 %.
    fn noisy(servers: u32) -> Fake<impl Fn(&Asked<'_>) -> Option<u64> + Send + Sync> {
        Fake::new(move |asked| {
            let waves = f64::from(asked.plan.depth.max(servers)) / f64::from(servers);
            let noise = unit(scatter(asked.plan.seed));
            Some((100_000.0 * waves * (1.0 + 0.04 * noise)) as u64)
        })
    }

    #[test]
    fn optimum_of_a_noisy_drive_is_found_and_the_speedup_covered() {
        let (mut found, mut wrong, mut covered) = (0, 0, 0);
        for seed in 0..20_u64 {
            let set = [("duration", "1s"), ("seed", &*seed.to_string())];
            let test = find("cncread").unwrap();
            let finished = fake::run(test, &fake::target(1 << 30), &set, &noisy(8));
            match finished.findings.figure("optimal_depth") {
                Some(figure) if figure.value == 8.0 => found += 1,
                Some(_) => wrong += 1,
                None => assert!(codes(&finished).contains(&"no-optimal-depth")),
            }
            let speedup = finished.findings.figure("speedup");
            covered += u32::from(speedup.is_some_and(|speedup| {
                (speedup.low.unwrap()..=speedup.high.unwrap()).contains(&8.0)
            }));
        }
        assert!(found >= 17 && wrong <= 1, "{found} found, {wrong} wrong");
        assert!(covered + 3 >= found, "{covered} of {found} covered");
    }

    #[test]
    fn depths_that_are_alike_have_no_optimum() {
        let mut named = 0;
        for seed in 0..20_u64 {
            let seed = seed.to_string();
            // Nothing but throughput counts, and one request at a time is served.
            let set = [
                ("duration", "1s"),
                ("alpha", "1"),
                ("early-stop", "no"),
                ("max-depth", "16"),
                ("seed", &*seed),
            ];
            let test = find("cncwrite").unwrap();
            let finished = fake::run(test, &fake::target(1 << 30), &set, &noisy(1));
            for (figure, code) in [
                ("optimal_depth", "no-optimal-depth"),
                ("iops_max_depth", "no-best-iops-depth"),
            ] {
                let best = finished.findings.figure(figure).is_some();
                named += u32::from(best);
                assert_eq!(codes(&finished).contains(&code), !best);
            }
            assert_eq!(
                finished.findings.figure("speedup").is_some(),
                finished.findings.figure("optimal_depth").is_some()
            );
        }
        assert!(named <= 2, "{named} of 40 name a best");
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
        assert!(
            codes(&finished).contains(&"too-few-samples-at-depth"),
            "{:?} {:?}",
            codes(&finished),
            finished.findings.figures
        );
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
