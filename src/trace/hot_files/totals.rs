//! Sums by file, and of the system calls that wait for writeback.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::piece::{Access, FileBio, SyncRecord};
use super::view::{UnknownBytes, UnknownReason};
use crate::stats::latency::histogram::MIN_OBSERVATIONS_BEYOND;
use crate::stats::sorting::SortList as _;
use crate::trace::events::event::SyncCall;
use crate::trace::requests::{RequestActor, RequestOperation};

/// Limit on files. The bytes of further ones are counted together.
const MAX_FILES: usize = 100_000;
/// Limit on threads per file.
const MAX_ACTORS: usize = 64;
/// Limit on combinations of call, process and file. Calls beyond it are left out.
const MAX_SYNCS: usize = 10_000;
/// Threads of one process that are counted.
const MAX_THREADS: usize = 1000;
/// Latencies are counted by their upper bits: within 0.8 %.
const COUNTED_BITS: u32 = 7;

/// A file, numbered in the order of discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FileId(pub(super) u32);

/// Latencies in nanoseconds, in memory that grows with their variety: most files have few requests, some have
/// millions.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    /// By the number of lower bits that are dropped, and the upper ones.
    counts: BTreeMap<(u32, u64), u64>,
    count: u64,
    max: Option<u64>,
}

impl Latencies {
    fn record(&mut self, nanoseconds: u64) {
        let bits = u64::BITS - nanoseconds.leading_zeros();
        let dropped = bits.saturating_sub(COUNTED_BITS);
        *self
            .counts
            .entry((dropped, nanoseconds >> dropped))
            .or_default() += 1;
        self.count += 1;
        self.max = self.max.max(Some(nanoseconds));
    }

    /// The latency that this percentage does not exceed; `None` where fewer than
    /// [`MIN_OBSERVATIONS_BEYOND`] lie beyond.
    pub(super) fn percentile(&self, percent: f64) -> Option<u64> {
        let rank = (self.count as f64 * percent / 100.0).ceil() as u64;
        if self.count.saturating_sub(rank) < MIN_OBSERVATIONS_BEYOND {
            return None;
        }
        let mut passed = 0;
        let mut counts = self.counts.iter();
        let (dropped, upper) = counts.find_map(|(key, count)| {
            passed += count;
            (passed >= rank).then_some(*key)
        })?;
        // The middle of those with the same upper bits.
        Some((upper << dropped) + (1 << dropped) / 2)
    }

    /// The longest.
    pub(super) fn max(&self) -> Option<u64> {
        self.max
    }
}

/// What was done to one file.
#[derive(Debug, Clone, Default)]
pub(super) struct FileTotals {
    /// Bytes read from the device.
    pub(super) read_bytes: u64,
    /// Bytes written to the device.
    pub(super) written_bytes: u64,
    /// Requests that read the file.
    pub(super) read_ios: u64,
    /// Requests that wrote the file.
    pub(super) write_ios: u64,
    /// From queueing to completion.
    pub(super) latencies: Latencies,
    /// Bytes by thread.
    pub(super) actors: HashMap<RequestActor, u64>,
    bytes_by_access: BTreeMap<Access, u64>,
    last_completion: u64,
}

impl FileTotals {
    fn record(&mut self, piece: &FileBio, access: Access) {
        let request = &piece.request;
        let (bytes, ios) = if request.operation == RequestOperation::Read {
            (&mut self.read_bytes, &mut self.read_ios)
        } else {
            (&mut self.written_bytes, &mut self.write_ios)
        };
        *bytes += request.bytes;
        if self.last_completion != piece.completion {
            self.last_completion = piece.completion;
            *ios += 1;
            request
                .timestamps
                .stages()
                .q2c
                .into_iter()
                .for_each(|taken| self.latencies.record(taken));
        }
        *self.bytes_by_access.entry(access).or_default() += request.bytes;
        let actor = request.charged_actor();
        let has_room = self.actors.len() < MAX_ACTORS;
        if let Some(actor) = actor.filter(|actor| has_room || self.actors.contains_key(actor)) {
            *self.actors.entry(actor).or_default() += request.bytes;
        }
    }

    /// Read and written bytes.
    pub(super) fn total_bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }

    /// How most of its bytes were accessed.
    pub(super) fn main_access(&self) -> Option<Access> {
        let most = self.bytes_by_access.iter().max_by_key(|(_, bytes)| **bytes);
        most.map(|(access, _)| *access)
    }
}

/// Sums by file, and what belongs to none.
#[derive(Debug, Default)]
pub(super) struct HotFileTable {
    files: HashMap<FileId, FileTotals>,
    unknown: BTreeMap<UnknownReason, u64>,
    /// Bytes of metadata.
    pub(super) metadata_bytes: u64,
    /// Bytes of journals.
    pub(super) journal_bytes: u64,
    /// Bytes of devices without a mounted file system.
    pub(super) raw_bytes: u64,
}

impl HotFileTable {
    /// Adds a piece of a file.
    pub(super) fn record(&mut self, file: FileId, piece: &FileBio, access: Access) {
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&file) {
            self.add_unknown(UnknownReason::TooManyFiles, piece.request.bytes);
        } else {
            self.files.entry(file).or_default().record(piece, access);
        }
    }

    /// Adds bytes whose file is not known.
    pub(super) fn add_unknown(&mut self, reason: UnknownReason, bytes: u64) {
        *self.unknown.entry(reason).or_default() += bytes;
    }

    /// Bytes whose file is not known, by reason.
    pub(super) fn unknown(&self) -> Vec<UnknownBytes> {
        let all = self.unknown.iter();
        let all = all.map(|(reason, bytes)| UnknownBytes {
            reason: *reason,
            bytes: *bytes,
        });
        all.collect()
    }

    /// The files, those with most bytes first.
    pub(super) fn hottest(&self) -> Vec<(FileId, &FileTotals)> {
        let all = self.files.iter().map(|(id, totals)| (*id, totals));
        let mut all: Vec<(FileId, &FileTotals)> = all.collect();
        all.sort_list_by_key(|(id, totals)| (Reverse(totals.total_bytes()), *id));
        all
    }
}

/// What calls are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SyncKey {
    /// The call.
    pub(super) call: SyncCall,
    /// The process.
    pub(super) pid: u32,
    /// The file, where it is known and the call is for one.
    pub(super) file: Option<FileId>,
}

/// The calls of one process for one file.
#[derive(Debug, Clone, Default)]
pub(super) struct SyncTotals {
    /// Number of calls.
    pub(super) count: u64,
    /// Time in them, in nanoseconds.
    pub(super) total_ns: u64,
    /// Their durations.
    pub(super) latencies: Latencies,
    /// The threads that called.
    pub(super) threads: BTreeSet<u32>,
    /// Of the calls whose file system reports commits: their time, and the part of it during which
    /// the journal was being committed.
    observed_ns: u64,
    commit_ns: u64,
}

impl SyncTotals {
    fn record(&mut self, record: &SyncRecord) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(record.duration_ns);
        self.latencies.record(record.duration_ns);
        if self.threads.len() < MAX_THREADS {
            self.threads.insert(record.pid);
        }
        if let Some(commit_ns) = record.commit_ns {
            self.observed_ns = self.observed_ns.saturating_add(record.duration_ns);
            self.commit_ns = self.commit_ns.saturating_add(commit_ns);
        }
    }

    /// Fraction of the time, 0 to 1, during which the file system's journal was being committed;
    /// `None` where the file system does not report commits.
    pub(super) fn commit_fraction(&self) -> Option<f64> {
        (self.observed_ns > 0).then(|| (self.commit_ns as f64 / self.observed_ns as f64).min(1.0))
    }
}

/// Calls by process and file.
#[derive(Debug, Default)]
pub(super) struct SyncTable(HashMap<SyncKey, SyncTotals>);

impl SyncTable {
    /// Adds a call.
    pub(super) fn record(&mut self, key: SyncKey, record: &SyncRecord) {
        if self.0.len() < MAX_SYNCS || self.0.contains_key(&key) {
            self.0.entry(key).or_default().record(record);
        }
    }

    /// All entries, those with most time first.
    pub(super) fn slowest(&self) -> Vec<(SyncKey, &SyncTotals)> {
        let all = self.0.iter().map(|(key, totals)| (*key, totals));
        let mut all: Vec<(SyncKey, &SyncTotals)> = all.collect();
        all.sort_list_by_key(|(key, totals)| (Reverse(totals.total_ns), *key));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_percent_and_unknown_for_few() {
        let mut latencies = Latencies::default();
        for value in 1..=20 {
            latencies.record(value * 1_000_000);
        }
        assert_eq!(latencies.percentile(99.0), None);
        for value in 21..=10_000 {
            latencies.record(value * 1_000_000);
        }
        for (percent, expected) in [(50.0, 5e9), (99.0, 9.9e9)] {
            let found = latencies.percentile(percent).unwrap() as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{percent}: {found}");
        }
        assert_eq!(latencies.max(), Some(10_000_000_000));
        assert!(latencies.counts.len() < 1000);
        latencies.record(u64::MAX);
        latencies.record(0);
    }
}
