//! More requests than the device serves, and somebody who waits because of that.
//!
//! A saturated device alone is no problem: a fast copy saturates it too.

use crate::why::analysis::{Analysis, DeviceSummary, Waiter};
use crate::why::blame::{Blame, SUFFERING, blame, parties};
use crate::why::cause::{Cause, Certainty, Severity};
use crate::why::device_load::{
    SATURATED_TIME, busiest_evidence, is_overloaded, latency_text, prove_load, saturated_time,
};
use crate::why::evidence::{
    BLOCKED, DISKSTATS, Metric, RATE_SPREAD, THROUGHPUT, Unit, WAITING_TASKS, fraction,
};
use crate::why::parties::{by_whom, culprit, names, victim, who_waits};
use crate::why::remedies::{against, trace_requests};
use crate::why::rule::{Examination, Rule};
use crate::why::wait_kind::WaitKind;

pub(super) const RULE: Rule = Rule {
    code: "device-saturated",
    explains: &["dirty-throttled"],
    examine,
};

/// Processes with equal shares that have to wait for each other: one waits for itself.
const MIN_COMPETITORS: usize = 2;
/// Latency in nanoseconds from which waiting is critical.
const CRITICAL_LATENCY: f64 = 500e6;
/// Fraction of the time in which the device had more requests than it serves.
const SATURATED: Metric = fraction("saturated", "saturated", DISKSTATS);

fn examine(analysis: &Analysis<'_>) -> Examination {
    let devices = analysis.whole_devices();
    let causes = devices
        .filter(|device| is_overloaded(device))
        .filter_map(|device| cause(analysis, device))
        .collect();
    Examination::of_devices(analysis, causes, || busiest_evidence(analysis))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let blame = blame(analysis, device);
    let waiting = analysis.waiters_on(&device.name, SUFFERING).count();
    if blame.victims.is_empty() && waiting < MIN_COMPETITORS {
        return unattributed(analysis, device).filter(|_| waiting == 0);
    }
    let severity = if device.latency() >= CRITICAL_LATENCY {
        Severity::Critical
    } else {
        Severity::Warning
    };
    let mut cause = analysis.cause(RULE.code, severity).on(&device.name);
    cause.certainty = blame.certainty;
    cause.culprits.clone_from(&blame.culprits);
    cause.victims = if blame.victims.is_empty() {
        blame.competitors.clone()
    } else {
        blame.victims.clone()
    };
    prove_load(&mut cause, device);
    let time = saturated_time(device);
    if time < SATURATED_TIME {
        cause.prove(&device.name, SATURATED, time);
    }
    if let Some(spread) = device.fixed_rate_spread() {
        cause.prove(&device.name, THROUGHPUT, device.throughput);
        cause.prove(&device.name, RATE_SPREAD, spread);
    }
    blame.prove(&mut cause);
    cause.prove(&device.name, WAITING_TASKS, waiting as f64);
    if let Some(victim) = cause.victims.first().cloned() {
        cause.prove(&victim.command, BLOCKED, victim.share);
    }
    if let Some(culprit) = cause.culprits.first() {
        cause.remedies = against(culprit, device, analysis);
    }
    if blame.victims.is_empty() {
        for remedy in &mut cause.remedies {
            remedy.text += &format!("; it is one of {waiting} that wait for each other");
        }
    }
    cause.remedies.push(trace_requests(&device.name));
    tell(&mut cause, device, &blame, waiting);
    Some(cause)
}

/// Without root's rights it is not known which device a task waits for: probably the one that has more
/// requests than it serves.
fn unattributed(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let kinds = [
        WaitKind::Read,
        WaitKind::Write,
        WaitKind::Request,
        WaitKind::Unknown,
    ];
    let waiters = analysis.waiters.iter();
    let waiters: Vec<&Waiter> = waiters
        .filter(|it| it.devices.is_empty() && !it.is_kernel_thread)
        .filter(|it| it.waits_for(&kinds) >= SUFFERING)
        .collect();
    let first = waiters.first()?;
    let mut cause = analysis
        .cause(RULE.code, Severity::Warning)
        .on(&device.name);
    prove_load(&mut cause, device);
    cause.prove(&first.command, BLOCKED, first.blocked);
    cause.prove_of_machine(WAITING_TASKS, waiters.len() as f64);
    cause.victims = parties(&waiters);
    cause.remedies.push(trace_requests(&device.name));
    let (name, latency) = (&device.name, latency_text(device));
    let who = names(&cause.victims, waiters.len()).unwrap_or_default();
    let queue = Unit::Count.text(device.queue);
    cause.sentence = format!(
        "{who} probably waits on {name}, which is saturated: {queue} requests in flight,{latency}; whose they are, root's rights show."
    );
    cause.headline = format!("{} probably for {name}:{latency}", who_waits(&cause));
    Some(cause)
}

fn tell(cause: &mut Cause, device: &DeviceSummary, blame: &Blame, waiting: usize) {
    let name = &device.name;
    let latency = latency_text(device);
    let kind = if device.serial {
        ", a rotational disk,"
    } else {
        ""
    };
    let is_victim = |pid: u32| cause.victims.iter().any(|it| it.pid == pid);
    let is_blamed = cause.culprits.iter().all(|it| !is_victim(it.pid));
    let blamed = cause.culprits.first().filter(|_| is_blamed);
    cause.sentence = match blamed {
        Some(party) => {
            let because = match cause.certainty {
                Certainty::Confirmed => "because",
                Certainty::Probable => "probably because",
            };
            format!(
                "{} waits{latency} on {name} {because} it{kind} is saturated by {}{}.",
                victim(cause, "A process"),
                culprit(party),
                blame.share_text()
            )
        }
        None => format!(
            "{} wait for each other{latency} on {name}: it{kind} serves fewer requests than they issue.",
            names(&cause.victims, waiting).unwrap_or_else(|| "Processes".to_owned())
        ),
    };
    let (who, by) = (who_waits(cause), by_whom(cause));
    cause.headline = format!("{who}{latency}: {name} is saturated{by}");
}
