//! Process table: which processes exist, and their I/O counters.
//!
//! Two thousand processes are common, so descriptors of `/proc/PID/io` are kept open and read with
//! pread(2). That costs a quarter of opening them each time, and also proves that the process is
//! still the same. Everything else is read only for processes whose counters changed, and for the
//! others in rotation.

mod ended;
mod reading;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::entry::ProcessEntry;
use super::identifier::ProcessIdentifier;
use super::listing::{AssignedPids, list_pids};
use super::reused_file::{DescriptorBudget, ReusedFile};
use super::stat::parse_stat;
use super::taskstats::DelayTotals;
use crate::probe::control_groups::{IoHierarchies, UnitNames};
use crate::probe::sample::{
    Availability, OpenFile, ProbeNotice, ProcessIdentity, ProcessIo, ProcessSample,
};
use crate::probe::text::open_relative;
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

/// The known processes, between samples.
#[derive(Debug)]
pub struct ProcessTable {
    proc: Option<OwnedFd>,
    /// Id of this process in procfs: it has thousands of files open, all in procfs, and examining
    /// them would be most of the work.
    own_pid: Option<u32>,
    identifier: ProcessIdentifier,
    hierarchies: Arc<IoHierarchies>,
    units: UnitNames,
    entries: BTreeMap<u32, ProcessEntry>,
    budget: DescriptorBudget,
    assigned_pids: AssignedPids,
    show_threads: bool,
    show_all: bool,
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
    /// Creates an empty table.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            proc: open_relative(rustix::fs::CWD, roots.proc.as_path()).ok(),
            own_pid: find_own_pid(roots),
            identifier: ProcessIdentifier::new(roots),
            hierarchies: Arc::default(),
            units: UnitNames::default(),
            entries: BTreeMap::new(),
            budget: DescriptorBudget::from_limit(),
            assigned_pids: AssignedPids::default(),
            show_threads: false,
            show_all: false,
            sample_number: 0,
            sample_time: Duration::ZERO,
            sample_interval: Duration::ZERO,
            explained_bytes: 0,
            next_search_sample: 0,
            closed_files: Vec::new(),
        }
    }

    /// Sets where control groups are mounted: before the first update, and after the mounts have
    /// changed.
    pub(crate) fn set_hierarchies(&mut self, hierarchies: Arc<IoHierarchies>) {
        self.hierarchies = hierarchies;
    }

    /// Reads the processes; `at` is the time of the sample, and `charged` the bytes accounted to
    /// all processes since the previous one, where known.
    pub fn update(
        &mut self,
        roots: &SysPaths,
        waits: WaitSource,
        (at, charged): (Duration, Option<u64>),
    ) {
        self.sample_number += 1;
        if self.sample_number > 1 {
            self.sample_interval = at.saturating_sub(self.sample_time);
        }
        self.sample_time = at;
        self.explained_bytes = 0;
        let Some(proc) = self.proc.take() else {
            return;
        };
        self.discover_processes(proc.as_fd(), roots);
        let mut known = std::mem::take(&mut self.entries);
        known.retain(|pid, entry| {
            entry.needs_details = false;
            entry.is_active = false;
            self.can_skip(*pid, entry)
                || self.refresh_process(proc.as_fd(), *pid, entry, waits, roots)
        });
        let missing = charged.map_or(0, |charged| charged.saturating_sub(self.explained_bytes));
        if missing >= MIN_UNEXPLAINED_BYTES && self.sample_number >= self.next_search_sample {
            let before = self.explained_bytes;
            known.retain(|pid, entry| {
                entry.process.read_at == at
                    || self.refresh_process(proc.as_fd(), *pid, entry, waits, roots)
            });
            if self.explained_bytes - before < missing / 2 {
                self.next_search_sample = self.sample_number + SEARCH_BACKOFF_SAMPLES;
            }
        }
        self.examine_pipelines(proc.as_fd(), &mut known, roots);
        self.entries = known;
        self.proc = Some(proc);
    }

    /// Files that were written and closed since the last call, with their writers.
    pub fn take_closed_files(&mut self) -> Vec<(Arc<ProcessIdentity>, OpenFile)> {
        std::mem::take(&mut self.closed_files)
    }

    /// Process ids that are examined further in this sample.
    pub fn pids_needing_details(&self) -> impl Iterator<Item = u32> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.needs_details)
            .map(|(pid, _)| *pid)
    }

    /// Sets whether threads are read too, from the next sample on.
    pub fn set_show_threads(&mut self, shown: bool) {
        self.show_threads = shown;
    }

    /// Sets whether idle processes are shown too, from the next sample on: then arguments and
    /// owners of all are read.
    pub fn set_show_all(&mut self, shown: bool) {
        self.show_all = shown;
    }

    /// Reads the identity of active processes.
    pub fn identify(&mut self) {
        let Some(proc) = &self.proc else {
            return;
        };
        for entry in self.entries.values_mut() {
            if !entry.is_identified && (entry.needs_identity || self.show_all) {
                let known = &entry.process.identity;
                let whole = self
                    .identifier
                    .add_arguments_and_user(proc.as_fd(), ProcessIdentity::clone(known));
                if whole != **known {
                    entry.process.identity = Arc::new(whole);
                }
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
        self.entries
            .values()
            .map(|entry| entry.process.clone())
            .collect()
    }

    /// Notice about what could not be read.
    #[must_use]
    pub fn notice(&self) -> Option<ProbeNotice> {
        let all = || self.entries.values().map(|entry| entry.process.io);
        // In a container, init alone may be hidden from root: that is not worth a notice.
        let others = self.entries.iter().filter(|(pid, _)| **pid != INIT_PID);
        let mut others = others.map(|(_, entry)| entry.process.io);
        if others.any(|io| io == Availability::NotPermitted) {
            Some(ProbeNotice::OthersIoNotPermitted)
        } else if !self.entries.is_empty() && all().all(|io| io == Availability::Absent) {
            Some(ProbeNotice::NoIoAccounting)
        } else {
            None
        }
    }

    /// Adds processes that have begun: tries the new process ids, or lists all.
    fn discover_processes(&mut self, proc: BorrowedFd<'_>, roots: &SysPaths) {
        let begun = self.assigned_pids.since_last_call(roots);
        let is_listing_due = self.sample_number.is_multiple_of(LISTING_INTERVAL_SAMPLES);
        let Some(begun) = begun.filter(|_| !is_listing_due) else {
            return self.list_all(proc, roots);
        };
        for pid in begun {
            // Threads have ids too, and their directories exist although they are not listed.
            if !self.identifier.is_thread(proc, pid) {
                self.add_process(proc, pid);
            }
        }
    }

    /// Adds processes that have begun, and drops those that are no longer listed.
    fn list_all(&mut self, proc: BorrowedFd<'_>, roots: &SysPaths) {
        let mut listed = list_pids(roots);
        listed.sort_unstable();
        let is_gone = |pid: &&u32| listed.binary_search(pid).is_err();
        let gone: Vec<u32> = self.entries.keys().filter(is_gone).copied().collect();
        for pid in gone {
            if let Some(mut entry) = self.entries.remove(&pid) {
                self.record_closed(&mut entry, true);
                entry.close_descriptors(&mut self.budget);
            }
        }
        if self.sample_number == 1 {
            self.budget.make_room(proc, listed.len());
        }
        for pid in listed {
            self.add_process(proc, pid);
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
        let opened = || open_relative(proc, format!("{pid}/stat"));
        let text = ReusedFile::NotOpen.read_once(opened, &mut buffer).ok()?;
        let stat = parse_stat(text)?;
        let mut entry = ProcessEntry::new(self.identifier.identity_from_stat(pid, &stat));
        entry.process.state = Some(stat.state);
        entry.process.thread_count = stat.thread_count;
        entry.process_group = stat.process_group;
        entry.process.cpu_time = Some(self.identifier.ticks_to_duration(stat.cpu_ticks));
        entry.reaped_faults = stat.reaped_faults;
        // A process that has had no children has none of their I/O.
        entry.process.ended_io = (stat.reaped_faults == 0).then(ProcessIo::default);
        entry.recheck_ended = stat.reaped_faults > 0;
        Some(entry)
    }
}

/// The id of this process in that procfs, which may belong to another PID namespace.
fn find_own_pid(roots: &SysPaths) -> Option<u32> {
    let link = std::fs::read_link(roots.proc.join("self")).ok()?;
    u32::try_from(crate::probe::text::parse_number(
        link.as_os_str().as_encoded_bytes(),
    )?)
    .ok()
}
