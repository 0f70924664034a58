//! Joins the events of files with the bios of the same thread.

use std::collections::HashMap;

use foldhash::HashSet;

use super::piece::{Access, FileBio, FileHint, SyncRecord};
use super::threads::{OpenCall, ThreadStates};
use crate::trace::events::event::{DeviceNumber, Event, EventKind, FileKey, FixedText, SyncCall};
use crate::trace::requests::{
    Lane, RangeMap, RequestActor, RequestOperation, WritebackAttribution, queued_bio,
    range_of_event,
};

/// `BTRFS_BTREE_INODE_OBJECTID`; no file of any file system has this number.
const BTRFS_METADATA_INODE: u64 = 1;
/// Largest order of a folio that is believed.
const MAX_ORDER: u64 = 20;

/// Something that has to be looked up while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sighting {
    /// A thread that submits bios, dirties files or waits for writeback.
    Thread(u32),
    /// This process runs another program now: its name has changed.
    Executed(u32),
    /// A file that is used, and the thread that does it.
    File(FileHint, u32),
    /// A descriptor of a thread whose file is being synchronized.
    Descriptor(u32, u32),
}

/// What a batch of events yields.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CollectedBatch {
    /// Completed bios, in order of completion.
    pub(super) pieces: Vec<FileBio>,
    /// What has to be looked up; the same may be seen often.
    pub(super) sightings: Vec<Sighting>,
    /// Finished system calls.
    pub(super) syncs: Vec<SyncRecord>,
    /// Changes of journals: device of the file system, thread, number of blocks.
    pub(super) journal_changes: Vec<(DeviceNumber, u32, u64)>,
    /// Bytes of completions whose start was not recorded.
    pub(super) unmatched_bytes: u64,
}

/// Time during which a journal was being committed.
#[derive(Debug, Clone, Copy, Default)]
struct CommitClock {
    running_since: Option<u64>,
    total_ns: u64,
    /// Until then a commit ran whose start was not recorded.
    unknown_until: u64,
}

impl CommitClock {
    fn elapsed(self, at: u64) -> u64 {
        let running = self
            .running_since
            .map_or(0, |since| at.saturating_sub(since));
        self.total_ns.saturating_add(running)
    }

    fn finish(&mut self, at: u64) {
        if self.running_since.is_none() {
            self.unknown_until = at;
        }
        self.total_ns = self.elapsed(at);
        self.running_since = None;
    }
}

/// What is known beforehand.
#[derive(Debug, Default)]
pub(super) struct CollectorSettings {
    /// The drive of each partition: events of bios name the partition, those of requests the drive.
    pub(super) drive_by_device: HashMap<DeviceNumber, DeviceNumber>,
    /// Device numbers of the mounted file systems.
    pub(super) file_systems: HashSet<DeviceNumber>,
    /// Size of a page in bytes.
    pub(super) page_bytes: u64,
}

impl CollectorSettings {
    fn drive_of(&self, device: DeviceNumber) -> DeviceNumber {
        self.drive_by_device.get(&device).copied().unwrap_or(device)
    }

    /// Whether an inode may be a file. The page cache holds metadata too: that of ext4 as pages of
    /// the block device, that of btrfs as pages of an inode of its own.
    fn is_file(&self, file: FileHint) -> bool {
        let is_mounted = file
            .device
            .is_some_and(|device| self.file_systems.contains(&device));
        is_mounted && file.inode != BTRFS_METADATA_INODE
    }
}

/// Joins events to pieces: pure, and in bounded memory.
#[derive(Debug, Default)]
pub(super) struct FileTraceCollector {
    settings: CollectorSettings,
    bios: RangeMap<Lane, FileBio>,
    threads: ThreadStates,
    attribution: WritebackAttribution,
    commits: HashMap<DeviceNumber, CommitClock>,
    completions: u64,
    output: CollectedBatch,
}

impl FileTraceCollector {
    /// A collector for these file systems.
    pub(super) fn new(settings: CollectorSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Processes a batch of events in order of time.
    pub(super) fn add_batch(&mut self, events: &[Event]) -> CollectedBatch {
        for event in events {
            self.add_event(event);
        }
        std::mem::take(&mut self.output)
    }

    fn add_event(&mut self, event: &Event) {
        let file = FileHint::of_event(event);
        let amount = event.amount.unwrap_or(0);
        let thread = self.threads.of(event.pid);
        match event.kind {
            EventKind::Queued => self.on_queue(event),
            EventKind::Completed | EventKind::BioCompleted => self.on_complete(event),
            EventKind::Dirtied => {
                self.attribution.record_event(event);
                self.output.sightings.push(Sighting::Thread(event.pid));
                // It may be written back when the process has closed it.
                self.output.sightings.push(Sighting::File(file, event.pid));
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
                self.commits.clear();
            }
            EventKind::PageAdded if self.settings.is_file(file) => {
                // Older kernels have no order: one page.
                let bytes = self.settings.page_bytes << amount.min(MAX_ORDER);
                thread.pages_added(file, bytes);
            }
            EventKind::PageFault => thread.fault = Some(file),
            EventKind::Executed => self.output.sightings.push(Sighting::Executed(event.pid)),
            EventKind::DirectStarted => thread.direct_started(file, amount),
            EventKind::DirectMapped => thread.direct_started(file, u64::MAX),
            EventKind::CallStarted(call) => self.on_call(event, call),
            EventKind::CallFinished(call) => {
                if let Some(open) = thread.take_call(call) {
                    self.finish_call(event, open);
                }
            }
            EventKind::FileSynced => self.on_file_synced(event, file),
            EventKind::CommitStarted => {
                thread.in_commit = true;
                self.commits.entry(event.device).or_default().running_since = Some(event.at);
            }
            EventKind::CommitFinished => {
                thread.in_commit = false;
                self.commits
                    .entry(event.device)
                    .or_default()
                    .finish(event.at);
            }
            EventKind::JournalChanged => {
                let change = (event.device, event.pid, amount);
                self.output.journal_changes.push(change);
                self.output.sightings.push(Sighting::Thread(event.pid));
            }
            _ => {}
        }
    }

    fn on_call(&mut self, event: &Event, call: SyncCall) {
        let descriptor = event.amount.map(|number| number as u32);
        self.threads.of(event.pid).call = Some(OpenCall {
            call,
            descriptor,
            started_ns: event.at,
            file: None,
            journal: None,
        });
        self.output.sightings.push(Sighting::Thread(event.pid));
        if let Some(descriptor) = descriptor {
            self.output
                .sightings
                .push(Sighting::Descriptor(event.pid, descriptor));
        }
    }

    fn on_file_synced(&mut self, event: &Event, file: FileHint) {
        let thread = self.threads.of(event.pid);
        thread.file_synced(file);
        if let (Some(open), Some(device)) = (&mut thread.call, file.device) {
            let commit = self.commits.get(&device).copied().unwrap_or_default();
            open.journal = Some((device, commit.elapsed(event.at)));
        }
        self.output.sightings.push(Sighting::File(file, event.pid));
    }

    fn finish_call(&mut self, event: &Event, open: OpenCall) {
        let commit_ns = open.journal.and_then(|(device, before)| {
            let commit = self.commits.get(&device)?;
            let is_known = commit.unknown_until <= open.started_ns;
            is_known.then(|| commit.elapsed(event.at).saturating_sub(before))
        });
        self.output.syncs.push(SyncRecord {
            call: open.call,
            pid: event.pid,
            descriptor: open.descriptor,
            file: open.file,
            duration_ns: event.at.saturating_sub(open.started_ns),
            commit_ns,
        });
    }

    fn on_queue(&mut self, event: &Event) {
        let range = range_of_event(event, &self.settings.drive_by_device);
        let mut bio = FileBio {
            request: queued_bio(range, event),
            is_journal: false,
            file: None,
            completion: 0,
        };
        let is_write = match bio.request.operation {
            RequestOperation::Read => false,
            RequestOperation::Write => true,
            _ => return,
        };
        let thread = self.threads.of(event.pid);
        if bio.is_metadata() {
            bio.is_journal = thread.in_commit;
        } else {
            bio.file = thread.submit(is_write, u64::from(event.bytes));
        }
        let hint = bio.file.map(|(hint, _)| hint);
        let is_direct = bio.file.is_some_and(|(_, access)| access == Access::Direct);
        if is_write && !is_direct {
            bio.request.dirtied_by = self.dirtier(event.pid, hint);
        }
        self.bios.begin(range, bio);
        self.output.sightings.push(Sighting::Thread(event.pid));
        // What is written back was seen when it was dirtied.
        if let Some(hint) = hint.filter(|hint| hint.device.is_some()) {
            self.output.sightings.push(Sighting::File(hint, event.pid));
        }
    }

    /// Who dirtied the pages that a thread writes: as a kernel thread, or in a system call that
    /// synchronizes the file.
    fn dirtier(&self, pid: u32, file: Option<FileHint>) -> Option<RequestActor> {
        let synced = || {
            let file = file?;
            let (major, minor) = self.settings.drive_of(file.device?);
            let key = FileKey {
                backing_device: FixedText::from_field(format!("{major}:{minor}").as_bytes()),
                inode: file.inode,
            };
            self.attribution.dirtier(&key, pid)
        };
        self.attribution.charged_actor(pid).or_else(synced)
    }

    fn on_complete(&mut self, event: &Event) {
        let range = range_of_event(event, &self.settings.drive_by_device);
        let operation = range.lane.1.operation();
        if !matches!(operation, RequestOperation::Read | RequestOperation::Write) {
            return;
        }
        self.completions += 1;
        let (completion, pieces) = (self.completions, &mut self.output.pieces);
        let missing = self.bios.take(range, |begun| {
            let mut piece = begun.value;
            piece.completion = completion;
            piece.request.sector = begun.range.sector;
            piece.request.bytes = begun.range.sectors * 512;
            piece.request.timestamps.completed = event.at;
            pieces.push(piece);
        });
        // A request of a bio-based device was completed below already.
        if event.kind == EventKind::Completed {
            self.output.unmatched_bytes += missing * 512;
        }
    }
}

#[cfg(test)]
mod tests;
