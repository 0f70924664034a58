//! The result of a trace: paths of the files that are listed, processes by name.

use std::cmp::Reverse;

use super::files::FileId;
use super::tracker::FileTracker;
use super::view::{FileNameView, FileUserView, HotFileView, HotFilesView, UnknownReason};
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;

/// Files in the list.
const MAX_LISTED_FILES: usize = 1000;
/// Processes of one file.
const MAX_LISTED_PROCESSES: usize = 16;

impl FileTracker {
    /// The result so far.
    pub(super) fn view(&mut self) -> HotFilesView {
        let (mut files, mut ambiguous_bytes) = (Vec::new(), 0);
        for (id, file) in &self.files.all {
            match file.totals.total_bytes() {
                0 => {}
                bytes if file.is_ambiguous => ambiguous_bytes += bytes,
                bytes => files.push((Reverse(bytes), *id)),
            }
        }
        files.sort_unstable();
        let mut unknown = self.unknown.clone();
        if ambiguous_bytes > 0 {
            unknown.insert(UnknownReason::Subvolumes, ambiguous_bytes);
        }
        let listed = &files[..files.len().min(MAX_LISTED_FILES)];
        for (_, id) in listed {
            self.files.find_path(*id);
        }
        HotFilesView {
            files: listed
                .iter()
                .filter_map(|(_, id)| self.file_view(*id))
                .collect(),
            files_omitted: (files.len() - listed.len()) as u64,
            file_bytes: files.iter().map(|(Reverse(bytes), _)| bytes).sum(),
            unknown_bytes: unknown.values().sum(),
            unknown,
            metadata_bytes: self.metadata_bytes,
            ..HotFilesView::default()
        }
    }

    fn name_view(&self, id: FileId) -> Option<FileNameView> {
        let file = self.files.all.get(&id);
        let volume = self.files.volumes.all.get(id.volume)?;
        Some(FileNameView {
            path: file.and_then(|file| file.path.as_deref().map(SafeText::from_path)),
            deleted: file.is_some_and(|file| file.is_deleted),
            device: SafeText::from(volume.device_name.clone()),
            mount_point: SafeText::from_path(&volume.mount.path),
            inode: id.inode,
        })
    }

    fn file_view(&self, id: FileId) -> Option<HotFileView> {
        let totals = &self.files.all.get(&id)?.totals;
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
}
