//! What a test took: processor time, and all requests that it made.

use std::time::Duration;

use crate::engine::{CpuTime, Engine, Moved, Outcome, Plan};

/// A shorter phase says little about how busy the processors were: their time is counted in ticks.
const LEAST_PHASE: Duration = Duration::from_millis(300);

/// What a test took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Effort {
    /// Processor time of the threads that sent the requests.
    pub cpu: CpuTime,
    /// Everything that was asked of the medium, ramps included.
    pub moved: Moved,
    /// The phase in which those threads were busiest; `None` where no phase was long enough, or
    /// time is virtual.
    pub busiest: Option<Busiest>,
}

/// How busy the threads that send requests were in a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busiest {
    /// Share of a processor that each of them had on the average, 0 to 1.
    pub share: f64,
    /// How many they were.
    pub workers: u32,
}

impl Effort {
    /// The effort of one execution.
    #[must_use]
    pub fn of(engine: &dyn Engine, plan: &Plan, outcome: &Outcome) -> Self {
        let took = outcome.elapsed + plan.ramp;
        let workers = plan.workers.max(1);
        let share = (outcome.cpu.user + outcome.cpu.system).as_secs_f64()
            / took.as_secs_f64()
            / f64::from(workers);
        Self {
            cpu: outcome.cpu,
            moved: outcome.tally.moved(),
            busiest: (took >= LEAST_PHASE && !engine.has_virtual_time())
                .then_some(Busiest { share, workers }),
        }
    }
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.cpu.user += other.cpu.user;
        self.cpu.system += other.cpu.system;
        self.moved += other.moved;
        let both = [self.busiest, other.busiest].into_iter().flatten();
        self.busiest = both.max_by(|one, two| one.share.total_cmp(&two.share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{End, Pattern, Tally};

    fn outcome(elapsed_ms: u64, cpu_ms: u64) -> Outcome {
        let mut tally = Tally::default();
        tally.ramp.count(false, 4096);
        tally.read.latency.record(1000);
        tally.read.bytes = 8192;
        Outcome {
            end: End::Done,
            elapsed: Duration::from_millis(elapsed_ms),
            tally,
            log: Vec::new(),
            pauses: Vec::new(),
            cpu: CpuTime {
                user: Duration::from_millis(cpu_ms),
                system: Duration::ZERO,
            },
            finish: None,
        }
    }

    #[test]
    fn the_busiest_phase_counts_and_the_ramp_is_part_of_it() {
        let engine = crate::bench::tests::fake::Fake::new(|_| Some(1));
        let mut plan = Plan::reading(Pattern::Random, 4096, 0..1 << 20);
        plan.workers = 2;
        plan.ramp = Duration::from_secs(1);
        let mut effort = Effort::default();
        for (elapsed, cpu) in [(1000, 1000), (1000, 3000)] {
            effort += Effort::of(&engine, &plan, &outcome(elapsed, cpu));
        }
        let busiest = effort.busiest.unwrap();
        assert_eq!((busiest.share, busiest.workers), (0.75, 2));
        assert_eq!((effort.moved.reads, effort.moved.read_bytes), (4, 24_576));
        assert_eq!(effort.cpu.user, Duration::from_secs(4));
        plan.ramp = Duration::ZERO;
        let short = Effort::of(&engine, &plan, &outcome(100, 100));
        assert_eq!(short.busiest, None);
    }
}
