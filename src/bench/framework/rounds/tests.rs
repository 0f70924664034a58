use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

use super::*;

/// Simulated rounds of points with these true means and this relative noise.
fn simulated_rounds(means: &[f64], noise: f64, seed: u64) -> SweepRounds {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
    let mut rounds = SweepRounds::new(means.len());
    for round in 0..DEFAULT_ROUNDS {
        let drift = 1.0 + 0.2 * random.random::<f64>();
        for (point, mean) in means.iter().enumerate() {
            let noise = (noise * random.sample::<f64, _>(StandardNormal)).exp();
            rounds.set_value(point, round, mean * drift * noise);
        }
    }
    rounds
}

/// How often of 1000 sweeps a point was named, and how often it was this one.
fn named_and_right(means: &[f64], noise: f64, equal_is_first: bool, point: usize) -> [usize; 2] {
    let found = (0..1000)
        .filter_map(|seed| {
            let rounds = simulated_rounds(means, noise, seed);
            rounds.first_as_good_as_best(equal_is_first).ok()
        })
        .collect::<Vec<_>>();
    let right = found.iter().filter(|found| **found == point).count();
    [found.len(), right]
}

#[test]
fn first_point_as_good_as_best_is_named_rarely_wrong() {
    let plateau = [10.0, 20.0, 40.0, 80.0, 160.0, 160.0, 160.0];
    let ncq = [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.0, 2.0, 2.0];
    // Means, noise, the first point as good as the best; of 1000: least right, most wrong.
    for (means, noise, point, least, most) in [
        (&plateau[..], 0.0, 4, 1000, 0),
        (&plateau, 0.03, 4, 950, 5),
        (&ncq, 0.02, 5, 980, 5),
        (&ncq, 0.03, 5, 850, 10),
        // Equal points: the first, where that counts as an answer.
        (&[75.0; 9], 0.0, 0, 1000, 0),
        (&[75.0; 9], 0.03, 0, 950, 5),
        // The noise hides the difference.
        (&[10.0, 20.0, 94.0, 100.0], 0.1, 3, 0, 120),
    ] {
        let [named, right] = named_and_right(means, noise, true, point);
        let wrong = named - right;
        assert!(
            right >= least && wrong <= most,
            "{means:?} {noise}: {right} right, {wrong} wrong"
        );
    }
    for noise in [0.0, 0.01, 0.3] {
        let [named, _] = named_and_right(&[100.0; 12], noise, false, 0);
        assert!(named <= 20, "noise {noise}: {named} of 1000 name a best");
    }
}

#[test]
fn points_that_do_not_differ_enough_are_named() {
    let means = [10.0, 20.0, 100.0, 104.0, 106.0];
    let found: Vec<_> = (0..100)
        .map(|seed| simulated_rounds(&means, 0.1, seed).first_as_good_as_best(false))
        .collect();
    assert!(
        found.contains(&Err(NoOptimum::NotSeparated(2, 3))),
        "{found:?}"
    );
}

#[test]
fn sweep_ratio_interval_covers_truth_and_ignores_drift() {
    let covered = (0..400)
        .filter(|seed| {
            let quotient = simulated_rounds(&[300.0, 200.0], 0.05, *seed)
                .ratio_of_points(0, 1)
                .unwrap();
            assert!(quotient.high / quotient.low < 2.0);
            (quotient.low..quotient.high).contains(&1.5)
        })
        .count();
    assert!((370..=392).contains(&covered), "{covered} of 400");
}

#[test]
fn sweep_with_one_round_has_means_without_intervals() {
    let mut rounds = SweepRounds::new(2);
    rounds.set_value(0, 0, 5.0);
    rounds.set_value(1, 0, 6.0);
    assert_eq!(
        rounds.first_as_good_as_best(true),
        Err(NoOptimum::TooFewRounds)
    );
    assert_eq!(rounds.ratio_of_points(0, 1), None);
    let metric = rounds.metric_of_point(0, MetricId::THROUGHPUT).unwrap();
    assert_eq!((metric.value, metric.low), (5.0, None));
}
