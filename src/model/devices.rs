//! Rates of block devices, as iostat -x computes them (sysstat, iostat.c).

use std::time::Duration;

use crate::drive::{Drive, DriveKind, Use};
use crate::probe::Sample;
use crate::probe::sample::{Disk, Requests};

use super::live::DeviceView;
use crate::safe_text::SafeText;

/// A sector of `/proc/diskstats` in bytes, whatever the device's own are.
const SECTOR_BYTES: f64 = 512.0;

/// The devices that have a medium, in the kernel's order.
#[must_use]
pub fn views(before: Option<&Sample>, now: &Sample) -> Vec<DeviceView> {
    now.disks
        .iter()
        .filter_map(|disk| {
            let drive = find(&now.drives, disk);
            if !has_medium(disk, drive) {
                return None;
            }
            let earlier = before.and_then(|before| {
                let earlier = before.disks.iter().find(|other| other.name == disk.name)?;
                let same = is_same(find(&before.drives, earlier), drive);
                let elapsed = now.at.checked_sub(before.at)?;
                (same && earlier.number == disk.number).then_some((earlier, elapsed))
            });
            let mut view = rates(earlier, disk);
            if let Some(drive) = drive {
                describe(&mut view, drive);
            }
            Some(view)
        })
        .collect()
}

/// What the device did since the earlier line; everything is `None` without one, or when a counter
/// went backwards, which means that it wrapped or that the device is not the same any more.
#[must_use]
pub fn rates(earlier: Option<(&Disk, Duration)>, now: &Disk) -> DeviceView {
    let mut view = DeviceView {
        name: SafeText::of_bytes(now.name.as_bytes()),
        in_flight: Some(now.in_flight),
        ..DeviceView::default()
    };
    let Some((before, elapsed)) = earlier else {
        return view;
    };
    let seconds = elapsed.as_secs_f64();
    let (Some(reads), Some(writes)) = (
        Moved::between(&before.reads, &now.reads),
        Moved::between(&before.writes, &now.writes),
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
    view.read_await_ns = reads.wait();
    view.write_await_ns = writes.wait();
    view.read_request_bytes = share(reads.bytes, reads.completed);
    view.write_request_bytes = share(writes.bytes, writes.completed);
    view.request_bytes = share(
        reads.bytes + writes.bytes,
        reads.completed + writes.completed,
    );
    view.read_merged = share(reads.merged, reads.merged + reads.completed);
    view.write_merged = share(writes.merged, writes.merged + writes.completed);
    let milliseconds = seconds * 1e3;
    view.queue_size = risen(before.weighted_ms, now.weighted_ms).map(|ms| ms / milliseconds);
    view.busy = risen(before.busy_ms, now.busy_ms).map(|ms| ms / milliseconds);
    lesser_rates(&mut view, before, now, seconds);
    view
}

/// Discards and flushes, which not every kernel counts.
fn lesser_rates(view: &mut DeviceView, before: &Disk, now: &Disk, seconds: f64) {
    if let (Some(before), Some(now)) = (&before.discards, &now.discards)
        && let Some(discards) = Moved::between(before, now)
    {
        view.discard_ios_per_s = Some(discards.completed / seconds);
        view.discard_bytes_per_s = Some(discards.bytes / seconds);
        view.discard_await_ns = discards.wait();
        view.discard_merged = share(discards.merged, discards.merged + discards.completed);
    }
    if let (Some(before), Some(now)) = (before.flushes, now.flushes)
        && let Some(flushes) = risen(before.completed, now.completed)
    {
        view.flush_ios_per_s = Some(flushes / seconds);
        view.flush_await_ns = risen(before.ms, now.ms).and_then(|ms| share(ms * 1e6, flushes));
    }
}

/// What one kind of request did in an interval.
struct Moved {
    completed: f64,
    merged: f64,
    bytes: f64,
    ms: Option<f64>,
}

impl Moved {
    /// `None` when a count went backwards. The milliseconds are kept in 32 bits by some kernels
    /// and may wrap alone.
    fn between(before: &Requests, now: &Requests) -> Option<Self> {
        Some(Self {
            completed: risen(before.completed, now.completed)?,
            merged: risen(before.merged, now.merged)?,
            bytes: risen(before.sectors, now.sectors)? * SECTOR_BYTES,
            ms: risen(before.ms, now.ms),
        })
    }

    fn wait(&self) -> Option<f64> {
        share(self.ms? * 1e6, self.completed)
    }
}

/// By how much a counter rose; `None` when it fell.
fn risen(before: u64, now: u64) -> Option<f64> {
    now.checked_sub(before).map(|risen| risen as f64)
}

/// The quotient; `None` where there is nothing to divide by.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn find<'d>(drives: &'d [Drive], disk: &Disk) -> Option<&'d Drive> {
    drives.iter().find(|drive| drive.number == disk.number)
}

/// Whether two descriptions of a device of one name may be the same device.
fn is_same(before: Option<&Drive>, now: Option<&Drive>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => {
            before.serial == now.serial
                && before.model == now.model
                && before.size_bytes == now.size_bytes
                && before.backing_file == now.backing_file
        }
        // Facts are read a moment after the counters: no contradiction.
        _ => true,
    }
}

fn has_medium(disk: &Disk, drive: Option<&Drive>) -> bool {
    match drive {
        Some(drive) => drive.size_bytes > 0,
        None => disk.reads.completed > 0 || disk.writes.completed > 0,
    }
}

fn describe(view: &mut DeviceView, drive: &Drive) {
    view.label = SafeText::of_bytes(drive.label().as_bytes());
    view.size_bytes = Some(drive.size_bytes);
    view.parent = match (&drive.parent, drive.slaves.as_slice()) {
        (Some(parent), _) => Some(parent.clone().into()),
        (None, [only]) => Some(only.clone().into()),
        (None, _) => None,
    };
    view.lies_on = drive
        .parent
        .iter()
        .chain(&drive.slaves)
        .map(Into::into)
        .collect();
    view.serial = serves_one_at_a_time(drive);
    view.mounted_at = drive.users.iter().find_map(|user| match user {
        Use::Mounted { at, .. } => Some(SafeText::from(at)),
        Use::Swap | Use::HeldBy { .. } => None,
    });
}

/// A disk with one set of arms does; what a virtual machine calls rotational need not be one.
fn serves_one_at_a_time(drive: &Drive) -> bool {
    drive.rotational == Some(true)
        && matches!(drive.kind, DriveKind::Disk | DriveKind::Optical)
        && !matches!(drive.transport.as_deref(), Some("virtio" | "nvme" | "loop"))
}

/// Bytes per second that reach media: what lies on other devices or in memory is not counted
/// twice.
#[must_use]
pub fn written_to_media(views: &[DeviceView], drives: &[Drive]) -> Option<f64> {
    let on_medium = |view: &&DeviceView| {
        let drive = drives.iter().find(|drive| drive.name == view.name);
        drive.is_none_or(|drive| {
            drive.parent.is_none()
                && drive.slaves.is_empty()
                && matches!(drive.kind, DriveKind::Disk | DriveKind::Optical)
        })
    };
    views
        .iter()
        .filter(on_medium)
        .filter_map(|view| view.write_bytes_per_s)
        .reduce(|sum, rate| sum + rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::diskstats::parse;
    use proptest::prelude::*;

    fn disk(line: &str) -> Disk {
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
    fn rates_are_those_of_iostat() {
        let before = disk("8 0 sda 100 10 2000 500 50 5 1000 400 0 1000 900 7 1 64 14 3 30");
        let now = disk("8 0 sda 300 60 6000 1500 150 5 9000 1400 2 2500 3900 17 1 128 34 5 40");
        let view = rates(Some((&before, Duration::from_secs(2))), &now);
        assert_close(view.read_ios_per_s, 100.0);
        assert_close(view.write_ios_per_s, 50.0);
        assert_close(view.read_bytes_per_s, 1_024_000.0);
        assert_close(view.write_bytes_per_s, 2_048_000.0);
        assert_close(view.read_await_ns, 5e6);
        assert_close(view.write_await_ns, 10e6);
        assert_close(view.read_request_bytes, 10_240.0);
        assert_close(view.request_bytes, 12_000.0 * 512.0 / 300.0);
        assert_close(view.read_merged, 0.2);
        assert_close(view.write_merged, 0.0);
        assert_close(view.queue_size, 1.5);
        assert_close(view.busy, 0.75);
        assert_close(view.discard_ios_per_s, 5.0);
        assert_close(view.discard_await_ns, 2e6);
        assert_close(view.flush_ios_per_s, 1.0);
        assert_close(view.flush_await_ns, 5e6);
        assert_eq!(view.in_flight, Some(2));
    }

    #[test]
    fn nothing_completed_has_no_latency() {
        let line = disk("8 0 sda 1 1 1 1 1 1 1 1 0 1 1");
        let view = rates(Some((&line, Duration::from_secs(1))), &line);
        assert_eq!(view.read_ios_per_s, Some(0.0));
        assert_eq!(view.read_await_ns, None);
        assert_eq!(view.request_bytes, None);
        assert_eq!(view.discard_ios_per_s, None);
    }

    #[test]
    fn milliseconds_that_wrapped_leave_the_rates() {
        let before = disk("8 0 sda 1 1 1 4294967290 1 1 1 1 0 4294967290 1");
        let now = disk("8 0 sda 2 1 9 4 1 1 1 1 0 4 1");
        let view = rates(Some((&before, Duration::from_secs(1))), &now);
        assert_eq!(view.read_ios_per_s, Some(1.0));
        assert_eq!((view.read_await_ns, view.busy), (None, None));
    }

    fn requests() -> impl Strategy<Value = Requests> {
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()).prop_map(
            |(completed, merged, sectors, ms)| Requests {
                completed,
                merged,
                sectors,
                ms,
            },
        )
    }

    fn disks() -> impl Strategy<Value = Disk> {
        (
            requests(),
            requests(),
            requests(),
            any::<u64>(),
            any::<u64>(),
        )
            .prop_map(|(reads, writes, discards, busy_ms, weighted_ms)| Disk {
                name: "sda".to_owned(),
                reads,
                writes,
                discards: Some(discards),
                busy_ms,
                weighted_ms,
                ..Disk::default()
            })
    }

    proptest! {
        #[test]
        fn no_rate_is_negative_or_no_number(before in disks(), now in disks(), ns in 0_u64..1 << 40) {
            let view = rates(Some((&before, Duration::from_nanos(ns))), &now);
            let all = [
                view.read_ios_per_s, view.write_ios_per_s, view.read_bytes_per_s,
                view.write_bytes_per_s, view.read_await_ns, view.write_await_ns, view.queue_size,
                view.request_bytes, view.busy, view.read_merged, view.write_merged,
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
