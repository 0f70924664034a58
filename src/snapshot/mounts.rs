//! Mounted file systems: rates and times from two samples.

use std::collections::HashMap;
use std::time::Duration;

use super::view::{DeviceView, MountErrors, MountView, NoMountValues};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::mounts::nfs::NfsOperation;
use crate::probe::mounts::{MountCounters, MountSample, NoMountCounters};

/// The mounts of a sample; `None` where they were not read. A mount without counters of its own has the
/// rates of its block device, which `devices` contains.
#[must_use]
pub fn mount_views(
    before: Option<&SystemSample>,
    now: &SystemSample,
    devices: &[DeviceView],
) -> Option<Vec<MountView>> {
    let mounts = now.mounts.as_ref()?;
    let elapsed = before.and_then(|before| now.boot_time.checked_sub(before.boot_time));
    let earlier = |mount: &MountSample| {
        let same = |other: &&MountSample| {
            (&other.mount_point, &other.source) == (&mount.mount_point, &mount.source)
        };
        before?.mounts.as_ref()?.iter().find(same)
    };
    let view = |mount: &MountSample| {
        let change = elapsed
            .filter(|time| !time.is_zero())
            .zip(earlier(mount))
            .map(|(time, was)| MountChange {
                seconds: time.as_secs_f64(),
                before: &was.counters,
                now: &mount.counters,
            });
        mount_view(mount, change, now)
    };
    let mut views: Vec<MountView> = mounts.iter().map(view).collect();
    add_device_rates(&mut views, devices);
    Some(views)
}

/// Copies the rates of block devices to the mounts that have no others, and counts the mounts that share a
/// device.
fn add_device_rates(views: &mut [MountView], devices: &[DeviceView]) {
    let mut mounts_on: HashMap<SafeText, u64> = HashMap::new();
    for device in views.iter().filter_map(|view| view.device.as_ref()) {
        *mounts_on.entry(device.clone()).or_default() += 1;
    }
    for view in views {
        let Some(name) = view.device.as_ref() else {
            continue;
        };
        view.mounts_on_device = mounts_on.get(name).copied();
        if view.no_values != Some(NoMountValues::BlockDevice) {
            continue;
        }
        let Some(device) = devices.iter().find(|device| device.name == *name) else {
            continue;
        };
        view.read_bytes_per_s = device.read_bytes_per_s;
        view.write_bytes_per_s = device.write_bytes_per_s;
        let requests = device.read_ios_per_s.zip(device.write_ios_per_s);
        view.requests_per_s = requests.map(|(reads, writes)| reads + writes);
    }
}

fn mount_view(
    mount: &MountSample,
    change: Option<MountChange<'_>>,
    sample: &SystemSample,
) -> MountView {
    let device = mount.device.and_then(|number| {
        let mut disks = sample.disks.iter();
        disks.find(|disk| disk.device_number == number)
    });
    let system = sample.file_systems.iter().find(|system| {
        system.is_at(&mount.mount_point) && Some(system.block_device) == mount.device
    });
    let usage = system.and_then(|system| system.usage);
    let requests = change.as_ref().map(MountChange::operations);
    let requests = requests.unwrap_or_default();
    MountView {
        mount_point: SafeText::from_bytes(&mount.mount_point),
        source: SafeText::from_bytes(&mount.source),
        file_system: SafeText::from_bytes(&mount.file_system),
        version: mount.version.as_deref().map(SafeText::from_bytes),
        device: device.map(|disk| SafeText::from_bytes(disk.name.as_bytes())),
        mounts_on_device: None,
        size_bytes: usage.map(|usage| usage.size_bytes),
        available_bytes: usage.map(|usage| usage.available_bytes),
        read_bytes_per_s: change.as_ref().and_then(|it| it.rate(|at| at.read_bytes)),
        write_bytes_per_s: change
            .as_ref()
            .and_then(|it| it.rate(|at| at.written_bytes)),
        requests_per_s: change.as_ref().and_then(|it| it.rate(|at| at.requests)),
        retransmissions_per_s: requests.per_second(requests.retransmissions),
        timeouts_per_s: requests.per_second(requests.timeouts),
        queue_ns: requests.mean_ns(requests.queue),
        round_trip_ns: requests.mean_ns(requests.round_trip),
        execution_ns: requests.mean_ns(requests.execution),
        waiting: mount.waiting,
        errors: mount
            .errors
            .iter()
            .map(|(device, errors)| MountErrors {
                device: SafeText::from_bytes(device),
                write: errors.write,
                read: errors.read,
                flush: errors.flush,
                corruption: errors.corruption,
                generation: errors.generation,
            })
            .collect(),
        no_values: mount.no_counters.map(|reason| match reason {
            NoMountCounters::BlockDevice => NoMountValues::BlockDevice,
            NoMountCounters::FileSystem => NoMountValues::FileSystem,
            NoMountCounters::Unreadable => NoMountValues::Unreadable,
            NoMountCounters::NoFusectl => NoMountValues::NoFusectl,
        }),
    }
}

/// The counters of two samples.
#[derive(Debug, Clone, Copy)]
struct MountChange<'a> {
    seconds: f64,
    before: &'a MountCounters,
    now: &'a MountCounters,
}

/// Sums over the requests of the interval. `None` of a sum: not counted, or counted backwards.
#[derive(Debug, Clone, Copy, Default)]
struct IntervalRequests {
    seconds: f64,
    requests: u64,
    retransmissions: Option<u64>,
    timeouts: Option<u64>,
    queue: Option<Duration>,
    round_trip: Option<Duration>,
    execution: Option<Duration>,
}

impl IntervalRequests {
    fn per_second(&self, count: Option<u64>) -> Option<f64> {
        (self.seconds > 0.0).then_some(count? as f64 / self.seconds)
    }

    fn mean_ns(&self, sum: Option<Duration>) -> Option<f64> {
        (self.requests > 0).then_some(sum?.as_nanos() as f64 / self.requests as f64)
    }
}

impl MountChange<'_> {
    fn rate(&self, counter: fn(&MountCounters) -> Option<u64>) -> Option<f64> {
        let advanced = counter(self.now)?.checked_sub(counter(self.before)?)?;
        Some(advanced as f64 / self.seconds)
    }

    /// Sums over the operations of NFS; empty for other file systems.
    fn operations(&self) -> IntervalRequests {
        if self.now.operations.is_empty() {
            return IntervalRequests::default();
        }
        let none = NfsOperation::default();
        let pairs: Vec<(&NfsOperation, &NfsOperation)> = self
            .now
            .operations
            .iter()
            .map(|now| {
                let same = |other: &&NfsOperation| other.name == now.name;
                (
                    self.before.operations.iter().find(same).unwrap_or(&none),
                    now,
                )
            })
            .collect();
        let count = |value: fn(&NfsOperation) -> u64| -> Option<u64> {
            pairs.iter().try_fold(0_u64, |sum, (before, now)| {
                sum.checked_add(value(now).checked_sub(value(before))?)
            })
        };
        let time = |value: fn(&NfsOperation) -> Duration| -> Option<Duration> {
            pairs.iter().try_fold(Duration::ZERO, |sum, (before, now)| {
                sum.checked_add(value(now).checked_sub(value(before))?)
            })
        };
        let requests = count(|it| it.requests);
        let transmissions = count(|it| it.transmissions);
        IntervalRequests {
            seconds: self.seconds,
            requests: requests.unwrap_or(0),
            // Requests that are under way are transmitted and not counted yet.
            retransmissions: transmissions
                .zip(requests)
                .map(|(sent, done)| sent.saturating_sub(done)),
            timeouts: count(|it| it.timeouts),
            queue: time(|it| it.queue_time),
            round_trip: time(|it| it.round_trip_time),
            execution: time(|it| it.execution_time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str, [requests, sent, ms]: [u64; 3]) -> NfsOperation {
        NfsOperation {
            name: name.as_bytes().to_vec(),
            requests,
            transmissions: sent,
            round_trip_time: Duration::from_millis(ms),
            execution_time: Duration::from_millis(2 * ms),
            ..NfsOperation::default()
        }
    }

    fn sample(second: u64, read: u64, operations: Vec<NfsOperation>) -> SystemSample {
        SystemSample {
            boot_time: Duration::from_secs(second),
            mounts: Some(vec![MountSample {
                mount_point: b"/srv".to_vec(),
                counters: MountCounters {
                    read_bytes: Some(read),
                    written_bytes: None,
                    requests: Some(operations.iter().map(|it| it.requests).sum()),
                    operations,
                },
                ..MountSample::default()
            }]),
            ..SystemSample::default()
        }
    }

    fn view(before: &SystemSample, now: &SystemSample) -> MountView {
        mount_views(Some(before), now, &[]).unwrap().remove(0)
    }

    #[test]
    fn interval_of_an_nfs_mount_has_rates_and_mean_times() {
        let before = sample(10, 1000, vec![operation("READ", [100, 100, 500])]);
        let now = sample(
            12,
            5000,
            vec![
                operation("READ", [110, 114, 700]),
                operation("GETATTR", [10, 10, 0]),
            ],
        );
        let view = view(&before, &now);
        assert_eq!(view.read_bytes_per_s, Some(2000.0));
        assert_eq!(view.write_bytes_per_s, None);
        assert_eq!(view.requests_per_s, Some(10.0));
        assert_eq!(view.retransmissions_per_s, Some(2.0));
        assert_eq!(view.round_trip_ns, Some(1e7));
        assert_eq!(view.execution_ns, Some(2e7));
    }

    #[test]
    fn mounts_on_a_block_device_have_its_rates_and_say_how_many_share_it() {
        let on_device = |mount_point: &str, no_values| MountView {
            mount_point: mount_point.into(),
            device: Some("sda1".into()),
            no_values,
            ..MountView::default()
        };
        let mut views = [
            on_device("/", Some(NoMountValues::BlockDevice)),
            on_device("/merged", Some(NoMountValues::BlockDevice)),
            MountView {
                device: Some("sdb".into()),
                no_values: Some(NoMountValues::BlockDevice),
                ..MountView::default()
            },
        ];
        let device = DeviceView {
            name: "sda1".into(),
            read_bytes_per_s: Some(5e6),
            write_bytes_per_s: Some(0.0),
            read_ios_per_s: Some(70.0),
            write_ios_per_s: Some(2.0),
            ..DeviceView::default()
        };
        add_device_rates(&mut views, &[device]);
        for view in &views[..2] {
            assert_eq!(view.read_bytes_per_s, Some(5e6));
            assert_eq!(view.write_bytes_per_s, Some(0.0));
            assert_eq!(view.requests_per_s, Some(72.0));
            assert_eq!(view.mounts_on_device, Some(2));
        }
        assert_eq!(views[2].read_bytes_per_s, None, "not sampled");
        assert_eq!(views[2].mounts_on_device, Some(1));
    }

    #[test]
    fn first_sample_and_counters_that_went_backwards_have_no_rates() {
        let now = sample(12, 5000, vec![operation("READ", [110, 114, 700])]);
        let first = mount_views(None, &now, &[]).unwrap().remove(0);
        assert_eq!((first.read_bytes_per_s, first.round_trip_ns), (None, None));
        let remounted = sample(13, 10, vec![operation("READ", [1, 1, 1])]);
        let view = view(&now, &remounted);
        assert_eq!((view.read_bytes_per_s, view.round_trip_ns), (None, None));
        assert_eq!(
            mount_views(None, &SystemSample::default(), &[]),
            None,
            "not read"
        );
    }
}
