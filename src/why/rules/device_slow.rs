//! Few requests, and each of them slow: media retries, the clean-up of shingled drives, throttling
//! by temperature, wake-up, or the network behind a virtual disk.

use super::prelude::*;

pub(super) use super::prelude::busiest_evidence as evidence;

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

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let slow = analysis.whole_devices().filter(|it| is_slow(analysis, it));
    let causes = slow.filter_map(|device| cause(analysis, device));
    Ok(lowest(analysis, causes.collect()))
}

fn is_slow(analysis: &Analysis<'_>, device: &DeviceSummary) -> bool {
    let slow = if device.serial { SLOW_DISK } else { SLOW_OTHER };
    let with_requests = device.fraction_of_intervals(|load| load.requests > 0.0);
    // The kernel adds the whole time of a request when it completes: the queue of an interval that is
    // shorter than its requests is too high, that of the window is not.
    let slow_intervals = device.fraction_of_intervals(|load| {
        let queue = load.queue.min(device.queue);
        // A request that waits for another one takes the time of both.
        let is_slow = |latency: f64| latency >= slow * queue.max(1.0);
        queue <= FEW_REQUESTS && load.latency.is_some_and(is_slow)
    });
    let loads = device.intervals.iter();
    let requests: f64 = loads.clone().map(|load| load.requests).sum();
    let time = loads.map(|load| load.requests * load.latency.unwrap_or(0.0) / 1e9);
    let enough = requests >= MIN_REQUESTS || time.sum::<f64>() >= analysis.seconds * MIN_TIME;
    enough && slow_intervals >= with_requests * MIN_FRACTION && slow_intervals > 0.0
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let waiting = analysis.blocked_on(device, SUFFERING);
    if waiting.is_empty() {
        return None;
    }
    let severity = Severity::critical_if(device.latency() >= CRITICAL_LATENCY);
    let mut cause = analysis.cause(severity).on(name);
    prove_load(&mut cause, device);
    suffer(&mut cause, &waiting);
    cause.remedies.push(kernel_log());
    cause.remedies.extend(health_of(analysis, name));
    cause.remedies.extend(trace_requests(name));
    cause.sentence = format!(
        "{} waits{} on {name}, which is slow although only {} requests are in flight.",
        cause.victim("A process"),
        latency_text(device),
        Unit::Count.text(device.queue)
    );
    Some(cause)
}
