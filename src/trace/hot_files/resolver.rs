//! Finds the file of each piece.

use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};

use super::collector::{CollectedBatch, CollectorSettings, Sighting};
use super::index::FileIndex;
use super::piece::{Access, FileBio, SyncRecord};
use super::processes::Processes;
use super::totals::{FileId, HotFileTable, SyncKey, SyncTable};
use super::view::UnknownReason;
use crate::roots::SysPaths;
use crate::trace::events::event::DeviceNumber;

/// Interval after which a file is looked up again for a thread, which may have opened others, and at which what is
/// looked up early is limited.
const ROUND: Duration = Duration::from_secs(1);
/// Files that are looked up per round when they are first seen. Others are looked up at the end, if they
/// are listed.
const EARLY_PATHS_PER_ROUND: u32 = 500;

/// Finds files and sums up.
#[derive(Debug)]
pub(super) struct Resolver {
    roots: SysPaths,
    pub(super) processes: Processes,
    pub(super) index: FileIndex,
    pub(super) table: HotFileTable,
    pub(super) syncs: SyncTable,
    /// Blocks by device of the file system and process.
    pub(super) journal_blocks: HashMap<(DeviceNumber, u32), u64>,
    pub(super) unmatched_bytes: u64,
    /// Files by thread and descriptor.
    descriptors: HashMap<(u32, u32), FileId>,
    /// What was looked up in this round.
    seen: HashSet<Sighting>,
    round_started: Instant,
    early_paths: u32,
}

impl Resolver {
    pub(super) fn new(roots: &SysPaths) -> Self {
        Self {
            roots: roots.clone(),
            processes: Processes::new(roots),
            index: FileIndex::new(roots),
            table: HotFileTable::default(),
            syncs: SyncTable::default(),
            journal_blocks: HashMap::default(),
            unmatched_bytes: 0,
            descriptors: HashMap::default(),
            seen: HashSet::default(),
            round_started: Instant::now(),
            early_paths: 0,
        }
    }

    /// What the collector has to know.
    pub(super) fn collector_settings(&self) -> CollectorSettings {
        let systems = self.index.volumes.all.iter();
        CollectorSettings {
            drive_by_device: self.index.volumes.drives.clone(),
            file_systems: systems.map(|volume| volume.device_id).collect(),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    pub(super) fn add_batch(&mut self, batch: &CollectedBatch) {
        for sighting in &batch.sightings {
            // A process may run several programs in a round.
            if self.seen.insert(*sighting) || matches!(sighting, Sighting::Executed(_)) {
                self.look_up(*sighting);
            }
        }
        for piece in &batch.pieces {
            self.place(piece);
        }
        for record in &batch.syncs {
            self.add_sync(record);
        }
        for (device, thread, blocks) in &batch.journal_changes {
            let process = self.processes.process_id(*thread);
            *self.journal_blocks.entry((*device, process)).or_default() += blocks;
        }
        self.unmatched_bytes += batch.unmatched_bytes;
        if self.round_started.elapsed() >= ROUND {
            self.round_started = Instant::now();
            self.early_paths = 0;
            self.seen.clear();
            self.index.start_round();
            self.index.volumes.refresh();
        }
    }

    fn look_up(&mut self, sighting: Sighting) {
        match sighting {
            Sighting::Thread(pid) => self.processes.look_up(&self.roots, pid),
            Sighting::Executed(pid) => self.processes.executed(&self.roots, pid),
            Sighting::File(hint, thread) => {
                if self.early_paths < EARLY_PATHS_PER_ROUND {
                    self.early_paths += 1;
                    let process = self.processes.process_id(thread);
                    self.index.note_used(hint, process);
                }
            }
            Sighting::Descriptor(pid, descriptor) => {
                let process = self.processes.process_id(pid);
                let link = self.roots.proc.join(format!("{pid}/fd/{descriptor}"));
                let found = self.index.note_descriptor(process, &link, None);
                if let Some(file) = found {
                    self.descriptors.insert((pid, descriptor), file);
                }
            }
        }
    }

    fn place(&mut self, piece: &FileBio) {
        let (drive, bytes) = (piece.request.device, piece.request.bytes);
        let offset = piece.request.sector.saturating_mul(512);
        let Some(volume) = self.index.volumes.at(drive, offset) else {
            if !self.index.volumes.is_below_another_device(drive, offset) {
                self.table.raw_bytes += bytes;
            }
            return;
        };
        if piece.is_journal {
            self.table.journal_bytes += bytes;
        } else if piece.is_metadata() {
            self.table.metadata_bytes += bytes;
        } else {
            match self.file_of_piece(piece, volume) {
                Ok((file, access)) => self.table.record(file, piece, access),
                Err(reason) => self.table.add_unknown(reason, bytes),
            }
        }
    }

    /// The file that the thread's events name, if it is on this file system, and how it is accessed.
    fn file_of_piece(
        &mut self,
        piece: &FileBio,
        volume: usize,
    ) -> Result<(FileId, Access), UnknownReason> {
        let (hint, access) = piece.file.ok_or(UnknownReason::NoEvent)?;
        if hint
            .device
            .is_some_and(|device| self.index.volumes.by_device_id(device) != Some(volume))
        {
            return Err(UnknownReason::NoEvent);
        }
        let thread = piece.request.charged_actor().map_or(0, |actor| actor.pid);
        let process = self.processes.process_id(thread);
        let place = (volume, hint);
        let reason = match self.index.volumes.all[volume].has_subvolumes() {
            true => UnknownReason::Subvolumes,
            false => UnknownReason::TooManyFiles,
        };
        let file = self.index.file_of_hint(place, process);
        Ok((file.ok_or(reason)?, access))
    }

    fn add_sync(&mut self, record: &SyncRecord) {
        let pid = self.processes.process_id(record.pid);
        let hinted = record.file.and_then(|hint| {
            let volume = self.index.volumes.by_device_id(hint.device?)?;
            self.index.file_of_hint((volume, hint), pid)
        });
        let descriptor = record.descriptor.map(|descriptor| (record.pid, descriptor));
        let opened = descriptor.and_then(|key| self.descriptors.get(&key).copied());
        let key = SyncKey {
            call: record.call,
            pid,
            file: hinted.or(opened),
        };
        self.syncs.record(key, record);
    }
}
