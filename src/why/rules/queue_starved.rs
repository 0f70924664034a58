//! One request at a time on a device that serves many: nothing is saturated, the application waits
//! in turn.

use super::prelude::*;

/// Requests in flight: about one, all the time.
const ONE_REQUEST: std::ops::Range<f64> = 0.6..1.4;
/// Fraction of the time that the application has to wait.
const MIN_BLOCKED: f64 = 0.5;
/// Larger requests are sequential: read-ahead and merging do the rest.
const SMALL_REQUEST: f64 = 64e3;
/// Latency in nanoseconds up to which the device itself is not slow.
const FAST: f64 = 5e6;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let flash = analysis
        .whole_devices()
        .filter(|device| device.is_flash && !device.serial);
    let causes = flash.filter_map(|device| cause(analysis, device));
    Examination::of(causes.collect(), || busiest_evidence(analysis))
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let size = device.throughput / device.iops.max(1.0);
    let fits = ONE_REQUEST.contains(&device.queue) && size <= SMALL_REQUEST;
    let waiting = analysis.blocked_on(device, MIN_BLOCKED);
    let [only] = waiting[..] else {
        return None;
    };
    if !fits || device.iops == 0.0 || device.latency() > FAST {
        return None;
    }
    let mut cause = analysis.cause(Severity::Note).on(name);
    cause.prove(name, QUEUE, device.queue);
    cause.prove(name, IOPS, device.iops);
    cause.prove(name, READ_AWAIT, device.read_await);
    cause.prove(name, WRITE_AWAIT, device.write_await);
    suffer(&mut cause, &[only]);
    cause.remedies.push(Remedy::advice(
        "more requests in flight: several threads, asynchronous I/O, or read-ahead; `diskscope run concurrency-read` shows what the device gains from it",
    ));
    cause.sentence = format!(
        "{} waits {} of the time for {name}, which is not saturated: it has one request in flight at a time.",
        victim(&cause, ""),
        units::format_percent(only.blocked)
    );
    Some(cause)
}
