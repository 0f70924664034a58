//! One request at a time on a device that serves many: nothing is saturated, the application waits
//! in turn.

use super::device_saturated::busiest;
use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary};
use crate::diagnosis::blame::parties;
use crate::diagnosis::cause::{Cause, CauseDetail};
use crate::diagnosis::code::Severity;
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;

/// Requests in flight: about one, all the time.
const QUEUE: std::ops::Range<f64> = 0.6..1.4;
/// Fraction of the time that the application has to wait.
const MIN_BLOCKED: f64 = 0.5;
/// Larger requests are sequential: read-ahead and merging do the rest.
const SMALL_REQUEST: f64 = 64e3;
/// Latency in nanoseconds up to which the device itself is not slow.
const FAST: f64 = 5e6;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = analysis
        .whole_devices()
        .filter(|device| device.is_flash && !device.serial)
        .filter_map(|device| cause(analysis, device))
        .collect();
    Examination::of(causes, || {
        let queue = busiest(analysis);
        queue
            .map(|device| Measurement::of(&device.name, Quantity::QueueSize, device.queue))
            .into_iter()
            .collect()
    })
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary) -> Option<Cause> {
    let size = device.throughput / device.iops.max(1.0);
    let fits = QUEUE.contains(&device.queue)
        && size <= SMALL_REQUEST
        && device.latency() <= FAST
        && device.iops > 0.0;
    let waiting: Vec<_> = analysis.waiters_on(&device.name, MIN_BLOCKED).collect();
    let [only] = waiting[..] else {
        return None;
    };
    if !fits {
        return None;
    }
    let mut cause = Cause::new(CauseDetail::QueueStarved, Severity::Note, analysis.begin());
    cause.device = Some(device.name.clone());
    cause.evidence = vec![
        Measurement::of(&device.name, Quantity::QueueSize, device.queue),
        Measurement::of(&device.name, Quantity::Iops, device.iops),
        Measurement::of(&device.name, Quantity::ReadAwait, device.latency()),
        Measurement::of(&only.command, Quantity::BlockedTime, only.blocked),
    ];
    cause.victims = parties(&[only]);
    cause.remedies = vec![Remedy::MoreParallelRequests];
    Some(cause)
}
