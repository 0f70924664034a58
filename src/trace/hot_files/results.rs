//! The result of a trace: paths of the files that are listed, processes by name.

use std::cmp::Reverse;
use std::time::Duration;

use super::files::{FileId, TracedFile};
use super::totals::SyncTotals;
use super::tracker::{FileTracker, SyncKey};
use super::view::{FileNameView, FileUserView, HotFileView, HotFilesView, SyncView, UnknownBytes};
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;

/// Files in the list.
const MAX_LISTED_FILES: usize = 1000;
/// System calls in the list.
const MAX_LISTED_SYNCS: usize = 1000;
/// Processes of one file.
const MAX_LISTED_PROCESSES: usize = 16;

impl FileTracker {
    /// The result; directories are searched for paths for at most this time.
    pub(super) fn view(&mut self, search_time: Duration) -> HotFilesView {
        let mut hottest = self.hottest();
        let omitted = hottest.split_off(hottest.len().min(MAX_LISTED_FILES));
        let syncs = self.slowest();
        let synced = syncs.iter().filter_map(|key| key.file);
        let listed: Vec<FileId> = hottest.iter().copied().chain(synced).collect();
        self.files.find_paths(&listed, search_time);
        let unknown = self.unknown.iter().map(|(reason, bytes)| UnknownBytes {
            reason: *reason,
            bytes: *bytes,
        });
        let mut unknown: Vec<UnknownBytes> = unknown.collect();
        unknown.sort_list_by_key(|one| one.reason);
        let bytes_of = |id: &FileId| {
            self.files
                .all
                .get(id)
                .map_or(0, |it| it.totals.total_bytes())
        };
        HotFilesView {
            files: hottest
                .iter()
                .filter_map(|id| self.file_view(*id))
                .collect(),
            files_omitted: omitted.len() as u64,
            omitted_bytes: omitted.iter().map(bytes_of).sum(),
            unknown_bytes: unknown.iter().map(|one| one.bytes).sum(),
            unknown,
            metadata_bytes: self.metadata_bytes,
            raw_bytes: self.raw_bytes,
            syncs: syncs.iter().filter_map(|key| self.sync_view(key)).collect(),
            ..HotFilesView::default()
        }
    }

    /// The files, those with most bytes first.
    fn hottest(&self) -> Vec<FileId> {
        let all = self.files.all.iter();
        let all = all.map(|(id, file)| (Reverse(file.totals.total_bytes()), *id));
        let mut used: Vec<_> = all.filter(|(Reverse(bytes), _)| *bytes > 0).collect();
        used.sort_unstable();
        used.into_iter().map(|(_, id)| id).collect()
    }

    /// The calls that are listed, those with most time first.
    fn slowest(&self) -> Vec<SyncKey> {
        let all = self.syncs.iter();
        let mut all: Vec<_> = all
            .map(|(key, totals)| (Reverse(totals.total_ns), *key))
            .collect();
        all.sort_unstable();
        all.truncate(MAX_LISTED_SYNCS);
        all.into_iter().map(|(_, key)| key).collect()
    }

    fn name_view(&self, id: FileId) -> Option<FileNameView> {
        let file = self.files.all.get(&id);
        let volume = self.files.volumes.all.get(id.volume)?;
        Some(FileNameView {
            path: file.and_then(|file| file.path.as_deref().map(SafeText::from_path)),
            deleted: file.is_some_and(|file| file.is_deleted),
            device: SafeText::from(volume.device_name.clone()),
            mount_point: SafeText::from_path(&volume.mount_point),
            inode: id.inode,
        })
    }

    fn file_view(&self, id: FileId) -> Option<HotFileView> {
        let TracedFile { totals, .. } = self.files.all.get(&id)?;
        let users = totals.users.iter().map(|(pid, bytes)| FileUserView {
            process: self.processes.view(*pid),
            bytes: *bytes,
        });
        let mut who: Vec<FileUserView> = users.collect();
        who.sort_list_by_key(|user| (Reverse(user.bytes), user.process.pid));
        who.truncate(MAX_LISTED_PROCESSES);
        Some(HotFileView {
            file: self.name_view(id)?,
            read_bytes: totals.read_bytes,
            written_bytes: totals.written_bytes,
            read_ios: totals.read_ios,
            write_ios: totals.write_ios,
            p50_ns: totals.latencies.percentile(50.0),
            p99_ns: totals.latencies.percentile(99.0),
            who,
            via: totals.main_access(),
        })
    }

    fn sync_view(&self, key: &SyncKey) -> Option<SyncView> {
        let totals: &SyncTotals = self.syncs.get(key)?;
        Some(SyncView {
            call: key.call,
            process: self.processes.view(key.pid),
            threads: totals.threads.len() as u64,
            file: key.file.and_then(|id| self.name_view(id)),
            count: totals.count,
            total_ns: totals.total_ns,
            p50_ns: totals.latencies.percentile(50.0),
            p99_ns: totals.latencies.percentile(99.0),
            max_ns: totals.latencies.max,
        })
    }
}
