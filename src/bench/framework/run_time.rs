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

/// Expected and maximum run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunTime {
    /// On a typical medium of the class.
    pub expected: Duration,
    /// On the slowest medium of the class, or at the time limits.
    pub maximum: Duration,
}

impl RunTime {
    /// Time to write and sync a scratch file of this many bytes.
    #[must_use]
    pub fn of_scratch_fill(target: &Target, bytes: u64) -> Self {
        let seconds = |speed: MediumSpeed| speed.fill_seconds(bytes);
        Self {
            expected: saturating_duration(seconds(MediumSpeed::typical(target))),
            maximum: saturating_duration(seconds(MediumSpeed::slowest(target))),
        }
    }

    /// `about 12 s, at most 40 s`; a single value if both are equal.
    #[must_use]
    pub fn describe(self) -> String {
        let (expected, at_most) = (
            units::format_wait(self.expected),
            units::format_wait(self.maximum),
        );
        match self.maximum.as_secs_f64() <= 1.05 * self.expected.as_secs_f64() {
            true => format!("at most {at_most}"),
            false => format!("about {expected}, at most {at_most}"),
        }
    }
}

impl Add for RunTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
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
            expected: self.expected.saturating_mul(times),
            maximum: self.maximum.saturating_mul(times),
        }
    }
}

/// Converts seconds to a duration, saturating at the maximum.
pub(super) fn saturating_duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
