//! Whether the processes of a transfer reach an I/O limit of their control group.
//!
//! A limit counts what all processes of the group do on the device, not only one transfer.

use super::context::{Participants, TransferContext};
use super::view::Bottleneck;
use crate::files::safe_text::SafeText;
use crate::probe::sample::{IoLimit, ProcessSample};

/// Use of a limit from which it is reached.
pub const AT_LIMIT: f64 = 0.85;
/// Above this use by what processes write, most of it goes to memory, which has no limit.
const BEYOND_LIMIT: f64 = 1.3;

/// The bottleneck and the device whose limit, in bytes per second, the control group of one of the processes
/// reaches.
pub(super) fn reached_limit(
    participants: &Participants<'_>,
    context: &TransferContext<'_>,
) -> Option<(Bottleneck, SafeText)> {
    let ends = [
        (participants.source, Bottleneck::Source),
        (participants.destination, Bottleneck::Destination),
    ];
    for (device, bottleneck) in ends {
        let layers = device.map(|device| context.layers(device));
        // A limit can be set for any of the layers, but never for a partition.
        for layer in layers.unwrap_or_default() {
            let number = context.device_number(layer);
            let is_limited = |process: &ProcessSample| {
                let mut limits = process.io_limits.iter();
                let limit = limits.find(|limit| Some(limit.device) == number);
                limit.is_some_and(|limit| is_reached(process, limit, bottleneck, context))
            };
            let mut processes = participants.processes();
            if processes.any(|pair| is_limited(pair.current)) {
                return Some((bottleneck, layer.name.clone()));
            }
        }
    }
    None
}

/// Whether what the processes of the same unit read or write together reaches a limit.
fn is_reached(
    process: &ProcessSample,
    limit: &IoLimit,
    bottleneck: Bottleneck,
    context: &TransferContext<'_>,
) -> bool {
    let reads = bottleneck == Bottleneck::Source;
    let limit = if reads {
        limit.read_bytes_per_s
    } else {
        limit.write_bytes_per_s
    };
    let pairs = context.interval.process_pairs.iter();
    let own = pairs.filter(|pair| {
        let is_of_unit = process.unit.is_some() && process.unit == pair.current.unit;
        is_of_unit || pair.current.identity == process.identity
    });
    let rates = own.filter_map(|pair| pair.io_delta()).map(|(io, time)| {
        let bytes = if reads { io.read_bytes } else { io.write_bytes };
        bytes as f64 / time.as_secs_f64()
    });
    let rate: f64 = rates.sum();
    limit.is_some_and(|limit| (AT_LIMIT..=BEYOND_LIMIT).contains(&(rate / limit as f64)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::probe::SystemSample;
    use crate::probe::interval::SampleInterval;
    use crate::probe::sample::{
        Availability, DiskCounters, ProcessIdentity, ProcessIo, Unit, UnitKind,
    };
    use crate::transfers::context::fixtures;
    use crate::transfers::waits::DeviceLoad;

    fn process(pid: u32, limit: IoLimit, read: u64, written: u64) -> ProcessSample {
        ProcessSample {
            identity: Arc::new(ProcessIdentity {
                pid,
                ..ProcessIdentity::default()
            }),
            io: Availability::Available(ProcessIo {
                read_bytes: read,
                write_bytes: written,
                ..ProcessIo::default()
            }),
            io_limits: vec![limit].into(),
            unit: Some(Arc::new(Unit {
                path: "/backup".into(),
                name: "backup".into(),
                kind: UnitKind::Service,
            })),
            ..ProcessSample::default()
        }
    }

    /// A sample in which each of so many processes has read and written these bytes.
    fn sample(second: u64, limit: IoLimit, pids: u32, (read, written): (u64, u64)) -> SystemSample {
        let disk = |name: &str, minor| DiskCounters {
            name: name.to_owned(),
            device_number: (8, minor),
            ..DiskCounters::default()
        };
        SystemSample {
            boot_time: Duration::from_secs(second),
            disks: vec![disk("sda", 0), disk("sda1", 1)],
            processes: (1..=pids)
                .map(|it| process(it, limit, read, written))
                .collect(),
            ..SystemSample::default()
        }
    }

    /// The bottleneck of the first of so many processes of a unit, each with these rates, on a partition.
    fn limited(limit: IoLimit, pids: u32, rates: (u64, u64)) -> Option<Bottleneck> {
        let (before, now) = (
            sample(1, limit, pids, (0, 0)),
            sample(2, limit, pids, rates),
        );
        let names: [SafeText; 2] = ["sda".into(), "sda1".into()];
        let device = |name: usize, underlying: usize| {
            fixtures::device(&names[name], &names[..underlying], DeviceLoad::default())
        };
        let devices = [device(0, 0), device(1, 1)];
        let interval = SampleInterval::new(Some(&before), &now);
        let context = fixtures::context(&interval, &devices);
        let partition = Some(&devices[1]);
        let participants = Participants {
            reader: interval.process_pairs.first(),
            source: partition,
            destination: partition,
            ..Participants::default()
        };
        let found = reached_limit(&participants, &context)?;
        assert_eq!(&*found.1, "sda");
        Some(found.0)
    }

    #[test]
    fn limit_of_a_unit_counts_what_all_its_processes_do() {
        let limit = |device| IoLimit {
            device,
            ..IoLimit::default()
        };
        let reads = IoLimit {
            read_bytes_per_s: Some(1_000_000),
            ..limit((8, 0))
        };
        assert_eq!(limited(reads, 1, (950_000, 0)), Some(Bottleneck::Source));
        assert_eq!(limited(reads, 1, (330_000, 0)), None, "elsewhere");
        assert_eq!(limited(reads, 3, (330_000, 0)), Some(Bottleneck::Source));
        let writes = IoLimit {
            write_bytes_per_s: Some(1_000_000),
            ..limit((8, 0))
        };
        assert_eq!(
            limited(writes, 2, (0, 500_000)),
            Some(Bottleneck::Destination)
        );
        assert_eq!(limited(writes, 2, (0, 5_000_000)), None, "into memory");
        let other = IoLimit {
            read_bytes_per_s: Some(1_000_000),
            ..limit((8, 16))
        };
        assert_eq!(limited(other, 1, (1_000_000, 0)), None);
    }
}
