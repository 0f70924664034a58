//! All processes: which there are, and what each has moved.
//!
//! Two thousand processes are the normal case, so descriptors of `/proc/PID/io` are kept open and
//! read with pread(2), which costs a quarter of opening them each time and also proves that it is
//! still the same process. Everything else is read only of processes whose counters moved, and of
//! the others in turn.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::entry::ProcessEntry;
use super::identifier::ProcessIdentifier;
use super::reused_file::{DescriptorBudget, ReusedFile};
use super::stat::parse_stat;
use super::taskstats::DelayTotals;
use crate::probe::sample::{Availability, ProbeNotice, ProcessIdentity, ProcessSample};
use crate::probe::text::open_relative;
use crate::roots::SysPaths;

mod reading;

/// Bytes a sample that the others do not explain, from which on all quiet ones are read at once.
const MIN_UNEXPLAINED_BYTES: u64 = 1 << 20;
/// After it was in vain, for processes that have ended cannot be asked, it is left for so many
/// samples.
const SEARCH_BACKOFF_SAMPLES: u64 = 8;
/// `/proc` is listed at least once in so many samples, even when no process seems to have begun.
const LISTING_INTERVAL_SAMPLES: u64 = 16;
/// When more process ids than this were given out, listing all is cheaper than trying each.
const MAX_PID_PROBES: u64 = 512;

/// Where waiting for I/O is to be had from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitSource {
    /// Nobody counts it.
    None,
    /// Field 42 of `/proc/PID/stat`.
    Stat,
    /// Taskstats, which the collector asks itself.
    Taskstats,
}

/// The processes that are known, between samples.
#[derive(Debug)]
pub struct ProcessTable {
    proc: Option<OwnedFd>,
    /// This very process as procfs numbers it: it has thousands of files open, all of procfs, and
    /// looking at them would be most of what it looks at.
    own_pid: Option<u32>,
    identifier: ProcessIdentifier,
    entries: BTreeMap<u32, ProcessEntry>,
    budget: DescriptorBudget,
    last_created_pid: Option<u64>,
    show_threads: bool,
    show_all: bool,
    sample_number: u64,
    sample_time: Duration,
    /// Bytes that the processes read in this sample were charged with since they were read last.
    explained_bytes: u64,
    /// Sample from which on quiet processes are read again when something is unexplained.
    next_search_sample: u64,
}

impl ProcessTable {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            proc: open_relative(rustix::fs::CWD, roots.proc.as_path()).ok(),
            own_pid: find_own_pid(roots),
            identifier: ProcessIdentifier::new(roots),
            entries: BTreeMap::new(),
            budget: DescriptorBudget::from_limit(),
            last_created_pid: None,
            show_threads: false,
            show_all: false,
            sample_number: 0,
            sample_time: Duration::ZERO,
            explained_bytes: 0,
            next_search_sample: 0,
        }
    }

    /// Reads them; `at` is the time of the sample, and `charged` what all processes together were
    /// charged with since the one before, where that is known.
    pub fn update(
        &mut self,
        roots: &SysPaths,
        waits: WaitSource,
        (at, charged): (Duration, Option<u64>),
    ) {
        self.sample_number += 1;
        self.sample_time = at;
        self.explained_bytes = 0;
        let Some(proc) = self.proc.take() else {
            return;
        };
        self.discover_processes(proc.as_fd(), roots);
        let mut known = std::mem::take(&mut self.entries);
        known.retain(|pid, entry| {
            entry.needs_details = false;
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
        self.entries = known;
        self.proc = Some(proc);
    }

    /// Process ids that deserve a closer look in this sample.
    pub fn pids_needing_details(&self) -> impl Iterator<Item = u32> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.needs_details)
            .map(|(pid, _)| *pid)
    }

    /// Whether threads are read too, from the next sample on.
    pub fn set_show_threads(&mut self, shown: bool) {
        self.show_threads = shown;
    }

    /// Whether processes that do nothing are shown too, from the next sample on: then arguments
    /// and owners of all are read.
    pub fn set_show_all(&mut self, shown: bool) {
        self.show_all = shown;
    }

    /// Reads who those are that did something.
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

    /// Notes how long a process has waited for I/O.
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

    /// What is missing of them.
    #[must_use]
    pub fn notice(&self) -> Option<ProbeNotice> {
        let all = || self.entries.values().map(|entry| entry.process.io);
        if all().any(|io| io == Availability::NotPermitted) {
            Some(ProbeNotice::OthersIoNotPermitted)
        } else if !self.entries.is_empty() && all().all(|io| io == Availability::Absent) {
            Some(ProbeNotice::NoIoAccounting)
        } else {
            None
        }
    }

    /// Takes up processes that have begun.
    ///
    /// The last word of `/proc/loadavg` is the process id given out last: while it stays the same
    /// nothing has begun, and when it has risen a little it is known what to try. Listing `/proc`
    /// is a good part of the cost of a sample.
    fn discover_processes(&mut self, proc: BorrowedFd<'_>, roots: &SysPaths) {
        let created = crate::probe::text::read_file(&roots.proc.join("loadavg")).and_then(|text| {
            let last = text.trim_ascii().rsplit(|byte| *byte == b' ').next()?;
            crate::probe::text::parse_number(last)
        });
        let before = std::mem::replace(&mut self.last_created_pid, created);
        let begun = match (before, created) {
            (Some(before), Some(now)) if now >= before && now - before <= MAX_PID_PROBES => {
                before + 1..=now
            }
            _ => return self.list_all(proc, roots),
        };
        if self.sample_number.is_multiple_of(LISTING_INTERVAL_SAMPLES) {
            return self.list_all(proc, roots);
        }
        for pid in begun.filter_map(|pid| u32::try_from(pid).ok()) {
            // Threads are given numbers too, and answer to them although they are not listed.
            if !self.identifier.is_thread(proc, pid) {
                self.add_process(proc, pid);
            }
        }
    }

    /// Takes up processes that have begun, and forgets those that are no longer listed.
    fn list_all(&mut self, proc: BorrowedFd<'_>, roots: &SysPaths) {
        let mut listed = list_pids(roots);
        listed.sort_unstable();
        let budget = &mut self.budget;
        self.entries.retain(|pid, entry| {
            let stays = listed.binary_search(pid).is_ok();
            if !stays {
                entry.close_descriptors(budget);
            }
            stays
        });
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

    /// A process that is not known yet; `None` when it is gone.
    fn read_new_process(&mut self, proc: BorrowedFd<'_>, pid: u32) -> Option<ProcessEntry> {
        let mut handle = ReusedFile::NotOpen;
        let mut buffer = [0; 1024];
        let opened = || open_relative(proc, format!("{pid}/stat"));
        let text = handle.read(&mut self.budget, opened, &mut buffer).ok()?;
        let stat = parse_stat(text)?;
        let mut entry = ProcessEntry::new(self.identifier.identity_from_stat(pid, &stat));
        entry.process.state = Some(stat.state);
        entry.process.thread_count = stat.thread_count;
        entry.stat = handle;
        Some(entry)
    }
}

/// The number of this process in that procfs, which may be one of another name space.
fn find_own_pid(roots: &SysPaths) -> Option<u32> {
    let link = std::fs::read_link(roots.proc.join("self")).ok()?;
    u32::try_from(crate::probe::text::parse_number(
        link.as_os_str().as_encoded_bytes(),
    )?)
    .ok()
}

/// The numbers among the names in `/proc`.
fn list_pids(roots: &SysPaths) -> Vec<u32> {
    let Ok(listing) = std::fs::read_dir(&roots.proc) else {
        return Vec::new();
    };
    listing
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            u32::try_from(crate::probe::text::parse_number(name.as_encoded_bytes())?).ok()
        })
        .collect()
}
