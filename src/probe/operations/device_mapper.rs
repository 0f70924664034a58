//! Mirrors, RAID volumes and merging snapshots of LVM, from the status of their device-mapper
//! targets (kernel Documentation/admin-guide/device-mapper/). Needs root.

use std::fs::{File, OpenOptions};
use std::time::Duration;

use super::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};
use super::sources::OperationSources;
use crate::drive::device_mapper::{TableLine, parse_table};
use crate::drive::ioctl;
use crate::probe::sample::DiskCounters;
use crate::probe::text::read_word;
use crate::roots::SysPaths;

/// All devices are asked once in this time: a table may be replaced.
const SEARCH_INTERVAL: Duration = Duration::from_secs(10);
/// Bytes of a sector in a table.
const SECTOR: u64 = 512;

/// Asks for the status of the devices that report progress.
#[derive(Debug, Default)]
pub(super) struct StatusReader {
    /// Devices with a target that reports progress.
    reporting: Vec<(u32, u32)>,
    searched: Option<(Duration, usize)>,
}

impl StatusReader {
    /// The operations of all devices.
    pub(super) fn operations(
        &mut self,
        sources: &OperationSources<'_>,
        at: Duration,
    ) -> Vec<OperationSample> {
        let disks = sources.disks.iter();
        let devices: Vec<&DiskCounters> =
            disks.filter(|disk| disk.name.starts_with("dm-")).collect();
        let search = self.searched.is_none_or(|(time, count)| {
            count != devices.len() || at.saturating_sub(time) >= SEARCH_INTERVAL
        });
        if devices.is_empty() || (!search && self.reporting.is_empty()) {
            return Vec::new();
        }
        let control = sources.roots.dev.join("mapper/control");
        let Ok(control) = OpenOptions::new().read(true).write(true).open(control) else {
            self.searched = Some((at, devices.len()));
            return Vec::new();
        };
        if search {
            self.searched = Some((at, devices.len()));
            self.reporting.clear();
        }
        let mut found = Vec::new();
        for device in devices {
            let number = device.device_number;
            if !search && !self.reporting.contains(&number) {
                continue;
            }
            let targets = status(&control, number).unwrap_or_default();
            if search && targets.iter().any(reports_progress) {
                self.reporting.push(number);
            }
            found.extend(operation(sources.roots, device, &targets));
        }
        found
    }
}

fn status(control: &File, number: (u32, u32)) -> Option<Vec<TableLine>> {
    let (count, answer) = ioctl::device_mapper_status(control, number).ok()?;
    parse_table(count, &answer)
}

fn reports_progress(target: &TableLine) -> bool {
    matches!(
        target.target_type.as_str(),
        "mirror" | "raid" | "snapshot-merge"
    )
}

fn operation(
    roots: &SysPaths,
    device: &DiskCounters,
    targets: &[TableLine],
) -> Option<OperationSample> {
    let name = read_word(
        &roots
            .sys
            .join("class/block")
            .join(&device.name)
            .join("dm/name"),
    );
    let name = name.unwrap_or_else(|| device.name.clone());
    let (kind, progress) = targets_progress(targets, is_pvmove(&name))?;
    Some(OperationSample {
        kind,
        subject: name.into_bytes(),
        pid: None,
        device: Some(device.device_number),
        progress,
        limit_bytes_per_s: None,
    })
}

/// Progress by the answer of the kernel to a request for the status of a device: `count` targets;
/// `None` where the answer is damaged or nothing is synchronised.
#[must_use]
pub fn parse_status_progress(
    count: u32,
    answer: &[u8],
    is_pvmove: bool,
) -> Option<(OperationKind, OperationProgress)> {
    targets_progress(&parse_table(count, answer)?, is_pvmove)
}

/// LVM names the temporary mirror of `pvmove` so (`VG-pvmove0`).
fn is_pvmove(name: &str) -> bool {
    name.rsplit('-')
        .next()
        .is_some_and(|last| last.starts_with("pvmove"))
}

/// Progress over all targets of a device; `None` while nothing is synchronised.
fn targets_progress(
    targets: &[TableLine],
    is_pvmove: bool,
) -> Option<(OperationKind, OperationProgress)> {
    if let Some(left) = targets.iter().find_map(unmerged_bytes) {
        let merging = (
            OperationKind::SnapshotMerge,
            OperationProgress::Remaining(left),
        );
        return (left > 0).then_some(merging);
    }
    let synchronised: Vec<(OperationKind, u64, u64)> =
        targets.iter().filter_map(target_progress).collect();
    let kind = synchronised
        .iter()
        .find(|(_, done, total)| done < total)
        .map(|(kind, ..)| *kind)?;
    let sum = |part: fn(&(OperationKind, u64, u64)) -> u64| {
        synchronised.iter().map(part).fold(0, u64::saturating_add)
    };
    let kind = match kind {
        OperationKind::MirrorSync if is_pvmove => OperationKind::Pvmove,
        kind => kind,
    };
    let progress = OperationProgress::Done {
        done: sum(|it| it.1),
        total: sum(|it| it.2),
        unit: WorkUnit::Bytes,
    };
    Some((kind, progress))
}

/// What a target synchronises, bytes done and in total.
fn target_progress(target: &TableLine) -> Option<(OperationKind, u64, u64)> {
    let words: Vec<&str> = target.parameters.split_ascii_whitespace().collect();
    let ratio = |word: &str| -> Option<(u64, u64)> {
        let (done, total) = word.split_once('/')?;
        let (done, total) = (done.parse().ok()?, total.parse().ok()?);
        (done <= total && total > 0).then_some((done, total))
    };
    match target.target_type.as_str() {
        // MIRRORS DEVICE... REGIONS_IN_SYNC/REGIONS ...
        "mirror" => {
            let mirrors: usize = words.first()?.parse().ok()?;
            let (done, total) = ratio(words.get(mirrors.checked_add(1)?)?)?;
            let bytes = target.sectors.checked_mul(SECTOR)?;
            let done = u128::from(bytes) * u128::from(done) / u128::from(total);
            Some((OperationKind::MirrorSync, u64::try_from(done).ok()?, bytes))
        }
        // TYPE DEVICES HEALTH SECTORS/SECTORS ACTION ...
        "raid" => {
            let kind = super::md::parse_action(words.get(4)?)?;
            let (done, total) = ratio(words.get(3)?)?;
            Some((kind, done.checked_mul(SECTOR)?, total.checked_mul(SECTOR)?))
        }
        _ => None,
    }
}

/// Bytes that a merging snapshot still holds: `ALLOCATED/TOTAL METADATA`, in sectors.
fn unmerged_bytes(target: &TableLine) -> Option<u64> {
    if target.target_type != "snapshot-merge" {
        return None;
    }
    let (ratio, metadata) = target.parameters.split_once(' ')?;
    let (allocated, _) = ratio.split_once('/')?;
    let allocated: u64 = allocated.parse().ok()?;
    let metadata: u64 = metadata.trim().parse().ok()?;
    allocated.saturating_sub(metadata).checked_mul(SECTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(sectors: u64, target_type: &str, parameters: &str) -> TableLine {
        TableLine {
            sectors,
            target_type: target_type.to_owned(),
            parameters: parameters.to_owned(),
        }
    }

    fn done(done: u64, total: u64) -> OperationProgress {
        OperationProgress::Done {
            done: done * SECTOR,
            total: total * SECTOR,
            unit: WorkUnit::Bytes,
        }
    }

    #[test]
    fn pvmove_counts_the_segments_that_are_mirrored() {
        assert!(is_pvmove("vg0-pvmove0") && !is_pvmove("vg0-home"));
        // `dmsetup status` during `pvmove` of a volume with two segments.
        let targets = [
            target(81_920, "mirror", "2 253:3 253:4 20/80 1 AA 1 core"),
            target(40_960, "linear", ""),
        ];
        let found = targets_progress(&targets, true);
        assert_eq!(found, Some((OperationKind::Pvmove, done(20_480, 81_920))));
        let finished = [target(81_920, "mirror", "2 253:3 253:4 80/80 1 AA 1 core")];
        assert_eq!(targets_progress(&finished, true), None);
    }

    #[test]
    fn raid_volume_is_checked_or_idle() {
        let raid = |text: &str| targets_progress(&[target(2_097_152, "raid", text)], false);
        let found = raid("raid1 2 aa 1024/2097152 check 0 0 -");
        assert_eq!(found, Some((OperationKind::Check, done(1024, 2_097_152))));
        assert_eq!(raid("raid1 2 AA 2097152/2097152 idle 0 0 -"), None);
        // The format before target version 1.5 has no action.
        assert_eq!(raid("raid1 2 AA 2097152/2097152"), None);
    }

    #[test]
    fn merging_snapshot_has_its_remaining_bytes() {
        let merge = |text: &str| targets_progress(&[target(1, "snapshot-merge", text)], false);
        let left = OperationProgress::Remaining(992 * 512);
        assert_eq!(
            merge("1024/204800 32"),
            Some((OperationKind::SnapshotMerge, left))
        );
        assert_eq!(merge("32/204800 32"), None, "merged");
        assert_eq!(merge("Merge failed"), None);
    }

    #[test]
    fn damaged_status_is_no_operation() {
        for (kind, text) in [
            ("mirror", "18446744073709551615 253:3 1/2"),
            ("mirror", "2 253:3 253:4 9/3 1 AA"),
            ("mirror", ""),
            ("raid", "raid1 2 aa 9/0 check"),
            ("raid", "raid1 2 aa 1/18446744073709551615 check"),
            ("snapshot-merge", "x/y z"),
        ] {
            assert_eq!(
                targets_progress(&[target(8, kind, text)], false),
                None,
                "{text}"
            );
        }
    }
}
