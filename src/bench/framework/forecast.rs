//! Forecast of a benchmark, computed before it starts from its phases.

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::time::Duration;

use super::speed::MediumSpeed;
use crate::drive::Target;
use crate::units;

/// Forecast of a benchmark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forecast {
    /// One sentence that describes the work and its metrics.
    pub sentence: String,
    /// Expected run time.
    pub run_time: RunTime,
    /// Maximum bytes read, if known.
    pub max_read_bytes: Option<u64>,
    /// Maximum bytes written.
    pub max_written_bytes: Option<u64>,
}

impl Forecast {
    /// The same forecast including the fill of a scratch file of this many bytes.
    #[must_use]
    pub fn with_scratch_fill(mut self, target: &Target, bytes: u64) -> Self {
        self.run_time = self.run_time + RunTime::of_scratch_fill(target, bytes);
        self
    }
}

/// Expected run time, and its limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunTime {
    /// On the fastest medium of the class.
    pub minimum: Duration,
    /// On a typical medium of the class.
    pub expected: Duration,
    /// On the slowest medium of the class, or at the time limits.
    pub maximum: Duration,
}

/// Fraction of the expected time below which the minimum is told.
const FAR_BELOW: f64 = 0.25;

impl RunTime {
    /// The run time on the fastest, on a typical and on the slowest medium of the target's class.
    pub(super) fn on_media(target: &Target, seconds: impl Fn(MediumSpeed) -> f64) -> Self {
        let duration = |speed| Duration::try_from_secs_f64(seconds(speed)).unwrap_or(Duration::MAX);
        Self {
            minimum: duration(MediumSpeed::fastest(target)),
            expected: duration(MediumSpeed::typical(target)),
            maximum: duration(MediumSpeed::slowest(target)),
        }
    }

    /// Time to write and sync a scratch file of this many bytes.
    #[must_use]
    pub fn of_scratch_fill(target: &Target, bytes: u64) -> Self {
        Self::on_media(target, |speed| speed.fill_seconds(bytes))
    }

    /// `about 12 s, at most 40 s`; a single value if both are equal, a range where a fast medium needs
    /// far less.
    #[must_use]
    pub fn describe(self) -> String {
        let [least, expected, most] =
            [self.minimum, self.expected, self.maximum].map(units::format_wait);
        let seconds = self.expected.as_secs_f64();
        if self.minimum.as_secs_f64() < FAR_BELOW * seconds {
            format!("{least} to {most}")
        } else if self.maximum.as_secs_f64() <= 1.05 * seconds {
            format!("at most {most}")
        } else {
            format!("about {expected}, at most {most}")
        }
    }
}

impl Add for RunTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            minimum: self.minimum.saturating_add(other.minimum),
            expected: self.expected.saturating_add(other.expected),
            maximum: self.maximum.saturating_add(other.maximum),
        }
    }
}

impl Sum for RunTime {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), Add::add)
    }
}

impl Mul<u32> for RunTime {
    type Output = Self;

    fn mul(self, times: u32) -> Self {
        Self {
            minimum: self.minimum.saturating_mul(times),
            expected: self.expected.saturating_mul(times),
            maximum: self.maximum.saturating_mul(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_time_is_a_range_where_a_fast_medium_needs_far_less() {
        let described = |times: [u64; 3]| {
            let [minimum, expected, maximum] = times.map(Duration::from_secs);
            let time = RunTime {
                minimum,
                expected,
                maximum,
            };
            time.describe()
        };
        assert_eq!(described([10, 10, 10]), "at most 10 s");
        assert_eq!(described([10, 12, 40]), "about 12 s, at most 40 s");
        assert_eq!(described([1, 13, 40]), "1.0 s to 40 s");
    }
}
