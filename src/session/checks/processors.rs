//! Checks whether the CPU, and not the drive, limited the rate.

use super::rule::CheckRule;
use crate::session::document::check::{CheckEvidence, CheckId, CpuUtilization, WorkerUtilization};
use crate::session::document::{BenchmarkRun, ProcessorLoad};

/// CPU utilization of a worker thread above which the thread itself limits the rate.
const BUSY_THREAD_UTILIZATION: f64 = 0.9;
/// Utilization of all CPUs above which no time is left for the kernel's own workers.
const BUSY_MACHINE_UTILIZATION: f64 = 0.95;

pub(super) const PROCESSOR_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::GeneratorBusy, generator_busy),
    CheckRule::new(CheckId::MachineBusy, machine_busy),
];

fn processor_load(run: &BenchmarkRun) -> Option<&ProcessorLoad> {
    run.evidence.processors.as_ref()
}

fn generator_busy(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let load = processor_load(run)?;
    let utilization = load
        .generator_utilization
        .filter(|utilization| *utilization >= BUSY_THREAD_UTILIZATION)?;
    Some(CheckEvidence::GeneratorBusy(WorkerUtilization {
        utilization: utilization.min(1.0),
        workers: load.busiest_workers,
    }))
}

/// Whether all CPUs were busy, by whatever process.
pub(super) fn is_machine_busy(run: &BenchmarkRun) -> bool {
    let utilization = processor_load(run).and_then(|load| load.machine_utilization);
    utilization.is_some_and(|utilization| utilization >= BUSY_MACHINE_UTILIZATION)
}

fn machine_busy(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let load = processor_load(run)?;
    let utilization = load
        .machine_utilization
        .filter(|utilization| *utilization >= BUSY_MACHINE_UTILIZATION)?;
    Some(CheckEvidence::MachineBusy(CpuUtilization {
        utilization: utilization.min(1.0),
        cpus: load.count,
    }))
}
