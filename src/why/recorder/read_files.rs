//! How the files lie on their rotational devices that processes read in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::probe::files::layout::{FileLayout, read_layout};
use crate::roots::SysPaths;
use crate::snapshot::Snapshot;

/// Files that are looked at, those that are read fastest.
const MAX_FILES: usize = 4;
/// A layout is not read again before this time has passed: it takes a system call per 100 extents.
const MAX_AGE: Duration = Duration::from_secs(30);

/// The layouts that were read, and when.
#[derive(Debug, Default)]
pub(super) struct ReadFileLayouts(Vec<(Duration, FileLayout)>);

impl ReadFileLayouts {
    /// The layouts of the files that were read in order within these snapshots; `now` is on the boot
    /// clock. A read from a slow disk can take longer than the interval of the last snapshot, so
    /// files that make no progress in it belong to them; those on a device that completes no reads are left
    /// alone: their file system may not respond.
    pub(super) fn read(
        &mut self,
        roots: &SysPaths,
        snapshots: &[Arc<Snapshot>],
        now: Duration,
    ) -> Vec<FileLayout> {
        let Some(last) = snapshots.last() else {
            return Vec::new();
        };
        let rotational = reading_disks(last);
        if rotational.is_empty() {
            return Vec::new();
        }
        self.0.retain(|(at, _)| now.saturating_sub(*at) < MAX_AGE);
        files_by_rate(snapshots)
            .into_iter()
            .filter_map(|file| self.layout(roots, file, &rotational, now))
            .take(MAX_FILES)
            .collect()
    }

    fn layout(
        &mut self,
        roots: &SysPaths,
        (pid, path): (u32, &str),
        rotational: &[(u32, u32)],
        now: Duration,
    ) -> Option<FileLayout> {
        let mut known = self.0.iter().map(|(_, layout)| layout);
        if let Some(layout) = known.find(|it| it.pid == pid && it.path == path) {
            return Some(layout.clone());
        }
        let layout = read_layout(roots, (pid, path), rotational)?;
        self.0.push((now, layout.clone()));
        Some(layout)
    }
}

/// The numbers of the rotational devices that complete reads, with their partitions.
fn reading_disks(snapshot: &Snapshot) -> Vec<(u32, u32)> {
    let completes_reads = |name: &str| {
        let mut devices = snapshot.devices.iter();
        let device = devices.find(|device| device.name.as_str() == name);
        device.is_some_and(|it| it.read_ios_per_s.is_some_and(|rate| rate > 0.0))
    };
    let drives = snapshot.drives.iter();
    drives
        .filter(|drive| drive.rotational == Some(true))
        .filter(|drive| completes_reads(drive.parent.as_deref().unwrap_or(&drive.name)))
        .map(|drive| drive.number)
        .collect()
}

/// The process ids and paths of the files that were read in order, those that were read fastest first.
fn files_by_rate(snapshots: &[Arc<Snapshot>]) -> Vec<(u32, &str)> {
    let mut files: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    for transfer in snapshots.iter().flat_map(|snapshot| &snapshot.transfers) {
        let rate = transfer.interval_rate_bytes_per_s.unwrap_or_default();
        if let (Some(pid), Some(source)) = (transfer.pid, transfer.source.as_deref())
            && rate > 0.0
        {
            let fastest = files.entry((pid, source)).or_default();
            *fastest = fastest.max(rate);
        }
    }
    let mut files: Vec<((u32, &str), f64)> = files.into_iter().collect();
    files.sort_by(|a, b| b.1.total_cmp(&a.1));
    files.into_iter().map(|(file, _)| file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::identity::list_block_devices;
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::{DeviceView, TransferView};

    fn snapshot(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
        let mut snapshot = ViewBuilder::default().update(Arc::default());
        change(&mut snapshot);
        snapshot
    }

    fn with_reads(files: &[(u32, &str, f64)]) -> Arc<Snapshot> {
        let transfers = files.iter().map(|(pid, path, rate)| TransferView {
            pid: Some(*pid),
            source: Some((*path).into()),
            interval_rate_bytes_per_s: Some(*rate),
            ..TransferView::default()
        });
        Arc::new(snapshot(|it| it.transfers = transfers.collect()))
    }

    #[test]
    fn file_without_progress_in_the_last_interval_is_looked_at() {
        let snapshots = [
            with_reads(&[(7, "/slow", 1e6), (8, "/fast", 5e6), (9, "/waits", 0.0)]),
            with_reads(&[(7, "/slow", 0.0), (8, "/fast", 2e6), (9, "/waits", 0.0)]),
        ];
        let files = files_by_rate(&snapshots);
        assert_eq!(files, [(8, "/fast"), (7, "/slow")]);
    }

    #[test]
    fn disk_that_completes_no_reads_is_left_alone() {
        let (_root, roots) = SysPaths::with_files(&[
            ("sys/class/block/sda/dev", "8:0\n"),
            ("sys/class/block/sda/size", "8\n"),
            ("sys/class/block/sda/queue/rotational", "1\n"),
            ("sys/class/block/sdb/dev", "8:16\n"),
            ("sys/class/block/sdb/size", "8\n"),
            ("sys/class/block/sdb/queue/rotational", "0\n"),
        ]);
        let disks = |reads: f64| {
            let device = |name: &str| DeviceView {
                name: name.into(),
                read_ios_per_s: Some(reads),
                ..DeviceView::default()
            };
            reading_disks(&snapshot(|it| {
                it.drives = list_block_devices(&roots).into();
                it.devices = vec![device("sda"), device("sdb")];
            }))
        };
        assert_eq!(disks(50.0), [(8, 0)]);
        assert_eq!(disks(0.0), []);
    }
}
