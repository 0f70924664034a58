//! More requests than the device serves, and somebody who waits because of that.
//!
//! A saturated device alone is no problem: a fast copy saturates it too. Utilization is used for
//! devices that serve one request at a time only; since kernel 5.0 it is sampled.

use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary, IntervalLoad};
use crate::diagnosis::blame::{Blame, SUFFERING, blame};
use crate::diagnosis::cause::{Cause, CauseDetail};
use crate::diagnosis::code::Severity;
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::against;
use crate::diagnosis::remedy::Remedy;

/// Fraction of the time for which a device has to be saturated to be saturated all the time.
const MIN_FRACTION: f64 = 0.5;
/// Writeback comes in bursts, so that a device which is idle or lightly loaded between them delays
/// others for seconds at a time. A process that waits for a smaller fraction of the time does not
/// suffer, so that shorter bursts are none;
const MIN_BURSTS: f64 = SUFFERING;
/// and latencies below this in nanoseconds, the mean of the requests in the bursts, are not noticed
/// as delays: a person takes 0.1 s for immediate.
const BURST_LATENCY: f64 = 100e6;
/// A serial device is saturated at this utilization and queue,
const SERIAL_BUSY: f64 = 0.9;
const SERIAL_QUEUE: f64 = 1.8;
/// a parallel one at this queue, if the latency has risen.
const PARALLEL_QUEUE: f64 = 3.0;
/// Latency compared with that under light load: below, requests are merely combined.
const RISEN_LATENCY: f64 = 3.0;
/// Latency in nanoseconds that nobody notices.
const UNNOTICED_LATENCY: f64 = 10e6;
/// Processes with equal shares that have to wait for each other: fewer are an ordinary load.
const MIN_COMPETITORS: usize = 4;
/// Latency in nanoseconds from which waiting is critical.
const CRITICAL_LATENCY: f64 = 500e6;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = analysis
        .whole_devices()
        .filter(|device| is_overloaded(device))
        .filter_map(|device| cause(analysis, device))
        .collect();
    Examination::of_devices(analysis, causes, || {
        busiest(analysis).map_or_else(Vec::new, load_evidence)
    })
}

/// Whether there are more requests than the device serves, all the time or in bursts that delay others
/// noticeably.
pub(super) fn is_overloaded(device: &DeviceSummary) -> bool {
    is_saturated(device) || has_bursts(device)
}

/// Whether most intervals show more requests than the device serves.
pub(super) fn is_saturated(device: &DeviceSummary) -> bool {
    saturated_time(device) >= MIN_FRACTION
}

/// Whether there are bursts of more requests than the device serves, long and slow enough to delay
/// others noticeably.
fn has_bursts(device: &DeviceSummary) -> bool {
    let bursts = || {
        let intervals = device.intervals.iter();
        intervals.filter(|load| is_saturated_in(device, load))
    };
    let requests: f64 = bursts().map(|load| load.completed).sum();
    let time: f64 = bursts()
        .map(|load| load.completed * load.latency.unwrap_or(0.0))
        .sum();
    saturated_time(device) >= MIN_BURSTS && time >= requests * BURST_LATENCY
}

/// Whether a device has more requests in an interval than it serves.
fn is_saturated_in(device: &DeviceSummary, load: &IntervalLoad) -> bool {
    let is_full = match device.serial {
        true => load.busy >= SERIAL_BUSY && load.queue >= SERIAL_QUEUE,
        false => load.queue >= PARALLEL_QUEUE,
    };
    is_full && is_risen(device, load.latency.unwrap_or(0.0))
}

/// Whether a latency in nanoseconds is far above that under light load.
pub(super) fn is_risen(device: &DeviceSummary, latency: f64) -> bool {
    latency >= (device.light_latency * RISEN_LATENCY).max(UNNOTICED_LATENCY)
}

/// Fraction of the intervals in which the device has more requests than it serves.
fn saturated_time(device: &DeviceSummary) -> f64 {
    device.fraction_of_intervals(|load| is_saturated_in(device, load))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let Blame {
        culprits,
        mut victims,
        competitors,
        certainty,
        evidence,
    } = blame(analysis, device);
    let waiting = analysis.waiters_on(&device.name, SUFFERING).count();
    if victims.is_empty() {
        if waiting < MIN_COMPETITORS {
            return None;
        }
        victims = competitors;
    }
    let severity = match device.latency() >= CRITICAL_LATENCY {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    let detail = CauseDetail::DeviceSaturated {
        serial: device.serial,
    };
    let mut cause = Cause::new(detail, severity, analysis.begin());
    cause.certainty = certainty;
    cause.device = Some(device.name.clone());
    cause.evidence = load_evidence(device);
    let saturated = saturated_time(device);
    if saturated < MIN_FRACTION {
        let bursts = Measurement::of(&device.name, Quantity::SaturatedTime, saturated);
        cause.evidence.push(bursts);
    }
    cause.evidence.extend(evidence);
    cause.evidence.push(Measurement::of(
        &device.name,
        Quantity::WaitingTasks,
        waiting as f64,
    ));
    if let Some(victim) = victims.first() {
        let share = victim.share.unwrap_or(0.0);
        cause.evidence.push(Measurement::of(
            &victim.command,
            Quantity::BlockedTime,
            share,
        ));
    }
    cause.remedies = culprits
        .first()
        .map(|culprit| against(culprit, device, analysis))
        .unwrap_or_default();
    cause.remedies.push(Remedy::TraceRequests {
        device: device.name.clone(),
    });
    cause.culprits = culprits;
    cause.victims = victims;
    Some(cause)
}

/// What shows how much a device is loaded.
pub(super) fn load_evidence(device: &DeviceSummary) -> Vec<Measurement> {
    let name = &device.name;
    let mut evidence = Vec::new();
    let mut add = |quantity, value: Option<f64>| {
        evidence.extend(value.map(|value| Measurement::of(name, quantity, value)));
    };
    let reads_dominate = device.read_await > device.write_await;
    match reads_dominate {
        true => add(Quantity::ReadAwait, device.read_await),
        false => add(Quantity::WriteAwait, device.write_await),
    }
    add(Quantity::LightLoadLatency, Some(device.light_latency));
    add(Quantity::QueueSize, Some(device.queue));
    if device.serial {
        add(Quantity::Utilization, Some(device.busy));
    }
    add(Quantity::Iops, Some(device.iops));
    evidence
}

/// The device with the most requests in flight.
pub(super) fn busiest<'a>(analysis: &'a Analysis<'_>) -> Option<&'a DeviceSummary> {
    analysis
        .whole_devices()
        .filter(|device| device.iops > 0.0)
        .max_by(|a, b| a.queue.total_cmp(&b.queue))
}
