use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::StandardNormal;

use super::*;
use crate::bench::hdd::analysis::cylinder::{are_skews_uniform, find_cylinder};
use crate::stats::rotation::circular::wrap_turns;

/// Samples of a medium with these tracks and this noise (in revolutions).
fn simulated_samples(
    length: f64,
    heads: i64,
    skew: [f64; 2],
    tracks: f64,
    noise: f64,
    seed: u64,
) -> Vec<SectorAngle> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let count = (tracks * 8.0) as usize;
    (0..count)
        .map(|index| {
            let sector = (5e6 + (index as f64 + random.random::<f64>()) * length / 8.0).floor();
            let track = (sector / length).floor();
            let cylinders = (track / heads as f64).floor();
            let begin = (track - cylinders) * skew[0] + cylinders * skew[1];
            let angle = begin + sector / length + noise * random.sample::<f64, _>(StandardNormal);
            SectorAngle {
                sector,
                angle: wrap_turns(angle),
            }
        })
        .collect()
}

#[test]
fn track_layout_literal_track_is_found_from_rough_start() {
    let samples = simulated_samples(1000.0, 4, [0.11, 0.15], 5.0, 0.0, 1);
    let about = rough_track_length(&samples, 500.0..2000.0).unwrap();
    let layout = fit_layout(&samples, about, 0.25).unwrap();
    assert!(
        (layout.sectors_per_track - 1000.0).abs() < 1.0,
        "{layout:?}"
    );
    assert!(layout.coherence > 0.99);
}

#[test]
fn cylinder_is_found_from_track_skews() {
    let samples = simulated_samples(640.0, 6, [0.108, 0.144], 60.0, 0.004, 2);
    let layout = fit_layout(&samples, 640.0, 0.02).unwrap();
    let cylinder = find_cylinder(&layout.skews).unwrap();
    assert_eq!(cylinder.tracks, 6);
    assert!((cylinder.head_skew - 0.108).abs() < 0.004, "{cylinder:?}");
    assert!(
        (cylinder.cylinder_skew - 0.144).abs() < 0.004,
        "{cylinder:?}"
    );
}

#[test]
fn cylinder_of_equal_skews_is_unknown() {
    for noise in [0.0, 0.004] {
        let samples = simulated_samples(640.0, 4, [0.1, 0.1], 60.0, noise, 3);
        let layout = fit_layout(&samples, 640.0, 0.02).unwrap();
        assert_eq!(find_cylinder(&layout.skews), None, "noise {noise}");
        assert!(are_skews_uniform(&layout.skews));
    }
}

#[test]
fn track_layout_with_small_skew_keeps_track_length() {
    for seed in 0..12 {
        let samples = simulated_samples(2170.0, 4, [0.0263, 0.0309], 32.0, 0.006, seed);
        let about = rough_track_length(&samples, 1000.0..4700.0).unwrap();
        let layout = fit_layout(&samples, about, 0.25).unwrap();
        let miss = layout.sectors_per_track / 2170.0 - 1.0;
        assert!(
            miss.abs() < 0.005,
            "{seed}: {} {:?}",
            layout.coherence,
            layout
        );
    }
}

#[test]
fn cylinder_of_eight_tracks_is_found() {
    for seed in 0..12 {
        let samples = simulated_samples(1628.0, 8, [0.1253, 0.2008], 96.0, 0.012, seed);
        let layout = fit_layout(&samples, 1628.0, 0.02).unwrap();
        let found = find_cylinder(&layout.skews).map(|cylinder| cylinder.tracks);
        assert_eq!(found, Some(8), "{seed} {layout:?}");
        // Not even where the period is undetectable.
        assert!(!are_skews_uniform(&layout.skews[..40]), "{seed}");
    }
}

/// Skews of `tracks` tracks, every `period`th of them different.
fn literal_skews(tracks: i64, period: i64) -> Vec<(i64, f64)> {
    (1..tracks)
        .map(|track| (track, if track % period == 7 { 0.13 } else { 0.1 }))
        .collect()
}

#[test]
fn cylinder_of_half_period_is_rejected() {
    let found = |skews: &[(i64, f64)]| find_cylinder(skews).map(|cylinder| cylinder.tracks);
    let all = literal_skews(230, 40);
    assert_eq!(found(&all), Some(40));
    // Every other position of half a period is unobserved, except one.
    let mut seldom: Vec<_> = all
        .into_iter()
        .filter(|skew| skew.1 > 0.12 || skew.0 % 20 != 7)
        .collect();
    seldom.push((107, 0.1));
    seldom.sort_by_key(|skew| skew.0);
    assert_ne!(found(&seldom), Some(20));
    // Two equal outliers are enough to show that not all skews are alike.
    let few = literal_skews(90, 40);
    assert_eq!((found(&few), are_skews_uniform(&few)), (None, false));
    assert!(are_skews_uniform(&literal_skews(90, 1000)));
}

#[test]
fn track_layout_of_too_few_samples_is_none() {
    assert_eq!(
        fit_layout(
            &simulated_samples(640.0, 4, [0.1, 0.1], 0.5, 0.0, 3),
            640.0,
            0.02
        ),
        None
    );
    assert_eq!(rough_track_length(&[], 100.0..200.0), None);
    assert_eq!(find_cylinder(&[]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn track_layout_of_six_tracks_is_found_within_two_percent(
        length in 100..4000_u32,
        heads in 1..10_i64,
        head_skew in 0.02..0.3_f64,
        cylinder_skew in 0.02..0.3_f64,
        off in 0.6..1.6_f64,
        seed in 0..1000_u64,
    ) {
        let length = f64::from(length);
        let samples = simulated_samples(length, heads, [head_skew, cylinder_skew], 6.0, 0.004, seed);
        let about = rough_track_length(&samples, length * off * 0.5..length * off * 2.0).unwrap();
        let layout = fit_layout(&samples, about, 0.25);
        prop_assert!(layout.is_some(), "about {about}");
        let layout = layout.unwrap();
        let miss = layout.sectors_per_track / length - 1.0;
        prop_assert!(miss.abs() < 0.02, "{} for {length} from {about}", layout.sectors_per_track);
    }
}
