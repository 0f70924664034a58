//! Sums by file.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::latency_samples::LatencySamples;
use super::piece::{Access, CompletedPiece, Transfer};
use super::view::{UnknownBytes, UnknownReason};
use crate::stats::sorting::SortList as _;
use crate::trace::requests::RequestActor;

/// Limit on files. The bytes of further ones are counted together.
const MAX_FILES: usize = 100_000;
/// Limit on threads per file.
const MAX_ACTORS: usize = 64;

/// A file, numbered in the order of discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// What was done to one file.
#[derive(Debug, Clone, Default)]
pub struct FileTotals {
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Requests that read the file.
    pub read_ios: u64,
    /// Requests that wrote the file.
    pub write_ios: u64,
    latencies: LatencySamples,
    bytes_by_access: BTreeMap<Access, u64>,
    bytes_by_actor: HashMap<RequestActor, u64>,
    last_request: u64,
}

impl FileTotals {
    fn record(&mut self, piece: &CompletedPiece, access: Access, actor: RequestActor) {
        let is_new_request = self.last_request != piece.request;
        let (bytes, ios) = match piece.transfer {
            Transfer::Read => (&mut self.read_bytes, &mut self.read_ios),
            Transfer::Write => (&mut self.written_bytes, &mut self.write_ios),
        };
        *bytes += piece.bytes;
        if is_new_request {
            *ios += 1;
            self.latencies.record(piece.latency_ns);
            self.last_request = piece.request;
        }
        *self.bytes_by_access.entry(access).or_default() += piece.bytes;
        if let Some(bytes) = self.bytes_by_actor.get_mut(&actor) {
            *bytes += piece.bytes;
        } else if self.bytes_by_actor.len() < MAX_ACTORS {
            self.bytes_by_actor.insert(actor, piece.bytes);
        }
    }

    /// Read and written bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }

    /// Latency in nanoseconds that this percentage of its requests does not exceed, from queueing to
    /// completion; `None` where there were too few.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.latencies.percentile(percent)
    }

    /// How most of its bytes were accessed.
    #[must_use]
    pub fn main_access(&self) -> Option<Access> {
        let most = self.bytes_by_access.iter().max_by_key(|(_, bytes)| **bytes);
        most.map(|(access, _)| *access)
    }

    /// The threads, those with most bytes first.
    #[must_use]
    pub fn actors(&self) -> Vec<(RequestActor, u64)> {
        let mut all: Vec<(RequestActor, u64)> =
            self.bytes_by_actor.iter().map(|(a, b)| (*a, *b)).collect();
        all.sort_list_by_key(|(actor, bytes)| (std::cmp::Reverse(*bytes), *actor));
        all
    }
}

/// Sums by file, and what belongs to none.
#[derive(Debug, Default)]
pub struct HotFileTable {
    files: HashMap<FileId, FileTotals>,
    /// Bytes of metadata.
    pub metadata_bytes: u64,
    /// Bytes of journals.
    pub journal_bytes: u64,
    /// Bytes in mounted file systems whose file is not known, and why.
    unknown: BTreeMap<UnknownReason, u64>,
    /// Bytes of devices without a mounted file system.
    pub raw_bytes: u64,
}

impl HotFileTable {
    /// Adds a piece of a file.
    pub fn record(
        &mut self,
        file: FileId,
        piece: &CompletedPiece,
        access: Access,
        actor: RequestActor,
    ) {
        if let Some(totals) = self.files.get_mut(&file) {
            totals.record(piece, access, actor);
        } else if self.files.len() >= MAX_FILES {
            self.add_unknown(UnknownReason::TooManyFiles, piece.bytes);
        } else {
            let totals = self.files.entry(file).or_default();
            totals.record(piece, access, actor);
        }
    }

    /// Adds bytes whose file is not known.
    pub fn add_unknown(&mut self, reason: UnknownReason, bytes: u64) {
        *self.unknown.entry(reason).or_default() += bytes;
    }

    /// All bytes whose file is not known.
    #[must_use]
    pub fn unknown_bytes(&self) -> u64 {
        self.unknown.values().sum()
    }

    /// The same by reason.
    #[must_use]
    pub fn unknown(&self) -> Vec<UnknownBytes> {
        let all = self.unknown.iter();
        all.map(|(reason, bytes)| UnknownBytes {
            reason: *reason,
            bytes: *bytes,
        })
        .collect()
    }

    /// The files, those with most bytes first.
    #[must_use]
    pub fn hottest(&self) -> Vec<(FileId, &FileTotals)> {
        let mut all: Vec<(FileId, &FileTotals)> = self
            .files
            .iter()
            .map(|(id, totals)| (*id, totals))
            .collect();
        all.sort_list_by_key(|(id, totals)| (std::cmp::Reverse(totals.total_bytes()), *id));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::events::event::ThreadName;

    fn actor(pid: u32) -> RequestActor {
        RequestActor {
            pid,
            name: ThreadName::from_field(b"dd"),
        }
    }

    fn piece(request: u64, bytes: u64) -> CompletedPiece {
        CompletedPiece {
            drive: (8, 0),
            sector: 0,
            bytes,
            transfer: Transfer::Read,
            is_metadata: false,
            is_journal: false,
            latency_ns: 1000,
            request,
            submitter: actor(7),
            dirtied_by: None,
            hint: None,
            access: None,
        }
    }

    #[test]
    fn pieces_of_one_request_count_as_one_io() {
        let mut table = HotFileTable::default();
        let file = FileId(0);
        for (request, bytes) in [(1, 4096), (1, 8192), (2, 4096)] {
            table.record(file, &piece(request, bytes), Access::Buffered, actor(7));
        }
        let write = CompletedPiece {
            transfer: Transfer::Write,
            ..piece(3, 512)
        };
        table.record(file, &write, Access::Writeback, actor(8));
        let (_, totals) = table.hottest()[0];
        assert_eq!((totals.read_bytes, totals.read_ios), (16_384, 2));
        assert_eq!((totals.written_bytes, totals.write_ios), (512, 1));
        assert_eq!(totals.main_access(), Some(Access::Buffered));
        assert_eq!(totals.actors(), [(actor(7), 16_384), (actor(8), 512)]);
    }

    #[test]
    fn files_with_most_bytes_come_first() {
        let mut table = HotFileTable::default();
        table.record(FileId(1), &piece(1, 512), Access::Direct, actor(7));
        table.record(FileId(2), &piece(2, 4096), Access::Direct, actor(7));
        let order: Vec<FileId> = table.hottest().iter().map(|(id, _)| *id).collect();
        assert_eq!(order, [FileId(2), FileId(1)]);
    }
}
