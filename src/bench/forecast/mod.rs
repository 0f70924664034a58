//! What a benchmark will do, computed before it starts.
//!
//! The time follows from the phases that a benchmark declares, each with its plan and its own limits,
//! from the limits of the whole, which are shared out as [`Budget`] does it while the benchmark runs,
//! and from how fast a medium of that class is.

mod speed;

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::time::Duration;

use super::budget::Budget;
use super::rounds::ROUNDS;
use crate::drive::Target;
use crate::engine::{Limits, Plan};
use crate::units;

pub use speed::MediumSpeed;

/// What a benchmark will do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forecast {
    /// What it does, one sentence with its metrics.
    pub sentence: String,
    /// How long it takes.
    pub time: RunTime,
    /// How many bytes it reads at most, where that is known.
    pub reads: Option<u64>,
    /// How many bytes it writes at most.
    pub writes: Option<u64>,
}

impl Forecast {
    /// The same with a scratch file of so many bytes, which is filled first.
    #[must_use]
    pub fn with_fill(mut self, target: &Target, bytes: u64) -> Self {
        self.time = self.time + RunTime::of_fill(target, bytes);
        self
    }
}

/// How long something takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunTime {
    /// On an ordinary medium of its class.
    pub expected: Duration,
    /// On the slowest medium of its class, or where the limits in time end it.
    pub at_most: Duration,
}

impl RunTime {
    /// Writing and syncing a scratch file of so many bytes.
    #[must_use]
    pub fn of_fill(target: &Target, bytes: u64) -> Self {
        let seconds = |speed: MediumSpeed| speed.fill_seconds(bytes);
        Self {
            expected: duration(seconds(MediumSpeed::typical(target))),
            at_most: duration(seconds(MediumSpeed::slowest(target))),
        }
    }

    /// `about 12 s, at most 40 s`; one of them where they are the same.
    #[must_use]
    pub fn describe(self) -> String {
        let (expected, at_most) = (units::waiting(self.expected), units::waiting(self.at_most));
        match self.at_most.as_secs_f64() <= 1.05 * self.expected.as_secs_f64() {
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
            at_most: self.at_most.saturating_add(other.at_most),
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
            at_most: self.at_most.saturating_mul(times),
        }
    }
}

/// One phase: a plan with its own limits.
#[derive(Debug, Clone)]
struct Phase {
    plan: Plan,
    /// Whether it is expected to be executed, and does not only happen at worst.
    expected: bool,
}

/// The phases of a benchmark in the order in which they are executed.
#[derive(Debug, Clone)]
pub struct Phases {
    limits: Limits,
    shared_evenly: bool,
    list: Vec<Phase>,
}

impl Phases {
    /// None yet. Each gets an even share of what the phases before it left of `limits`.
    #[must_use]
    pub fn sharing(limits: Limits) -> Self {
        Self {
            limits,
            shared_evenly: true,
            list: Vec::new(),
        }
    }

    /// None yet. Each takes what it wants of what the phases before it left of `limits`.
    #[must_use]
    pub fn in_turn(limits: Limits) -> Self {
        Self {
            shared_evenly: false,
            ..Self::sharing(limits)
        }
    }

    /// A single phase, limited by its own plan alone.
    #[must_use]
    pub fn one(plan: Plan) -> Self {
        Self::sharing(Limits::default()).then(plan)
    }

    /// Adds a phase; the limits of its plan are its own.
    #[must_use]
    pub fn then(mut self, plan: Plan) -> Self {
        self.list.push(Phase {
            plan,
            expected: true,
        });
        self
    }

    /// Adds phases of these plans.
    #[must_use]
    pub fn then_all(self, plans: impl IntoIterator<Item = Plan>) -> Self {
        plans.into_iter().fold(self, Self::then)
    }

    /// Adds the points of a sweep, each measured once in every round.
    #[must_use]
    pub fn then_rounds(self, plans: impl IntoIterator<Item = Plan>) -> Self {
        let points: Vec<Plan> = plans.into_iter().collect();
        (0..ROUNDS).fold(self, |phases, _| phases.then_all(points.iter().cloned()))
    }

    /// Adds a phase that is executed only where an earlier one did not suffice.
    #[must_use]
    pub fn perhaps(mut self, plan: Plan) -> Self {
        self.list.push(Phase {
            plan,
            expected: false,
        });
        self
    }

    /// How long they take on a target.
    #[must_use]
    pub fn time(&self, target: &Target) -> RunTime {
        let expected = self.seconds(MediumSpeed::typical(target), |phase| phase.expected);
        let slowest = MediumSpeed::slowest(target);
        // A phase that is late takes its time from the next one, and the last of them from nobody.
        let drains = self
            .list
            .iter()
            .map(|phase| slowest.drain_seconds(&phase.plan));
        let late = match self.limits.duration {
            Some(_) => drains.fold(0.0, f64::max),
            None => 0.0,
        };
        let at_most = late + self.seconds(slowest, |_| true);
        RunTime {
            expected: duration(expected),
            at_most: duration(at_most.max(expected)),
        }
    }

    fn seconds(&self, speed: MediumSpeed, executed: impl Fn(&Phase) -> bool) -> f64 {
        let mut budget = Budget::new(self.limits);
        let mut sum = 0.0;
        for (index, phase) in self.list.iter().enumerate() {
            if !executed(phase) {
                continue;
            }
            let left = match self.shared_evenly {
                true => (self.list.len() - index) as u64,
                false => 1,
            };
            let block = u64::from(phase.plan.block_size.largest());
            let Some(limits) = budget.share(left, block, phase.plan.limits) else {
                break;
            };
            let work = speed.work(&phase.plan, limits);
            sum += phase.plan.ramp.as_secs_f64() + work.seconds;
            budget.take_time(duration(work.seconds));
            budget.take(work.bytes, work.requests);
        }
        sum
    }
}

/// Any number of seconds; what no clock holds is the longest time.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
