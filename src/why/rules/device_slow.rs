//! Few requests, and each of them slow: media retries, the clean-up of shingled drives, throttling
//! by temperature, wake-up, or a virtual disk at the limit of its service.

use crate::units;
use crate::why::analysis::{Analysis, DeviceSummary};
use crate::why::blame::{SUFFERING, blame, parties};
use crate::why::cause::{Cause, Severity};
use crate::why::device_load::{busiest_evidence, is_saturated, latency_text, prove_load};
use crate::why::evidence::{BLOCKED, RATE_SPREAD, THROUGHPUT, Unit};
use crate::why::parties::{victim, who_waits};
use crate::why::remedies::{health_of, kernel_log, trace_requests};
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "device-slow",
    explains: &["dirty-throttled", "device-saturated", "queue-starved"],
    examine,
};

/// Latency in nanoseconds of a request that hardly shares the device, from which a disk and any
/// other device is slow.
const SLOW_DISK: f64 = 60e6;
const SLOW_OTHER: f64 = 25e6;
/// At most this many requests in flight are few.
const FEW_REQUESTS: f64 = 2.5;
/// Fraction of the intervals with requests that have to be slow.
const MIN_FRACTION: f64 = 0.5;
/// Requests that the window needs, or else this fraction of it spent in requests.
const MIN_REQUESTS: f64 = 10.0;
const MIN_TIME: f64 = 0.5;
/// Latency in nanoseconds from which waiting is critical.
const CRITICAL_LATENCY: f64 = 1e9;

fn examine(analysis: &Analysis<'_>) -> Examination {
    let devices = analysis.whole_devices();
    let causes = devices
        .filter_map(|device| cause(analysis, device))
        .collect();
    Examination::of_devices(analysis, causes, || busiest_evidence(analysis))
}

fn is_slow(device: &DeviceSummary) -> bool {
    let slow = if device.serial { SLOW_DISK } else { SLOW_OTHER };
    let with_requests = device.fraction_of_intervals(|load| load.completed() > 0.0);
    // The kernel adds the whole time of a request when it completes: the queue of an interval that is
    // shorter than its requests is too high, that of the window is not.
    let slow_intervals = device.fraction_of_intervals(|load| {
        let queue = load.queue.min(device.queue);
        // A request that waits for another one takes the time of both.
        let is_slow = |latency: f64| latency >= slow * queue.max(1.0);
        queue <= FEW_REQUESTS && load.latency().is_some_and(is_slow)
    });
    let (mut requests, mut time) = (0.0, 0.0);
    for load in &device.intervals {
        requests += load.completed();
        time += load.completed() * load.latency().unwrap_or(0.0) / 1e9;
    }
    let enough = requests >= MIN_REQUESTS || time >= device.seconds * MIN_TIME;
    enough && slow_intervals >= with_requests * MIN_FRACTION && slow_intervals > 0.0
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    // With a culprit the device is saturated by it, and the rate is evidence.
    let fixed_rate = device
        .fixed_rate_spread()
        .filter(|_| is_saturated(device) && blame(analysis, device).victims.is_empty());
    let name = &device.name;
    let waiting: Vec<_> = analysis.waiters_on(name, SUFFERING).collect();
    let first = waiting.first()?;
    if fixed_rate.is_none() && !is_slow(device) {
        return None;
    }
    let severity = if device.latency() >= CRITICAL_LATENCY {
        Severity::Critical
    } else {
        Severity::Warning
    };
    let mut cause = analysis.cause(RULE.code, severity).on(name);
    prove_load(&mut cause, device);
    if fixed_rate.is_some() {
        cause.prove(name, THROUGHPUT, device.throughput);
        cause.prove(name, RATE_SPREAD, fixed_rate);
        cause.culprits = blame(analysis, device).culprits;
    }
    cause.prove(&first.command, BLOCKED, first.blocked);
    cause.victims = parties(&waiting);
    cause.remedies.push(kernel_log());
    cause.remedies.extend(health_of(analysis, name));
    cause.remedies.push(trace_requests(name));
    let (who, latency) = (victim(&cause, "A process"), latency_text(device));
    cause.sentence = if fixed_rate.is_some() {
        let rate = units::format_throughput(device.throughput);
        format!(
            "{who} waits{latency} on {name}, which delivers {rate} and not more: probably the limit of the virtual disk."
        )
    } else {
        let queue = Unit::Count.text(device.queue);
        format!(
            "{who} waits{latency} on {name}, which is slow although only {queue} requests are in flight."
        )
    };
    cause.headline = format!("{}{latency}: {name} is slow", who_waits(&cause));
    Some(cause)
}
