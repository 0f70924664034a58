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

use rustix::io::Errno;

use super::entry::Entry;
use super::handle::Budget;
use super::identifier::Identifier;
use super::process::{io, stat};
use super::sample::{Known, Notice, Process, ProcessIo};
use super::taskstats::Delays;
use super::text::open;
use super::threads;
use crate::roots::Roots;

/// State and identity of processes that move nothing are looked at once in so many samples.
const TURNS: u32 = 16;
/// A process that has moved nothing for so many samples is quiet ...
const QUIET_AFTER: u32 = 4;
/// ... and its counters are read once in so many samples.
const QUIET_TURNS: u32 = 4;
/// `/proc` is listed at least once in so many samples, even when no process seems to have begun.
const LISTED_EVERY: u64 = 8;
/// When more process ids than this were given out, listing all is cheaper than trying each.
const TRIED_AT_MOST: u64 = 64;

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
    identifier: Identifier,
    known: BTreeMap<u32, Entry>,
    budget: Budget,
    last_created: Option<u64>,
    threads_shown: bool,
    sample: u64,
    at: Duration,
}

impl Processes {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            proc: open(rustix::fs::CWD, roots.proc.as_path()).ok(),
            identifier: Identifier::new(roots),
            known: BTreeMap::new(),
            budget: Budget::from_limit(),
            last_created: None,
            threads_shown: false,
            sample: 0,
            at: Duration::ZERO,
        }
    }

    /// Reads them all; `at` is the time of the sample.
    pub fn update(&mut self, roots: &Roots, waits: WaitSource, at: Duration) {
        self.sample += 1;
        self.at = at;
        let Some(proc) = self.proc.take() else {
            return;
        };
        self.list(proc.as_fd(), roots);
        let mut known = std::mem::take(&mut self.known);
        known.retain(|pid, entry| self.refresh(proc.as_fd(), *pid, entry, waits, roots));
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

    /// Notes how long a process has waited for I/O.
    pub fn set_delays(&mut self, pid: u32, delays: Delays) {
        if let Some(entry) = self.known.get_mut(&pid) {
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
            self.take_up(proc, pid);
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
            && let Some(identity) = self.identifier.identify(proc, pid)
        {
            self.known.insert(pid, Entry::new(identity));
        }
    }

    /// Reads one process; `false` when it is gone.
    fn refresh(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut Entry,
        waits: WaitSource,
        roots: &Roots,
    ) -> bool {
        if self.may_rest(pid, entry) {
            entry.attended = false;
            return true;
        }
        let before = entry.process.io;
        let alive = match self.read_io(proc, pid, entry) {
            Ok(io) => {
                entry.process.io = io;
                entry.process.read_at = self.at;
                true
            }
            Err(Gone) => false,
        };
        if !alive {
            entry.close(&mut self.budget);
            return self.replace(proc, pid, entry);
        }
        let moved = entry.has_moved(before, self.sample == 1);
        let unmoved = before == entry.process.io;
        entry.still = if unmoved {
            entry.still.saturating_add(1)
        } else {
            0
        };
        entry.attended = moved
            || entry.age < 2
            || self.is_turn_of(pid, TURNS)
            || entry.process.state == Some('D');
        // A descriptor that is not kept does not prove that it is still the same process.
        let unproven = !entry.io.is_kept() && !entry.stat.is_kept();
        if (entry.attended || unproven || waits == WaitSource::Stat)
            && !self.read_stat(proc, pid, entry, waits)
        {
            entry.close(&mut self.budget);
            return self.replace(proc, pid, entry);
        }
        entry.look(proc, pid, moved, roots);
        self.look_closer(proc, pid, entry, moved, waits);
        entry.age = entry.age.saturating_add(1);
        true
    }

    /// What is worth knowing only of processes that move something or hang.
    fn look_closer(
        &self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut Entry,
        moved: bool,
        waits: WaitSource,
    ) {
        let process = &mut entry.process;
        if !moved && process.state != Some('D') {
            process.blocked_in = None;
            process.tasks = None;
            return;
        }
        process.priority = threads::priority(pid);
        process.blocked_in = threads::blocked_in(proc, pid);
        process.tasks = (self.threads_shown && process.threads > 1).then(|| {
            let counted = waits != WaitSource::None;
            threads::read(proc, pid, counted, &self.identifier).into()
        });
    }

    /// Whether it has been quiet for a while and it is not its turn.
    fn may_rest(&self, pid: u32, entry: &Entry) -> bool {
        entry.still >= QUIET_AFTER
            && entry.process.state != Some('D')
            && entry.descriptors.is_none()
            && !self.is_turn_of(pid, QUIET_TURNS)
    }

    fn is_turn_of(&self, pid: u32, turns: u32) -> bool {
        pid.wrapping_add(self.sample as u32).is_multiple_of(turns)
    }

    /// Another process may have been given the number at once.
    fn replace(&mut self, proc: BorrowedFd<'_>, pid: u32, entry: &mut Entry) -> bool {
        match self.identifier.identify(proc, pid) {
            Some(identity) => {
                *entry = Entry::new(identity);
                true
            }
            None => false,
        }
    }

    fn read_io(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut Entry,
    ) -> Result<Known<ProcessIo>, Gone> {
        if entry.io.is_refused() {
            return Ok(entry.process.io);
        }
        let mut buffer = [0; 256];
        let read = entry.io.read(
            &mut self.budget,
            || open(proc, format!("{pid}/io")),
            &mut buffer,
        );
        match read {
            Ok(text) => Ok(io(text).map_or(Known::Absent, Known::Is)),
            Err(Errno::ACCESS | Errno::PERM) => {
                entry.io.refuse(&mut self.budget);
                Ok(Known::NotPermitted)
            }
            Err(Errno::NOENT) if entry.stat.is_kept() || self.is_there(proc, pid) => {
                entry.io.refuse(&mut self.budget);
                Ok(Known::Absent)
            }
            Err(_) => Err(Gone),
        }
    }

    fn is_there(&self, proc: BorrowedFd<'_>, pid: u32) -> bool {
        open(proc, format!("{pid}/stat")).is_ok()
    }

    /// State, waiting, and whether it executes another program now; `false` when it is gone.
    fn read_stat(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut Entry,
        waits: WaitSource,
    ) -> bool {
        let mut buffer = [0; 1024];
        let opened = || open(proc, format!("{pid}/stat"));
        let Ok(text) = entry.stat.read(&mut self.budget, opened, &mut buffer) else {
            return false;
        };
        let Some(now) = stat(text) else {
            return false;
        };
        let identity = &entry.process.identity;
        if now.start_ticks != identity.start_ticks {
            return false;
        }
        entry.process.state = Some(now.state);
        entry.process.threads = now.threads;
        // A count of 0 is as likely a process that began before accounting was switched on.
        entry.process.waited = match waits {
            WaitSource::Stat => {
                (now.waited_ticks > 0).then(|| self.identifier.time(now.waited_ticks))
            }
            WaitSource::Taskstats => entry.process.waited,
            WaitSource::None => None,
        };
        if waits != WaitSource::Taskstats {
            entry.process.swapped = None;
        }
        // Between fork and exec it still had its parent's name and arguments.
        let changed = identity.name != now.name || identity.parent != now.parent;
        if (changed || (entry.age == 1 && self.sample > 2))
            && let Some(fresh) = self.identifier.identify(proc, pid)
            && fresh != **identity
        {
            entry.process.identity = Arc::new(fresh);
        }
        true
    }
}

/// The process has ended.
struct Gone;

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
