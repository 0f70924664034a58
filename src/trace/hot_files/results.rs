//! The result of a trace: paths of the files that are listed, processes by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::resolver::Resolver;
use super::totals::{FileId, FileTotals};
use super::view::{
    FileNameView, FileUserView, HotFileView, HotFilesView, JournalUserView, JournalView,
    ProcessView, SyncView,
};
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;
use crate::trace::events::event::{DeviceNumber, ThreadName};
use crate::trace::requests::RequestActor;

/// Files in the list.
const MAX_LISTED_FILES: usize = 1000;
/// System calls in the list.
const MAX_LISTED_SYNCS: usize = 1000;
/// Processes of one file or journal.
const MAX_LISTED_PROCESSES: usize = 16;
/// Time to search directories for paths that are not known otherwise.
pub(super) const SEARCH_TIME: Duration = Duration::from_secs(2);

impl Resolver {
    /// The result; directories are searched for paths for at most this time.
    pub(super) fn view(&mut self, search_time: Duration) -> HotFilesView {
        self.find_listed_paths(search_time);
        self.current_view()
    }

    fn current_view(&self) -> HotFilesView {
        let hottest = self.table.hottest();
        let listed = hottest.len().min(MAX_LISTED_FILES);
        let omitted = hottest[listed..].iter();
        let unknown = self.table.unknown();
        HotFilesView {
            files: hottest[..listed]
                .iter()
                .filter_map(|(id, totals)| self.file_view(*id, totals))
                .collect(),
            files_omitted: (hottest.len() - listed) as u64,
            omitted_bytes: omitted.map(|(_, totals)| totals.total_bytes()).sum(),
            unknown_bytes: unknown.iter().map(|one| one.bytes).sum(),
            unknown,
            metadata_bytes: self.table.metadata_bytes,
            journal_bytes: self.table.journal_bytes,
            raw_bytes: self.table.raw_bytes,
            unmatched_bytes: self.unmatched_bytes,
            syncs: self.sync_views(),
            journals: self.journal_views(),
            ..HotFilesView::default()
        }
    }

    fn find_listed_paths(&mut self, search_time: Duration) {
        let hottest = self.table.hottest();
        let files = hottest.iter().take(MAX_LISTED_FILES).map(|(id, _)| *id);
        let synced = self.syncs.slowest();
        let synced = synced.iter().take(MAX_LISTED_SYNCS);
        let ids: Vec<FileId> = files
            .chain(synced.filter_map(|(key, _)| key.file))
            .collect();
        for id in &ids {
            self.index.look_up_path(*id);
        }
        if !search_time.is_zero() {
            self.index.search_paths(&ids, search_time);
        }
    }

    fn name_view(&self, id: FileId) -> Option<FileNameView> {
        let file = self.index.file(id)?;
        let volume = self.index.volumes.all.get(file.identity.volume)?;
        Some(FileNameView {
            path: file.path.as_deref().map(SafeText::from_path),
            deleted: file.is_deleted,
            device: SafeText::from(volume.device_name.clone()),
            mount_point: SafeText::from_path(&volume.mount_point),
            inode: file.identity.inode,
        })
    }

    fn file_view(&self, id: FileId, totals: &FileTotals) -> Option<HotFileView> {
        let mut users: BTreeMap<ProcessView, u64> = BTreeMap::new();
        for (actor, bytes) in &totals.actors {
            *users.entry(self.processes.view_of(*actor)).or_default() += bytes;
        }
        let mut who: Vec<FileUserView> = users
            .into_iter()
            .map(|(process, bytes)| FileUserView { process, bytes })
            .collect();
        who.sort_list_by_key(|user| Reverse(user.bytes));
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

    fn sync_views(&self) -> Vec<SyncView> {
        let slowest = self.syncs.slowest();
        slowest
            .into_iter()
            .take(MAX_LISTED_SYNCS)
            .map(|(key, totals)| SyncView {
                call: key.call,
                process: self.process_of(key.pid),
                threads: totals.threads.len() as u64,
                file: key.file.and_then(|id| self.name_view(id)),
                count: totals.count,
                total_ns: totals.total_ns,
                p50_ns: totals.latencies.percentile(50.0),
                p99_ns: totals.latencies.percentile(99.0),
                max_ns: totals.latencies.max(),
                journal_fraction: totals.commit_fraction(),
            })
            .collect()
    }

    fn journal_views(&self) -> Vec<JournalView> {
        let mut by_device: BTreeMap<DeviceNumber, Vec<JournalUserView>> = BTreeMap::new();
        for ((device, pid), blocks) in &self.journal_blocks {
            by_device.entry(*device).or_default().push(JournalUserView {
                process: self.process_of(*pid),
                blocks: *blocks,
            });
        }
        by_device
            .into_iter()
            .filter_map(|(device, mut who)| {
                who.sort_list_by_key(|user| (Reverse(user.blocks), user.process.pid));
                who.truncate(MAX_LISTED_PROCESSES);
                let volume = self.index.volumes.by_device_id(device)?;
                let volume = &self.index.volumes.all[volume];
                Some(JournalView {
                    device: SafeText::from(volume.device_name.clone()),
                    mount_point: SafeText::from_path(&volume.mount_point),
                    who,
                })
            })
            .collect()
    }

    fn process_of(&self, pid: u32) -> ProcessView {
        let name = ThreadName::default();
        self.processes.view_of(RequestActor { pid, name })
    }
}
