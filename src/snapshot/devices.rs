//! Rates of block devices, as iostat -x computes them (sysstat, iostat.c).

use std::collections::HashMap;
use std::time::Duration;

use super::view::DeviceView;
use crate::drive::{BlockDevice, DeviceUse, DriveKind};
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::sample::{DiskCounters, RequestCounters};

/// Bytes of a sector in `/proc/diskstats`, independent of the device's own sectors.
const SECTOR_BYTES: f64 = 512.0;

/// The devices with a medium, in the kernel's order.
#[must_use]
pub fn device_views(before: Option<&SystemSample>, now: &SystemSample) -> Vec<DeviceView> {
    let drives = DriveIndex::new(&now.drives);
    let before = before.map(|before| {
        let disks = before.disks.iter().map(|disk| (&*disk.name, disk));
        let disks: HashMap<&str, &DiskCounters> = disks.collect();
        let elapsed = now.boot_time.checked_sub(before.boot_time);
        (disks, DriveIndex::new(&before.drives), elapsed)
    });
    now.disks
        .iter()
        .filter_map(|disk| {
            let drive = drives.drive_of(disk);
            if !has_medium(disk, drive) {
                return None;
            }
            let earlier = before.as_ref().and_then(|(disks, drives, elapsed)| {
                let earlier = *disks.get(&*disk.name)?;
                let same = is_same_device(drives.drive_of(earlier), drive);
                (same && earlier.device_number == disk.device_number)
                    .then_some((earlier, (*elapsed)?))
            });
            let mut view = device_rates(earlier, disk);
            if let Some(drive) = drive {
                set_drive_facts(&mut view, drive);
            }
            Some(view)
        })
        .collect()
}

/// The rates of the device since the earlier line. All are `None` without an earlier line, or when
/// a counter went backwards: it wrapped, or the device was replaced.
#[must_use]
pub fn device_rates(earlier: Option<(&DiskCounters, Duration)>, now: &DiskCounters) -> DeviceView {
    let mut view = DeviceView {
        name: SafeText::from_bytes(now.name.as_bytes()),
        in_flight: Some(now.in_flight),
        dirty_bytes: now.dirty_bytes,
        writeback_bytes: now.writeback_bytes,
        ..DeviceView::default()
    };
    let Some((before, elapsed)) = earlier else {
        return view;
    };
    let seconds = elapsed.as_secs_f64();
    let (Some(reads), Some(writes)) = (
        RequestDelta::between(&before.reads, &now.reads),
        RequestDelta::between(&before.writes, &now.writes),
    ) else {
        return view;
    };
    if seconds <= 0.0 {
        return view;
    }
    view.read_ios_per_s = Some(reads.completed / seconds);
    view.write_ios_per_s = Some(writes.completed / seconds);
    view.read_bytes_per_s = Some(reads.bytes / seconds);
    view.write_bytes_per_s = Some(writes.bytes / seconds);
    view.read_await_ns = reads.mean_await_ns();
    view.write_await_ns = writes.mean_await_ns();
    view.read_request_bytes = ratio(reads.bytes, reads.completed);
    view.write_request_bytes = ratio(writes.bytes, writes.completed);
    view.request_bytes = ratio(
        reads.bytes + writes.bytes,
        reads.completed + writes.completed,
    );
    view.read_merged_fraction = ratio(reads.merged, reads.merged + reads.completed);
    view.write_merged_fraction = ratio(writes.merged, writes.merged + writes.completed);
    let milliseconds = seconds * 1e3;
    view.queue_size =
        counter_delta(before.weighted_ms, now.weighted_ms).map(|ms| ms / milliseconds);
    view.busy = counter_delta(before.busy_ms, now.busy_ms).map(|ms| ms / milliseconds);
    set_discard_flush_rates(&mut view, before, now, seconds);
    view
}

/// Rates of discards and flushes, which not every kernel counts.
fn set_discard_flush_rates(
    view: &mut DeviceView,
    before: &DiskCounters,
    now: &DiskCounters,
    seconds: f64,
) {
    if let (Some(before), Some(now)) = (&before.discards, &now.discards)
        && let Some(discards) = RequestDelta::between(before, now)
    {
        view.discard_ios_per_s = Some(discards.completed / seconds);
        view.discard_bytes_per_s = Some(discards.bytes / seconds);
        view.discard_await_ns = discards.mean_await_ns();
        view.discard_merged_fraction = ratio(discards.merged, discards.merged + discards.completed);
    }
    if let (Some(before), Some(now)) = (before.flushes, now.flushes)
        && let Some(flushes) = counter_delta(before.completed, now.completed)
    {
        view.flush_ios_per_s = Some(flushes / seconds);
        view.flush_await_ns =
            counter_delta(before.time_ms, now.time_ms).and_then(|ms| ratio(ms * 1e6, flushes));
    }
}

/// Requests of one kind in an interval.
struct RequestDelta {
    completed: f64,
    merged: f64,
    bytes: f64,
    time_ms: Option<f64>,
}

impl RequestDelta {
    /// `None` when a count went backwards. Some kernels keep the milliseconds in 32 bits, so they
    /// may wrap alone.
    fn between(before: &RequestCounters, now: &RequestCounters) -> Option<Self> {
        Some(Self {
            completed: counter_delta(before.completed, now.completed)?,
            merged: counter_delta(before.merged, now.merged)?,
            bytes: counter_delta(before.sectors, now.sectors)? * SECTOR_BYTES,
            time_ms: counter_delta(before.time_ms, now.time_ms),
        })
    }

    fn mean_await_ns(&self) -> Option<f64> {
        ratio(self.time_ms? * 1e6, self.completed)
    }
}

/// Increase of a counter; `None` when it fell.
fn counter_delta(before: u64, now: u64) -> Option<f64> {
    now.checked_sub(before).map(|risen| risen as f64)
}

/// The quotient; `None` when the divisor is zero.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Finds the facts about a device.
struct DriveIndex<'d>(HashMap<(u32, u32), &'d BlockDevice>);

impl<'d> DriveIndex<'d> {
    fn new(drives: &'d [BlockDevice]) -> Self {
        Self(drives.iter().map(|drive| (drive.number, drive)).collect())
    }

    fn drive_of(&self, disk: &DiskCounters) -> Option<&'d BlockDevice> {
        self.0.get(&disk.device_number).copied()
    }
}

/// Whether two descriptions of a device with the same name may describe the same device.
fn is_same_device(before: Option<&BlockDevice>, now: Option<&BlockDevice>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => {
            before.serial == now.serial
                && before.model == now.model
                && before.size_bytes == now.size_bytes
                && before.backing_file == now.backing_file
        }
        // The facts are read shortly after the counters, so a missing one is no contradiction.
        _ => true,
    }
}

fn has_medium(disk: &DiskCounters, drive: Option<&BlockDevice>) -> bool {
    match drive {
        Some(drive) => drive.size_bytes > 0,
        None => disk.reads.completed > 0 || disk.writes.completed > 0,
    }
}

fn set_drive_facts(view: &mut DeviceView, drive: &BlockDevice) {
    view.label = SafeText::from_bytes(drive.label().as_bytes());
    view.volume = drive.volume.as_ref().map(|volume| volume.kind);
    view.by_id = drive
        .by_id
        .as_ref()
        .map(|name| SafeText::from_bytes(name.as_bytes()));
    view.kind = Some(drive.kind);
    view.size_bytes = Some(drive.size_bytes);
    view.parent = match (&drive.parent, drive.slaves.as_slice()) {
        (Some(parent), _) => Some(parent.clone().into()),
        (None, [only]) => Some(only.clone().into()),
        (None, _) => None,
    };
    view.underlying = drive
        .parent
        .iter()
        .chain(&drive.slaves)
        .map(Into::into)
        .collect();
    view.serves_serially = serves_serially(drive);
    view.mount_point = drive.users.iter().find_map(|user| match user {
        DeviceUse::Mounted { at, .. } => Some(SafeText::from(at)),
        DeviceUse::Swap | DeviceUse::HeldBy { .. } => None,
    });
}

/// Whether the drive serves one request at a time, as a disk with one actuator does. A disk that a
/// virtual machine calls rotational may not.
fn serves_serially(drive: &BlockDevice) -> bool {
    drive.rotational == Some(true)
        && matches!(drive.kind, DriveKind::Disk | DriveKind::Optical)
        && !matches!(drive.transport.as_deref(), Some("virtio" | "nvme" | "loop"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::system::diskstats::parse;
    use proptest::prelude::*;

    fn disk(line: &str) -> DiskCounters {
        parse(line.as_bytes()).remove(0)
    }

    fn assert_close(found: Option<f64>, expected: f64) {
        let found = found.expect("known");
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{found}"
        );
    }

    #[test]
    fn device_rates_match_iostat() {
        let before = disk("8 0 sda 100 10 2000 500 50 5 1000 400 0 1000 900 7 1 64 14 3 30");
        let now = disk("8 0 sda 300 60 6000 1500 150 5 9000 1400 2 2500 3900 17 1 128 34 5 40");
        let view = device_rates(Some((&before, Duration::from_secs(2))), &now);
        assert_close(view.read_ios_per_s, 100.0);
        assert_close(view.write_ios_per_s, 50.0);
        assert_close(view.read_bytes_per_s, 1_024_000.0);
        assert_close(view.write_bytes_per_s, 2_048_000.0);
        assert_close(view.read_await_ns, 5e6);
        assert_close(view.write_await_ns, 10e6);
        assert_close(view.read_request_bytes, 10_240.0);
        assert_close(view.request_bytes, 12_000.0 * 512.0 / 300.0);
        assert_close(view.read_merged_fraction, 0.2);
        assert_close(view.write_merged_fraction, 0.0);
        assert_close(view.queue_size, 1.5);
        assert_close(view.busy, 0.75);
        assert_close(view.discard_ios_per_s, 5.0);
        assert_close(view.discard_await_ns, 2e6);
        assert_close(view.flush_ios_per_s, 1.0);
        assert_close(view.flush_await_ns, 5e6);
        assert_eq!(view.in_flight, Some(2));
    }

    #[test]
    fn device_rates_remain_when_millisecond_counters_wrap() {
        let before = disk("8 0 sda 1 1 1 4294967290 1 1 1 1 0 4294967290 1");
        let now = disk("8 0 sda 2 1 9 4 1 1 1 1 0 4 1");
        let view = device_rates(Some((&before, Duration::from_secs(1))), &now);
        assert_eq!(view.read_ios_per_s, Some(1.0));
        assert_eq!((view.read_await_ns, view.busy), (None, None));
    }

    fn requests() -> impl Strategy<Value = RequestCounters> {
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()).prop_map(
            |(completed, merged, sectors, ms)| RequestCounters {
                completed,
                merged,
                sectors,
                time_ms: ms,
            },
        )
    }

    fn disks() -> impl Strategy<Value = DiskCounters> {
        (
            requests(),
            requests(),
            requests(),
            any::<u64>(),
            any::<u64>(),
        )
            .prop_map(
                |(reads, writes, discards, busy_ms, weighted_ms)| DiskCounters {
                    name: "sda".to_owned(),
                    reads,
                    writes,
                    discards: Some(discards),
                    busy_ms,
                    weighted_ms,
                    ..DiskCounters::default()
                },
            )
    }

    proptest! {
        #[test]
        fn device_rates_are_finite_and_not_negative(before in disks(), now in disks(), ns in 0_u64..1 << 40) {
            let view = device_rates(Some((&before, Duration::from_nanos(ns))), &now);
            let all = [
                view.read_ios_per_s, view.write_ios_per_s, view.read_bytes_per_s,
                view.write_bytes_per_s, view.read_await_ns, view.write_await_ns, view.queue_size,
                view.request_bytes, view.busy, view.read_merged_fraction, view.write_merged_fraction,
                view.discard_ios_per_s, view.discard_await_ns,
            ];
            for value in all.into_iter().flatten() {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
            if now.reads.completed < before.reads.completed {
                prop_assert_eq!(view.read_ios_per_s, None);
                prop_assert_eq!(view.busy, None);
            }
        }
    }
}
