//! Whether a snapshot gives reason to look closer: scans of the tasks and facts cost time, and a
//! quiet machine needs none.

use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceView;

/// Fraction of the time in which somebody waits for I/O or for memory, from which it is worth a
/// look: below the thresholds of all rules.
const IO_PRESSURE: f64 = 0.05;
const MEMORY_PRESSURE: f64 = 0.03;
/// Requests in flight, mean, and latency in nanoseconds of a device that is worth a look.
const QUEUE: f64 = 1.2;
const LATENCY: f64 = 10e6;

/// Whether somebody may wait for I/O in this snapshot; `before` is the previous one.
pub fn is_suspicious(snapshot: &Snapshot, before: Option<&Snapshot>) -> bool {
    let host = &snapshot.host;
    let presses = |value: Option<f64>, least: f64| value.is_some_and(|value| value >= least);
    presses(host.pressure_some, IO_PRESSURE)
        || presses(host.memory_pressure_some, MEMORY_PRESSURE)
        || snapshot.devices.iter().any(is_device_suspicious)
        || before.is_some_and(|before| has_blocked_in_both(snapshot, before))
}

fn is_device_suspicious(device: &DeviceView) -> bool {
    let rates = [device.read_ios_per_s, device.write_ios_per_s];
    let completed: f64 = rates.into_iter().flatten().sum();
    let is_stuck = completed == 0.0 && device.in_flight.is_some_and(|count| count > 0);
    let awaits = [device.read_await_ns, device.write_await_ns];
    let slowest = awaits.into_iter().flatten().fold(0.0, f64::max);
    is_stuck || slowest >= LATENCY && device.queue_size.is_some_and(|queue| queue >= QUEUE)
}

/// Whether a process is in uninterruptible sleep at the end of both: a network file system does not
/// count as pressure.
fn has_blocked_in_both(snapshot: &Snapshot, before: &Snapshot) -> bool {
    let blocked = |snapshot: &Snapshot| -> Vec<u32> {
        let processes = snapshot.processes.iter();
        let blocked = processes.filter(|process| process.state == Some('D') && !process.exited);
        blocked.map(|process| process.tid).collect()
    };
    let earlier = blocked(before);
    blocked(snapshot).iter().any(|tid| earlier.contains(tid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::ProcessView;

    fn snapshot(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
        let mut snapshot = ViewBuilder::default().update(std::sync::Arc::default());
        change(&mut snapshot);
        snapshot
    }

    fn with_device(device: DeviceView) -> Snapshot {
        snapshot(|it| it.devices = vec![device])
    }

    #[test]
    fn busy_device_without_waiting_is_not_suspicious() {
        let busy = DeviceView {
            read_ios_per_s: Some(40_000.0),
            read_await_ns: Some(0.4e6),
            queue_size: Some(30.0),
            in_flight: Some(31),
            ..DeviceView::default()
        };
        assert!(!is_suspicious(&with_device(busy), None));
        assert!(!is_suspicious(&snapshot(|_| ()), None));
    }

    #[test]
    fn queue_stuck_request_and_pressure_are_suspicious() {
        let slow = DeviceView {
            write_ios_per_s: Some(20.0),
            write_await_ns: Some(80e6),
            queue_size: Some(1.6),
            ..DeviceView::default()
        };
        let stuck = DeviceView {
            in_flight: Some(1),
            read_ios_per_s: Some(0.0),
            ..DeviceView::default()
        };
        assert!(is_suspicious(&with_device(slow), None));
        assert!(is_suspicious(&with_device(stuck), None));
        let pressed = snapshot(|it| it.host.pressure_some = Some(0.06));
        assert!(is_suspicious(&pressed, None));
        let short = snapshot(|it| it.host.memory_pressure_some = Some(0.04));
        assert!(is_suspicious(&short, None));
    }

    #[test]
    fn process_is_suspicious_when_it_is_blocked_in_two_snapshots() {
        let blocked = |tid: u32| {
            snapshot(|it| {
                it.processes = vec![ProcessView {
                    tid,
                    state: Some('D'),
                    ..ProcessView::default()
                }];
            })
        };
        assert!(is_suspicious(&blocked(7), Some(&blocked(7))));
        assert!(!is_suspicious(&blocked(7), Some(&blocked(8))));
        assert!(!is_suspicious(&blocked(7), None));
    }
}
