//! The mechanics of simulated drives, found from timing alone.

use diskscope::engine::simulated::{SimParameters, SimulatedEngine};
use diskscope::session::document::{Findings, MetricId};

use crate::support::run_on;

/// Runs a test on a simulated drive in virtual time; `set` are parameters of the test.
fn run_benchmark(test: &str, drive: &str, set: &[(&'static str, &str)]) -> Findings {
    let name = format!("{drive},clock=virtual");
    let simulation = SimParameters::parse(&name)
        .and_then(SimParameters::build)
        .expect("a drive");
    let target = simulation.target.clone();
    run_on(test, &target, &SimulatedEngine::new(simulation), set)
}

const GRID_RPM: [f64; 9] = [
    4200.0, 5400.0, 5411.0, 5900.0, 7200.0, 7193.0, 10_000.0, 14_990.0, 15_000.0,
];
#[test]
fn rotation_speed_is_found_within_hundredth_percent() {
    for (index, rpm) in GRID_RPM.into_iter().enumerate() {
        let drive = drive_of_grid(index, rpm);
        let findings = run_benchmark("rotation", &drive, &[]);
        let speed = findings
            .metric(&MetricId::ROTATION_SPEED)
            .map(|metric| metric.value);
        println!(
            "{drive} -> {:?} coherence {:?} {:?}",
            speed,
            findings
                .metric(&MetricId::ROTATION_COHERENCE)
                .map(|metric| metric.value),
            findings
                .verdicts
                .iter()
                .map(|v| &v.code)
                .collect::<Vec<_>>()
        );
        let miss = speed.expect("as the drive was made") / rpm - 1.0;
        assert!(miss.abs() < 1e-4, "{miss}");
    }
}

/// One drive of the grid.
fn drive_of_grid(index: usize, rpm: f64) -> String {
    let pick = |values: &[&'static str]| values[index % values.len()];
    format!(
        "sim:hdd,rpm={rpm},full={},t2t={},head-switch={},heads={},zones={},size={},cache-hits={},outliers={},ncq={},physical={},seed={}",
        pick(&["25ms", "18ms", "8ms", "12ms"]),
        pick(&["300us", "1200us", "2500us", "800us", "1ms"]),
        pick(&["900us", "500us", "1500us"]),
        pick(&["4", "2", "1", "8", "5", "20"]),
        pick(&["16", "1", "4", "30", "2"]),
        pick(&["1TB", "250GB", "2TB"]),
        pick(&["0%", "20%", "5%"]),
        pick(&["2%", "0.5%"]),
        pick(&["1", "32"]),
        pick(&["512", "4096"]),
        index + 1,
    )
}

/// A parameter of the drive in milliseconds.
fn true_milliseconds(drive: &str, key: &str) -> f64 {
    let text = drive
        .split(',')
        .find_map(|part| part.strip_prefix(&format!("{key}=")))
        .expect("as the drive was made");
    match text.strip_suffix("us") {
        Some(micro) => micro.parse::<f64>().expect("as the drive was made") / 1e3,
        None => text
            .trim_end_matches("ms")
            .parse()
            .expect("as the drive was made"),
    }
}

fn check_seek_metric(test: &str, metric: &str, key: &str, tolerance: f64) {
    let mut wrong = Vec::new();
    for (index, rpm) in GRID_RPM.into_iter().enumerate() {
        let drive = drive_of_grid(index, rpm);
        let findings = run_benchmark(test, &drive, &[]);
        let found = findings.metric(&MetricId::parse(metric));
        let expected = true_milliseconds(&drive, key);
        let miss = found.map_or(f64::NAN, |found| found.value / 1e6 / expected - 1.0);
        println!(
            "{drive}\n   {:?} miss {miss:.4} {:?}",
            found.map(|f| (f.low, f.value, f.high, f.observations)),
            findings.verdicts
        );
        if miss.is_nan() || miss.abs() >= tolerance {
            wrong.push(format!("{drive}: {miss}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn full_stroke_seek_is_found_within_2_percent() {
    check_seek_metric("full-stroke", "full_stroke_seek", "full", 0.02);
}

#[test]
fn track_to_track_seek_is_found_within_5_percent() {
    check_seek_metric("track-to-track", "track_to_track_seek", "t2t", 0.05);
}

/// The simulated disk itself, as it was asked for.
fn simulated_disk(drive: &str) -> diskscope::engine::simulated::hdd::HardDisk {
    use diskscope::engine::simulated::SimParameters;
    use diskscope::engine::simulated::hdd::HardDisk;
    HardDisk::new(
        diskscope::engine::simulated::hard_disk(
            &SimParameters::parse(drive).expect("as the drive was made"),
        )
        .expect("as the drive was made"),
    )
}

#[test]
fn average_seek_is_found_within_5_percent() {
    for (index, rpm) in GRID_RPM.into_iter().enumerate() {
        let drive = drive_of_grid(index, rpm);
        let findings = run_benchmark("seek-curve", &drive, &[]);
        let found = findings
            .metric(&MetricId::AVERAGE_SEEK)
            .expect("as the drive was made");
        let settings = simulated_disk(&drive).settings().clone();
        let miss = found.value / settings.seek_time(settings.cylinders / 3) - 1.0;
        println!(
            "{drive}\n   {:?} {miss:.4} {:?}",
            (found.low, found.value, found.high),
            findings.verdicts
        );
        assert!(miss.abs() < 0.05, "{drive}: {miss}");
    }
}

#[test]
fn sectors_per_track_are_found_within_1_percent() {
    for (index, rpm) in GRID_RPM.into_iter().enumerate() {
        let drive = drive_of_grid(index, rpm);
        let findings = run_benchmark("geometry", &drive, &[]);
        let disk = simulated_disk(&drive);
        let zones = disk.geometry().zones();
        let ends = [("outer", zones[0]), ("inner", zones[zones.len() - 1])];
        let metric = |name: &str| {
            findings
                .metric(&MetricId::parse(name))
                .map(|metric| metric.value)
        };
        println!(
            "{drive}\n   zones {} -> {:?} surfaces {:?} {:?}",
            zones.len(),
            metric("zones"),
            metric("surfaces"),
            findings.verdicts
        );
        for (end, zone) in ends {
            let found = metric(&format!("sectors_per_track_{end}")).unwrap_or(f64::NAN);
            let miss = found / f64::from(zone.sectors_per_track) - 1.0;
            println!("   {end} {} -> {found} {miss:.5}", zone.sectors_per_track);
            assert!(miss.abs() < 0.01, "{drive} {end}: {miss}");
        }
    }
}

#[test]
fn geometry_surfaces_and_zones_are_exact_or_absent() {
    let mut drives: Vec<String> = GRID_RPM
        .iter()
        .enumerate()
        .map(|(index, rpm)| drive_of_grid(index, *rpm))
        .collect();
    drives.extend([
        "sim:hdd,rpm=7200,t2t=1590us,head-switch=410us,heads=40,zones=30,size=8TB,outliers=2%,cache-hits=5%".to_owned(),
        "sim:hdd,rpm=5900,t2t=1720us,head-switch=260us,heads=40,zones=30,size=8TB,outliers=2%,cache-hits=5%".to_owned(),
        "sim:hdd,rpm=9000,t2t=1300us,head-switch=900us,heads=20,zones=5,size=3TB,outliers=2%".to_owned(),
    ]);
    let mut message = 0;
    for drive in &drives {
        let findings = run_benchmark("geometry", drive, &[]);
        let truth = simulated_disk(drive).settings().clone();
        let metric = |name: &str| {
            findings
                .metric(&MetricId::parse(name))
                .map(|metric| metric.value)
        };
        let zones = metric("zones").unwrap_or(f64::NAN);
        assert!(
            (zones - f64::from(truth.zones)).abs() < 0.5,
            "{drive}: {zones} zones"
        );
        if let Some(surfaces) = metric("surfaces") {
            assert!(
                (surfaces - f64::from(truth.heads)).abs() < 0.5,
                "{drive}: {surfaces} surfaces"
            );
            message += 1;
        }
    }
    // One surface alone cannot be told from a change of head that takes as long as a move.
    assert!(message + 3 >= drives.len(), "{message}");
}

#[test]
fn track_to_track_jumps_stay_in_zone_and_leave_long_cylinders() {
    for drive in [
        // A zone ends in the very middle.
        "sim:hdd,rpm=9000,full=9ms,t2t=1300us,head-switch=900us,heads=20,zones=5,size=3TB,outliers=2%",
        // A chain of tracks shows one or two ends of cylinders only.
        "sim:hdd,rpm=5900,full=20300us,t2t=1720us,head-switch=260us,heads=40,zones=30,size=8TB,outliers=2%",
        "sim:hdd,rpm=4664,full=14600us,t2t=1640us,head-switch=1200us,heads=40,zones=24,size=1TB,seed=1001",
    ] {
        let findings = run_benchmark("track-to-track", drive, &[]);
        let found = findings.metric(&MetricId::TRACK_TO_TRACK_SEEK);
        let miss = found.map_or(f64::NAN, |found| {
            found.value / 1e6 / true_milliseconds(drive, "t2t") - 1.0
        });
        assert!(miss.abs() < 0.05, "{drive}: {miss}");
    }
}

#[test]
fn rotation_speed_differing_from_reported_speed_is_flagged() {
    let simulation = SimParameters::parse("sim:hdd,rpm=7200,clock=virtual")
        .and_then(SimParameters::build)
        .expect("a drive");
    let mut target = simulation.target.clone();
    let drive = target.drive.as_mut().expect("a simulated drive is one");
    drive.rotation_rate = Some(5400);
    let findings = run_on("rotation", &target, &SimulatedEngine::new(simulation), &[]);
    let of = |code: &str| findings.verdicts.iter().find(|it| it.code == code);
    let facts = &of("rotation-differs").expect("5400 rpm are not 7200").facts;
    assert_eq!(facts["reported_rpm"], 5400);
    let measured = facts["measured_rpm"].as_f64().expect("a number");
    assert!((measured - 7200.0).abs() < 0.1, "{facts:?}");
    assert!(of("rotation-as-reported").is_none());
}

const ROTATIONAL_BENCHMARKS: [&str; 5] = [
    "rotation",
    "full-stroke",
    "track-to-track",
    "seek-curve",
    "geometry",
];

#[test]
fn mechanics_of_nonrotating_drive_yield_no_metric() {
    for drive in [
        "sim:ssd",
        "sim:ssd,jitter=0us",
        "sim:constant,latency=8ms",
        "sim:constant",
    ] {
        for test in ROTATIONAL_BENCHMARKS {
            let findings = run_benchmark(test, drive, &[]);
            assert!(
                findings.metrics.is_empty(),
                "{test} on {drive}: {:?}",
                findings.metrics
            );
            let verdicts: Vec<_> = findings
                .verdicts
                .iter()
                .map(|verdict| &verdict.code)
                .collect();
            assert!(
                verdicts.iter().any(|code| **code == "does-not-rotate"),
                "{verdicts:?}"
            );
        }
    }
}

#[test]
fn mechanics_with_any_limit_keep_certain_metrics_or_report_missing() {
    for test in ROTATIONAL_BENCHMARKS {
        for requests in ["1", "40", "200", "300", "700"] {
            let findings = run_benchmark(test, "sim:hdd", &[("requests", requests)]);
            if let Some(speed) = findings.metric(&MetricId::ROTATION_SPEED) {
                assert!(
                    (speed.value / 7200.0 - 1.0).abs() < 1e-4,
                    "{test} {requests}: {speed:?}"
                );
            } else {
                let message = findings
                    .verdicts
                    .iter()
                    .any(|verdict| verdict.code == "too-few-probes");
                assert!(message, "{test} {requests}: {:?}", findings.verdicts);
            }
        }
    }
}

#[test]
fn track_to_track_with_span_below_cylinder_yields_no_metric() {
    let findings = run_benchmark("track-to-track", "sim:hdd", &[("span", "512KiB")]);
    assert!(findings.metric(&MetricId::TRACK_TO_TRACK_SEEK).is_none());
    assert!(
        findings
            .verdicts
            .iter()
            .any(|verdict| verdict.code == "span-below-cylinder")
    );
}

#[test]
fn rotation_speed_is_found_in_small_window() {
    let set = [("window-begin", "10GB"), ("window-end", "10100MB")];
    let findings = run_benchmark("rotation", "sim:hdd,rpm=5900", &set);
    let speed = findings
        .metric(&MetricId::ROTATION_SPEED)
        .expect("as the drive was made")
        .value;
    assert!((speed / 5900.0 - 1.0).abs() < 1e-4, "{speed}");
}
