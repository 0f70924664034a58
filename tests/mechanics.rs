//! The mechanics of simulated drives, found from timing alone.

mod support;

use diskscope::engine::simulated::{Settings, Simulated};
use diskscope::session::document::Findings;
use support::run_on;

/// Runs a test on a simulated drive in virtual time; `set` are parameters of the test.
fn run(test: &str, drive: &str, set: &[(&'static str, &str)]) -> Findings {
    let name = format!("{drive},clock=virtual");
    let simulation = Settings::parse(&name)
        .and_then(Settings::build)
        .expect("a drive");
    let target = simulation.target.clone();
    run_on(test, &target, &Simulated::new(simulation), set)
}

const RPM: [f64; 9] = [
    4200.0, 5400.0, 5411.0, 5900.0, 7200.0, 7193.0, 10_000.0, 14_990.0, 15_000.0,
];
#[test]
fn rotation_is_found_to_a_hundredth_of_a_per_cent() {
    for (index, rpm) in RPM.into_iter().enumerate() {
        let drive = drive(index, rpm);
        let findings = run("rotation", &drive, &[]);
        let speed = findings.figure("rotation_speed").map(|figure| figure.value);
        println!(
            "{drive} -> {:?} coherence {:?} {:?}",
            speed,
            findings
                .figure("rotation_coherence")
                .map(|figure| figure.value),
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
fn drive(index: usize, rpm: f64) -> String {
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
fn truth(drive: &str, key: &str) -> f64 {
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

fn seeks(test: &str, figure: &str, key: &str, tolerance: f64) {
    let mut wrong = Vec::new();
    for (index, rpm) in RPM.into_iter().enumerate() {
        let drive = drive(index, rpm);
        let findings = run(test, &drive, &[]);
        let found = findings.figure(figure);
        let expected = truth(&drive, key);
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
fn full_stroke_is_found_within_2_per_cent() {
    seeks("full-stroke", "full_stroke_seek", "full", 0.02);
}

#[test]
fn track_to_track_is_found_within_5_per_cent() {
    seeks("track-to-track", "track_to_track_seek", "t2t", 0.05);
}

/// The simulated disk itself, as it was asked for.
fn disk(drive: &str) -> diskscope::engine::simulated::hdd::Hdd {
    use diskscope::engine::simulated::{Settings, hdd::Hdd};
    Hdd::new(
        diskscope::engine::simulated::hard_disk(
            &Settings::parse(drive).expect("as the drive was made"),
        )
        .expect("as the drive was made"),
    )
}

#[test]
fn average_seek_is_found_within_5_per_cent() {
    for (index, rpm) in RPM.into_iter().enumerate() {
        let drive = drive(index, rpm);
        let findings = run("seek-curve", &drive, &[]);
        let found = findings
            .figure("average_seek")
            .expect("as the drive was made");
        let settings = disk(&drive).settings().clone();
        let miss = found.value / settings.seek(settings.cylinders / 3) - 1.0;
        println!(
            "{drive}\n   {:?} {miss:.4} {:?}",
            (found.low, found.value, found.high),
            findings.verdicts
        );
        assert!(miss.abs() < 0.05, "{drive}: {miss}");
    }
}

#[test]
fn sectors_per_track_are_found_within_1_per_cent() {
    for (index, rpm) in RPM.into_iter().enumerate() {
        let drive = drive(index, rpm);
        let findings = run("geometry", &drive, &[]);
        let disk = disk(&drive);
        let zones = disk.geometry().zones();
        let ends = [("outer", zones[0]), ("inner", zones[zones.len() - 1])];
        let figure = |name: &str| findings.figure(name).map(|figure| figure.value);
        println!(
            "{drive}\n   zones {} -> {:?} surfaces {:?} {:?}",
            zones.len(),
            figure("zones"),
            figure("surfaces"),
            findings.verdicts
        );
        for (end, zone) in ends {
            let found = figure(&format!("sectors_per_track_{end}")).unwrap_or(f64::NAN);
            let miss = found / f64::from(zone.sectors_per_track) - 1.0;
            println!("   {end} {} -> {found} {miss:.5}", zone.sectors_per_track);
            assert!(miss.abs() < 0.01, "{drive} {end}: {miss}");
        }
    }
}

#[test]
fn surfaces_and_zones_are_counted_rightly_or_not_at_all() {
    let mut drives: Vec<String> = RPM
        .iter()
        .enumerate()
        .map(|(index, rpm)| drive(index, *rpm))
        .collect();
    drives.extend([
        "sim:hdd,rpm=7200,t2t=1590us,head-switch=410us,heads=40,zones=30,size=8TB,outliers=2%,cache-hits=5%".to_owned(),
        "sim:hdd,rpm=5900,t2t=1720us,head-switch=260us,heads=40,zones=30,size=8TB,outliers=2%,cache-hits=5%".to_owned(),
        "sim:hdd,rpm=9000,t2t=1300us,head-switch=900us,heads=20,zones=5,size=3TB,outliers=2%".to_owned(),
    ]);
    let mut told = 0;
    for drive in &drives {
        let findings = run("geometry", drive, &[]);
        let truth = disk(drive).settings().clone();
        let figure = |name: &str| findings.figure(name).map(|figure| figure.value);
        let zones = figure("zones").unwrap_or(f64::NAN);
        assert!(
            (zones - f64::from(truth.zones)).abs() < 0.5,
            "{drive}: {zones} zones"
        );
        if let Some(surfaces) = figure("surfaces") {
            assert!(
                (surfaces - f64::from(truth.heads)).abs() < 0.5,
                "{drive}: {surfaces} surfaces"
            );
            told += 1;
        }
    }
    // One surface alone cannot be told from a change of head that takes as long as a move.
    assert!(told + 3 >= drives.len(), "{told}");
}

#[test]
fn jumps_are_made_where_no_zone_ends_and_leave_long_cylinders() {
    for drive in [
        // A zone ends in the very middle.
        "sim:hdd,rpm=9000,full=9ms,t2t=1300us,head-switch=900us,heads=20,zones=5,size=3TB,outliers=2%",
        // A chain of tracks shows one or two ends of cylinders only.
        "sim:hdd,rpm=5900,full=20300us,t2t=1720us,head-switch=260us,heads=40,zones=30,size=8TB,outliers=2%",
        "sim:hdd,rpm=4664,full=14600us,t2t=1640us,head-switch=1200us,heads=40,zones=24,size=1TB,seed=1001",
    ] {
        let findings = run("track-to-track", drive, &[]);
        let found = findings.figure("track_to_track_seek");
        let miss = found.map_or(f64::NAN, |found| {
            found.value / 1e6 / truth(drive, "t2t") - 1.0
        });
        assert!(miss.abs() < 0.05, "{drive}: {miss}");
    }
}

#[test]
fn a_speed_that_the_drive_does_not_report_is_told() {
    let simulation = Settings::parse("sim:hdd,rpm=7200,clock=virtual")
        .and_then(Settings::build)
        .expect("a drive");
    let mut target = simulation.target.clone();
    let drive = target.drive.as_mut().expect("a simulated drive is one");
    drive.rotation_rate = Some(5400);
    let findings = run_on("rotation", &target, &Simulated::new(simulation), &[]);
    let told = |code: &str| findings.verdicts.iter().find(|it| it.code == code);
    let differs = told("rotation-differs").expect("5400 rpm are not 7200");
    assert!(
        differs
            .evidence
            .contains("reports 5400 rpm and makes 7200.0"),
        "{differs:?}"
    );
    assert!(told("rotation-as-reported").is_none());
}

const ALL: [&str; 5] = [
    "rotation",
    "full-stroke",
    "track-to-track",
    "seek-curve",
    "geometry",
];

#[test]
fn what_does_not_rotate_gets_no_number() {
    for drive in [
        "sim:ssd",
        "sim:ssd,jitter=0us",
        "sim:constant,latency=8ms",
        "sim:constant",
    ] {
        for test in ALL {
            let findings = run(test, drive, &[]);
            assert!(
                findings.figures.is_empty(),
                "{test} on {drive}: {:?}",
                findings.figures
            );
            let verdicts: Vec<_> = findings
                .verdicts
                .iter()
                .map(|verdict| &verdict.code)
                .collect();
            assert!(
                verdicts.iter().any(|code| *code == "does-not-rotate"),
                "{verdicts:?}"
            );
        }
    }
}

#[test]
fn a_limit_anywhere_leaves_what_is_certain_or_says_what_is_missing() {
    for test in ALL {
        for requests in ["1", "40", "200", "300", "700"] {
            let findings = run(test, "sim:hdd", &[("requests", requests)]);
            if let Some(speed) = findings.figure("rotation_speed") {
                assert!(
                    (speed.value / 7200.0 - 1.0).abs() < 1e-4,
                    "{test} {requests}: {speed:?}"
                );
            } else {
                let told = findings
                    .verdicts
                    .iter()
                    .any(|verdict| verdict.code == "too-few-probes");
                assert!(told, "{test} {requests}: {:?}", findings.verdicts);
            }
        }
    }
}

#[test]
fn a_span_below_a_cylinder_is_refused_a_number() {
    let findings = run("track-to-track", "sim:hdd", &[("span", "512KiB")]);
    assert!(findings.figure("track_to_track_seek").is_none());
    assert!(
        findings
            .verdicts
            .iter()
            .any(|verdict| verdict.code == "span-below-cylinder")
    );
}

#[test]
fn a_small_window_is_enough_for_the_speed() {
    let set = [("window-begin", "10GB"), ("window-end", "10100MB")];
    let findings = run("rotation", "sim:hdd,rpm=5900", &set);
    let speed = findings
        .figure("rotation_speed")
        .expect("as the drive was made")
        .value;
    assert!((speed / 5900.0 - 1.0).abs() < 1e-4, "{speed}");
}
