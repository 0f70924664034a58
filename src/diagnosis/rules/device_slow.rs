//! Few requests, and each of them slow: media retries, the clean-up of shingled drives, throttling
//! by temperature, wake-up, or a virtual disk at the limit of its service.

use super::device_saturated::{busiest, is_saturated, load_evidence};
use super::examination::Examination;
use crate::diagnosis::analysis::{Analysis, DeviceSummary, IntervalLoad};
use crate::diagnosis::blame::{SUFFERING, blame, parties};
use crate::diagnosis::cause::{Cause, CauseDetail};
use crate::diagnosis::code::Severity;
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::mitigation::health_of;
use crate::diagnosis::remedy::Remedy;

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
/// Spread of the throughput below which a virtual disk is at a fixed rate.
const FIXED_RATE_SPREAD: f64 = 0.05;
/// Latency in nanoseconds from which waiting is critical.
const CRITICAL_LATENCY: f64 = 1e9;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let causes = analysis
        .whole_devices()
        .filter_map(|device| {
            if is_at_fixed_rate(device) {
                cause(analysis, device, true)
            } else if is_slow(device) {
                cause(analysis, device, false)
            } else {
                None
            }
        })
        .collect();
    Examination::of_devices(analysis, causes, || {
        busiest(analysis).map_or_else(Vec::new, |device| {
            load_evidence(device).into_iter().take(2).collect()
        })
    })
}

fn is_slow(device: &DeviceSummary) -> bool {
    let slow = if device.serial { SLOW_DISK } else { SLOW_OTHER };
    let with_requests = device.fraction_of_intervals(|load| load.completed > 0.0);
    let slow_intervals = device.fraction_of_intervals(|load: &IntervalLoad| {
        // The kernel adds the whole time of a request when it completes: the queue of an interval
        // that is shorter than its requests is too high, that of the window is not.
        load.queue.min(device.queue) <= FEW_REQUESTS
            && load.latency.is_some_and(|latency| latency >= slow)
    });
    let requests = device
        .intervals
        .iter()
        .map(|load| load.completed)
        .sum::<f64>();
    let time: f64 = device
        .intervals
        .iter()
        .map(|load| load.completed * load.latency.unwrap_or(0.0) / 1e9)
        .sum();
    let enough = requests >= MIN_REQUESTS || time >= device.seconds * MIN_TIME;
    enough && slow_intervals >= with_requests * MIN_FRACTION && slow_intervals > 0.0
}

/// Whether a virtual disk delivers a constant rate while requests queue up.
fn is_at_fixed_rate(device: &DeviceSummary) -> bool {
    device.is_virtual
        && is_saturated(device)
        && device
            .throughput_spread()
            .is_some_and(|spread| spread < FIXED_RATE_SPREAD)
}

fn cause(analysis: &Analysis<'_>, device: &DeviceSummary, at_fixed_rate: bool) -> Option<Cause> {
    let waiting: Vec<_> = analysis.waiters_on(&device.name, SUFFERING).collect();
    if waiting.is_empty() {
        return None;
    }
    let severity = match device.latency() >= CRITICAL_LATENCY {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    let detail = CauseDetail::DeviceSlow { at_fixed_rate };
    let mut cause = Cause::new(detail, severity, analysis.begin());
    cause.device = Some(device.name.clone());
    cause.evidence = load_evidence(device);
    if at_fixed_rate {
        let spread = device.throughput_spread().unwrap_or(0.0);
        cause.evidence.push(Measurement::of(
            &device.name,
            Quantity::Throughput,
            device.throughput,
        ));
        cause.evidence.push(Measurement::of(
            &device.name,
            Quantity::ThroughputSpread,
            spread,
        ));
    }
    cause.evidence.push(Measurement::of(
        &waiting[0].command,
        Quantity::BlockedTime,
        waiting[0].blocked,
    ));
    cause.victims = parties(&waiting);
    if at_fixed_rate {
        cause.culprits = blame(analysis, device).culprits;
    }
    cause.remedies = vec![Remedy::ShowKernelLog];
    cause.remedies.extend(health_of(analysis, &device.name));
    cause.remedies.push(Remedy::TraceRequests {
        device: device.name.clone(),
    });
    Some(cause)
}
