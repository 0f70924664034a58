use super::*;

/// Rounds of points of these true means, with relative noise.
fn measured(means: &[f64], noise: f64, seed: u64) -> Rounds {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut rounds = Rounds::new(means.len(), seed);
    for round in 0..ROUNDS {
        let drift = 1.0 + 0.2 * random.share();
        for (point, mean) in means.iter().enumerate() {
            rounds.add(point, round, mean * drift * (noise * random.normal()).exp());
        }
    }
    rounds
}

#[test]
fn order_has_every_point_once_a_round_and_follows_from_the_seed() {
    let order = order(12, ROUNDS, 7);
    assert_eq!(order, super::order(12, ROUNDS, 7));
    assert_ne!(order, super::order(12, ROUNDS, 8));
    for round in order.chunks(12) {
        assert_ne!(round, (0..12).collect::<Vec<_>>());
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..12).collect::<Vec<_>>());
    }
}

#[test]
fn equal_points_have_no_best_one() {
    for noise in [0.0, 0.01, 0.3] {
        let named = (0..200)
            .filter(|seed| {
                let rounds = measured(&[100.0; 12], noise, *seed);
                rounds.first_as_good(0.95).is_ok()
            })
            .count();
        assert!(named <= 3, "noise {noise}: {named} of 200 name a best");
    }
}

#[test]
fn plateau_begins_where_it_begins() {
    let means = [10.0, 20.0, 40.0, 80.0, 160.0, 160.0, 160.0];
    let exact = measured(&means, 0.0, 1);
    assert_eq!(exact.first_as_good(0.95), Ok(4));
    let found: Vec<_> = (0..100)
        .map(|seed| measured(&means, 0.01, seed).first_as_good(0.95))
        .collect();
    let right = found.iter().filter(|found| **found == Ok(4)).count();
    let wrong = found
        .iter()
        .filter(|found| found.is_ok_and(|point| point != 4))
        .count();
    assert!(right >= 80 && wrong <= 2, "{right} right, {wrong} wrong");
}

#[test]
fn points_that_noise_hides_are_named_as_not_separated() {
    let means = [10.0, 20.0, 100.0, 104.0, 106.0];
    let found: Vec<_> = (0..100)
        .map(|seed| measured(&means, 0.1, seed).first_as_good(0.95))
        .collect();
    let named = found.iter().filter(|found| found.is_ok()).count();
    assert!(
        found.contains(&Err(NoBest::NotSeparated(2, 3)))
            || found.contains(&Err(NoBest::NotSeparated(2, 4))),
        "{found:?}"
    );
    assert!(named < 60, "{named}");
}

#[test]
fn quotient_covers_the_truth_and_drift_does_not_widen_it() {
    let covered = (0..400)
        .filter(|seed| {
            let quotient = measured(&[300.0, 200.0], 0.05, *seed)
                .quotient(0, 1)
                .unwrap();
            assert!(quotient.high / quotient.low < 2.0);
            (quotient.low..quotient.high).contains(&1.5)
        })
        .count();
    assert!((370..=392).contains(&covered), "{covered} of 400");
}

#[test]
fn one_round_has_means_and_nothing_else() {
    let mut rounds = Rounds::new(2, 1);
    rounds.add(0, 0, 5.0);
    rounds.add(1, 0, 6.0);
    assert_eq!(rounds.first_as_good(0.95), Err(NoBest::TooFewRounds));
    assert_eq!(rounds.quotient(0, 1), None);
    let figure = rounds
        .figure(0, "throughput", Unit::BytesPerSecond)
        .unwrap();
    assert_eq!((figure.value, figure.low), (5.0, None));
}
