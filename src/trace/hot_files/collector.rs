//! Joins the events of files with the bios of the same thread.

use foldhash::{HashMap, HashSet};

use super::in_flight::{BiosInFlight, SectorRange};
use super::piece::{Access, CompletedPiece, FileHint, FileSystemHint, SyncRecord, Transfer};
use super::thread_state::{OpenCall, ThreadStates};
use crate::trace::events::event::{
    BlockEvent, DeviceNumber, FileKey, FixedText, RequestStep, RwbsFlags,
};
use crate::trace::events::file_event::{FileAction, FileEvent, InodeKey};
use crate::trace::requests::{RequestActor, WritebackAttribution};

/// A thread and a file are announced again after this long: the thread may have opened other files.
const SIGHTING_INTERVAL_NS: u64 = 1_000_000_000;

/// `BTRFS_BTREE_INODE_OBJECTID`; no file of any file system has this number.
const BTRFS_METADATA_INODE: u64 = 1;

/// Something that has to be looked up while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sighting {
    /// A thread that submits bios, dirties files or waits for writeback.
    Thread(u32),
    /// This process runs another program now: its name has changed.
    Executed(u32),
    /// A file that is read or written, and the thread that does it.
    File(FileHint, u32),
    /// A descriptor whose file is being synchronized.
    Descriptor {
        /// The thread.
        pid: u32,
        /// The descriptor.
        descriptor: u32,
    },
}

/// Blocks of a journal that a thread has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalChange {
    /// Device of the file system.
    pub device: DeviceNumber,
    /// The thread.
    pub pid: u32,
    /// Number of blocks.
    pub blocks: u64,
}

/// What a batch of events yields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectedBatch {
    /// Completed bios, in order of completion.
    pub pieces: Vec<CompletedPiece>,
    /// What has to be looked up.
    pub sightings: Vec<Sighting>,
    /// Who made which file dirty. A kernel thread may write it on behalf of another one.
    pub dirtied: Vec<(FileKey, RequestActor)>,
    /// Finished system calls.
    pub syncs: Vec<SyncRecord>,
    /// Changes of journals.
    pub journal_changes: Vec<JournalChange>,
    /// Bytes of completions whose start was not recorded.
    pub unmatched_bytes: u64,
}

/// What is known about a bio when it is queued.
#[derive(Debug, Clone, Copy)]
struct QueuedBio {
    queued_ns: u64,
    is_metadata: bool,
    is_journal: bool,
    submitter: RequestActor,
    dirtied_by: Option<RequestActor>,
    hint: Option<FileHint>,
    access: Option<Access>,
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
}

/// What is known beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectorSettings {
    /// The drive of each partition: events of bios name the partition, those of requests the drive.
    pub drive_by_device: HashMap<DeviceNumber, DeviceNumber>,
    /// Device numbers of the mounted file systems.
    pub file_systems: HashSet<DeviceNumber>,
    /// Size of a page in bytes.
    pub page_bytes: u64,
}

impl CollectorSettings {
    /// Whether an inode may be a file. The page cache holds metadata too: that of ext4 as pages of
    /// the block device, that of btrfs as pages of an inode of its own.
    fn is_file(&self, key: InodeKey) -> bool {
        key.inode != BTRFS_METADATA_INODE && self.file_systems.contains(&key.device)
    }
}

/// Joins events to pieces: pure, and in bounded memory.
#[derive(Debug, Default)]
pub struct FileTraceCollector {
    settings: CollectorSettings,
    bios: BiosInFlight<QueuedBio>,
    threads: ThreadStates,
    attribution: WritebackAttribution,
    commits: HashMap<DeviceNumber, CommitClock>,
    announced: HashSet<Sighting>,
    announced_since: u64,
    announced_round: u32,
    completions: u64,
    output: CollectedBatch,
}

impl FileTraceCollector {
    /// A collector for these file systems.
    #[must_use]
    pub fn new(settings: CollectorSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Processes a batch; both slices are in order of time.
    pub fn add_batch(&mut self, events: &[BlockEvent], files: &[FileEvent]) -> CollectedBatch {
        let (mut events, mut files) = (events.iter().peekable(), files.iter().peekable());
        loop {
            match (events.peek(), files.peek()) {
                (Some(event), Some(file)) if file.timestamp_ns < event.timestamp_ns => {
                    self.add_file_event(file);
                    files.next();
                }
                (Some(event), _) => {
                    self.add_block_event(event);
                    events.next();
                }
                (None, Some(file)) => {
                    self.add_file_event(file);
                    files.next();
                }
                (None, None) => return std::mem::take(&mut self.output),
            }
        }
    }

    fn start_announcing_anew(&mut self, at: u64) {
        if at.saturating_sub(self.announced_since) > SIGHTING_INTERVAL_NS {
            self.announced.clear();
            self.announced_since = at;
            self.announced_round = self.announced_round.wrapping_add(1);
        }
    }

    /// Announces a thread that submits a bio, and the file. Most threads use one file for many bios.
    fn announce_submission(&mut self, event: &BlockEvent, hint: Option<FileHint>) {
        self.start_announcing_anew(event.timestamp_ns);
        let announced = (self.announced_round.wrapping_add(1), hint);
        if std::mem::replace(&mut self.threads.of(event.pid).announced, announced) == announced {
            return;
        }
        self.announce(event.timestamp_ns, Sighting::Thread(event.pid));
        if let Some(hint) = hint {
            self.announce(event.timestamp_ns, Sighting::File(hint, event.pid));
        }
    }

    fn announce(&mut self, at: u64, sighting: Sighting) {
        self.start_announcing_anew(at);
        if self.announced.insert(sighting) {
            self.output.sightings.push(sighting);
        }
    }

    fn add_file_event(&mut self, event: &FileEvent) {
        let at = event.timestamp_ns;
        let thread = self.threads.of(event.pid);
        match event.action {
            FileAction::PageAdded { file, pages } => {
                if self.settings.is_file(file) {
                    thread.pages_added(file, u64::from(pages) * self.settings.page_bytes);
                }
            }
            FileAction::PageFault { file } => thread.page_fault(file),
            FileAction::Executed => self.output.sightings.push(Sighting::Executed(event.pid)),
            FileAction::DirectStarted { file, bytes } => thread.direct_started(file, bytes),
            FileAction::CallStarted { call, descriptor } => {
                thread.call = Some(OpenCall {
                    call,
                    descriptor,
                    started_ns: at,
                    file: None,
                    journal: None,
                    commit_ns_before: 0,
                });
                self.announce(at, Sighting::Thread(event.pid));
                if let Some(descriptor) = descriptor {
                    let pid = event.pid;
                    self.announce(at, Sighting::Descriptor { pid, descriptor });
                }
            }
            FileAction::CallFinished { call } => {
                if let Some(open) = thread.take_call(call) {
                    self.finish_call(event, open);
                }
            }
            FileAction::FileSynced { file } => {
                let commit = self.commits.get(&file.device).copied();
                if let Some(open) = &mut thread.call {
                    open.journal = Some(file.device);
                    open.commit_ns_before = commit.unwrap_or_default().elapsed(at);
                }
                self.file_synced(event, file.into());
            }
            FileAction::BtrfsFileSynced { file } => self.file_synced(event, file.into()),
            FileAction::CommitStarted { device } => {
                thread.in_commit = true;
                self.commits.entry(device).or_default().running_since = Some(at);
            }
            FileAction::CommitFinished { device } => {
                thread.in_commit = false;
                let commit = self.commits.entry(device).or_default();
                if commit.running_since.is_none() {
                    commit.unknown_until = at;
                }
                commit.total_ns = commit.elapsed(at);
                commit.running_since = None;
            }
            FileAction::JournalChanged { device, blocks } => {
                self.output.journal_changes.push(JournalChange {
                    device,
                    pid: event.pid,
                    blocks: u64::from(blocks),
                });
                self.announce(at, Sighting::Thread(event.pid));
            }
        }
    }

    fn file_synced(&mut self, event: &FileEvent, file: FileHint) {
        let thread = self.threads.of(event.pid);
        thread.file_synced(file);
        if let Some(open) = &mut thread.call {
            open.file = Some(file);
        }
        self.announce(event.timestamp_ns, Sighting::File(file, event.pid));
    }

    fn finish_call(&mut self, event: &FileEvent, open: OpenCall) {
        let commit = open.journal.and_then(|device| self.commits.get(&device));
        let commit = commit.filter(|commit| commit.unknown_until <= open.started_ns);
        let commit_ns = commit.map(|commit| {
            let elapsed = commit.elapsed(event.timestamp_ns);
            elapsed.saturating_sub(open.commit_ns_before)
        });
        self.output.syncs.push(SyncRecord {
            call: open.call,
            pid: event.pid,
            descriptor: open.descriptor,
            file: open.file,
            started_ns: open.started_ns,
            duration_ns: event.timestamp_ns.saturating_sub(open.started_ns),
            commit_ns,
        });
    }

    fn add_block_event(&mut self, event: &BlockEvent) {
        match event.request_step {
            RequestStep::Queued => self.on_queue(event),
            RequestStep::Completed | RequestStep::BioCompleted => self.on_complete(event),
            RequestStep::Dirtied => {
                self.attribution.record_event(event);
                let actor = RequestActor {
                    pid: event.pid,
                    name: event.thread_name,
                };
                self.output.dirtied.push((event.file, actor));
                self.announce(event.timestamp_ns, Sighting::Thread(event.pid));
            }
            RequestStep::WritebackStarted => {
                self.attribution.record_event(event);
                self.threads.of(event.pid).writeback = Some(event.file);
            }
            RequestStep::WritebackFinished => {
                self.attribution.record_event(event);
                self.threads.of(event.pid).writeback = None;
            }
            RequestStep::EventsLost | RequestStep::RecordingResumed => {
                self.bios.clear();
                self.threads.clear();
                self.attribution.clear_writeback();
                self.commits.clear();
            }
            _ => {}
        }
    }

    fn range_of(&self, event: &BlockEvent) -> Option<SectorRange> {
        if event.sectors == 0 {
            return None;
        }
        let drive = self.settings.drive_by_device.get(&event.device);
        Some(SectorRange {
            drive: drive.copied().unwrap_or(event.device),
            transfer: transfer_of(event.flags)?,
            sector: event.sector,
            sectors: u64::from(event.sectors),
        })
    }

    fn on_queue(&mut self, event: &BlockEvent) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let thread = self.threads.of(event.pid);
        let is_metadata = event.flags.as_bytes().contains(&b'M');
        let is_journal = is_metadata && thread.in_commit;
        let (hint, access) = if is_metadata {
            (None, None)
        } else {
            thread.submit(range.transfer, range.sectors * 512)
        };
        let is_kernel_write = range.transfer == Transfer::Write && access != Some(Access::Direct);
        let bio = QueuedBio {
            queued_ns: event.timestamp_ns,
            is_metadata,
            is_journal,
            submitter: RequestActor {
                pid: event.pid,
                name: event.thread_name,
            },
            dirtied_by: is_kernel_write
                .then(|| self.dirtier(event.pid, hint))
                .flatten(),
            hint,
            access,
        };
        self.bios.queue(range, bio);
        self.announce_submission(event, hint);
    }

    /// Who dirtied the pages that a thread writes: as a kernel thread, or in a system call that
    /// synchronizes the file of `hint`.
    fn dirtier(&self, pid: u32, hint: Option<FileHint>) -> Option<RequestActor> {
        let synced = || {
            let hint = hint?;
            let FileSystemHint::Device(device) = hint.system else {
                return None;
            };
            let drive = self.settings.drive_by_device.get(&device);
            let (major, minor) = drive.copied().unwrap_or(device);
            let file = FileKey {
                backing_device: FixedText::from_field(format!("{major}:{minor}").as_bytes()),
                inode: hint.inode,
            };
            self.attribution.dirtier(&file, pid)
        };
        self.attribution.charged_actor(pid).or_else(synced)
    }

    fn on_complete(&mut self, event: &BlockEvent) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        self.completions += 1;
        let request = self.completions;
        let pieces = &mut self.output.pieces;
        let unmatched = self.bios.complete(range, |part, bio| {
            pieces.push(CompletedPiece {
                drive: part.drive,
                sector: part.sector,
                bytes: part.sectors * 512,
                transfer: part.transfer,
                is_metadata: bio.is_metadata,
                is_journal: bio.is_journal,
                latency_ns: event.timestamp_ns.saturating_sub(bio.queued_ns),
                request,
                submitter: bio.submitter,
                dirtied_by: bio.dirtied_by,
                hint: bio.hint,
                access: bio.access,
            });
        });
        // A request of a bio-based device was completed below already.
        if event.request_step == RequestStep::Completed {
            self.output.unmatched_bytes += unmatched * 512;
        }
    }
}

/// The direction of a request (kernel `blk_fill_rwbs`); `None` where it transfers no data. A leading
/// F requests a flush first.
fn transfer_of(flags: RwbsFlags) -> Option<Transfer> {
    match flags.as_bytes() {
        [b'R', ..] | [b'F', b'R', ..] => Some(Transfer::Read),
        [b'W', ..] | [b'F', b'W', ..] => Some(Transfer::Write),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
