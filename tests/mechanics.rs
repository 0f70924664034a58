//! The mechanics of simulated drives, found from timing alone.

mod support;

use diskscope::engine::simulated::hdd::{Hdd, Settings};
use diskscope::engine::simulated::ssd::{self, Ssd};
use support::{Drive, run};

fn grid() -> Vec<Settings> {
    let mut all = Vec::new();
    for (index, rpm) in [4200.0, 5400.0, 5411.0, 5900.0, 7200.0, 7193.0, 10_000.0, 14_990.0, 15_000.0]
        .into_iter()
        .enumerate()
    {
        let pick = |values: &[f64]| values[index % values.len()];
        all.push(Settings {
            rpm,
            full_stroke: pick(&[25e6, 18e6, 8e6, 12e6]),
            track_to_track: pick(&[0.3e6, 1.2e6, 2.5e6, 0.8e6, 1.0e6]),
            head_switch: pick(&[0.9e6, 0.5e6, 1.5e6]),
            heads: [4, 2, 1, 8, 5, 20][index % 6],
            zones: [16, 1, 4, 30, 2][index % 5],
            capacity: [1_000_000_000_000, 250_000_000_000, 2_000_000_000_000][index % 3],
            cache_hits: pick(&[0.0, 0.2, 0.05]),
            outliers: pick(&[0.02, 0.005]),
            ncq: [1, 32][index % 2],
            seed: index as u64 + 1,
            ..Settings::default()
        });
    }
    all
}

fn hdd(settings: &Settings) -> Drive {
    Drive::Hdd(Box::new(Hdd::new(settings.clone())))
}

#[test]
fn rotation_is_found_to_a_hundredth_of_a_per_cent() {
    for settings in grid() {
        let (findings, seconds) = run("rotation", hdd(&settings), &[]);
        let speed = findings.figure("rotation_speed").map(|figure| figure.value);
        println!(
            "{} -> {:?} coherence {:?} in {seconds:.1} s {:?}",
            settings.rpm,
            speed,
            findings.figure("rotation_coherence").map(|figure| figure.value),
            findings.verdicts.iter().map(|v| &v.code).collect::<Vec<_>>()
        );
        let miss = speed.unwrap() / settings.rpm - 1.0;
        assert!(miss.abs() < 1e-4 && seconds <= 10.0, "{miss}");
    }
}

#[test]
fn nothing_rotates_in_a_solid_state_drive() {
    for jitter in [0.0, 4e3] {
        let settings = ssd::Settings { jitter, ..ssd::Settings::default() };
        for test in ["rotation"] {
            let (findings, _) = run(test, Drive::Ssd(Box::new(Ssd::new(settings.clone()))), &[]);
            assert!(findings.figures.is_empty(), "{test}: {:?}", findings.figures);
            assert!(findings.verdicts.iter().any(|verdict| verdict.code == "does-not-rotate"));
        }
    }
}
