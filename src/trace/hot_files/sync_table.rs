//! System calls that wait for writeback, by process and file.

use std::collections::{BTreeSet, HashMap};

use super::latency_samples::LatencySamples;
use super::piece::SyncRecord;
use super::table::FileId;
use crate::stats::sorting::SortList as _;
use crate::trace::events::file_event::SyncCall;

/// Limit on combinations of call, process and file. Calls beyond it are counted only.
const MAX_ENTRIES: usize = 10_000;
/// Threads of one process that are counted.
const MAX_THREADS: usize = 1000;

/// What calls are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SyncKey {
    /// The call.
    pub call: SyncCall,
    /// The process.
    pub pid: u32,
    /// The file, where it is known and the call is for one.
    pub file: Option<FileId>,
}

/// The calls of one process for one file.
#[derive(Debug, Clone, Default)]
pub struct SyncTotals {
    /// Number of calls.
    pub count: u64,
    /// Time in them, in nanoseconds.
    pub total_ns: u64,
    latencies: LatencySamples,
    threads: BTreeSet<u32>,
    /// Of the calls whose file system reports commits: their time, and the part of it during which
    /// the journal was being committed.
    observed_ns: u64,
    commit_ns: u64,
}

impl SyncTotals {
    /// Latency in nanoseconds that this percentage of the calls does not exceed; `None` where there
    /// were too few.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.latencies.percentile(percent)
    }

    /// Number of threads that called.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The longest call in nanoseconds.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.latencies.max()
    }

    /// Fraction of the time, 0 to 1, during which the file system's journal was being committed;
    /// `None` where the file system does not report commits.
    #[must_use]
    pub fn commit_fraction(&self) -> Option<f64> {
        (self.observed_ns > 0).then(|| (self.commit_ns as f64 / self.observed_ns as f64).min(1.0))
    }
}

/// Calls by process and file.
#[derive(Debug, Default)]
pub struct SyncTable {
    entries: HashMap<SyncKey, SyncTotals>,
    /// Calls that are not in the table, because it is full.
    pub omitted_calls: u64,
}

impl SyncTable {
    /// Adds a call.
    pub fn record(&mut self, key: SyncKey, record: &SyncRecord) {
        if self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&key) {
            self.omitted_calls += 1;
            return;
        }
        let totals = self.entries.entry(key).or_default();
        totals.count += 1;
        totals.total_ns = totals.total_ns.saturating_add(record.duration_ns);
        totals.latencies.record(record.duration_ns);
        if totals.threads.len() < MAX_THREADS {
            totals.threads.insert(record.pid);
        }
        if let Some(commit_ns) = record.commit_ns {
            totals.observed_ns = totals.observed_ns.saturating_add(record.duration_ns);
            totals.commit_ns = totals.commit_ns.saturating_add(commit_ns);
        }
    }

    /// All entries, those with most time first.
    #[must_use]
    pub fn slowest(&self) -> Vec<(SyncKey, &SyncTotals)> {
        let mut all: Vec<(SyncKey, &SyncTotals)> = self
            .entries
            .iter()
            .map(|(key, totals)| (*key, totals))
            .collect();
        all.sort_list_by_key(|(key, totals)| (std::cmp::Reverse(totals.total_ns), *key));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_fraction_covers_calls_with_known_commits_only() {
        let key = SyncKey {
            call: SyncCall::Fsync,
            pid: 7,
            file: Some(FileId(1)),
        };
        let record = SyncRecord {
            call: SyncCall::Fsync,
            pid: 7,
            descriptor: Some(3),
            file: None,
            started_ns: 0,
            duration_ns: 1000,
            commit_ns: Some(250),
        };
        let mut table = SyncTable::default();
        table.record(key, &record);
        let unknown = SyncRecord {
            pid: 8,
            duration_ns: 5000,
            commit_ns: None,
            ..record
        };
        table.record(key, &unknown);
        let (_, totals) = table.slowest()[0];
        assert_eq!((totals.count, totals.total_ns), (2, 6000));
        assert_eq!(totals.commit_fraction(), Some(0.25));
        assert_eq!(totals.max_ns(), Some(5000));
        assert_eq!(totals.thread_count(), 2);
    }
}
