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

use super::entry::Entry;
use super::handle::{Budget, Handle};
use super::identifier::Identifier;
use super::process::stat;
use super::sample::{Identity, Known, Notice, Process};
use super::taskstats::Delays;
use super::text::open;
use crate::roots::Roots;

mod reading;

/// Bytes a sample that the others do not explain, from which on all quiet ones are read at once.
const UNEXPLAINED_BYTES: u64 = 1 << 20;
/// After it was in vain, for processes that have ended cannot be asked, it is left for so many
/// samples.
const IN_VAIN: u64 = 8;
/// `/proc` is listed at least once in so many samples, even when no process seems to have begun.
const LISTED_EVERY: u64 = 16;
/// When more process ids than this were given out, listing all is cheaper than trying each.
const TRIED_AT_MOST: u64 = 512;

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
pub struct Processes {
    proc: Option<OwnedFd>,
    /// This very process as procfs numbers it: it has thousands of files open, all of procfs, and
    /// looking at them would be most of what it looks at.
    own: Option<u32>,
    identifier: Identifier,
    known: BTreeMap<u32, Entry>,
    budget: Budget,
    last_created: Option<u64>,
    threads_shown: bool,
    all_shown: bool,
    sample: u64,
    at: Duration,
    /// Bytes that the processes read in this sample were charged with since they were read last.
    explained: u64,
    /// Sample from which on quiet processes are read again when something is unexplained.
    search_from: u64,
}

impl Processes {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            proc: open(rustix::fs::CWD, roots.proc.as_path()).ok(),
            own: own(roots),
            identifier: Identifier::new(roots),
            known: BTreeMap::new(),
            budget: Budget::from_limit(),
            last_created: None,
            threads_shown: false,
            all_shown: false,
            sample: 0,
            at: Duration::ZERO,
            explained: 0,
            search_from: 0,
        }
    }

    /// Reads them; `at` is the time of the sample, and `charged` what all processes together were
    /// charged with since the one before, where that is known.
    pub fn update(
        &mut self,
        roots: &Roots,
        waits: WaitSource,
        (at, charged): (Duration, Option<u64>),
    ) {
        self.sample += 1;
        self.at = at;
        self.explained = 0;
        let Some(proc) = self.proc.take() else {
            return;
        };
        self.list(proc.as_fd(), roots);
        let mut known = std::mem::take(&mut self.known);
        known.retain(|pid, entry| {
            entry.attended = false;
            self.may_rest(*pid, entry) || self.refresh(proc.as_fd(), *pid, entry, waits, roots)
        });
        let missing = charged.map_or(0, |charged| charged.saturating_sub(self.explained));
        if missing >= UNEXPLAINED_BYTES && self.sample >= self.search_from {
            let before = self.explained;
            known.retain(|pid, entry| {
                entry.process.read_at == at || self.refresh(proc.as_fd(), *pid, entry, waits, roots)
            });
            if self.explained - before < missing / 2 {
                self.search_from = self.sample + IN_VAIN;
            }
        }
        self.known = known;
        self.proc = Some(proc);
    }

    /// Process ids that deserve a closer look in this sample.
    pub fn attended(&self) -> impl Iterator<Item = u32> {
        self.known
            .iter()
            .filter(|(_, entry)| entry.attended)
            .map(|(pid, _)| *pid)
    }

    /// Whether threads are read too, from the next sample on.
    pub fn show_threads(&mut self, shown: bool) {
        self.threads_shown = shown;
    }

    /// Whether processes that do nothing are shown too, from the next sample on: then arguments
    /// and owners of all are read.
    pub fn show_all(&mut self, shown: bool) {
        self.all_shown = shown;
    }

    /// Reads who those are that did something.
    pub fn identify(&mut self) {
        let Some(proc) = &self.proc else {
            return;
        };
        for entry in self.known.values_mut() {
            if !entry.identified && (entry.wanted || self.all_shown) {
                let known = &entry.process.identity;
                let whole = self
                    .identifier
                    .complete(proc.as_fd(), Identity::clone(known));
                if whole != **known {
                    entry.process.identity = Arc::new(whole);
                }
                entry.identified = true;
            }
        }
    }

    /// Notes how long a process has waited for I/O.
    pub fn set_delays(&mut self, pid: u32, delays: Delays) {
        if let Some(entry) = self.known.get_mut(&pid) {
            entry.wanted |= entry.process.waited != delays.io;
            entry.process.waited = delays.io;
            entry.process.swapped = delays.swap_in;
        }
    }

    /// The processes for a sample.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Process> {
        self.known
            .values()
            .map(|entry| entry.process.clone())
            .collect()
    }

    /// What is missing of them.
    #[must_use]
    pub fn notice(&self) -> Option<Notice> {
        let all = || self.known.values().map(|entry| entry.process.io);
        if all().any(|io| io == Known::NotPermitted) {
            Some(Notice::OthersIoNotPermitted)
        } else if !self.known.is_empty() && all().all(|io| io == Known::Absent) {
            Some(Notice::NoIoAccounting)
        } else {
            None
        }
    }

    /// Takes up processes that have begun.
    ///
    /// The last word of `/proc/loadavg` is the process id given out last: while it stays the same
    /// nothing has begun, and when it has risen a little it is known what to try. Listing `/proc`
    /// is a good part of the cost of a sample.
    fn list(&mut self, proc: BorrowedFd<'_>, roots: &Roots) {
        let created = super::text::read(&roots.proc.join("loadavg")).and_then(|text| {
            let last = text.trim_ascii().rsplit(|byte| *byte == b' ').next()?;
            super::text::number(last)
        });
        let before = std::mem::replace(&mut self.last_created, created);
        let begun = match (before, created) {
            (Some(before), Some(now)) if now >= before && now - before <= TRIED_AT_MOST => {
                before + 1..=now
            }
            _ => return self.list_all(proc, roots),
        };
        if self.sample.is_multiple_of(LISTED_EVERY) {
            return self.list_all(proc, roots);
        }
        for pid in begun.filter_map(|pid| u32::try_from(pid).ok()) {
            // Threads are given numbers too, and answer to them although they are not listed.
            if !self.identifier.is_thread(proc, pid) {
                self.take_up(proc, pid);
            }
        }
    }

    /// Takes up processes that have begun, and forgets those that are no longer listed.
    fn list_all(&mut self, proc: BorrowedFd<'_>, roots: &Roots) {
        let mut listed = pids(roots);
        listed.sort_unstable();
        let budget = &mut self.budget;
        self.known.retain(|pid, entry| {
            let stays = listed.binary_search(pid).is_ok();
            if !stays {
                entry.close(budget);
            }
            stays
        });
        for pid in listed {
            self.take_up(proc, pid);
        }
    }

    fn take_up(&mut self, proc: BorrowedFd<'_>, pid: u32) {
        if !self.known.contains_key(&pid)
            && let Some(entry) = self.begin(proc, pid)
        {
            self.known.insert(pid, entry);
        }
    }

    /// A process that is not known yet; `None` when it is gone.
    fn begin(&mut self, proc: BorrowedFd<'_>, pid: u32) -> Option<Entry> {
        let mut handle = Handle::NotOpen;
        let mut buffer = [0; 1024];
        let opened = || open(proc, format!("{pid}/stat"));
        let text = handle.read(&mut self.budget, opened, &mut buffer).ok()?;
        let stat = stat(text)?;
        let mut entry = Entry::new(self.identifier.begin(pid, &stat));
        entry.process.state = Some(stat.state);
        entry.process.threads = stat.threads;
        entry.stat = handle;
        Some(entry)
    }
}

/// The number of this process in that procfs, which may be one of another name space.
fn own(roots: &Roots) -> Option<u32> {
    let link = std::fs::read_link(roots.proc.join("self")).ok()?;
    u32::try_from(super::text::number(link.as_os_str().as_encoded_bytes())?).ok()
}

/// The numbers among the names in `/proc`.
fn pids(roots: &Roots) -> Vec<u32> {
    let Ok(listing) = std::fs::read_dir(&roots.proc) else {
        return Vec::new();
    };
    listing
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            u32::try_from(super::text::number(name.as_encoded_bytes())?).ok()
        })
        .collect()
}
