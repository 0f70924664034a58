//! Whether the processes of a transfer reach an I/O limit of their control group.
//!
//! A limit counts what all processes of the group do on the device, not only one transfer.

use super::context::{Participants, TransferContext};
use super::view::Bottleneck;
use crate::files::safe_text::SafeText;
use crate::probe::sample::{ControlGroupSample, DeviceIo, IoLimit, ProcessSample};

/// Use of a limit from which it is reached.
pub const AT_LIMIT: f64 = 0.85;
/// Above this use by what processes write, most of it goes to memory, which has no limit.
const BEYOND_LIMIT: f64 = 1.3;

/// Rates on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IoRates {
    /// Bytes read per second.
    pub read_bytes: f64,
    /// Bytes written per second.
    pub write_bytes: f64,
    /// Reads per second.
    pub reads: f64,
    /// Writes per second.
    pub writes: f64,
}

impl IoRates {
    /// The rates of a group between two samples; `None` when a counter went backwards.
    #[must_use]
    pub fn between(before: &DeviceIo, now: &DeviceIo, seconds: f64) -> Option<Self> {
        let rate = |now: u64, before: u64| Some(now.checked_sub(before)? as f64 / seconds);
        Some(Self {
            read_bytes: rate(now.read_bytes, before.read_bytes)?,
            write_bytes: rate(now.written_bytes, before.written_bytes)?,
            reads: rate(now.read_ios, before.read_ios)?,
            writes: rate(now.write_ios, before.write_ios)?,
        })
    }

    /// Both together.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
        }
    }

    /// The part of a limit that reading takes, 1 for all of it; `None` without a limit.
    #[must_use]
    pub fn read_use(&self, limit: &IoLimit) -> Option<f64> {
        greater_use([
            (self.read_bytes, limit.read_bytes_per_s),
            (self.reads, limit.read_ios_per_s),
        ])
    }

    /// The part of a limit that writing takes, 1 for all of it; `None` without a limit.
    #[must_use]
    pub fn write_use(&self, limit: &IoLimit) -> Option<f64> {
        greater_use([
            (self.write_bytes, limit.write_bytes_per_s),
            (self.writes, limit.write_ios_per_s),
        ])
    }
}

/// The greater of the parts that these rates take of their limits.
fn greater_use(rates: [(f64, Option<u64>); 2]) -> Option<f64> {
    let used = |(rate, limit): (f64, Option<u64>)| Some(rate / limit.filter(|it| *it > 0)? as f64);
    rates.into_iter().filter_map(used).reduce(f64::max)
}

/// The bottleneck and the device whose limit the control group of one of the processes reaches.
pub(super) fn reached_limit(
    participants: &Participants<'_>,
    context: &TransferContext<'_>,
) -> Option<(Bottleneck, SafeText)> {
    type Use = fn(&IoRates, &IoLimit) -> Option<f64>;
    let (source, destination) = (participants.source, participants.destination);
    let ends: [(_, Use, _); 2] = [
        (source, IoRates::read_use, Bottleneck::Source),
        (destination, IoRates::write_use, Bottleneck::Destination),
    ];
    let is_reached = |limit: &IoLimit, process: &ProcessSample, used: Use| match group_rates(
        process, limit, context,
    ) {
        Some(rates) => used(&rates, limit) >= Some(AT_LIMIT),
        None => used(&unit_rates(process, context), limit)
            .is_some_and(|it| (AT_LIMIT..=BEYOND_LIMIT).contains(&it)),
    };
    for (device, used, bottleneck) in ends {
        let layers = device.map(|device| context.layers(device));
        // A limit can be set for any of the layers, but never for a partition.
        for layer in layers.unwrap_or_default() {
            let number = context.device_number(layer);
            let is_limited = |process: &ProcessSample| {
                let mut limits = process.io_limits.iter();
                let limit = limits.find(|limit| Some(limit.device) == number);
                limit.is_some_and(|limit| is_reached(limit, process, used))
            };
            if participants
                .processes()
                .any(|pair| is_limited(pair.current))
            {
                return Some((bottleneck, layer.name.clone()));
            }
        }
    }
    None
}

/// The rates of the control group that has the limit of a process; `None` where groups are not sampled.
fn group_rates(
    process: &ProcessSample,
    limit: &IoLimit,
    context: &TransferContext<'_>,
) -> Option<IoRates> {
    let path = &process.unit.as_ref()?.path;
    let has_limit = |group: &&ControlGroupSample| {
        path.as_str().starts_with(group.unit.path.as_str()) && group.limits.contains(limit)
    };
    let now = context.sample().control_groups.as_ref()?;
    let group = now.groups.iter().find(has_limit)?;
    let before = context.interval.previous?.control_groups.as_ref()?;
    let is_same =
        |it: &&ControlGroupSample| it.unit.path == group.unit.path && it.is_unit == group.is_unit;
    let before = before.groups.iter().find(is_same)?;
    let io_of = |group: &ControlGroupSample| {
        let io = group.io.as_ref()?;
        let own = io.iter().find(|io| io.device == limit.device);
        Some(own.copied().unwrap_or_default())
    };
    IoRates::between(&io_of(before)?, &io_of(group)?, context.interval.seconds()?)
}

/// What the processes of the same unit do together; their requests are not counted.
fn unit_rates(process: &ProcessSample, context: &TransferContext<'_>) -> IoRates {
    let mut rates = IoRates::default();
    for pair in &context.interval.process_pairs {
        let (own, other) = (&process.unit, &pair.current.unit);
        let is_of_unit = own.is_some() && own == other;
        if (is_of_unit || pair.current.identity == process.identity)
            && let Some((io, time)) = pair.io_delta()
        {
            rates.read_bytes += io.read_bytes as f64 / time.as_secs_f64();
            rates.write_bytes += io.write_bytes as f64 / time.as_secs_f64();
        }
    }
    rates
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
