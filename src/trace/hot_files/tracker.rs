//! Joins the events of files with the bios of the same thread, and sums up by file.

use std::collections::BTreeMap;

use foldhash::HashSet;

use super::files::{FileId, Files};
use super::processes::Processes;
use super::threads::{FileHint, ThreadStates};
use super::view::{Access, UnknownReason};
use super::volumes::{Place, Volumes};
use crate::roots::SysPaths;
use crate::trace::events::event::{DeviceNumber, Event, EventKind, FileKey, FixedText};
use crate::trace::partitions::SECTOR_BYTES;
use crate::trace::requests::{
    RangeMap, RequestActor, RequestOperation, TracedRequest, WritebackAttribution, queued_bio,
    range_of_event,
};

/// `BTRFS_BTREE_INODE_OBJECTID`; no file of any file system has this number.
const BTRFS_METADATA_INODE: u64 = 1;
/// Largest order of a folio that is believed.
const MAX_ORDER: u64 = 20;
/// Time after which a file is looked up again for a thread, which may have opened others.
const ROUND_NS: u64 = 1_000_000_000;

/// A bio, and the file that its thread's events name.
#[derive(Debug, Clone)]
struct FileBio {
    request: TracedRequest,
    file: Option<(FileHint, Access)>,
    process: u32,
}

/// Which files the requests belong to, in bounded memory. Processes and files are looked up as soon as an event
/// names them: both may be gone a moment later.
#[derive(Debug, Default)]
pub(super) struct FileTracker {
    roots: SysPaths,
    page_bytes: u64,
    pub(super) processes: Processes,
    pub(super) files: Files,
    pub(super) unknown: BTreeMap<UnknownReason, u64>,
    pub(super) metadata_bytes: u64,
    bios: RangeMap<FileBio>,
    threads: ThreadStates,
    attribution: WritebackAttribution,
    completions: u64,
    /// What was looked up in this round, and its begin.
    seen: HashSet<(FileHint, u32)>,
    round_started: u64,
}

impl FileTracker {
    pub(super) fn new(roots: &SysPaths, volumes: Volumes) -> Self {
        Self {
            roots: roots.clone(),
            page_bytes: rustix::param::page_size() as u64,
            processes: Processes::new(roots),
            files: Files::new(roots, volumes),
            ..Self::default()
        }
    }

    /// Processes an event; they come in order of time.
    pub(super) fn add_event(&mut self, event: &Event) {
        if event.at.saturating_sub(self.round_started) >= ROUND_NS {
            self.round_started = event.at;
            self.seen.clear();
            self.processes.start_round();
            self.files.start_round();
        }
        let file = FileHint::of_event(event);
        let thread = self.threads.of(event.pid);
        match event.kind {
            EventKind::Queued => self.on_queue(event),
            EventKind::Completed | EventKind::BioCompleted => self.on_complete(event),
            EventKind::Dirtied => {
                self.attribution.record_event(event);
                // It may be written back when the process has closed it.
                let process = self.process_of(event);
                self.note_used(file, process);
            }
            EventKind::WritebackStarted | EventKind::WritebackFinished => {
                let is_start = event.kind == EventKind::WritebackStarted;
                thread.writeback = is_start.then_some(file);
                self.attribution.record_event(event);
            }
            EventKind::EventsLost | EventKind::RecordingResumed => {
                self.bios.clear();
                self.threads.clear();
                self.attribution.clear_writeback();
            }
            EventKind::PageAdded if is_file(file, &self.files.volumes) => {
                // Older kernels have no order: one page.
                let order = event.amount.unwrap_or(0).min(MAX_ORDER);
                let bytes = self.page_bytes << order;
                thread.pages_added(file, bytes);
            }
            EventKind::PageFault => thread.fault = Some(file),
            EventKind::DirectStarted => {
                let bytes = event.amount.unwrap_or(u64::MAX);
                thread.direct_started(file, bytes);
            }
            EventKind::SyncFinished => thread.synced = None,
            EventKind::FileSynced => {
                thread.file_synced(file);
                let process = self.process_of(event);
                self.note_used(file, process);
            }
            _ => {}
        }
    }

    fn process_of(&mut self, event: &Event) -> u32 {
        let thread = RequestActor::of_event(event);
        self.processes.look_up(&self.roots, thread)
    }

    /// Looks up the path of a file that a process uses now.
    fn note_used(&mut self, file: FileHint, process: u32) {
        if self.seen.insert((file, process)) {
            self.files.note_used(file, process);
        }
    }

    fn on_queue(&mut self, event: &Event) {
        let range = range_of_event(event, &self.files.volumes.drives);
        let mut request = queued_bio(range, event);
        let is_write = request.operation == RequestOperation::Write;
        if !is_write && request.operation != RequestOperation::Read {
            return;
        }
        let mut process = self.process_of(event);
        let mut file = None;
        if !is_metadata(&request) {
            let thread = self.threads.of(event.pid);
            file = thread.submit(is_write, u64::from(event.bytes));
        }
        // What is written back was seen when it was dirtied.
        if let Some((hint, _)) = file
            && hint.device.is_some()
        {
            self.note_used(hint, process);
        }
        let is_direct = file.is_some_and(|(_, access)| access == Access::Direct);
        if is_write && !is_direct {
            request.dirtied_by = self.dirtier(event.pid, file.map(|(hint, _)| hint));
        }
        if let Some(dirtier) = request.dirtied_by {
            process = self.processes.look_up(&self.roots, dirtier);
        }
        let bio = FileBio {
            request,
            file,
            process,
        };
        self.bios.begin(range, bio);
    }

    /// Who dirtied the pages that a thread writes: as a kernel thread, or in a system call that
    /// synchronizes the file.
    fn dirtier(&self, pid: u32, file: Option<FileHint>) -> Option<RequestActor> {
        let written_back = self.attribution.charged_actor(pid);
        written_back.or_else(|| {
            let file = file?;
            let device = file.device?;
            let drives = &self.files.volumes.drives;
            let (major, minor) = drives.get(&device).copied().unwrap_or(device);
            let key = FileKey {
                backing_device: FixedText::from_field(format!("{major}:{minor}").as_bytes()),
                inode: file.inode,
            };
            self.attribution.dirtier(&key, pid)
        })
    }

    fn on_complete(&mut self, event: &Event) {
        let range = range_of_event(event, &self.files.volumes.drives);
        let mut parts = Vec::new();
        self.bios.take(range, |begun| {
            let mut part = begun.value;
            part.request.sector = begun.range.sector;
            part.request.bytes = begun.range.sectors * SECTOR_BYTES;
            part.request.timestamps.completed = event.at;
            parts.push(part);
        });
        self.completions += 1;
        for part in &parts {
            self.add_part(part);
        }
    }

    /// Adds a part of a bio that one request has completed.
    fn add_part(&mut self, part: &FileBio) {
        let request = &part.request;
        let added = match self.files.volumes.at(request.device, request.sector) {
            Some(Place::BelowAnotherDevice) => Ok(()),
            None => Err(UnknownReason::NoFileSystem),
            Some(Place::Volume(_)) if is_metadata(request) => {
                self.metadata_bytes += request.bytes;
                Ok(())
            }
            Some(Place::Volume(volume)) => self.add_to_file(part, volume),
        };
        if let Err(reason) = added {
            *self.unknown.entry(reason).or_default() += request.bytes;
        }
    }

    /// Adds a part to the file that the thread's events name, if it is on this file system.
    fn add_to_file(&mut self, part: &FileBio, volume: usize) -> Result<(), UnknownReason> {
        let (hint, access) = part.file.ok_or(UnknownReason::NoEvent)?;
        let volumes = &self.files.volumes;
        let named = hint.device.map(|device| volumes.by_device_id(device));
        if named.is_some_and(|named| named != Some(volume)) {
            return Err(UnknownReason::NoEvent);
        }
        let inode = hint.inode;
        let id = FileId { volume, inode };
        let file = self.files.entry(id).ok_or(UnknownReason::TooManyFiles)?;
        let totals = &mut file.totals;
        totals.record(&part.request, self.completions, access, part.process);
        Ok(())
    }
}

/// Whether the file system marked it as metadata (`REQ_META`); journals are, too.
fn is_metadata(request: &TracedRequest) -> bool {
    request.flags.as_bytes().contains(&b'M')
}

/// Whether an inode may be a file. The page cache holds metadata too: that of ext4 as pages of
/// the block device, that of btrfs as pages of an inode of its own.
fn is_file(file: FileHint, volumes: &Volumes) -> bool {
    let device: Option<DeviceNumber> = file.device;
    let is_mounted = device.is_some_and(|device| volumes.by_device_id(device).is_some());
    is_mounted && file.inode != BTRFS_METADATA_INODE
}

#[cfg(test)]
mod tests;
