//! All processes: which there are, and what each has moved.
//!
//! Two thousand processes are the normal case, so descriptors of `/proc/PID/io` are kept open and
//! read with pread(2), which costs a quarter of opening them each time and also proves that it is
//! still the same process. Everything else is read only of processes whose counters moved, and of
//! the others in turn.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;

use super::descriptors::Descriptors;
use super::handle::{Budget, Handle};
use super::process::{effective_user, io, stat, ticks};
use super::sample::{Identity, Known, Notice, OpenFile, Process, ProcessIo};
use super::text::{open, pread_all};
use super::users::Users;
use crate::roots::Roots;

/// A process that has moved less than this since the last sample is not looked at more closely.
const MOVED_BYTES: u64 = 4096;
/// A process that began between two samples and has moved less than this neither.
const BEGAN_WITH_BYTES: u64 = 64 * 1024;
/// Quiet processes are looked at once in so many samples.
const TURNS: u32 = 8;
/// `/proc` is listed at least once in so many samples, even when no process seems to have begun.
const LISTED_EVERY: u64 = 4;

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
            buffer: Vec::with_capacity(4096),
        }
    }

    /// Reads them all.
    pub fn update(&mut self, roots: &Roots, waits: WaitSource) {
        self.sample += 1;
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
    pub fn set_waited(&mut self, pid: u32, waited: Option<std::time::Duration>) {
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

    /// Takes up processes that have begun, and forgets those that are no longer listed.
    ///
    /// The last word of `/proc/loadavg` is the process id given out last: while it stays the same
    /// nothing has begun, and the listing (a good part of the cost) can be left out.
    fn list(&mut self, proc: BorrowedFd<'_>, roots: &Roots) {
        let created = super::text::read(&roots.proc.join("loadavg")).and_then(|text| {
            let last = text.trim_ascii().rsplit(|byte| *byte == b' ').next()?;
            super::text::number(last)
        });
        let due = created.is_none()
            || created != self.last_created
            || self.sample.is_multiple_of(LISTED_EVERY);
        self.last_created = created;
        if !due {
            return;
        }
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
            if !self.known.contains_key(&pid)
                && let Some(identity) = self.identify(proc, pid)
            {
                self.known.insert(pid, Entry::new(identity));
            }
        }
    }

    /// Who a process is; `None` when it is gone.
    fn identify(&mut self, proc: BorrowedFd<'_>, pid: u32) -> Option<Identity> {
        let mut read = |name: &str| {
            let file = open(proc, format!("{pid}/{name}")).ok()?;
            pread_all(file.as_fd(), &mut self.buffer).ok()?;
            Some(self.buffer.clone())
        };
        let text = read("stat")?;
        let stat = stat(&text)?;
        let arguments = read("cmdline").unwrap_or_default();
        let user = read("status").and_then(|text| effective_user(&text));
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
        let before = entry.process.io;
        let alive = match self.read_io(proc, pid, entry) {
            Ok(io) => {
                entry.process.io = io;
                true
            }
            Err(Gone) => false,
        };
        if !alive {
            entry.close(&mut self.budget);
            return self.replace(proc, pid, entry);
        }
        let moved = entry.has_moved(before, self.sample == 1);
        let in_turn = pid.wrapping_add(self.sample as u32).is_multiple_of(TURNS);
        entry.attended = moved || entry.age < 2 || in_turn || entry.process.state == Some('D');
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
                waited: None,
                state: None,
                files: Arc::default(),
            },
            io: Handle::NotOpen,
            stat: Handle::NotOpen,
            descriptors: None,
            age: 0,
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
