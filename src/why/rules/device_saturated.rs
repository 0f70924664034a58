//! More requests than the device serves, and somebody who waits because of that.
//!
//! A saturated device alone is no problem: a fast copy saturates it too.

use super::prelude::*;
use crate::text::root_advice;

pub(super) use super::prelude::busiest_evidence as evidence;

/// Processes with equal shares that have to wait for each other: one waits for itself.
const MIN_COMPETITORS: usize = 2;
/// Latency in nanoseconds from which waiting is critical.
const CRITICAL_LATENCY: f64 = 500e6;
pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let overloaded = analysis.whole_devices().filter(|it| is_overloaded(it));
    let causes = overloaded.filter_map(|device| cause(analysis, device));
    Ok(lowest(analysis, causes.collect()))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let blame = blame(analysis, device);
    let waiting = analysis.blocked_on(device, SUFFERING).len();
    if blame.victims.is_empty() && waiting < MIN_COMPETITORS {
        let is_unknown = waiting == 0 && blame.culprits.is_empty();
        return unattributed(analysis, device).filter(|_| is_unknown);
    }
    let severity = Severity::critical_if(device.latency() >= CRITICAL_LATENCY);
    let cause = analysis.cause(severity).on(name);
    let mut cause = cause.confirmed_if(blame.is_proven());
    // Of several with about the same share none is the one to blame.
    let compete = blame.victims.is_empty() || blame.competitors.len() >= MIN_COMPETITORS;
    if compete {
        cause.victims.clone_from(&blame.competitors);
    }
    cause.victims.extend(blame.victims.iter().cloned());
    let is_victim = |it: &Party| blame.victims.iter().any(|victim| victim.pid == it.pid);
    cause.culprits.clone_from(&blame.culprits);
    cause.culprits.retain(|it| !is_victim(it));
    prove_load(&mut cause, device);
    let time = Some(saturated_time(device)).filter(|time| *time < SATURATED_TIME);
    cause.prove(name, SATURATED, time);
    blame.prove(&mut cause);
    cause.prove(name, WAITING_TASKS, waiting as f64);
    if let Some(victim) = cause.victims.first().cloned() {
        cause.prove(&victim.command, BLOCKED, victim.share);
    }
    if let Some(culprit) = cause.culprits.first() {
        cause.remedies = against(culprit, device, analysis);
    }
    if compete {
        for remedy in &mut cause.remedies {
            remedy.text += &format!("; it is one of {waiting} that wait for each other");
        }
    }
    cause.remedies.extend(trace_requests(name));
    let latency = latency_text(device);
    let culprit = cause.culprits.first().filter(|_| !compete);
    let what = match culprit {
        Some(party) => format!(
            "{} waits{latency}: {name} is {}saturated by {}{}",
            cause.victim("A process"),
            cause.probably(),
            party.identity(),
            blame.share_text()
        ),
        None => format!(
            "{} wait for each other{latency} on {name}, which serves fewer requests than they issue",
            names(&cause.victims, waiting, "Processes")
        ),
    };
    let kind = if device.serial {
        "; it is a rotational disk"
    } else {
        ""
    };
    cause.sentence = format!("{what}{kind}{}.", burst_text(analysis, device));
    Some(cause)
}

/// Without root's rights it is not known which device a task waits for: probably the one that has more
/// requests than it serves.
fn unattributed(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let waits = |it: &&Waiter| {
        let at_device = it.waits_at_device();
        it.devices.is_empty() && at_device >= SUFFERING && at_device >= it.blocked / 2.0
    };
    let waiters: Vec<&Waiter> = analysis.blocked(SUFFERING).filter(waits).collect();
    if waiters.is_empty() {
        return None;
    }
    let mut cause = analysis.cause(Severity::Warning).on(name);
    prove_load(&mut cause, device);
    suffer(&mut cause, &waiters);
    cause.remedies.extend(trace_requests(name));
    cause.sentence = format!(
        "{} probably waits on {name}, which is saturated: {} requests in flight,{}; {}.",
        names(&cause.victims, waiters.len(), ""),
        Unit::Count.text(device.queue),
        latency_text(device),
        root_advice(
            ": then it is known whose they are",
            "it is not known whose they are"
        )
    );
    Some(cause)
}
