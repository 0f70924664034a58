//! Mounted file systems: rates and times from two samples.

use std::collections::HashMap;

use super::view::{DeviceView, MountView, NoMountValues};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;

use crate::probe::mounts::{MountCounters, MountSample, RpcCounters};

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
    let elapsed = elapsed.filter(|time| !time.is_zero());
    let view = |mount: &MountSample| {
        let same = |other: &&MountSample| {
            (&other.mount_point, &other.source) == (&mount.mount_point, &mount.source)
        };
        let earlier = before.and_then(|before| before.mounts.as_ref()?.iter().find(same));
        let mut view = mount_view(mount, now);
        if let Some((earlier, elapsed)) = earlier.zip(elapsed) {
            let seconds = elapsed.as_secs_f64();
            set_rates(&mut view, &earlier.counters, &mount.counters, seconds);
        }
        view
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
        let device = devices.iter().find(|device| device.name == *name);
        if let Some(device) = device
            && view.no_values == Some(NoMountValues::BlockDevice)
        {
            view.read_bytes_per_s = device.read_bytes_per_s;
            view.write_bytes_per_s = device.write_bytes_per_s;
            let requests = device.read_ios_per_s.zip(device.write_ios_per_s);
            view.requests_per_s = requests.map(|(reads, writes)| reads + writes);
        }
    }
}

/// A mount without its rates.
fn mount_view(mount: &MountSample, sample: &SystemSample) -> MountView {
    let mut disks = sample.disks.iter();
    let device = disks.find(|disk| Some(disk.device_number) == mount.device);
    let system = sample.file_systems.iter().find(|system| {
        system.is_at(&mount.mount_point) && Some(system.block_device) == mount.device
    });
    let usage = system.and_then(|system| system.usage);
    MountView {
        mount_point: SafeText::from_bytes(&mount.mount_point),
        source: SafeText::from_bytes(&mount.source),
        file_system: SafeText::from_bytes(&mount.file_system),
        version: mount.version.as_deref().map(SafeText::from_bytes),
        device: device.map(|disk| SafeText::from_bytes(disk.name.as_bytes())),
        size_bytes: usage.map(|usage| usage.size_bytes),
        available_bytes: usage.map(|usage| usage.available_bytes),
        waiting: mount.waiting,
        errors: mount.errors.clone(),
        no_values: mount.no_counters,
        ..MountView::default()
    }
}

/// The rates between two readings; `None` where a counter is missing or went backwards.
fn set_rates(view: &mut MountView, before: &MountCounters, now: &MountCounters, seconds: f64) {
    let rate = |counter: fn(&MountCounters) -> Option<u64>| {
        Some(counter(now)?.checked_sub(counter(before)?)? as f64 / seconds)
    };
    view.read_bytes_per_s = rate(|it| it.read_bytes);
    view.write_bytes_per_s = rate(|it| it.written_bytes);
    view.requests_per_s = rate(|it| it.requests);
    let Some((before, now)) = before.rpc.zip(now.rpc) else {
        return;
    };
    let added = |counter: fn(&RpcCounters) -> u64| counter(&now).checked_sub(counter(&before));
    let per_second = |count: u64| count as f64 / seconds;
    let requests = added(|it| it.requests);
    let mean_ns = |milliseconds: Option<u64>| {
        let requests = requests.filter(|requests| *requests > 0)?;
        Some(milliseconds? as f64 * 1e6 / requests as f64)
    };
    // Requests that are under way are transmitted and not counted yet.
    let repeated = added(|it| it.transmissions).zip(requests);
    let repeated = repeated.map(|(sent, done)| sent.saturating_sub(done));
    view.retransmissions_per_s = repeated.map(per_second);
    view.timeouts_per_s = added(|it| it.timeouts).map(per_second);
    view.queue_ns = mean_ns(added(|it| it.queue_ms));
    view.round_trip_ns = mean_ns(added(|it| it.round_trip_ms));
    view.execution_ns = mean_ns(added(|it| it.execution_ms));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample(second: u64, read: u64, rpc: [u64; 3]) -> SystemSample {
        let [requests, transmissions, round_trip_ms] = rpc;
        let rpc = RpcCounters {
            requests,
            transmissions,
            round_trip_ms,
            execution_ms: 2 * round_trip_ms,
            ..RpcCounters::default()
        };
        SystemSample {
            boot_time: Duration::from_secs(second),
            mounts: Some(vec![MountSample {
                mount_point: b"/srv".to_vec(),
                counters: MountCounters {
                    read_bytes: Some(read),
                    written_bytes: None,
                    requests: Some(requests),
                    rpc: Some(rpc),
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
        let before = sample(10, 1000, [100, 100, 500]);
        let now = sample(12, 5000, [120, 124, 700]);
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
        let now = sample(12, 5000, [110, 114, 700]);
        let first = mount_views(None, &now, &[]).unwrap().remove(0);
        assert_eq!((first.read_bytes_per_s, first.round_trip_ns), (None, None));
        let remounted = sample(13, 10, [1, 1, 1]);
        let view = view(&now, &remounted);
        assert_eq!((view.read_bytes_per_s, view.round_trip_ns), (None, None));
        assert_eq!(
            mount_views(None, &SystemSample::default(), &[]),
            None,
            "not read"
        );
    }
}
