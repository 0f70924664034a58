use std::sync::Mutex;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::description::{OPTIMAL_DEPTH, TOO_FEW_SAMPLES_AT_DEPTH};
use crate::bench::find_benchmark;
use crate::bench::tests::fake;
use crate::bench::tests::fake::{
    FakeDrive, FakeRequest, check_codes, metric_value, run_on_simulated,
};
use crate::session::document::{MetricId, SeriesId};
use crate::stats::random::{splitmix64, unit_interval};

#[test]
fn concurrency_optimum_of_drive_with_eight_servers_is_found() {
    let test = find_benchmark("cncread").unwrap();
    let finished = run_on_simulated(
        test,
        "sim:constant,latency=100us,parallel=8",
        &[("duration", "2s")],
    );
    assert_eq!(metric_value(&finished, &MetricId::OPTIMAL_DEPTH), 8.0);
    assert!((metric_value(&finished, &MetricId::SPEEDUP) - 8.0).abs() < 0.1);
    assert!((metric_value(&finished, &MetricId::OPTIMAL_DEPTH_IOPS) / 80_000.0 - 1.0).abs() < 0.02);
    assert_eq!(metric_value(&finished, &MetricId::IOPS_MAX_DEPTH), 8.0);
    for name in [
        "optimal_depth_iops",
        "optimal_depth_p90",
        "speedup",
        "iops_max",
    ] {
        let metric = finished.findings.metric(&MetricId::parse(name)).unwrap();
        assert!(metric.low.is_some() && metric.high.is_some(), "{metric:?}");
    }
    // Two doublings beyond 8 bring no benefit: deeper queues have one round only, and no
    // confidence interval.
    let curve = finished
        .findings
        .series(&SeriesId::IOPS_AGAINST_DEPTH)
        .unwrap();
    let values: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
    let bounded = |at: f64| {
        let index = values.iter().position(|position| *position == at).unwrap();
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
fn noisy_drive(servers: u32) -> FakeDrive<impl Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> {
    FakeDrive::new(move |request| {
        let waves = f64::from(request.plan.depth.max(servers)) / f64::from(servers);
        let noise = unit_interval(splitmix64(request.plan.seed));
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
        match finished.findings.metric(&MetricId::OPTIMAL_DEPTH) {
            Some(metric) if metric.value == 8.0 => found += 1,
            Some(_) => wrong += 1,
            None => assert!(finished.findings.has_check(OPTIMAL_DEPTH.check)),
        }
        let speedup = finished.findings.metric(&MetricId::SPEEDUP);
        covered +=
            u32::from(speedup.is_some_and(|speedup| {
                (speedup.low.unwrap()..=speedup.high.unwrap()).contains(&8.0)
            }));
    }
    assert!(found >= 17 && wrong <= 1, "{found} found, {wrong} wrong");
    assert!(covered + 3 >= found, "{covered} of {found} covered");
}

/// A drive that serves its queue in order.
#[derive(Clone, Copy)]
struct QueueingDrive {
    /// Requests served at once.
    servers: usize,
    /// Mean time of one request in nanoseconds.
    service_ns: f64,
    /// Relative gain of each doubling of the queue, up to 32 (native command queueing).
    gain: f64,
}

impl QueueingDrive {
    /// Requests per second at a depth.
    fn true_iops(self, depth: u32) -> f64 {
        let busy = f64::from(depth).min(self.servers as f64);
        let sorted = 1.0 + self.gain * f64::from(depth.min(32)).log2();
        busy * sorted / self.service_ns * 1e9
    }

    /// The smallest depth with at least 95 % of the highest IOPS.
    fn right_depth(self) -> f64 {
        let depths = (0..9).map(|power| 1_u32 << power);
        let most = depths
            .clone()
            .map(|depth| self.true_iops(depth))
            .fold(0.0, f64::max);
        let is_enough = |depth: &u32| self.true_iops(*depth) >= 0.95 * most;
        depths.clone().find(is_enough).map_or(0.0, f64::from)
    }

    /// Service times of a request vary by 30 %, phases by 1 %.
    fn into_fake(
        self,
        seed: u64,
    ) -> FakeDrive<impl Fn(&FakeRequest<'_>) -> Option<u64> + Send + Sync> {
        let state = Mutex::new((
            0,
            vec![0_u64; self.servers],
            Xoshiro256PlusPlus::seed_from_u64(seed),
        ));
        FakeDrive::new(move |request| {
            let (phase, free_at, random) = &mut *state.lock().unwrap();
            if *phase != request.plan.seed {
                *phase = request.plan.seed;
                free_at.fill(0);
            }
            let sorted = 1.0 + self.gain * f64::from(request.plan.depth.min(32)).log2();
            let of_phase = 0.99 + 0.02 * unit_interval(splitmix64(request.plan.seed ^ seed));
            // Uniform with a standard deviation of 30 %.
            let of_request = 1.0 + 0.52 * (2.0 * random.random::<f64>() - 1.0);
            let time = self.service_ns / sorted * of_phase * of_request;
            let next = free_at.iter_mut().min()?;
            *next = (*next).max(request.start_ns) + time as u64;
            Some(*next - request.start_ns)
        })
    }
}

/// Drives of one kind, with other parameters for each seed.
fn drive_of_kind(kind: &str, seed: u64) -> QueueingDrive {
    let disk = QueueingDrive {
        servers: 1,
        service_ns: 1e9 / 75.0,
        gain: 0.0,
    };
    let share = unit_interval(splitmix64(seed));
    match kind {
        "flat" => QueueingDrive {
            service_ns: 1e9 / (60.0 + 60.0 * share),
            ..disk
        },
        "queueing" => QueueingDrive {
            gain: 0.2 + 0.3 * share,
            ..disk
        },
        _ => QueueingDrive {
            servers: 2 << (seed % 3),
            ..disk
        },
    }
}

/// Runs many drives of each kind and counts right and wrong advice; the rest is undecided.
fn assert_advice_is_right(drives: u64, [least_right, most_wrong]: [u64; 2]) {
    for kind in ["flat", "queueing", "parallel"] {
        let (mut right, mut wrong) = ([0, 0], [0, 0]);
        for seed in 0..drives {
            let drive = drive_of_kind(kind, seed);
            let set = [("duration", "60s"), ("seed", &*seed.to_string())];
            let test = find_benchmark("cncread").unwrap();
            let target = fake::simulated_target(1 << 40);
            let findings = fake::run_on_fake(test, &target, &set, &drive.into_fake(seed)).findings;
            assert!(
                findings.metric(&MetricId::IOPS_MAX).is_some(),
                "the maximum is always told"
            );
            let advised = [MetricId::IOPS_MAX_DEPTH, MetricId::OPTIMAL_DEPTH];
            for (index, id) in advised.iter().enumerate() {
                match findings.metric(id).map(|metric| metric.value) {
                    Some(depth) if depth == drive.right_depth() => right[index] += 1,
                    Some(_) => wrong[index] += 1,
                    None => {}
                }
            }
        }
        println!("{kind}: right {right:?}, wrong {wrong:?} of {drives}");
        // The score weighs the latency too: with command queueing its depth is another one.
        let advised = if kind == "queueing" { 1 } else { 2 };
        for index in 0..advised {
            assert!(
                right[index] >= least_right && wrong[index] <= most_wrong,
                "{kind}: right {right:?}, wrong {wrong:?} of {drives}"
            );
        }
    }
}

#[test]
fn concurrency_advice_of_simulated_drives_is_right() {
    assert_advice_is_right(20, [18, 1]);
}

#[test]
#[ignore = "takes minutes"]
fn concurrency_advice_of_many_simulated_drives_is_right() {
    // 95 and 2 of 100.
    assert_advice_is_right(200, [190, 4]);
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
    let curve = finished
        .findings
        .series(&SeriesId::IOPS_AGAINST_DEPTH)
        .unwrap();
    let depths: Vec<f64> = curve.points.iter().map(|point| point[0]).collect();
    assert_eq!(depths, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0]);
}

#[test]
fn concurrency_sweep_cut_short_reports_missing_results() {
    let test = find_benchmark("cncread").unwrap();
    let finished = run_on_simulated(test, "sim:constant,latency=10ms", &[("duration", "1s")]);
    assert!(
        finished.findings.has_check(TOO_FEW_SAMPLES_AT_DEPTH),
        "{:?} {:?}",
        check_codes(&finished),
        finished.findings.metrics
    );
    assert!(finished.findings.metric(&MetricId::OPTIMAL_DEPTH).is_none());
}

#[test]
fn concurrency_forecast_names_sweep() {
    let target = fake::simulated_target(10_000_000_000);
    let test = find_benchmark("cncwrite").unwrap();
    let parameters = fake::parameters(test, &target, &[]);
    let forecast = test.forecast(&target, &parameters).unwrap();
    assert!(
        forecast
            .sentence
            .contains("queue depths 1 to 256 in 9 steps"),
        "{forecast:?}"
    );
    assert_eq!(forecast.max_written_bytes, Some(8 << 30));
}
