//! Finds the file of each piece.

use std::time::{Duration, Instant};

use foldhash::HashMap;

use super::index::FileIndex;
use super::processes::Processes;
use super::volumes::Volumes;
use crate::model::hot_files::{
    Access, CollectedBatch, CollectorSettings, CompletedPiece, FileHint, FileId, FileSystemHint,
    HotFileTable, Sighting, SyncKey, SyncRecord, SyncTable, Transfer,
};
use crate::model::requests::RequestActor;
use crate::probe::trace::event::{DeviceNumber, FileKey};
use crate::roots::SysPaths;

/// Interval between attempts to find the pieces that no event names a file for.
const ROUND: Duration = Duration::from_secs(1);
/// Attempts until a piece counts as unknown.
const MAX_ATTEMPTS: u8 = 3;
/// Limit on pieces that wait for an attempt.
const MAX_PENDING: usize = 200_000;
/// Paths that are looked up per round when their files are first seen. Others are looked up at the
/// end, if they are listed.
const EARLY_PATHS_PER_ROUND: u32 = 500;
/// Files of one file system whose extents are read in a round.
const MAX_FILES_PER_ROUND: usize = 1000;

/// A piece that no event names a file for.
#[derive(Debug)]
struct PendingPiece {
    piece: CompletedPiece,
    volume: usize,
    attempts: u8,
}

/// Finds files and sums up.
#[derive(Debug)]
pub(super) struct Resolver {
    pub(super) roots: SysPaths,
    pub(super) volumes: Volumes,
    pub(super) processes: Processes,
    pub(super) index: FileIndex,
    pub(super) table: HotFileTable,
    pub(super) syncs: SyncTable,
    /// Blocks by device of the file system and process.
    pub(super) journal_blocks: HashMap<(DeviceNumber, u32), u64>,
    pub(super) unmatched_bytes: u64,
    descriptors: HashMap<(u32, u32), FileId>,
    pending: Vec<PendingPiece>,
    records_direct_io: bool,
    round_started: Instant,
    early_paths: u32,
}

impl Resolver {
    pub(super) fn new(roots: &SysPaths) -> Self {
        Self {
            roots: roots.clone(),
            volumes: Volumes::find(roots),
            processes: Processes::new(roots),
            index: FileIndex::default(),
            table: HotFileTable::default(),
            syncs: SyncTable::default(),
            journal_blocks: HashMap::default(),
            unmatched_bytes: 0,
            descriptors: HashMap::default(),
            pending: Vec::new(),
            records_direct_io: true,
            round_started: Instant::now(),
            early_paths: 0,
        }
    }

    /// What the collector has to know.
    pub(super) fn collector_settings(&self) -> CollectorSettings {
        let systems = self.volumes.all.iter();
        CollectorSettings {
            drive_by_device: self.volumes.drives(),
            file_systems: systems.map(|volume| volume.device_id).collect(),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// Whether the events tell when direct I/O begins.
    pub(super) fn set_direct_io_recorded(&mut self, is_recorded: bool) {
        self.records_direct_io = is_recorded;
    }

    pub(super) fn add_batch(&mut self, batch: CollectedBatch) {
        for sighting in &batch.sightings {
            self.look_up(*sighting);
        }
        for (file, actor) in &batch.dirtied {
            self.note_dirtied(*file, *actor);
        }
        for piece in &batch.pieces {
            self.place(piece);
        }
        for record in &batch.syncs {
            self.add_sync(record);
        }
        for change in &batch.journal_changes {
            let process = self.processes.process_id(change.pid);
            let key = (change.device, process);
            *self.journal_blocks.entry(key).or_default() += change.blocks;
        }
        self.unmatched_bytes += batch.unmatched_bytes;
        if self.round_started.elapsed() >= ROUND {
            self.start_round();
        }
    }

    fn look_up(&mut self, sighting: Sighting) {
        match sighting {
            Sighting::Thread(pid) => self.processes.look_up(&self.roots, pid),
            Sighting::Executed(pid) => self.processes.executed(&self.roots, pid),
            Sighting::File(hint, _) => {
                if self.early_paths < EARLY_PATHS_PER_ROUND {
                    self.early_paths += 1;
                    self.index.note_hint(&self.volumes, hint);
                }
            }
            Sighting::Descriptor { pid, descriptor } => {
                let directory = self.roots.proc.join(pid.to_string()).join("fd");
                let link = directory.join(descriptor.to_string());
                if let Some(file) = self.index.note_descriptor(&self.volumes, &link) {
                    self.descriptors.insert((pid, descriptor), file);
                }
            }
        }
    }

    fn note_dirtied(&mut self, file: FileKey, actor: RequestActor) {
        let name = file.backing_device.as_bytes();
        let volumes: Vec<usize> = (0..self.volumes.all.len())
            .filter(|index| self.volumes.all[*index].backing_name == name)
            .collect();
        for volume in volumes {
            let hint = FileHint::from(file);
            self.index.note_dirtied(&self.volumes, volume, hint, actor);
        }
    }

    fn place(&mut self, piece: &CompletedPiece) {
        let (drive, offset) = (piece.drive, piece.offset());
        let Some(volume) = self.volumes.at(drive, offset) else {
            if !self.volumes.is_below_another_device(drive, offset) {
                self.table.raw_bytes += piece.bytes;
            }
            return;
        };
        if piece.is_journal {
            self.table.journal_bytes += piece.bytes;
            return;
        }
        if piece.is_metadata {
            self.table.metadata_bytes += piece.bytes;
            return;
        }
        match self.hinted_file(piece, volume) {
            Some(file) => self.record(file, piece),
            None if self.pending.len() < MAX_PENDING => self.pending.push(PendingPiece {
                piece: *piece,
                volume,
                attempts: 0,
            }),
            None => self.table.unknown_bytes += piece.bytes,
        }
    }

    /// The file that the thread's events name, if it is on this file system. Where inodes are not
    /// unique the extents decide.
    fn hinted_file(&mut self, piece: &CompletedPiece, volume: usize) -> Option<FileId> {
        let hint = piece.hint?;
        let is_here = match hint.system {
            FileSystemHint::Drive => true,
            _ => self.volumes.of_hint(hint) == Some(volume),
        };
        if !is_here {
            return None;
        }
        if let Some(file) = self.index.only_file(&self.volumes, volume, hint) {
            return Some(file);
        }
        let files = self.index.candidates(&self.volumes, volume, hint);
        match files[..] {
            [file] => Some(file),
            _ => self.index.owner_among(
                &self.roots,
                &self.volumes,
                &files,
                (piece.drive, piece.offset()),
            ),
        }
    }

    fn record(&mut self, file: FileId, piece: &CompletedPiece) {
        let dirtied_by = self.index.file(file).and_then(|file| file.dirtied_by);
        let is_of_kernel = self.processes.is_kernel_thread(piece.submitter.pid);
        let access = piece.access.unwrap_or(match piece.transfer {
            Transfer::Write if is_of_kernel || dirtied_by.is_some() => Access::Writeback,
            Transfer::Read if self.records_direct_io => Access::Buffered,
            _ => Access::Direct,
        });
        let is_unattributed = is_of_kernel && piece.dirtied_by.is_none();
        let actor = match (access, is_unattributed) {
            (Access::Writeback, true) => dirtied_by.unwrap_or(piece.submitter),
            _ => piece.charged_actor(),
        };
        self.table.record(file, piece, access, actor);
    }

    fn add_sync(&mut self, record: &SyncRecord) {
        let hinted = record.file.and_then(|hint| {
            let volume = self.volumes.of_hint(hint)?;
            let files = self.index.candidates(&self.volumes, volume, hint);
            files.first().copied()
        });
        let descriptor = record.descriptor.map(|descriptor| (record.pid, descriptor));
        let opened = descriptor.and_then(|key| self.descriptors.get(&key).copied());
        let key = SyncKey {
            call: record.call,
            pid: self.processes.process_id(record.pid),
            file: hinted.or(opened),
        };
        self.syncs.record(key, record);
    }

    fn start_round(&mut self) {
        self.round_started = Instant::now();
        self.early_paths = 0;
        self.index.start_round();
        self.resolve_pending();
    }

    /// Searches the extents of the files that the submitting processes have open, and of those that
    /// were dirtied.
    fn resolve_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.volumes.refresh();
        let mut candidates: HashMap<(usize, u32), Vec<FileId>> = HashMap::default();
        for mut waiting in std::mem::take(&mut self.pending) {
            let piece = waiting.piece;
            let process = self.processes.process_id(piece.submitter.pid);
            let files = candidates
                .entry((waiting.volume, process))
                .or_insert_with_key(|key| {
                    let (roots, volumes) = (&self.roots, &self.volumes);
                    self.index
                        .likely_files(roots, volumes, *key, MAX_FILES_PER_ROUND)
                });
            let place = (piece.drive, piece.offset());
            let owner = self
                .index
                .owner_among(&self.roots, &self.volumes, files, place)
                .or_else(|| self.index.owner_of(place.0, place.1));
            waiting.attempts += 1;
            match owner {
                Some(file) => self.record(file, &piece),
                None if waiting.attempts < MAX_ATTEMPTS => self.pending.push(waiting),
                None => self.table.unknown_bytes += piece.bytes,
            }
        }
    }

    /// The last attempt for all pieces.
    pub(super) fn resolve_rest(&mut self) {
        self.index.start_round();
        self.resolve_pending();
        for waiting in std::mem::take(&mut self.pending) {
            self.table.unknown_bytes += waiting.piece.bytes;
        }
    }
}
