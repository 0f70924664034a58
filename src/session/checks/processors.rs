//! Checks whether the CPU, and not the drive, limited the rate.

use serde_json::json;

use super::rule::{Rule, Run};
use crate::session::document::check::{Check, Found};
use crate::session::document::{MetricId, ProcessorIdle};
use crate::units;

/// CPU utilization of a worker thread above which the thread itself limits the rate.
const BUSY_THREAD_UTILIZATION: f64 = 0.9;
/// Fraction of the median latency above which the wake-up is told.
const LARGE_WAKEUP_FRACTION: f64 = 1.0 / 3.0;
/// Utilization of all CPUs above which no time is left for the kernel's own workers.
const BUSY_MACHINE_UTILIZATION: f64 = 0.95;

pub(super) const MACHINE_BUSY: Check = Check::warning(
    "machine-busy",
    "All CPUs were busy: other processes used them, or the kernel's own workers had no time.",
);

/// Made by benchmarks with a fixed queue depth. It is here because busy CPUs explain it.
pub const QUEUE_DEPTH_NOT_REACHED: Check = Check::warning(
    "queue-depth-not-reached",
    "Fewer than 90 % of the requested number of requests were in flight on average (Little's law).",
);

pub(super) const RULES: &[Rule] = &[
    Rule::warning(
        "generator-busy",
        "The worker threads used all of their CPU time: the drive waited for this program.",
        "at least 90 % of a CPU for each worker thread in the busiest phase of 0.3 s or more",
        generator_busy,
    ),
    Rule::of(
        MACHINE_BUSY,
        "at least 95 % of all CPUs over the run",
        machine_busy,
    ),
    Rule::of(
        Check::note(
            "wakeup-dominates",
            "A large part of the latency is this machine waking up, not the drive.",
        ),
        "waking up is more than a third of the median latency, by the lower bound of its interval",
        wakeup_dominates,
    ),
];

fn wakeup_dominates(run: &Run<'_>) -> Option<Found> {
    let cost = run.findings.metric(&MetricId::WAKEUP_COST)?;
    let p50_ns = run.findings.metric(&MetricId::LATENCY_P50)?.value;
    if cost.low? <= p50_ns * LARGE_WAKEUP_FRACTION {
        return None;
    }
    let unknown = ProcessorIdle::default();
    let idle = run.evidence.processor_idle.as_ref().unwrap_or(&unknown);
    let cause = match (&idle.hypervisor, &idle.idle_driver) {
        (Some(hypervisor), _) => {
            format!("the hypervisor ({hypervisor}) has to wake an idle processor")
        }
        (None, Some(driver)) => format!("an idle processor sleeps in states of {driver}"),
        (None, None) => "an idle processor is halted".to_owned(),
    };
    let governor = idle.governor.as_ref();
    let governor = governor.map_or_else(String::new, |name| format!(", governor {name}"));
    Some(Found::new(
        format!(
            "p50 is {}, of which {} are this machine waking up: the drive answers in {} ({cause}{governor})",
            units::format_latency(p50_ns),
            units::format_latency(cost.value),
            units::format_latency((p50_ns - cost.value).max(0.0)),
        ),
        run.advice(
            &[
                "an application saves it with more requests in flight",
                "by polling for completions (--wait spin measures that)",
            ],
            "an application saves it with more requests in flight",
        ) + "; the machine wakes up faster with a latency profile (tuned-adm profile latency-performance)",
        json!({ "latency_p50_ns": p50_ns, "wakeup_cost_ns": cost.value, "hypervisor": idle.hypervisor,
            "idle_driver": idle.idle_driver, "governor": idle.governor }),
    ))
}

fn generator_busy(run: &Run<'_>) -> Option<Found> {
    let load = run.evidence.processors?;
    let utilization = load.generator_utilization?;
    if utilization < BUSY_THREAD_UTILIZATION {
        return None;
    }
    let percent = units::format_percent(utilization.min(1.0));
    Some(Found::new(
        match load.busiest_workers {
            1 => format!("the worker thread used {percent} of a CPU"),
            many => format!("the {many} worker threads used {percent} of a CPU each"),
        },
        run.advice(
            &["use more --workers", "use a larger --block-size"],
            "measure with the benchmark random-read, which can use more workers",
        ),
        json!({ "utilization": utilization.min(1.0), "workers": load.busiest_workers }),
    ))
}

/// Utilization of all CPUs where they were busy, by whatever process.
fn busy_machine_utilization(run: &Run<'_>) -> Option<f64> {
    let utilization = run.evidence.processors?.machine_utilization?;
    (utilization >= BUSY_MACHINE_UTILIZATION).then_some(utilization.min(1.0))
}

/// Whether all CPUs were busy.
pub(super) fn is_machine_busy(run: &Run<'_>) -> bool {
    busy_machine_utilization(run).is_some()
}

fn machine_busy(run: &Run<'_>) -> Option<Found> {
    let utilization = busy_machine_utilization(run)?;
    let cpus = run.evidence.processors?.count;
    Some(Found::new(
        format!(
            "the utilization of the machine's {cpus} CPUs was {}",
            units::format_percent(utilization)
        ),
        run.advice(
            &["stop other programs; on a small machine fewer --workers may be faster"],
            "stop other programs",
        ),
        json!({ "utilization": utilization, "cpus": cpus }),
    ))
}
