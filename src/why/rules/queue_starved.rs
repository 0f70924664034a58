//! One small request at a time on a flash drive, which serves many: the application waits in turn.

use super::at_limit::{MORE_IN_FLIGHT, is_flush_bound};
use super::prelude::*;

pub(super) use super::prelude::busiest_evidence as evidence;

/// Requests in flight: about one, all the time.
const ONE_REQUEST: std::ops::Range<f64> = 0.6..1.4;
/// Fraction of the time that the process has to wait.
const MOST_OF_THE_TIME: f64 = 0.5;
/// Larger requests in bytes are sequential: read-ahead and merging do the rest.
const SMALL_REQUEST: f64 = 64e3;
/// Latency in nanoseconds up to which the drive itself is not slow.
const FAST: f64 = 5e6;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let notes = analysis.whole_devices().filter_map(|it| note(analysis, it));
    Ok(lowest(analysis, notes.collect()))
}

fn is_starved(device: &DeviceSummary) -> bool {
    let serves_many = device.is_flash && !device.serial && device.latency() <= FAST;
    let is_small = device.iops > 0.0 && device.throughput <= device.iops * SMALL_REQUEST;
    serves_many && is_small && ONE_REQUEST.contains(&device.queue) && !is_flush_bound(device)
}

fn note(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let name = &device.name;
    let waiting = analysis.blocked_on(device, MOST_OF_THE_TIME);
    let [only] = waiting[..] else { return None };
    if !is_starved(device) || only.waits_at_device() < MOST_OF_THE_TIME || analysis.is_syncing(only)
    {
        return None;
    }
    let mut cause = analysis.cause(Severity::Note).on(name);
    prove_load(&mut cause, device);
    suffer(&mut cause, &waiting);
    cause.remedies.push(Remedy::advice(MORE_IN_FLIGHT));
    let (who, time) = (cause.victim(""), units::format_percent(only.blocked));
    cause.sentence = format!(
        "{who} waits {time} of the time for {name}, which serves many requests at once and has one in flight,{}.",
        latency_text(device)
    );
    Some(cause)
}
