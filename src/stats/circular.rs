//! Angles: numbers of which only the fraction counts. An angle is measured in revolutions, 0 to 1.

use std::f64::consts::TAU;

/// The fraction, 0 to 1.
#[must_use]
pub fn wrap(turns: f64) -> f64 {
    let fraction = turns - turns.floor();
    // A tiny negative number rounds up to a whole turn.
    if fraction < 1.0 { fraction } else { 0.0 }
}

/// The shortest way, -0.5 to 0.5.
#[must_use]
pub fn signed(turns: f64) -> f64 {
    wrap(turns + 0.5) - 0.5
}

/// The sum of unit vectors at some angles (Mardia and Jupp, "Directional Statistics", 2.2).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Resultant {
    cos: f64,
    sin: f64,
    count: u32,
}

impl Resultant {
    /// Adds one angle.
    pub fn add(&mut self, turns: f64) {
        let (sin, cos) = (TAU * turns).sin_cos();
        self.add_vector(cos, sin);
    }

    /// Adds one angle that is known as a unit vector.
    pub fn add_vector(&mut self, cos: f64, sin: f64) {
        self.cos += cos;
        self.sin += sin;
        self.count += 1;
    }

    /// How many angles were added.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Length of the sum: from 0 (all around) to the count (all alike).
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.cos.hypot(self.sin)
    }

    /// Mean resultant length: 0 all around, 1 all alike; 0 when there is nothing.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.sum() / f64::from(self.count.max(1))
    }

    /// The mean direction, 0 to 1.
    #[must_use]
    pub fn direction(&self) -> f64 {
        wrap(self.sin.atan2(self.cos) / TAU)
    }
}

impl FromIterator<f64> for Resultant {
    fn from_iter<I: IntoIterator<Item = f64>>(angles: I) -> Self {
        let mut sum = Self::default();
        angles.into_iter().for_each(|angle| sum.add(angle));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn literal_angles() {
        assert_eq!(wrap(2.25), 0.25);
        assert_eq!(wrap(-0.25), 0.75);
        assert_eq!(wrap(-1e-20), 0.0);
        assert_eq!(signed(0.75), -0.25);
        let around: Resultant = [0.0, 0.25, 0.5, 0.75].into_iter().collect();
        assert!(around.length() < 1e-12);
        let alike: Resultant = [0.95, 0.05].into_iter().collect();
        assert!(signed(alike.direction()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn whole_turns_change_nothing(turns in -10.0..10.0_f64, whole in -5..5_i32) {
            let moved = signed(turns - (turns + f64::from(whole)));
            prop_assert!(moved.abs() < 1e-9);
            prop_assert!((0.0..1.0).contains(&wrap(turns)));
        }

        #[test]
        fn the_direction_of_one_angle_is_itself(turns in 0.0..1.0_f64) {
            let one: Resultant = [turns].into_iter().collect();
            prop_assert!(signed(one.direction() - turns).abs() < 1e-9);
            prop_assert!((one.length() - 1.0).abs() < 1e-9);
        }
    }
}
