//! Finds the file of each piece.

use std::time::{Duration, Instant};

use foldhash::HashMap;

use super::index::FileIndex;
use super::processes::Processes;
use super::volumes::Volumes;
use crate::roots::SysPaths;
use crate::trace::events::event::{DeviceNumber, FileKey};
use crate::trace::hot_files::view::UnknownReason;
use crate::trace::hot_files::{
    Access, CollectedBatch, CollectorSettings, CompletedPiece, FileHint, FileId, FileSystemHint,
    HotFileTable, Sighting, SyncKey, SyncRecord, SyncTable,
};
use crate::trace::requests::RequestActor;

/// Interval at which what is looked up early is limited.
const ROUND: Duration = Duration::from_secs(1);
/// Files that are looked up per round when they are first seen. Others are looked up at the end, if they
/// are listed.
const EARLY_PATHS_PER_ROUND: u32 = 500;

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
            Sighting::File(hint, thread) => {
                if let Some(volume) = self.volumes.of_hint(hint) {
                    self.look_up_used((volume, hint), thread);
                }
            }
            Sighting::Descriptor { pid, descriptor } => {
                let process = self.processes.process_id(pid);
                let directory = self.roots.proc.join(pid.to_string()).join("fd");
                let link = directory.join(descriptor.to_string());
                let found = self
                    .index
                    .note_descriptor(&self.volumes, process, &link, None);
                if let Some(file) = found {
                    self.descriptors.insert((pid, descriptor), file);
                }
            }
        }
    }

    fn look_up_used(&mut self, file: (usize, FileHint), thread: u32) {
        if self.early_paths < EARLY_PATHS_PER_ROUND {
            self.early_paths += 1;
            let process = self.processes.process_id(thread);
            self.index
                .note_used(&self.roots, &self.volumes, file, process);
        }
    }

    fn note_dirtied(&mut self, file: FileKey, actor: RequestActor) {
        let (name, hint) = (file.backing_device.as_bytes(), FileHint::from(file));
        let process = self.processes.process_id(actor.pid);
        for volume in self.volumes.with_backing_name(name) {
            let file = (volume, hint);
            let mut found = self.index.file_of_hint(&self.volumes, file, process);
            if found.is_none() {
                // It is written back later, when the process may have closed it.
                self.look_up_used(file, actor.pid);
                found = self.index.file_of_hint(&self.volumes, file, process);
            }
            if let Some(id) = found {
                self.index.note_dirtied(id, actor);
            }
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
        } else if piece.is_metadata {
            self.table.metadata_bytes += piece.bytes;
        } else {
            match self.file_of_piece(piece, volume) {
                Ok((file, access)) => self.record(file, piece, access),
                Err(reason) => self.table.add_unknown(reason, piece.bytes),
            }
        }
    }

    /// The file that the thread's events name, if it is on this file system, and how it is accessed.
    fn file_of_piece(
        &mut self,
        piece: &CompletedPiece,
        volume: usize,
    ) -> Result<(FileId, Access), UnknownReason> {
        let named = piece.hint.zip(piece.access).filter(|(hint, _)| {
            hint.system == FileSystemHint::Drive || self.volumes.of_hint(*hint) == Some(volume)
        });
        let (hint, access) = named.ok_or(UnknownReason::NoEvent)?;
        let process = self.processes.process_id(piece.charged_actor().pid);
        let file = self
            .index
            .file_of_hint(&self.volumes, (volume, hint), process);
        match file {
            Some(file) => Ok((file, access)),
            None if self.volumes.has_subvolumes(volume) => Err(UnknownReason::Subvolumes),
            None => Err(UnknownReason::TooManyFiles),
        }
    }

    fn record(&mut self, file: FileId, piece: &CompletedPiece, access: Access) {
        let dirtied_by = self.index.file(file).and_then(|file| file.dirtied_by);
        let is_of_kernel = self.processes.is_kernel_thread(piece.submitter.pid);
        let is_unattributed = is_of_kernel && piece.dirtied_by.is_none();
        let actor = if access == Access::Writeback && is_unattributed {
            dirtied_by.unwrap_or(piece.submitter)
        } else {
            piece.charged_actor()
        };
        self.table.record(file, piece, access, actor);
    }

    fn add_sync(&mut self, record: &SyncRecord) {
        let process = self.processes.process_id(record.pid);
        let hinted = record.file.and_then(|hint| {
            let volume = self.volumes.of_hint(hint)?;
            self.index
                .file_of_hint(&self.volumes, (volume, hint), process)
        });
        let descriptor = record.descriptor.map(|descriptor| (record.pid, descriptor));
        let opened = descriptor.and_then(|key| self.descriptors.get(&key).copied());
        let key = SyncKey {
            call: record.call,
            pid: process,
            file: hinted.or(opened),
        };
        self.syncs.record(key, record);
    }

    fn start_round(&mut self) {
        self.round_started = Instant::now();
        self.early_paths = 0;
        self.index.start_round();
        self.volumes.refresh();
    }
}
