use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::StandardNormal;

use super::*;

/// Simulated rounds of points with these true means and this relative noise.
fn simulated_rounds(means: &[f64], noise: f64, seed: u64) -> SweepRounds {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
    let mut rounds = SweepRounds::new(means.len(), seed);
    for round in 0..DEFAULT_ROUNDS {
        let drift = 1.0 + 0.2 * random.random::<f64>();
        for (point, mean) in means.iter().enumerate() {
            rounds.set_value(
                point,
                round,
                mean * drift * (noise * random.sample::<f64, _>(StandardNormal)).exp(),
            );
        }
    }
    rounds
}

#[test]
fn sweep_order_has_every_point_once_per_round_and_depends_on_seed() {
    let order = measurement_order(12, DEFAULT_ROUNDS, 7);
    assert_eq!(order, super::measurement_order(12, DEFAULT_ROUNDS, 7));
    assert_ne!(order, super::measurement_order(12, DEFAULT_ROUNDS, 8));
    for round in order.chunks(12) {
        assert_ne!(round, (0..12).collect::<Vec<_>>());
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..12).collect::<Vec<_>>());
    }
}

#[test]
fn sweep_rounds_of_equal_points_have_no_optimum() {
    for noise in [0.0, 0.01, 0.3] {
        let named = (0..200)
            .filter(|seed| {
                let rounds = simulated_rounds(&[100.0; 12], noise, *seed);
                rounds.first_equivalent_to_best(0.95).is_ok()
            })
            .count();
        assert!(named <= 3, "noise {noise}: {named} of 200 name a best");
    }
}

#[test]
fn sweep_rounds_plateau_begin_is_found() {
    let means = [10.0, 20.0, 40.0, 80.0, 160.0, 160.0, 160.0];
    let exact = simulated_rounds(&means, 0.0, 1);
    assert_eq!(exact.first_equivalent_to_best(0.95), Ok(4));
    let found: Vec<_> = (0..100)
        .map(|seed| simulated_rounds(&means, 0.01, seed).first_equivalent_to_best(0.95))
        .collect();
    let right = found.iter().filter(|found| **found == Ok(4)).count();
    let wrong = found
        .iter()
        .filter(|found| found.is_ok_and(|point| point != 4))
        .count();
    assert!(right >= 80 && wrong <= 2, "{right} right, {wrong} wrong");
}

#[test]
fn sweep_rounds_hidden_by_noise_are_not_separated() {
    let means = [10.0, 20.0, 100.0, 104.0, 106.0];
    let found: Vec<_> = (0..100)
        .map(|seed| simulated_rounds(&means, 0.1, seed).first_equivalent_to_best(0.95))
        .collect();
    let named = found.iter().filter(|found| found.is_ok()).count();
    assert!(
        found.contains(&Err(NoOptimum::NotSeparated(2, 3)))
            || found.contains(&Err(NoOptimum::NotSeparated(2, 4))),
        "{found:?}"
    );
    assert!(named < 60, "{named}");
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
    let mut rounds = SweepRounds::new(2, 1);
    rounds.set_value(0, 0, 5.0);
    rounds.set_value(1, 0, 6.0);
    assert_eq!(
        rounds.first_equivalent_to_best(0.95),
        Err(NoOptimum::TooFewRounds)
    );
    assert_eq!(rounds.ratio_of_points(0, 1), None);
    let metric = rounds.metric_of_point(0, MetricId::THROUGHPUT).unwrap();
    assert_eq!((metric.value, metric.low), (5.0, None));
}
