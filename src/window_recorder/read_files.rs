//! How the files lie on their rotational devices that processes read in order.

use std::time::Duration;

use crate::model::Snapshot;
use crate::model::snapshot::TransferView;
use crate::probe::files::layout::{FileLayout, read_layout};
use crate::roots::SysPaths;

/// Files that are looked at, those that are read fastest.
const MAX_FILES: usize = 4;
/// A layout is not read again before this time has passed: it takes a system call per 100 extents.
const MAX_AGE: Duration = Duration::from_secs(30);

/// The layouts that were read, and when.
#[derive(Debug, Default)]
pub(super) struct ReadFileLayouts(Vec<(Duration, FileLayout)>);

impl ReadFileLayouts {
    /// The layouts of the files that are read in order now; `now` is on the boot clock. A file that
    /// makes no progress is left alone: its file system may not respond.
    pub(super) fn read(
        &mut self,
        roots: &SysPaths,
        snapshot: &Snapshot,
        now: Duration,
    ) -> Vec<FileLayout> {
        let drives = snapshot.drives.iter();
        let rotational: Vec<(u32, u32)> = drives
            .filter(|drive| drive.rotational == Some(true))
            .map(|drive| drive.number)
            .collect();
        if rotational.is_empty() {
            return Vec::new();
        }
        self.0.retain(|(at, _)| now.saturating_sub(*at) < MAX_AGE);
        let mut transfers: Vec<(&TransferView, f64)> = snapshot
            .transfers
            .iter()
            .filter_map(|it| Some((it, it.interval_rate_bytes_per_s.filter(|rate| *rate > 0.0)?)))
            .collect();
        transfers.sort_by(|a, b| b.1.total_cmp(&a.1));
        let files = transfers
            .iter()
            .filter_map(|(it, _)| Some((it.pid?, it.source.as_deref()?)));
        files
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
