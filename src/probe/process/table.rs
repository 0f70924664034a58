//! Process table: which processes exist, and their I/O counters.
//!
//! Two thousand processes are common, so descriptors of `/proc/PID/io` are kept open and read with
//! pread(2). That costs a quarter of opening them each time, and also proves that the process is
//! still the same. Everything else is read only for processes whose counters changed, and for the
//! others in rotation.

mod reading;

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use super::entry::ProcessEntry;
use super::identifier::ProcessIdentifier;
use super::numbers::{AssignedPids, is_process};
use super::own_io::OwnIo;
use super::reused_file::{highest_kept, make_room};
use super::stat::parse_stat;
use super::taskstats::{DelayTotals, ThreadExit};
use crate::probe::control_groups::{IoHierarchies, UnitNames};
use crate::probe::sample::{
    Availability, ExitRecord, OpenFile, ProbeNotice, ProcessIdentity, ProcessSample,
};
use crate::probe::text::{list_numbers, parse_number, read_small_file};
use crate::roots::SysPaths;

/// Unexplained bytes per sample above which all idle processes are read at once.
const MIN_UNEXPLAINED_BYTES: u64 = 1 << 20;
/// After such a search found nothing, because counters of ended processes cannot be read, it is
/// suspended for this many samples.
const SEARCH_BACKOFF_SAMPLES: u64 = 8;
/// `/proc` is listed at least once in this many samples, even when no process seems to have begun.
const LISTING_INTERVAL_SAMPLES: u64 = 16;

/// Process id of init.
const INIT_PID: u32 = 1;

/// Source of delay times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitSource {
    /// Delay accounting is not available.
    None,
    /// Field 42 of `/proc/PID/stat`.
    Stat,
    /// Taskstats, which the collector queries itself.
    Taskstats,
}

/// How the processes are read in a sample.
#[derive(Clone, Copy)]
pub struct ProcessReading<'r> {
    /// `/proc`.
    pub proc: BorrowedFd<'r>,
    /// Where the kernel's files are.
    pub roots: &'r SysPaths,
    /// Where control groups are mounted.
    pub(crate) hierarchies: &'r IoHierarchies,
    /// Time of the sample.
    pub at: Duration,
    /// The time now, on the same clock: reading thousands of processes takes a while, the first time most.
    pub now: &'r dyn Fn() -> Duration,
    /// Bytes accounted to all processes since the previous sample, where known.
    pub charged: Option<u64>,
    /// Where delay times come from.
    pub waits: WaitSource,
    /// Whether the threads of active processes are read too.
    pub threads: bool,
}

/// The known processes, between samples.
#[derive(Debug)]
pub struct ProcessTable {
    /// Id of this process in procfs: it has thousands of files open, all in procfs, and examining
    /// them would be most of the work.
    own_pid: Option<u32>,
    identifier: ProcessIdentifier,
    units: UnitNames,
    entries: BTreeMap<u32, ProcessEntry>,
    highest_kept: RawFd,
    assigned_pids: AssignedPids,
    /// Whether the own I/O of processes is counted: without exit records what ended ones did would be
    /// missing.
    counts_own_io: bool,
    /// What was counted of processes that this sample found to have ended; `None` where nothing is known
    /// of one.
    departed: HashMap<u32, Option<OwnIo>>,
    sample_number: u64,
    sample_time: Duration,
    /// Time between the last two samples; zero before the second.
    sample_interval: Duration,
    /// I/O bytes since the last reading of the processes that were read in this sample.
    explained_bytes: u64,
    /// Sample from which on idle processes are read again when bytes are unexplained.
    next_search_sample: u64,
    /// Files that were written and closed, with their writers.
    closed_files: Vec<(Arc<ProcessIdentity>, OpenFile)>,
}

impl ProcessTable {
    /// Creates an empty table. `has_exit_records` is whether the kernel reports what ended threads did.
    #[must_use]
    pub fn new(roots: &SysPaths, has_exit_records: bool) -> Self {
        Self {
            own_pid: find_own_pid(roots),
            identifier: ProcessIdentifier::new(roots),
            units: UnitNames::default(),
            entries: BTreeMap::new(),
            highest_kept: highest_kept(),
            assigned_pids: AssignedPids::default(),
            counts_own_io: has_exit_records,
            departed: HashMap::new(),
            sample_number: 0,
            sample_time: Duration::ZERO,
            sample_interval: Duration::ZERO,
            explained_bytes: 0,
            next_search_sample: 0,
            closed_files: Vec::new(),
        }
    }

    /// Reads the processes.
    pub fn update(&mut self, reading: &ProcessReading<'_>) {
        self.sample_number += 1;
        if self.sample_number > 1 {
            self.sample_interval = reading.at.saturating_sub(self.sample_time);
        }
        self.sample_time = reading.at;
        self.explained_bytes = 0;
        self.discover_processes(reading);
        let mut known = std::mem::take(&mut self.entries);
        known.retain(|pid, entry| {
            entry.needs_details = false;
            entry.is_active = false;
            self.can_skip(*pid, entry) || self.refresh_process(entry, reading)
        });
        let charged = reading.charged.unwrap_or(0);
        let missing = charged.saturating_sub(self.explained_bytes);
        if missing >= MIN_UNEXPLAINED_BYTES && self.sample_number >= self.next_search_sample {
            let before = self.explained_bytes;
            known.retain(|_, entry| {
                entry.process.read_at >= reading.at || self.refresh_process(entry, reading)
            });
            if self.explained_bytes - before < missing / 2 {
                self.next_search_sample = self.sample_number + SEARCH_BACKOFF_SAMPLES;
            }
        }
        self.examine_pipelines(&mut known, reading);
        self.entries = known;
    }

    /// Counts what ended threads did, after the processes were read. Returns it by process for those that
    /// have ended: what no sample contains.
    pub fn count_ended(&mut self, threads: &[ThreadExit]) -> Vec<ExitRecord> {
        let mut ended: BTreeMap<u32, ExitRecord> = BTreeMap::new();
        for thread in threads {
            if let Some(entry) = self.entries.get_mut(&thread.pid) {
                entry.count_ended_thread(thread.tid, &thread.io);
                continue;
            }
            let rest = match self.departed.get_mut(&thread.pid) {
                Some(Some(own)) => own.count(thread.tid, &thread.io),
                // What was shown of it is not known.
                Some(None) => continue,
                None => thread.io,
            };
            let record = ended.entry(thread.pid).or_insert_with(|| ExitRecord {
                pid: thread.pid,
                parent_pid: thread.parent_pid,
                name: thread.name.clone(),
                ..ExitRecord::default()
            });
            record.io = record.io.saturating_add(&rest);
            record.total_io = record.total_io.saturating_add(&thread.io);
        }
        self.departed.clear();
        ended.into_values().collect()
    }

    /// Files that were written and closed since the last call, with their writers.
    pub fn take_closed_files(&mut self) -> Vec<(Arc<ProcessIdentity>, OpenFile)> {
        std::mem::take(&mut self.closed_files)
    }

    /// Process ids that are examined further in this sample.
    pub fn pids_needing_details(&self) -> impl Iterator<Item = u32> {
        let entries = self.entries.iter().filter(|(_, entry)| entry.needs_details);
        entries.map(|(pid, _)| *pid)
    }

    /// Reads the identity of active processes, or of all.
    pub fn identify(&mut self, proc: BorrowedFd<'_>, all: bool) {
        for entry in self.entries.values_mut() {
            if !entry.is_identified && (entry.needs_identity || all) {
                let whole = ProcessIdentity::clone(&entry.process.identity);
                entry.set_identity(self.identifier.add_arguments_and_user(proc, whole));
                entry.is_identified = true;
            }
        }
    }

    /// Stores the delay times of a process.
    pub fn set_delays(&mut self, pid: u32, delays: DelayTotals) {
        if let Some(entry) = self.entries.get_mut(&pid) {
            entry.needs_identity |= entry.process.io_delay != delays.io_delay;
            entry.process.io_delay = delays.io_delay;
            entry.process.swap_in_delay = delays.swap_in_delay;
        }
    }

    /// The processes for a sample.
    #[must_use]
    pub fn snapshot(&self) -> Vec<ProcessSample> {
        let entries = self.entries.values();
        entries.map(|entry| entry.process.clone()).collect()
    }

    /// Notice about what could not be read.
    #[must_use]
    pub fn notice(&self) -> Option<ProbeNotice> {
        let mut all = self.entries.values();
        // In a container, init alone may be hidden from root: that is not worth a notice.
        let mut others = self.entries.range(INIT_PID + 1..);
        if others.any(|(_, entry)| entry.process.io == Availability::NotPermitted) {
            Some(ProbeNotice::OthersIoNotPermitted)
        } else if !self.entries.is_empty()
            && all.all(|entry| entry.process.io == Availability::Absent)
        {
            Some(ProbeNotice::NoIoAccounting)
        } else {
            None
        }
    }

    /// Adds processes that have begun: tries the new process ids, or lists all.
    fn discover_processes(&mut self, reading: &ProcessReading<'_>) {
        let begun = self.assigned_pids.since_last_call(reading.roots);
        let is_listing_due = self.sample_number.is_multiple_of(LISTING_INTERVAL_SAMPLES);
        let Some(begun) = begun.filter(|_| !is_listing_due) else {
            return self.list_all(reading);
        };
        // Threads have ids too, and their directories exist although they are not listed.
        for pid in begun.filter(|pid| is_process(reading.roots, *pid)) {
            self.add_process(reading.proc, pid);
        }
    }

    /// Adds processes that have begun, and drops those that are no longer listed.
    fn list_all(&mut self, reading: &ProcessReading<'_>) {
        let listed = list_numbers(reading.proc);
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|pid, entry| {
            let is_listed = listed.binary_search(pid).is_ok();
            if !is_listed {
                self.forget(entry);
            }
            is_listed
        });
        self.entries = entries;
        if self.sample_number == 1 {
            make_room(reading.proc, listed.len(), self.highest_kept);
        }
        for pid in listed {
            self.add_process(reading.proc, pid);
        }
    }

    /// Keeps of a process that has ended what is needed until its end is counted.
    fn forget(&mut self, entry: &mut ProcessEntry) {
        self.record_closed(entry, true);
        if self.counts_own_io {
            let pid = entry.process.identity.pid;
            self.departed.insert(pid, entry.own_io.take());
        }
    }

    fn add_process(&mut self, proc: BorrowedFd<'_>, pid: u32) {
        if !self.entries.contains_key(&pid)
            && let Some(entry) = self.read_new_process(proc, pid)
        {
            self.entries.insert(pid, entry);
        }
    }

    /// Reads a new process; `None` when it has ended.
    fn read_new_process(&self, proc: BorrowedFd<'_>, pid: u32) -> Option<ProcessEntry> {
        let mut buffer = [0; 1024];
        let stat = parse_stat(read_small_file(proc, format!("{pid}/stat"), &mut buffer)?)?;
        // Reading the threads of this process would be most of what it does.
        let has_own_io = self.counts_own_io && self.own_pid != Some(pid);
        let mut entry = ProcessEntry {
            process: ProcessSample {
                identity: Arc::new(self.identifier.identity_from_stat(pid, &stat)),
                ..ProcessSample::default()
            },
            own_io: has_own_io.then(OwnIo::default),
            ..ProcessEntry::default()
        };
        entry.set_state(&stat, &self.identifier);
        Some(entry)
    }
}

/// The id of this process in that procfs, which may belong to another PID namespace.
fn find_own_pid(roots: &SysPaths) -> Option<u32> {
    let link = std::fs::read_link(roots.proc.join("self")).ok()?;
    u32::try_from(parse_number(link.as_os_str().as_encoded_bytes())?).ok()
}

#[cfg(test)]
mod tests;
