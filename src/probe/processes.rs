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

use super::descriptors::Descriptors;
use super::handle::{Budget, Handle};
use super::process::{effective_user, io, stat, thread_group, ticks};
use super::sample::{Identity, Known, Notice, OpenFile, Process, ProcessIo};
use super::text::{open, pread_all};
use super::users::Users;
use crate::roots::Roots;

/// A process that has moved less than this since the last sample is not looked at more closely.
const MOVED_BYTES: u64 = 4096;
/// A process that began between two samples and has moved less than this neither.
const BEGAN_WITH_BYTES: u64 = 64 * 1024;
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
    users: Users,
    known: BTreeMap<u32, Entry>,
    budget: Budget,
    ticks_per_second: u64,
    last_created: Option<u64>,
    sample: u64,
    at: Duration,
    buffer: Vec<u8>,
}

/// What is kept of one process.
#[derive(Debug)]
struct Entry {
    process: Process,
    io: Handle,
    stat: Handle,
    descriptors: Option<Descriptors>,
    age: u32,
    /// Samples since it moved anything.
    still: u32,
    /// Whether it deserves a closer look in this sample.
    attended: bool,
}

impl Processes {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            proc: open(rustix::fs::CWD, roots.proc.as_path()).ok(),
            users: Users::read(roots),
            known: BTreeMap::new(),
            budget: Budget::from_limit(),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            last_created: None,
            sample: 0,
            at: Duration::ZERO,
            buffer: Vec::with_capacity(4096),
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

    /// Notes how long a process has waited for I/O.
    pub fn set_waited(&mut self, pid: u32, waited: Option<Duration>) {
        if let Some(entry) = self.known.get_mut(&pid) {
            entry.process.waited = waited;
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
            && let Some(identity) = self.identify(proc, pid)
        {
            self.known.insert(pid, Entry::new(identity));
        }
    }

    /// Who a process is; `None` when it is gone, or the number is that of a thread.
    fn identify(&mut self, proc: BorrowedFd<'_>, pid: u32) -> Option<Identity> {
        let mut read = |name: &str| {
            let file = open(proc, format!("{pid}/{name}")).ok()?;
            pread_all(file.as_fd(), &mut self.buffer).ok()?;
            Some(self.buffer.clone())
        };
        let text = read("stat")?;
        let stat = stat(&text)?;
        let arguments = read("cmdline").unwrap_or_default();
        let status = read("status").unwrap_or_default();
        if thread_group(&status).is_some_and(|group| group != pid) {
            return None;
        }
        let user = effective_user(&status);
        Some(Identity {
            pid,
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            started: ticks(stat.start_ticks, self.ticks_per_second),
            name: stat.name.to_vec(),
            arguments,
            user: user.map(|user| self.users.name(user)),
        })
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
        entry.age = entry.age.saturating_add(1);
        true
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
        match self.identify(proc, pid) {
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
        // A count of 0 is as likely a process that began before accounting was switched on.
        entry.process.waited = match waits {
            WaitSource::Stat => {
                (now.waited_ticks > 0).then(|| ticks(now.waited_ticks, self.ticks_per_second))
            }
            WaitSource::Taskstats => entry.process.waited,
            WaitSource::None => None,
        };
        // Between fork and exec it still had its parent's name and arguments.
        let changed = identity.name != now.name || identity.parent != now.parent;
        if (changed || (entry.age == 1 && self.sample > 2))
            && let Some(fresh) = self.identify(proc, pid)
            && fresh != **identity
        {
            entry.process.identity = Arc::new(fresh);
        }
        true
    }
}

/// The process has ended.
struct Gone;

impl Entry {
    fn new(identity: Identity) -> Self {
        Self {
            process: Process {
                identity: Arc::new(identity),
                io: Known::Absent,
                read_at: Duration::ZERO,
                waited: None,
                state: None,
                files: Arc::default(),
            },
            io: Handle::NotOpen,
            stat: Handle::NotOpen,
            descriptors: None,
            age: 0,
            still: 0,
            attended: false,
        }
    }

    /// Whether it has moved bytes worth a closer look since `before`.
    fn has_moved(&self, before: Known<ProcessIo>, first_sample: bool) -> bool {
        let total = |io: ProcessIo| {
            io.asked_read
                .wrapping_add(io.asked_write)
                .wrapping_add(io.read)
                .wrapping_add(io.written)
        };
        match (before.value(), self.process.io.value()) {
            (Some(before), Some(now)) => total(now).wrapping_sub(total(before)) >= MOVED_BYTES,
            // At the first sample of all nobody knows who is active.
            (None, Some(now)) => !first_sample && self.age == 0 && total(now) >= BEGAN_WITH_BYTES,
            _ => false,
        }
    }

    /// Looks at what it has open, if it moves or is being followed.
    fn look(&mut self, proc: BorrowedFd<'_>, pid: u32, moved: bool, roots: &Roots) {
        if moved {
            if self.descriptors.is_none() {
                self.descriptors = Descriptors::open(proc, pid);
            }
            if let Some(descriptors) = &mut self.descriptors {
                descriptors.look(roots);
            }
        } else if self
            .descriptors
            .as_ref()
            .is_some_and(Descriptors::any_moved)
        {
            if let Some(descriptors) = &mut self.descriptors {
                descriptors.refresh(roots);
            }
        } else {
            self.descriptors = None;
        }
        self.process.files = self
            .descriptors
            .as_ref()
            .map_or_else(Arc::<[OpenFile]>::default, Descriptors::files);
    }

    fn close(&mut self, budget: &mut Budget) {
        self.io.refuse(budget);
        self.stat.refuse(budget);
        self.descriptors = None;
    }
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
