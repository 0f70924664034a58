//! Steady state (SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24).

/// Number of rounds in the measurement window.
pub const WINDOW_ROUNDS: usize = 5;
/// Maximum range of the values in the window, as a fraction of their mean.
pub const MAX_RANGE: f64 = 0.20;
/// Maximum rise or fall of the line through the window, as a fraction of the mean.
pub const MAX_SLOPE: f64 = 0.10;

/// The steady-state window: the last rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyStateWindow {
    /// Mean of the window's rounds.
    pub mean: f64,
    /// Largest minus smallest value, as a fraction of the mean.
    pub relative_range: f64,
    /// Rise (or, below 0, fall) of the least-squares line over the window, as a fraction of the
    /// mean.
    pub relative_slope: f64,
    /// The line's value at the window's first round.
    pub fit_at_begin: f64,
    /// The line's value at the window's last round.
    pub fit_at_end: f64,
}

impl SteadyStateWindow {
    /// The window of the last [`WINDOW_ROUNDS`] rounds; `None` for fewer, or when their mean is not
    /// above 0.
    pub fn of_last_rounds(rounds: &[f64]) -> Option<Self> {
        let window = &rounds[rounds.len().checked_sub(WINDOW_ROUNDS)?..];
        let count = WINDOW_ROUNDS as f64;
        let mean = window.iter().sum::<f64>() / count;
        if mean <= 0.0 {
            return None;
        }
        let most = window.iter().copied().fold(f64::MIN, f64::max);
        let least = window.iter().copied().fold(f64::MAX, f64::min);
        let middle = (count - 1.0) / 2.0;
        let offset = |index: usize| index as f64 - middle;
        let moment: f64 = window
            .iter()
            .enumerate()
            .map(|(index, value)| offset(index) * value)
            .sum();
        let squares: f64 = (0..WINDOW_ROUNDS)
            .map(|index| offset(index) * offset(index))
            .sum();
        let slope = moment / squares;
        Some(Self {
            mean,
            relative_range: (most - least) / mean,
            relative_slope: slope * (count - 1.0) / mean,
            fit_at_begin: mean - slope * middle,
            fit_at_end: mean + slope * middle,
        })
    }

    /// Whether the drive is in steady state.
    pub fn is_steady(&self) -> bool {
        self.relative_range <= MAX_RANGE && self.relative_slope.abs() <= MAX_SLOPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_state_window_of_five_level_rounds_is_steady() {
        let corridor =
            SteadyStateWindow::of_last_rounds(&[9.0, 1.0, 100.0, 104.0, 98.0, 101.0, 97.0])
                .unwrap();
        assert_eq!(corridor.mean, 100.0);
        assert!((corridor.relative_range - 0.07).abs() < 1e-12);
        assert!(
            (corridor.relative_slope + 0.036).abs() < 1e-12,
            "{corridor:?}"
        );
        assert!(corridor.is_steady());
    }

    #[test]
    fn steady_state_window_with_wide_range_is_not_steady() {
        assert!(
            !SteadyStateWindow::of_last_rounds(&[100.0, 89.0, 111.0, 100.0, 100.0])
                .unwrap()
                .is_steady()
        );
        assert!(
            SteadyStateWindow::of_last_rounds(&[100.0, 90.0, 110.0, 100.0, 100.0])
                .unwrap()
                .is_steady()
        );
    }

    #[test]
    fn steady_state_window_with_falling_values_is_not_steady() {
        let falling =
            SteadyStateWindow::of_last_rounds(&[106.0, 103.0, 100.0, 97.0, 94.0]).unwrap();
        assert!(falling.relative_range <= MAX_RANGE && !falling.is_steady());
        assert_eq!((falling.fit_at_begin, falling.fit_at_end), (106.0, 94.0));
    }

    #[test]
    fn steady_state_window_of_too_few_rounds_is_none() {
        assert_eq!(SteadyStateWindow::of_last_rounds(&[100.0; 4]), None);
        assert_eq!(SteadyStateWindow::of_last_rounds(&[0.0; 5]), None);
    }
}
