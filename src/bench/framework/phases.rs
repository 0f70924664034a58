//! What a benchmark does, as data: the only source of its run, its forecast and its fio line.

use std::time::Duration;

use super::budget::PhaseBudget;
use super::describe::describe_written_bytes;
use super::fio::FioJob;
use super::forecast::{Forecast, RunTime};
use super::rounds::DEFAULT_ROUNDS;
use super::speed::MediumSpeed;
use crate::drive::Target;
use crate::engine::{AccessPattern, IoOperation, Plan, PlanLimits};
use crate::session::document::FioGap;

/// One phase: a plan with its own limits.
#[derive(Debug, Clone)]
pub struct Phase {
    /// Label for the user, such as `SEQ1M Q8 read`.
    pub label: String,
    /// What is executed, with the limits of this phase alone.
    pub plan: Plan,
    /// Whether the phase is expected; an optional one runs only if the earlier ones were not
    /// sufficient, and counts for the maximum.
    pub is_expected: bool,
}

impl Phase {
    /// A phase that is expected.
    pub fn new(label: impl Into<String>, plan: Plan) -> Self {
        Self {
            label: label.into(),
            plan,
            is_expected: true,
        }
    }

    /// A phase that runs only if the earlier ones were not sufficient.
    pub fn optional(label: impl Into<String>, plan: Plan) -> Self {
        Self {
            is_expected: false,
            ..Self::new(label, plan)
        }
    }

    /// Upper bound of the bytes of one execution; `None` where only time limits it.
    fn max_bytes(&self) -> Option<u64> {
        let block = u64::from(self.plan.block_size.max_bytes());
        let window = &self.plan.window;
        let in_pattern = match &self.plan.pattern {
            AccessPattern::Zones { requests, .. } => Some(requests.saturating_mul(block)),
            AccessPattern::AddressList(addresses) => Some(addresses.len() as u64 * block),
            AccessPattern::Sequential if self.plan.limits == PlanLimits::default() => {
                Some(window.end.saturating_sub(window.start))
            }
            _ => None,
        };
        in_pattern.into_iter().chain(self.plan.max_bytes()).min()
    }
}

/// How phases divide their common limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Each phase gets an even fraction of the remainder.
    Even,
    /// Each phase takes what it requests from the remainder.
    FirstCome,
}

impl Sharing {
    /// Among how many phases the remainder is divided before this one of `count`.
    #[must_use]
    pub fn phases_left(self, index: usize, count: usize) -> u64 {
        match self {
            Self::Even => (count - index) as u64,
            Self::FirstCome => 1,
        }
    }
}

/// How often the phases of a group are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// This many times, all phases in each round. The ramp time is divided among the rounds.
    Rounds(usize),
    /// Until the common limits are used up; with a time, at the latest with the pass during which it
    /// ends. The first pass is always complete, except for the limits.
    Passes(Option<Duration>),
}

/// Phases with common limits.
#[derive(Debug, Clone)]
pub struct PhaseGroup {
    /// Limits of all phases and repetitions together.
    pub limits: PlanLimits,
    /// How they are divided.
    pub sharing: Sharing,
    /// How often the phases are executed.
    pub repetition: Repetition,
    /// The phases in execution order, or the points of a round.
    pub phases: Vec<Phase>,
}

/// The phases of a benchmark in execution order.
#[derive(Debug, Clone, Default)]
pub struct Phases {
    /// One sentence that describes the work, without the bytes that are written.
    pub sentence: String,
    /// The groups in execution order.
    pub groups: Vec<PhaseGroup>,
    /// A short group after these that tells what waking up costs, where the engine can do that.
    pub wakeup: Option<PhaseGroup>,
    /// Why fio cannot run the same, where the plan does not tell.
    pub fio_gap: Option<FioGap>,
}

impl Phases {
    /// One group of phases, each executed once.
    pub fn new(
        sentence: impl Into<String>,
        limits: PlanLimits,
        sharing: Sharing,
        phases: Vec<Phase>,
    ) -> Self {
        let group = PhaseGroup {
            limits,
            sharing,
            repetition: Repetition::Rounds(1),
            phases,
        };
        Self {
            sentence: sentence.into(),
            groups: vec![group],
            wakeup: None,
            fio_gap: None,
        }
    }

    /// A single phase, limited by its own plan only.
    pub fn of_plan(sentence: impl Into<String>, label: impl Into<String>, plan: Plan) -> Self {
        let phase = Phase::new(label, plan);
        Self::new(sentence, PlanLimits::default(), Sharing::Even, vec![phase])
    }

    /// The points of a sweep, each measured in each of the default rounds within these limits.
    pub fn of_points(sentence: impl Into<String>, limits: PlanLimits, points: Vec<Phase>) -> Self {
        let mut phases = Self::new(sentence, limits, Sharing::Even, points);
        phases.groups[0].repetition = Repetition::Rounds(DEFAULT_ROUNDS);
        phases
    }

    /// The same phases, which fio cannot execute for this reason.
    #[must_use]
    pub fn without_fio(self, gap: FioGap) -> Self {
        Self {
            fio_gap: Some(gap),
            ..self
        }
    }

    fn all_groups(&self) -> impl Iterator<Item = &PhaseGroup> {
        self.groups.iter().chain(&self.wakeup)
    }

    /// Whether any phase writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.plans().any(|plan| plan.operation.writes())
    }

    /// The plans of all phases, without repetitions.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        let phases = self.all_groups().flat_map(|group| &group.phases);
        phases.map(|phase| &phase.plan)
    }

    /// Run time, bytes read and bytes written on a target.
    #[must_use]
    pub fn forecast(&self, target: &Target) -> Forecast {
        let max_written_bytes = self.max_bytes(|plan| plan.operation.writes());
        let also_reads = self.plans().any(|plan| !plan.operation.writes());
        let written = max_written_bytes.map_or_else(String::new, |bytes| {
            let verb = if also_reads { ", writes" } else { "," };
            format!("{verb} at most {}", describe_written_bytes(bytes, target))
        });
        Forecast {
            sentence: format!("{}{written}", self.sentence),
            run_time: self.run_time(target),
            max_read_bytes: self.max_bytes(|plan| plan.operation != IoOperation::Write),
            max_written_bytes,
        }
    }

    /// The fio job that does the same.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    pub fn fio(&self, target: &Target) -> Result<FioJob, FioGap> {
        if let Some(gap) = self.fio_gap {
            return Err(gap);
        }
        let [group] = &self.groups[..] else {
            return Err(FioGap::SeveralPoints);
        };
        let [phase] = &group.phases[..] else {
            return Err(FioGap::SeveralPoints);
        };
        let job = FioJob::of_plan(&phase.plan, target)?;
        match group.repetition {
            // The same as one pass, apart from its time.
            Repetition::Rounds(1) | Repetition::Passes(Some(_)) => Ok(job),
            Repetition::Passes(None) if group.max_bytes(|_| true) <= phase.max_bytes() => Ok(job),
            Repetition::Passes(None) => Err(FioGap::UnevenZones),
            Repetition::Rounds(_) => Err(FioGap::SeveralPoints),
        }
    }

    /// Run time of all phases on a target.
    #[must_use]
    pub fn run_time(&self, target: &Target) -> RunTime {
        self.all_groups().map(|group| group.run_time(target)).sum()
    }

    /// Upper bound of the bytes of the phases of one kind; `None` if there are none, or one is limited
    /// by time only.
    fn max_bytes(&self, is_counted: impl Fn(&Plan) -> bool) -> Option<u64> {
        let mut sum: Option<u64> = None;
        for group in self.all_groups() {
            if group.phases.iter().any(|phase| is_counted(&phase.plan)) {
                let bytes = group.max_bytes(&is_counted)?;
                sum = Some(sum.unwrap_or(0).saturating_add(bytes));
            }
        }
        sum
    }
}

impl PhaseGroup {
    /// Upper bound of the bytes of those phases.
    fn max_bytes(&self, is_counted: impl Fn(&Plan) -> bool) -> Option<u64> {
        let counted = self.phases.iter().filter(|phase| is_counted(&phase.plan));
        let of_phases = match self.repetition {
            Repetition::Rounds(rounds) => counted
                .clone()
                .map(Phase::max_bytes)
                .try_fold(0, |sum: u64, bytes| Some(sum.saturating_add(bytes?)))
                .map(|bytes| bytes.saturating_mul(rounds as u64)),
            Repetition::Passes(_) => None,
        };
        let largest = counted.map(|phase| u64::from(phase.plan.block_size.max_bytes()));
        let of_requests = self.limits.requests.zip(largest.max());
        let of_requests = of_requests.map(|(requests, bytes)| requests.saturating_mul(bytes));
        let bounds = [of_phases, self.limits.bytes, of_requests];
        bounds.into_iter().flatten().min()
    }

    /// The limits, with the time for which passes are repeated where no other is set.
    #[must_use]
    pub fn limits_with_least_time(&self) -> PlanLimits {
        let least = match self.repetition {
            Repetition::Passes(least) => least,
            Repetition::Rounds(_) => None,
        };
        PlanLimits {
            duration: self.limits.duration.or(least),
            ..self.limits
        }
    }

    /// Expected fraction (0 to 1) of the first of repeated passes in the whole group.
    #[must_use]
    pub fn fraction_of_first_pass(&self, target: &Target) -> f64 {
        let speed = MediumSpeed::typical(target);
        let all = self.total_seconds(speed, |_| true);
        (self.seconds_of_pass(speed) / all.max(1e-9)).min(1.0)
    }

    /// Run time on a target.
    fn run_time(&self, target: &Target) -> RunTime {
        let time = RunTime::on_media(target, |speed| {
            self.total_seconds(speed, |phase| phase.is_expected)
        });
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
            maximum: saturating_duration(at_most).max(time.expected),
            ..time
        }
    }

    fn total_seconds(&self, speed: MediumSpeed, executed: impl Fn(&Phase) -> bool) -> f64 {
        let rounds = match self.repetition {
            Repetition::Rounds(rounds) => rounds,
            Repetition::Passes(least) => return self.seconds_of_passes(speed, least),
        };
        let mut budget = PhaseBudget::new(self.limits);
        let count = self.phases.len() * rounds;
        let mut sum = 0.0;
        for index in 0..count {
            let Phase { plan, .. } = &self.phases[index % self.phases.len()];
            if !executed(&self.phases[index % self.phases.len()]) {
                continue;
            }
            let left = self.sharing.phases_left(index, count);
            let block = u64::from(plan.block_size.max_bytes());
            let Some(limits) = budget.next_phase_limits(left, block, plan.limits) else {
                break;
            };
            let work = speed.phase_work(plan, limits);
            sum += plan.ramp_time.as_secs_f64() / rounds as f64 + work.seconds;
            budget.consume_time(saturating_duration(work.seconds));
            budget.consume(work.bytes, work.requests);
        }
        sum
    }

    fn seconds_of_pass(&self, speed: MediumSpeed) -> f64 {
        let one = |phase: &Phase| speed.phase_work(&phase.plan, phase.plan.limits).seconds;
        self.phases.iter().map(one).sum()
    }

    fn seconds_of_passes(&self, speed: MediumSpeed, least: Option<Duration>) -> f64 {
        let pass = self.seconds_of_pass(speed);
        let endless = |phase: &Phase| {
            let plan = Plan {
                pattern: AccessPattern::Sequential,
                ..phase.plan.clone()
            };
            speed.phase_work(&plan, self.limits).seconds
        };
        let limited = match self.limits == PlanLimits::default() {
            true => f64::INFINITY,
            false => self.phases.iter().map(endless).sum(),
        };
        let passes = least.map_or(f64::INFINITY, |least| {
            (least.as_secs_f64() / pass.max(1e-9)).ceil().max(1.0) * pass
        });
        limited.min(passes)
    }
}

// Phases whose plans follow from earlier ones: the list says what is expected of them.
impl Phases {
    /// An empty list. Each phase takes what it requests from the remainder of `limits`.
    pub fn first_come(sentence: impl Into<String>, limits: PlanLimits) -> Self {
        Self::new(sentence, limits, Sharing::FirstCome, Vec::new())
    }

    /// Adds an expected phase; the limits of the plan are those of the phase.
    #[must_use]
    pub fn add_phase(self, plan: Plan) -> Self {
        self.add_phases([plan])
    }

    /// Adds one phase per plan.
    #[must_use]
    pub fn add_phases(mut self, plans: impl IntoIterator<Item = Plan>) -> Self {
        let phases = plans.into_iter().map(|plan| Phase::new("", plan));
        self.groups[0].phases.extend(phases);
        self
    }

    /// Adds a phase that runs only if an earlier one was not sufficient.
    #[must_use]
    pub fn add_optional_phase(mut self, plan: Plan) -> Self {
        self.groups[0].phases.push(Phase::optional("", plan));
        self
    }
}

/// Converts seconds to a duration, saturating at the maximum.
fn saturating_duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
