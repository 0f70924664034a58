//! Forecast of a benchmark, computed before it starts.
//!
//! The run time follows from the declared phases with their plans and limits, from the total
//! limits, which are divided as [`PhaseBudget`] divides them during the run, and from typical
//! speeds of the medium's class.

mod speed;

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::time::Duration;

use super::budget::PhaseBudget;
use super::rounds::{DEFAULT_ROUNDS, ramp_time_of_round};
use crate::drive::Target;
use crate::engine::{Plan, PlanLimits};
use crate::units;

pub use self::speed::MediumSpeed;

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

/// One phase: a plan with its own limits.
#[derive(Debug, Clone)]
struct PlannedPhase {
    plan: Plan,
    /// Whether the phase is expected; an optional one only counts for the maximum.
    is_expected: bool,
}

/// The phases of a benchmark in execution order.
#[derive(Debug, Clone)]
pub struct PlannedPhases {
    limits: PlanLimits,
    shared_evenly: bool,
    phases: Vec<PlannedPhase>,
}

impl PlannedPhases {
    /// An empty list. Each phase gets an even fraction of the remainder of `limits`.
    #[must_use]
    pub fn with_even_shares(limits: PlanLimits) -> Self {
        Self {
            limits,
            shared_evenly: true,
            phases: Vec::new(),
        }
    }

    /// An empty list. Each phase takes what it requests from the remainder of `limits`.
    #[must_use]
    pub fn first_come(limits: PlanLimits) -> Self {
        Self {
            shared_evenly: false,
            ..Self::with_even_shares(limits)
        }
    }

    /// A single phase, limited by its own plan only.
    #[must_use]
    pub fn single(plan: Plan) -> Self {
        Self::with_even_shares(PlanLimits::default()).add_phase(plan)
    }

    /// Adds a phase; the limits of the plan are those of the phase.
    #[must_use]
    pub fn add_phase(mut self, plan: Plan) -> Self {
        self.phases.push(PlannedPhase {
            plan,
            is_expected: true,
        });
        self
    }

    /// Adds one phase per plan.
    #[must_use]
    pub fn add_phases(self, plans: impl IntoIterator<Item = Plan>) -> Self {
        plans.into_iter().fold(self, Self::add_phase)
    }

    /// Adds the points of a sweep, each measured once per round.
    #[must_use]
    pub fn add_rounds(self, plans: impl IntoIterator<Item = Plan>) -> Self {
        let in_round = |plan: Plan| Plan {
            ramp_time: ramp_time_of_round(plan.ramp_time),
            ..plan
        };
        let points: Vec<Plan> = plans.into_iter().map(in_round).collect();
        (0..DEFAULT_ROUNDS).fold(self, |phases, _| phases.add_phases(points.iter().cloned()))
    }

    /// Adds a phase that runs only if an earlier one was not sufficient.
    #[must_use]
    pub fn add_optional_phase(mut self, plan: Plan) -> Self {
        self.phases.push(PlannedPhase {
            plan,
            is_expected: false,
        });
        self
    }

    /// Run time of all phases on a target.
    #[must_use]
    pub fn run_time(&self, target: &Target) -> RunTime {
        let expected = self.total_seconds(MediumSpeed::typical(target), |phase| phase.is_expected);
        let slowest = MediumSpeed::slowest(target);
        // A late phase shortens the next one; the last phase has no successor to shorten.
        let drains = self
            .phases
            .iter()
            .map(|phase| slowest.drain_seconds(&phase.plan));
        let late = match self.limits.duration {
            Some(_) => drains.fold(0.0, f64::max),
            None => 0.0,
        };
        let at_most = late + self.total_seconds(slowest, |_| true);
        RunTime {
            expected: saturating_duration(expected),
            maximum: saturating_duration(at_most.max(expected)),
        }
    }

    fn total_seconds(&self, speed: MediumSpeed, executed: impl Fn(&PlannedPhase) -> bool) -> f64 {
        let mut budget = PhaseBudget::new(self.limits);
        let mut sum = 0.0;
        for (index, phase) in self.phases.iter().enumerate() {
            if !executed(phase) {
                continue;
            }
            let left = match self.shared_evenly {
                true => (self.phases.len() - index) as u64,
                false => 1,
            };
            let block = u64::from(phase.plan.block_size.max_bytes());
            let Some(limits) = budget.next_phase_limits(left, block, phase.plan.limits) else {
                break;
            };
            let work = speed.phase_work(&phase.plan, limits);
            sum += phase.plan.ramp_time.as_secs_f64() + work.seconds;
            budget.consume_time(saturating_duration(work.seconds));
            budget.consume(work.bytes, work.requests);
        }
        sum
    }
}

/// Converts seconds to a duration, saturating at the maximum.
fn saturating_duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
