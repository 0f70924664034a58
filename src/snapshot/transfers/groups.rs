//! Whether a transfer reaches the limit of its control group.

use super::context::{TransferContext, TransferDevices};
use crate::files::safe_text::SafeText;
use crate::probe::sample::IoLimit;
use crate::snapshot::view::{Bottleneck, DeviceView};

/// Within these fractions of a limit the limit is the bottleneck: a slower transfer has another
/// bottleneck, and a faster one comes from the cache, which has no limit.
const AT_LIMIT_FRACTIONS: std::ops::RangeInclusive<f64> = 0.7..=1.3;
/// A deeper stack is a cycle.
const MAX_DEPTH: usize = 16;

/// The bottleneck and the device whose cgroup limit throttles a process; `rate` is the transfer's in bytes per second.
pub(super) fn cgroup_bottleneck(
    pid: u32,
    rate: f64,
    devices: TransferDevices<'_>,
    context: &TransferContext<'_>,
) -> Option<(Bottleneck, SafeText)> {
    let limits = &context.sample.process(pid)?.io_limits;
    if limits.is_empty() {
        return None;
    }
    let limited = |device: Option<&DeviceView>, by: fn(&IoLimit, &DeviceView, f64) -> bool| {
        underlying_layers(device?, context)
            .iter()
            .find(|layer| limit_of(limits, layer, context).is_some_and(|it| by(it, layer, rate)))
            .map(|layer| layer.name.clone())
    };
    limited(devices.source, limits_reading)
        .map(|device| (Bottleneck::Source, device))
        .or_else(|| {
            limited(devices.destination, limits_writing)
                .map(|device| (Bottleneck::Destination, device))
        })
}

fn limits_reading(limit: &IoLimit, device: &DeviceView, rate: f64) -> bool {
    is_at_limit(limit.read_bytes_per_s, Some(rate))
        || is_at_limit(limit.read_ios_per_s, device.read_ios_per_s)
}

fn limits_writing(limit: &IoLimit, device: &DeviceView, rate: f64) -> bool {
    is_at_limit(limit.write_bytes_per_s, Some(rate))
        || is_at_limit(limit.write_ios_per_s, device.write_ios_per_s)
}

fn is_at_limit(limit: Option<u64>, rate: Option<f64>) -> bool {
    match (limit, rate) {
        (Some(limit), Some(rate)) if limit > 0 => {
            AT_LIMIT_FRACTIONS.contains(&(rate / limit as f64))
        }
        _ => false,
    }
}

/// A device and all underlying ones: a limit can be set for any of them, but never for a partition.
fn underlying_layers<'a>(
    device: &'a DeviceView,
    context: &TransferContext<'a>,
) -> Vec<&'a DeviceView> {
    let mut layers = vec![device];
    let mut next = 0;
    while next < layers.len().min(MAX_DEPTH) {
        let below = &layers[next].underlying;
        layers.extend(context.devices.iter().filter(|it| below.contains(&it.name)));
        next += 1;
    }
    layers
}

fn limit_of<'l>(
    limits: &'l [IoLimit],
    device: &DeviceView,
    context: &TransferContext<'_>,
) -> Option<&'l IoLimit> {
    let disk = context
        .sample
        .disks
        .iter()
        .find(|it| it.name == device.name)?;
    limits
        .iter()
        .find(|limit| limit.device == disk.device_number)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::probe::SystemSample;
    use crate::probe::sample::{DiskCounters, ProcessIdentity, ProcessSample};
    use crate::snapshot::dirty_memory::DirtyMemory;

    fn device(name: &str, underlying: &[&str]) -> DeviceView {
        DeviceView {
            name: name.into(),
            underlying: underlying.iter().map(|it| (*it).into()).collect(),
            read_ios_per_s: Some(100.0),
            ..DeviceView::default()
        }
    }

    #[test]
    fn cgroup_limit_of_drive_throttles_copy_from_its_partition() {
        let devices = [device("sda", &[]), device("sda1", &["sda"])];
        let disk = |name: &str, minor| DiskCounters {
            name: name.to_owned(),
            device_number: (8, minor),
            ..DiskCounters::default()
        };
        let bottleneck = |limit: IoLimit, rate: f64| {
            let process = ProcessSample {
                identity: Arc::new(ProcessIdentity {
                    pid: 7,
                    ..ProcessIdentity::default()
                }),
                io_limits: vec![limit].into(),
                ..ProcessSample::default()
            };
            let now = SystemSample {
                disks: vec![disk("sda", 0), disk("sda1", 1)],
                processes: vec![process],
                ..SystemSample::default()
            };
            let context = TransferContext {
                sample: &now,
                devices: &devices,
                dirty_memory: &DirtyMemory::default(),
            };
            let partition = Some(&devices[1]);
            let partitions = TransferDevices {
                source: partition,
                destination: partition,
            };
            cgroup_bottleneck(7, rate, partitions, &context).map(|(bottleneck, device)| {
                assert_eq!(&*device, "sda");
                bottleneck
            })
        };
        let limit = |device| IoLimit {
            device,
            ..IoLimit::default()
        };
        let reads = IoLimit {
            read_bytes_per_s: Some(1_000_000),
            ..limit((8, 0))
        };
        assert_eq!(bottleneck(reads, 950_000.0), Some(Bottleneck::Source));
        assert_eq!(
            bottleneck(reads, 300_000.0),
            None,
            "the bottleneck is elsewhere"
        );
        assert_eq!(bottleneck(reads, 9e6), None, "it comes from the cache");
        let writes = IoLimit {
            write_bytes_per_s: Some(1_000_000),
            ..limit((8, 0))
        };
        assert_eq!(bottleneck(writes, 1e6), Some(Bottleneck::Destination));
        let requests = IoLimit {
            read_ios_per_s: Some(100),
            ..limit((8, 0))
        };
        assert_eq!(bottleneck(requests, 5e6), Some(Bottleneck::Source));
        let elsewhere = IoLimit {
            read_bytes_per_s: Some(1_000_000),
            ..limit((8, 16))
        };
        assert_eq!(bottleneck(elsewhere, 1e6), None);
    }
}
