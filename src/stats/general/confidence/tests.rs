use proptest::prelude::*;

use super::*;

/// Seeded normal deviates (a linear congruential generator with Knuth's constants, sums of twelve
/// of its numbers): sufficient for a known true mean.
struct NormalNoise(u64);

impl NormalNoise {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// An autoregressive series with that mean: each value keeps the fraction `memory` of the last.
    fn series(&mut self, mean: f64, memory: f64, length: usize) -> Vec<f64> {
        let mut state = self.normal() / (1.0 - memory * memory).sqrt();
        (0..length)
            .map(|_| {
                let value = mean + state;
                state = memory * state + self.normal();
                value
            })
            .collect()
    }
}

/// Of 1000 series: how many got an interval, and how many intervals contain the true mean.
fn batch_means_coverage(memory: f64, length: usize) -> (u32, u32) {
    estimator_coverage(memory, length, batch_means_estimate)
}

fn estimator_coverage(
    memory: f64,
    length: usize,
    mean: impl Fn(&[f64]) -> Option<MeanEstimate>,
) -> (u32, u32) {
    let (mut given, mut held) = (0, 0);
    for seed in 0..1000 {
        let series = NormalNoise(seed * 7919 + 1).series(100.0, memory, length);
        if let Some([low, high]) = mean(&series).and_then(|estimate| estimate.confidence_interval())
        {
            given += 1;
            held += u32::from(low <= 100.0 && 100.0 <= high);
        }
    }
    (given, held)
}

#[test]
fn mean_interval_covers_truth_in_about_95_percent_of_series() {
    for (memory, length) in [
        (0.0, 20),
        (0.0, 100),
        (0.3, 100),
        (0.6, 100),
        (0.8, 400),
        (0.9, 1000),
    ] {
        let (given, held) = batch_means_coverage(memory, length);
        let share = f64::from(held) / f64::from(given);
        assert!(given > 850, "{memory} {length}: only {given} given");
        assert!((0.93..0.985).contains(&share), "{memory} {length}: {share}");
    }
}

#[test]
fn mean_interval_of_insufficient_data_is_none() {
    for (memory, length) in [(0.8, 100), (0.9, 100), (0.95, 100), (0.99, 300)] {
        let (given, held) = batch_means_coverage(memory, length);
        // Most series get no interval. Those that appear fast by chance stay within the nominal 5
        // %.
        assert!(given - held <= 60, "{memory} {length}: {given} {held}");
    }
    let falling: Vec<f64> = (0..100).map(|x| 1000.0 - f64::from(x)).collect();
    assert_eq!(batch_means_estimate(&falling), None);
    assert_eq!(
        batch_means_estimate(&[1.0, 2.0, 1.5, 1.2, 1.1, 1.9, 1.4]),
        None
    );
    assert_eq!(batch_means_estimate(&[]), None);
    assert_eq!(batch_means_estimate(&[f64::NAN; 100]), None);
    assert_eq!(run_ratio_estimate(&[[1.0, 0.0]; 100]), None);
    assert_eq!(independent_mean_estimate(&[1.0]), None);
}

#[test]
fn mean_of_run_slow_changes_covers_the_true_mean() {
    for (memory, length) in [(0.0, 100), (0.9, 50), (0.9, 100), (0.95, 100), (0.98, 100)] {
        let (given, held) = estimator_coverage(memory, length, run_mean_estimate);
        let share = f64::from(held) / f64::from(given);
        assert!(given >= 850, "{memory} {length}: only {given} given");
        assert!(share >= 0.93, "{memory} {length}: {share}");
    }
    let falling: Vec<f64> = (0..100).map(|x| 1000.0 - f64::from(x)).collect();
    assert_eq!(run_mean_estimate(&falling), None);
    assert_eq!(
        run_mean_estimate(&[1.0; 19]).map(|it| it.standard_error),
        Some(0.0)
    );
}

#[test]
fn mean_interval_of_constant_values_has_zero_width() {
    let estimate = batch_means_estimate(&[5.0; 50]).unwrap();
    assert_eq!(estimate.confidence_interval(), Some([5.0, 5.0]));
}

#[test]
fn mean_interval_of_independent_values_matches_student() {
    // Mean 10, deviation 1, four of them: 10 +- 3.1824 / 2 by hand.
    let spread = 1.5_f64.sqrt() / 2_f64.sqrt();
    let estimate =
        independent_mean_estimate(&[10.0 - spread, 10.0 - spread, 10.0 + spread, 10.0 + spread])
            .unwrap();
    assert!((estimate.standard_error - 0.5).abs() < 1e-9);
    assert!((estimate.margin_of_error().unwrap() - 1.5912).abs() < 1e-4);
}

#[test]
fn ratio_interval_covers_truth() {
    let mut held = 0;
    for seed in 0..1000 {
        let mut noise = NormalNoise(seed * 104_729 + 3);
        let wholes = noise.series(100.0, 0.5, 200);
        let errors = noise.series(0.0, 0.5, 200);
        let pairs: Vec<[f64; 2]> = wholes
            .iter()
            .zip(errors)
            .map(|(whole, error)| [3.0 * whole + error, *whole])
            .collect();
        let [low, high] = run_ratio_estimate(&pairs)
            .and_then(|it| it.confidence_interval())
            .unwrap_or([0.0, 9.0]);
        held += u32::from(low <= 3.0 && 3.0 <= high);
    }
    assert!((930..985).contains(&held), "{held}");
}

#[test]
fn percentile_interval_of_independent_draws_covers_truth() {
    let [low, high] = percentile_interval(90.0, 400.0).unwrap();
    let mut held = 0;
    for seed in 0..1000 {
        let mut noise = NormalNoise(seed * 31 + 5);
        let mut draws: Vec<f64> = (0..400).map(|_| noise.uniform()).collect();
        draws.sort_by(f64::total_cmp);
        let at = |percent: f64| draws[((percent / 100.0 * 400.0) as usize).min(399)];
        held += u32::from(at(low) <= 0.9 && 0.9 <= at(high));
    }
    assert!((930..985).contains(&held), "{held}");
    assert_eq!(percentile_interval(99.0, 300.0), None);
    assert!(percentile_interval(99.0, 1000.0).is_some());
}

#[test]
fn effective_sample_size_of_correlated_values_is_smaller() {
    assert_eq!(effective_sample_size(1000, 10.0, 1.0), 100.0);
    assert_eq!(effective_sample_size(50, 10.0, 1.0), 50.0);
    assert_eq!(effective_sample_size(50, 10.0, 0.0), 50.0);
}

#[test]
fn common_shift_margin_excludes_independent_scatter() {
    let estimate = |standard_error: f64| MeanEstimate {
        mean: 100.0,
        standard_error,
        degrees_of_freedom: 1e9,
    };
    assert_eq!(common_shift_margin(&estimate(1.0), 100, 10.0), Some(0.0));
    // sqrt(1.25^2 - 1^2) = 0.75, times 1.96, of 100.
    let margin = common_shift_margin(&estimate(1.25), 100, 10.0).unwrap();
    assert!((margin - 0.0147).abs() < 1e-4, "{margin}");
}

proptest! {
    #[test]
    fn mean_interval_is_equivariant_under_shift_and_scale(
        seed in 0..1000_u64, shift in -1e6..1e6_f64, factor in 1e-3..1e3_f64,
    ) {
        let series = NormalNoise(seed).series(10.0, 0.4, 120);
        let moved: Vec<f64> = series.iter().map(|value| value * factor + shift).collect();
        let (Some(plain), Some(changed)) = (batch_means_estimate(&series), batch_means_estimate(&moved)) else { return Ok(()) };
        let scale = factor + shift.abs();
        prop_assert!((changed.mean - (plain.mean * factor + shift)).abs() < 1e-6 * scale);
        prop_assert!((changed.standard_error - plain.standard_error * factor).abs() < 1e-6 * scale);
    }

    #[test]
    fn mean_interval_of_arbitrary_values_is_ordered_or_none(values: Vec<f64>) {
        if let Some([low, high]) = batch_means_estimate(&values).and_then(|estimate| estimate.confidence_interval()) {
            prop_assert!(low <= high);
        }
    }
}
