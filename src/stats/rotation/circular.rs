//! Circular statistics. An angle is measured in revolutions, 0 to 1.

use std::f64::consts::TAU;

use crate::stats::general::robust;

/// The fractional part, 0 to 1.
pub fn wrap_turns(turns: f64) -> f64 {
    let fraction = turns - turns.floor();
    // A tiny negative number rounds up to a whole revolution.
    if fraction < 1.0 { fraction } else { 0.0 }
}

/// The signed angle, -0.5 to 0.5.
pub fn signed_turns(turns: f64) -> f64 {
    wrap_turns(turns + 0.5) - 0.5
}

/// The sum of the unit vectors of angles (Mardia and Jupp, "Directional Statistics", 2.2).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ResultantVector {
    cos: f64,
    sin: f64,
    count: u32,
}

impl ResultantVector {
    /// Adds one angle.
    pub fn add(&mut self, turns: f64) {
        let (sin, cos) = (TAU * turns).sin_cos();
        self.add_vector(cos, sin);
    }

    /// Adds one angle that is given as a unit vector.
    pub fn add_vector(&mut self, cos: f64, sin: f64) {
        self.cos += cos;
        self.sin += sin;
        self.count += 1;
    }

    /// Length of the sum: from 0 (uniform) to the count (all equal).
    pub fn resultant_length(&self) -> f64 {
        self.cos.hypot(self.sin)
    }

    /// Mean resultant length: 0 for uniform angles, 1 for equal ones; 0 without an angle.
    pub fn mean_resultant_length(&self) -> f64 {
        self.resultant_length() / f64::from(self.count.max(1))
    }

    /// The mean direction, 0 to 1.
    pub fn mean_direction(&self) -> f64 {
        wrap_turns(self.sin.atan2(self.cos) / TAU)
    }
}

/// The median of angles, about their mean direction; `None` without one.
pub fn median_direction(angles: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let about = angles.clone().collect::<ResultantVector>().mean_direction();
    let way = robust::median(angles.map(|angle| signed_turns(angle - about)))?;
    Some(wrap_turns(about + way))
}

impl FromIterator<f64> for ResultantVector {
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
        assert_eq!(wrap_turns(2.25), 0.25);
        assert_eq!(wrap_turns(-0.25), 0.75);
        assert_eq!(wrap_turns(-1e-20), 0.0);
        assert_eq!(signed_turns(0.75), -0.25);
        let around: ResultantVector = [0.0, 0.25, 0.5, 0.75].into_iter().collect();
        assert!(around.mean_resultant_length() < 1e-12);
        let alike: ResultantVector = [0.95, 0.05].into_iter().collect();
        assert!(signed_turns(alike.mean_direction()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn circular_mean_is_invariant_under_whole_turns(turns in -10.0..10.0_f64, whole in -5..5_i32) {
            let moved = signed_turns(turns - (turns + f64::from(whole)));
            prop_assert!(moved.abs() < 1e-9);
            prop_assert!((0.0..1.0).contains(&wrap_turns(turns)));
        }

        #[test]
        fn circular_mean_direction_of_one_angle_is_that_angle(turns in 0.0..1.0_f64) {
            let one: ResultantVector = [turns].into_iter().collect();
            prop_assert!(signed_turns(one.mean_direction() - turns).abs() < 1e-9);
            prop_assert!((one.mean_resultant_length() - 1.0).abs() < 1e-9);
        }
    }
}
