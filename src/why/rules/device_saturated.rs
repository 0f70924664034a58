//! More requests than the device serves, and somebody who waits because of that.
//!
//! A saturated device alone is no problem: a fast copy saturates it too.

use super::prelude::*;
use crate::text::root_advice;

/// Processes with equal shares that have to wait for each other: one waits for itself.
const MIN_COMPETITORS: usize = 2;
/// Latency in nanoseconds from which waiting is critical.
const CRITICAL_LATENCY: f64 = 500e6;
/// What a task may wait for at a device.
const AT_DEVICE: [WaitKind; 4] = [
    WaitKind::Read,
    WaitKind::Write,
    WaitKind::Request,
    WaitKind::Unknown,
];

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let overloaded = analysis.whole_devices().filter(|it| is_overloaded(it));
    let causes = overloaded.filter_map(|device| cause(analysis, device));
    Examination::of_devices(analysis, causes.collect(), || busiest_evidence(analysis))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let blame = blame(analysis, device);
    let waiting = analysis.blocked_on(device, SUFFERING).len();
    if blame.victims.is_empty() && waiting < MIN_COMPETITORS {
        let is_unknown = waiting == 0 && blame.culprits.is_empty();
        return unattributed(analysis, device).filter(|_| is_unknown);
    }
    let severity = severity(device, CRITICAL_LATENCY);
    let mut cause = analysis.cause(severity).on(name);
    cause.culprits.clone_from(&blame.culprits);
    // Of several with about the same share none is the one to blame.
    let compete = blame.victims.is_empty() || blame.competitors.len() >= MIN_COMPETITORS;
    if compete {
        cause.victims.clone_from(&blame.competitors);
    }
    cause.victims.extend(blame.victims.iter().cloned());
    let is_victim = |it: &Party| blame.victims.iter().any(|victim| victim.pid == it.pid);
    cause.culprits.retain(|it| !is_victim(it));
    prove_load(&mut cause, device);
    let time = saturated_time(device);
    cause.prove(
        name,
        SATURATED,
        Some(time).filter(|time| *time < SATURATED_TIME),
    );
    if let Some(spread) = device.fixed_rate_spread() {
        cause.prove(name, THROUGHPUT, device.throughput);
        cause.prove(name, RATE_SPREAD, spread);
    }
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
    cause.remedies.push(trace_requests(name));
    let bursts = burst_text(analysis, device);
    tell(&mut cause, device, &blame, (waiting, compete), &bursts);
    Some(cause)
}

/// Without root's rights it is not known which device a task waits for: probably the one that has more
/// requests than it serves.
fn unattributed(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let waits = |it: &&Waiter| {
        let at_device = it.waits_for(&AT_DEVICE);
        it.devices.is_empty() && at_device >= SUFFERING && at_device >= it.blocked / 2.0
    };
    let waiters: Vec<&Waiter> = analysis.blocked(SUFFERING).filter(waits).collect();
    if waiters.is_empty() {
        return None;
    }
    let mut cause = analysis.cause(Severity::Warning).on(name);
    prove_load(&mut cause, device);
    suffer(&mut cause, &waiters);
    cause.prove_of_machine(WAITING_TASKS, waiters.len() as f64);
    cause.remedies.push(trace_requests(name));
    cause.sentence = format!(
        "{} probably waits on {name}, which is saturated: {} requests in flight,{}; {}.",
        names(&cause.victims, waiters.len()).unwrap_or_default(),
        Unit::Count.text(device.queue),
        latency_text(device),
        root_advice(
            ": then it is known whose they are",
            "it is not known whose they are"
        )
    );
    Some(cause)
}

fn tell(
    cause: &mut Cause,
    device: &DeviceSummary,
    blame: &Blame,
    (waiting, compete): (usize, bool),
    bursts: &str,
) {
    let name = &device.name;
    let latency = latency_text(device);
    let kind = if device.serial {
        "; it is a rotational disk"
    } else {
        ""
    };
    cause.sentence = match cause.culprits.first().filter(|_| !compete) {
        Some(party) => {
            let probably = match cause.certainty {
                Certainty::Confirmed => "",
                Certainty::Probable => "probably ",
            };
            format!(
                "{} waits{latency}: {name} is {probably}saturated by {}{}{kind}{bursts}.",
                victim(cause, "A process"),
                culprit(party),
                blame.share_text()
            )
        }
        None => format!(
            "{} wait for each other{latency} on {name}, which serves fewer requests than they issue{kind}{bursts}.",
            names(&cause.victims, waiting).unwrap_or_else(|| "Processes".to_owned())
        ),
    };
}
