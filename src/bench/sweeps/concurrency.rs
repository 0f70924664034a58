//! Shared by concurrency-read and concurrency-write: a sweep over the queue depth.

mod analysis;

pub(crate) use self::analysis::CHECKS;
use self::analysis::DepthSweep;
use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::rounds::DEFAULT_ROUNDS;
use crate::bench::framework::sweep::SweepSchedule;
use crate::bench::{
    BenchError, ChartShape, ChartSpec, Forecast, ParameterKind, ParameterSet, ParameterSpec,
    ParameterValue, RunContext,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, IoOperation, Plan, PlanLimits};

pub(crate) const MAX_DEPTH: ParameterSpec = ParameterSpec {
    name: "max-depth",
    kind: ParameterKind::Count {
        least: 1,
        most: 1024,
    },
    help: "the sweep doubles the depth from 1 up to this",
    default_for: |_| ParameterValue::Count(256),
};

/// Weight of throughput in the score.
pub(crate) const ALPHA: ParameterSpec = ParameterSpec {
    name: "alpha",
    kind: ParameterKind::Number {
        least: 0.0,
        most: 1.0,
    },
    help: "weight of throughput in the score, 0 to 1; response time (p90) has the rest",
    default_for: |_| ParameterValue::Number(0.8),
};

/// Whether to stop when deeper queues bring no benefit.
pub(crate) const EARLY_STOP: ParameterSpec = ParameterSpec {
    name: "early-stop",
    kind: ParameterKind::Choice(&["yes", "no"]),
    help: "leave out depths from the second round on that in the first brought nothing but longer \
           response times",
    default_for: |_| ParameterValue::Choice("yes".to_owned()),
};

/// Time limit of the whole sweep; a disk needs more time for its percentiles.
pub(crate) const DURATION: ParameterSpec = ParameterSpec {
    help: "time for the whole sweep, shared out to the depths and rounds",
    ..framework::DURATION.with_default(|target| {
        let seconds = if target.is_rotational() == Some(true) {
            60
        } else {
            27
        };
        ParameterValue::Duration(std::time::Duration::from_secs(seconds))
    })
};

pub(crate) const CHARTS: &[ChartSpec] = &[
    ChartSpec::new(
        "IOPS against queue depth",
        ChartShape::Line,
        &["iops-against-depth"],
    )
    .log_x()
    .with_marks(&["optimal_depth", "knee_depth"]),
    ChartSpec::new(
        "p90 against queue depth",
        ChartShape::Line,
        &["p90-against-depth"],
    )
    .log_x()
    .log_y()
    .with_marks(&["optimal_depth", "knee_depth"]),
    ChartSpec::new(
        "Score against queue depth",
        ChartShape::Line,
        &["score-against-depth"],
    )
    .log_x()
    .with_marks(&["optimal_depth"]),
];

pub(crate) const HEADLINE: &[&str] = &[
    "optimal_depth",
    "optimal_depth_iops",
    "speedup",
    "knee_depth",
    "iops_max",
];

fn complete_plan(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Plan, BenchError> {
    framework::build_plan(target, parameters, operation, AccessPattern::Random)
}

/// 1, 2, 4 ... up to the maximum, which is always included.
fn swept_depths(parameters: &ParameterSet) -> Vec<u32> {
    let most = parameters.count("max-depth").unwrap_or(256);
    let most = u32::try_from(most).unwrap_or(256).max(1);
    let mut depths: Vec<u32> = (0..31)
        .map(|power| 1 << power)
        .take_while(|depth| *depth < most)
        .collect();
    depths.push(most);
    depths
}

pub(crate) fn forecast(
    operation: IoOperation,
    target: &Target,
    parameters: &ParameterSet,
) -> Result<Forecast, BenchError> {
    let plan = complete_plan(operation, target, parameters)?;
    let depths = swept_depths(parameters);
    let does = if operation.writes() {
        "writes"
    } else {
        "reads"
    };
    let written = plan.limits.bytes.filter(|_| operation.writes());
    let amount = written.map_or_else(String::new, |bytes| {
        format!(
            ", at most {}",
            framework::describe_written_bytes(bytes, target)
        )
    });
    Ok(Forecast {
        sentence: format!(
            "{does} {} at random places of {}, with 1 to {} in flight in {} steps and {DEFAULT_ROUNDS} \
             rounds{amount}",
            framework::describe_block_size(plan.block_size),
            describe_target(target),
            depths.last().copied().unwrap_or(1),
            depths.len(),
        ),
        run_time: PlannedPhases::with_even_shares(plan.limits)
            .add_rounds(depths.iter().map(|depth| Plan {
                depth: *depth,
                limits: PlanLimits::default(),
                ..plan.clone()
            }))
            .run_time(target),
        max_read_bytes: plan.limits.bytes.filter(|_| !operation.writes()),
        max_written_bytes: written,
    })
}

pub(crate) fn run(operation: IoOperation, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let whole = complete_plan(operation, bench.target, bench.parameters)?;
    let depths = swept_depths(bench.parameters);
    let early = bench.parameters.choice("early-stop") != "no";
    let block = u64::from(whole.block_size.max_bytes());
    let alpha = bench.parameters.number("alpha").unwrap_or(0.8);
    let mut schedule = SweepSchedule::new(depths.len(), whole.limits, whole.seed);
    // All rounds take equally long: time saved by skipped depths is not spent on the others.
    let phases = u32::try_from(schedule.phase_count()).unwrap_or(u32::MAX);
    let own = PlanLimits {
        duration: whole.limits.duration.map(|time| time / phases),
        ..PlanLimits::default()
    };
    let mut sweep = DepthSweep::new(&depths, alpha, whole.seed);
    while let Some(turn) = schedule.next_turn(bench, |_| (block, own)) {
        let depth = depths[turn.point];
        let plan = Plan {
            depth,
            ..turn.turn_plan(&whole)
        };
        let phase = turn.phase_label(&format!("depth {depth}"));
        let outcome = bench.execute(&phase, schedule.phase_fraction(), &plan)?;
        schedule.consume_outcome(&outcome);
        sweep.add_phase(turn, &plan, &outcome);
        sweep.set_series(bench);
        bench.phase_finished();
        if early && turn.ends_round && turn.round == 0 {
            for point in sweep.depths_without_gain() {
                schedule.skip_point(point);
            }
        }
    }
    sweep.set_results(bench);
    bench.phase_finished();
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::bench::find_benchmark;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{
        FakeDrive, FakeRequest, check_codes, metric_value, run_on_simulated,
    };
    use crate::drive::random::{splitmix64, unit_interval};
    use crate::session::document::check::CheckId;

    #[test]
    fn concurrency_optimum_of_drive_with_eight_servers_is_found() {
        let test = find_benchmark("cncread").unwrap();
        let finished = run_on_simulated(
            test,
            "sim:constant,latency=100us,parallel=8",
            &[("duration", "2s")],
        );
        assert_eq!(metric_value(&finished, "optimal_depth"), 8.0);
        assert!((metric_value(&finished, "speedup") - 8.0).abs() < 0.1);
        assert!((metric_value(&finished, "optimal_depth_iops") / 80_000.0 - 1.0).abs() < 0.02);
        assert_eq!(metric_value(&finished, "iops_max_depth"), 8.0);
        for name in [
            "optimal_depth_iops",
            "optimal_depth_p90",
            "speedup",
            "iops_max",
        ] {
            let figure = finished.findings.metric(name).unwrap();
            assert!(figure.low.is_some() && figure.high.is_some(), "{figure:?}");
        }
        // Two doublings beyond 8 bring no benefit: deeper queues have one round only, and no
        // confidence interval.
        let curve = finished.findings.series("iops-against-depth").unwrap();
        let places: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
        let bounded = |at: f64| {
            let index = places.iter().position(|place| *place == at).unwrap();
            curve.confidence_interval(index).is_some()
        };
        assert!(bounded(1.0) && bounded(32.0) && !bounded(64.0) && !bounded(256.0));
        assert!(
            check_codes(&finished).is_empty(),
            "{:?}",
            check_codes(&finished)
        );
    }

    /// A drive with parallel servers of 100 us each, and up to 4 % variation between phases.
    fn noisy_drive(
        servers: u32,
    ) -> FakeDrive<impl Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> {
        FakeDrive::new(move |asked| {
            let waves = f64::from(asked.plan.depth.max(servers)) / f64::from(servers);
            let noise = unit_interval(splitmix64(asked.plan.seed));
            Some((100_000.0 * waves * (1.0 + 0.04 * noise)) as u64)
        })
    }

    #[test]
    fn concurrency_optimum_of_noisy_drive_found_and_speedup_interval_covers_truth() {
        let (mut found, mut wrong, mut covered) = (0, 0, 0);
        for seed in 0..20_u64 {
            let set = [("duration", "1s"), ("seed", &*seed.to_string())];
            let test = find_benchmark("cncread").unwrap();
            let finished = fake::run_on_fake(
                test,
                &fake::simulated_target(1 << 30),
                &set,
                &noisy_drive(8),
            );
            match finished.findings.metric("optimal_depth") {
                Some(figure) if figure.value == 8.0 => found += 1,
                Some(_) => wrong += 1,
                None => assert!(finished.findings.has_check(CheckId::NoOptimalDepth)),
            }
            let speedup = finished.findings.metric("speedup");
            covered += u32::from(speedup.is_some_and(|speedup| {
                (speedup.low.unwrap()..=speedup.high.unwrap()).contains(&8.0)
            }));
        }
        assert!(found >= 17 && wrong <= 1, "{found} found, {wrong} wrong");
        assert!(covered + 3 >= found, "{covered} of {found} covered");
    }

    #[test]
    fn concurrency_with_equal_depths_has_no_optimum() {
        let mut named = 0;
        for seed in 0..20_u64 {
            let seed = seed.to_string();
            // Only throughput counts, and the drive serves one request at a time.
            let set = [
                ("duration", "1s"),
                ("alpha", "1"),
                ("early-stop", "no"),
                ("max-depth", "16"),
                ("seed", &*seed),
            ];
            let test = find_benchmark("cncwrite").unwrap();
            let finished = fake::run_on_fake(
                test,
                &fake::simulated_target(1 << 30),
                &set,
                &noisy_drive(1),
            );
            for (figure, code) in [
                ("optimal_depth", "no-optimal-depth"),
                ("iops_max_depth", "no-best-iops-depth"),
            ] {
                let best = finished.findings.metric(figure).is_some();
                named += u32::from(best);
                assert_eq!(check_codes(&finished).contains(&code.to_owned()), !best);
            }
            assert_eq!(
                finished.findings.metric("speedup").is_some(),
                finished.findings.metric("optimal_depth").is_some()
            );
        }
        assert!(named <= 2, "{named} of 40 name a best");
    }

    #[test]
    fn concurrency_without_early_stop_measures_every_depth() {
        let test = find_benchmark("cncwrite").unwrap();
        let set = [
            ("duration", "2s"),
            ("early-stop", "no"),
            ("max-depth", "48"),
        ];
        let finished = run_on_simulated(test, "sim:constant,parallel=2", &set);
        let curve = finished.findings.series("iops-against-depth").unwrap();
        let depths: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
        assert_eq!(depths, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0]);
    }

    #[test]
    fn concurrency_sweep_cut_short_reports_missing_results() {
        let test = find_benchmark("cncread").unwrap();
        let finished = run_on_simulated(test, "sim:constant,latency=10ms", &[("duration", "1s")]);
        assert!(
            finished.findings.has_check(CheckId::TooFewSamplesAtDepth),
            "{:?} {:?}",
            check_codes(&finished),
            finished.findings.figures
        );
        assert!(finished.findings.metric("optimal_depth").is_none());
    }

    #[test]
    fn concurrency_forecast_names_sweep() {
        let target = fake::simulated_target(10_000_000_000);
        let test = find_benchmark("cncwrite").unwrap();
        let parameters = fake::parameters(test, &target, &[]);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert!(
            forecast.sentence.contains("1 to 256 in flight in 9 steps"),
            "{forecast:?}"
        );
        assert_eq!(forecast.max_written_bytes, Some(8 << 30));
    }
}
