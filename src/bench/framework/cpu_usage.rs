//! Resources used by a benchmark: processor time and all I/O requests.

use std::time::Duration;

use crate::engine::{CpuTime, Engine, ExecutionOutcome, IoCounts, Plan};

/// Minimum length of a phase for a utilization: processor time is counted in ticks.
const MIN_PHASE_TIME: Duration = Duration::from_millis(300);

/// Resources used by a benchmark.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuUsage {
    /// Processor time of the submitting threads.
    pub cpu_time: CpuTime,
    /// All I/O, including the ramp time.
    pub counts: IoCounts,
    /// Peak over all phases; `None` if no phase was long enough or time is virtual.
    pub peak_utilization: Option<PeakUtilization>,
}

/// Utilization of the submitting threads in their busiest phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakUtilization {
    /// Mean utilization of one processor per thread, 0 to 1.
    pub fraction: f64,
    /// Number of threads.
    pub workers: u32,
}

impl CpuUsage {
    /// Usage of one execution.
    #[must_use]
    pub fn of(engine: &dyn Engine, plan: &Plan, outcome: &ExecutionOutcome) -> Self {
        let took = outcome.elapsed + plan.ramp_time;
        let workers = plan.workers.max(1);
        let share = (outcome.cpu_time.user_time + outcome.cpu_time.system_time).as_secs_f64()
            / took.as_secs_f64()
            / f64::from(workers);
        Self {
            cpu_time: outcome.cpu_time,
            counts: outcome.stats.all_counts(),
            peak_utilization: (took >= MIN_PHASE_TIME && !engine.has_virtual_time()).then_some(
                PeakUtilization {
                    fraction: share,
                    workers,
                },
            ),
        }
    }
}

impl std::ops::AddAssign for CpuUsage {
    fn add_assign(&mut self, other: Self) {
        self.cpu_time.user_time += other.cpu_time.user_time;
        self.cpu_time.system_time += other.cpu_time.system_time;
        self.counts += other.counts;
        let both = [self.peak_utilization, other.peak_utilization]
            .into_iter()
            .flatten();
        self.peak_utilization = both.max_by(|one, two| one.fraction.total_cmp(&two.fraction));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{AccessPattern, EndReason, IoStats};

    fn outcome(elapsed_ms: u64, cpu_ms: u64) -> ExecutionOutcome {
        let mut stats = IoStats::default();
        stats.ramp_counts.add_request(false, 4096);
        stats.read.latency.record(1000);
        stats.read.bytes = 8192;
        ExecutionOutcome {
            end_reason: EndReason::Completed,
            elapsed: Duration::from_millis(elapsed_ms),
            stats,
            request_log: Vec::new(),
            cpu_time: CpuTime {
                user_time: Duration::from_millis(cpu_ms),
                system_time: Duration::ZERO,
            },
            run_delay: None,
            errors: crate::engine::RequestErrors::default(),
            finish_times: None,
        }
    }

    #[test]
    fn cpu_usage_keeps_busiest_phase_and_includes_ramp_time() {
        let engine = crate::bench::tests::fake::FakeDrive::new(|_| Some(1));
        let mut plan = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..1 << 20);
        plan.workers = 2;
        plan.ramp_time = Duration::from_secs(1);
        let mut effort = CpuUsage::default();
        for (elapsed, cpu) in [(1000, 1000), (1000, 3000)] {
            effort += CpuUsage::of(&engine, &plan, &outcome(elapsed, cpu));
        }
        let busiest = effort.peak_utilization.unwrap();
        assert_eq!((busiest.fraction, busiest.workers), (0.75, 2));
        assert_eq!(
            (effort.counts.read_ios, effort.counts.read_bytes),
            (4, 24_576)
        );
        assert_eq!(effort.cpu_time.user_time, Duration::from_secs(4));
        plan.ramp_time = Duration::ZERO;
        let short = CpuUsage::of(&engine, &plan, &outcome(100, 100));
        assert_eq!(short.peak_utilization, None);
    }
}
