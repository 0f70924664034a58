//! When a drive has settled (SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24).

/// Rounds that the rule looks at.
pub const WINDOW: usize = 5;
/// The values of the window may differ by this share of their mean.
pub const MOST_RANGE: f64 = 0.20;
/// The line through the window may rise or fall by this share of the mean.
pub const MOST_SLOPE: f64 = 0.10;

/// The last rounds against the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corridor {
    /// Mean of the window's rounds.
    pub mean: f64,
    /// Largest less smallest value, as a share of the mean.
    pub range: f64,
    /// What the least-squares line climbs (or, below 0, falls) over the window, as a share of the
    /// mean.
    pub climb: f64,
    /// The line's value at the window's first round.
    pub line_begin: f64,
    /// The line's value at the window's last round.
    pub line_end: f64,
}

impl Corridor {
    /// The corridor of the last [`WINDOW`] rounds; `None` for fewer, or when their mean is not
    /// above 0.
    #[must_use]
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let window = &rounds[rounds.len().checked_sub(WINDOW)?..];
        let count = WINDOW as f64;
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
        let squares: f64 = (0..WINDOW).map(|index| offset(index) * offset(index)).sum();
        let slope = moment / squares;
        Some(Self {
            mean,
            range: (most - least) / mean,
            climb: slope * (count - 1.0) / mean,
            line_begin: mean - slope * middle,
            line_end: mean + slope * middle,
        })
    }

    /// Whether the drive has settled.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range <= MOST_RANGE && self.climb.abs() <= MOST_SLOPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_level_rounds_are_steady() {
        let corridor = Corridor::of(&[9.0, 1.0, 100.0, 104.0, 98.0, 101.0, 97.0]).unwrap();
        assert_eq!(corridor.mean, 100.0);
        assert!((corridor.range - 0.07).abs() < 1e-12);
        assert!((corridor.climb + 0.036).abs() < 1e-12, "{corridor:?}");
        assert!(corridor.is_steady());
    }

    #[test]
    fn a_wide_window_is_not_steady() {
        assert!(
            !Corridor::of(&[100.0, 89.0, 111.0, 100.0, 100.0])
                .unwrap()
                .is_steady()
        );
        assert!(
            Corridor::of(&[100.0, 90.0, 110.0, 100.0, 100.0])
                .unwrap()
                .is_steady()
        );
    }

    #[test]
    fn a_falling_window_is_not_steady() {
        let falling = Corridor::of(&[106.0, 103.0, 100.0, 97.0, 94.0]).unwrap();
        assert!(falling.range <= MOST_RANGE && !falling.is_steady());
        assert_eq!((falling.line_begin, falling.line_end), (106.0, 94.0));
    }

    #[test]
    fn fewer_rounds_say_nothing() {
        assert_eq!(Corridor::of(&[100.0; 4]), None);
        assert_eq!(Corridor::of(&[0.0; 5]), None);
    }
}
