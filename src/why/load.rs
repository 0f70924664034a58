//! Whether a device has more requests than it serves, and how that is told.
//!
//! Utilization is used for devices that serve one request at a time only; since kernel 5.0 it is sampled.

use super::analysis::{Analysis, DeviceSummary, IntervalLoad};
use super::blame::SUFFERING;
use super::cause::Cause;
use super::evidence::{Evidence, IOPS, LIGHT_LATENCY, QUEUE, READ_AWAIT, UTILIZATION, WRITE_AWAIT};
use crate::files::safe_text::SafeText;
use crate::units;

/// Fraction of the time for which a device has to be saturated to be saturated all the time.
pub const SATURATED_TIME: f64 = 0.5;
/// Writeback comes in bursts, so that a device which is idle or lightly loaded between them delays
/// others for seconds at a time. A process that waits for a smaller fraction of the time does not
/// suffer, so that shorter bursts are none;
const MIN_BURSTS: f64 = SUFFERING;
/// and latencies below this in nanoseconds, the mean of the requests in the bursts, are not noticed
/// as delays: a person takes 0.1 s for immediate.
const BURST_LATENCY: f64 = 100e6;
/// A serial device is saturated at this utilization and queue: one request waits for another;
const SERIAL_BUSY: f64 = 0.9;
const SERIAL_QUEUE: f64 = 1.8;
/// a parallel one at this queue, if the latency has risen.
const PARALLEL_QUEUE: f64 = 1.8;
/// Latency compared with that under light load: below, requests are merely combined.
const RISEN_LATENCY: f64 = 3.0;
/// Latency in nanoseconds that nobody notices.
const UNNOTICED_LATENCY: f64 = 10e6;

/// Whether there are more requests than the device serves, all the time or in bursts that are long and
/// slow enough to delay others noticeably.
pub fn is_overloaded(device: &DeviceSummary) -> bool {
    let bursts = device
        .intervals
        .iter()
        .filter(|load| is_saturated_in(device, load));
    let (mut requests, mut time) = (0.0, 0.0);
    for load in bursts {
        requests += load.requests;
        time += load.requests * load.latency.unwrap_or(0.0);
    }
    let saturated = saturated_time(device);
    saturated >= SATURATED_TIME || saturated >= MIN_BURSTS && time >= requests * BURST_LATENCY
}

/// Fraction of the intervals in which the device has more requests than it serves.
pub fn saturated_time(device: &DeviceSummary) -> f64 {
    device.fraction_of_intervals(|load| is_saturated_in(device, load))
}

/// Whether a device has more requests in an interval than it serves.
fn is_saturated_in(device: &DeviceSummary, load: &IntervalLoad) -> bool {
    let latency = load.latency.unwrap_or(0.0);
    if device.serial {
        // One request waits for the other: the latency has risen by that.
        load.busy >= SERIAL_BUSY && load.queue >= SERIAL_QUEUE && latency >= UNNOTICED_LATENCY
    } else {
        load.queue >= PARALLEL_QUEUE && is_risen(device, latency)
    }
}

/// Whether a latency in nanoseconds is far above that under light load.
fn is_risen(device: &DeviceSummary, latency: f64) -> bool {
    latency >= (device.expected_latency * RISEN_LATENCY).max(UNNOTICED_LATENCY)
}

/// What shows how much a device is loaded.
pub fn prove_load(cause: &mut Cause, device: &DeviceSummary) {
    let name = &device.name;
    if device.reads_most() {
        cause.prove(name, READ_AWAIT, device.read_await);
    } else {
        cause.prove(name, WRITE_AWAIT, device.write_await);
    }
    cause.prove(name, LIGHT_LATENCY, device.light_latency);
    cause.prove(name, QUEUE, device.queue);
    let busy = Some(device.busy).filter(|_| device.serial);
    cause.prove(name, UTILIZATION, busy);
    cause.prove(name, IOPS, device.iops);
}

/// ` 41 ms per write`: of the requests that take most of its time.
pub fn latency_text(device: &DeviceSummary) -> String {
    let what = if device.reads_most() { "read" } else { "write" };
    match device.latency() {
        0.0 => String::new(),
        latency => format!(" {} per {what}", units::format_latency(latency)),
    }
}

/// `; it comes in bursts, about every 4.0 s`: where the load rises and falls again and again at an even pace, as
/// that of checkpoints does.
pub fn burst_text(analysis: &Analysis<'_>, device: &DeviceSummary) -> String {
    let each = analysis.seconds / device.intervals.len().max(1) as f64;
    let queues: Vec<f64> = device.intervals.iter().map(|it| it.queue).collect();
    let period = burst_period(&queues).map(|intervals| intervals * each * 1e9);
    period.map_or_else(String::new, |period| {
        let period = units::format_latency(period);
        format!("; the load comes in bursts, about every {period}")
    })
}

/// Mean distance of the begins of bursts, in intervals: of at least two whose distances differ by one interval at
/// most from another, in less than 60 % of the time. A burst is what exceeds half of the longest queue, after less
/// than a quarter.
fn burst_period(queues: &[f64]) -> Option<f64> {
    let most = queues.iter().copied().fold(0.0, f64::max);
    let high = queues.iter().filter(|queue| **queue > most / 2.0).count();
    let mut begins = Vec::new();
    let mut is_low = false;
    for (interval, queue) in queues.iter().enumerate() {
        if *queue < most / 4.0 {
            is_low = true;
        } else if *queue > most / 2.0 && std::mem::take(&mut is_low) {
            begins.push(interval);
        }
    }
    let distances: Vec<usize> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (least, largest) = (distances.iter().min()?, distances.iter().max()?);
    let is_even = largest - least <= 1 && high as f64 <= 0.6 * queues.len() as f64;
    is_even.then(|| distances.iter().sum::<usize>() as f64 / distances.len() as f64)
}

/// The device with the most requests in flight.
pub fn busiest<'a>(analysis: &'a Analysis<'_>) -> Option<&'a DeviceSummary> {
    let devices = analysis.whole_devices().filter(|it| it.iops > 0.0);
    devices.max_by(|a, b| a.queue.total_cmp(&b.queue))
}

/// Of causes at devices that lie on each other those at the lowest.
pub fn lowest(analysis: &Analysis<'_>, mut causes: Vec<Cause>) -> Vec<Cause> {
    let devices: Vec<_> = causes.iter().filter_map(|it| it.device.clone()).collect();
    let is_above = |upper: &SafeText| {
        let mut others = devices.iter().filter(|it| *it != upper);
        others.any(|lower| analysis.lies_on(upper, lower))
    };
    causes.retain(|cause| !cause.device.as_ref().is_some_and(is_above));
    causes
}

/// Its queue, which rules out that one is loaded.
pub fn busiest_evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let queue = busiest(analysis).map(|device| Evidence::of(&device.name, QUEUE, device.queue));
    queue.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_at_an_even_pace_have_a_period() {
        let period = |queues: &[u8]| {
            let queues: Vec<f64> = queues.iter().map(|queue| f64::from(*queue)).collect();
            burst_period(&queues)
        };
        assert_eq!(period(&[1, 20, 1, 1, 1, 19, 1, 1, 1, 20]), Some(4.0));
        assert_eq!(period(&[0, 20, 15, 1, 0, 19, 18, 0, 1, 1, 20]), Some(4.5));
        for steady in [
            &[20, 18, 20, 19, 20, 18][..],
            &[],
            &[0, 0, 0],
            // One burst, an uneven pace, loaded most of the time.
            &[1, 1, 20, 20, 1, 1],
            &[1, 20, 1, 20, 1, 1, 1, 1, 20],
            &[1, 20, 20, 20, 20, 1, 20, 20, 20, 20],
        ] {
            assert_eq!(period(steady), None, "{steady:?}");
        }
    }
}
