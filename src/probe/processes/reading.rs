//! Reading one process: as much of it as it deserves.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::{Processes, WaitSource};
use crate::probe::entry::Entry;
use crate::probe::process::{io, stat};
use crate::probe::sample::{Known, ProcessIo};
use crate::probe::text::open;
use crate::probe::{limits, threads};
use crate::roots::Roots;

/// State and identity of processes that move nothing are looked at once in so many samples.
const TURNS: u32 = 32;
/// A process that has moved nothing for so many samples is quiet ...
const QUIET_AFTER: u32 = 4;
/// ... and its counters are read once in so many samples.
const QUIET_TURNS: u32 = 8;
/// Up to this age in samples a process without arguments may yet be given some.
const BARE_UNTIL: u32 = 3;
/// Arguments and limits of who moves something are read again after so many samples.
const FACTS_LAST: u32 = 8;

impl Processes {
    /// Reads one process; `false` when it is gone.
    pub(super) fn refresh(
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
                entry.process.read_at = self.at;
                true
            }
            Err(Gone) => false,
        };
        if !alive {
            entry.close(&mut self.budget);
            return self.replace(proc, pid, entry);
        }
        self.explained = self.explained.saturating_add(entry.charged_since(before));
        let moved = entry.has_moved(before, self.sample == 1);
        let unmoved = before == entry.process.io;
        entry.still = match (unmoved, self.sample) {
            (true, _) => entry.still.saturating_add(1),
            // Nobody knows yet who is quiet: it takes one more look, and not several at all.
            (false, 1) => QUIET_AFTER - 1,
            (false, _) => 0,
        };
        // One that began between two samples may have become another program since.
        let new = entry.age == 0 || (entry.age == 1 && self.sample > 2);
        let hangs = entry.process.state == Some('D');
        entry.attended = moved || new || hangs || self.is_turn_of(pid, TURNS);
        entry.wanted = hangs || !(unmoved || entry.age == 0 && self.sample == 1);
        // A descriptor that is not kept does not prove that it is still the same process.
        let unproven = !entry.io.is_kept() && !entry.stat.is_kept();
        let due = entry.attended && entry.age > 0;
        if (due || unproven || waits == WaitSource::Stat)
            && !self.read_stat(proc, pid, entry, waits)
        {
            entry.close(&mut self.budget);
            return self.replace(proc, pid, entry);
        }
        if self.own != Some(pid) {
            entry.look(proc, pid, moved, roots);
        }
        self.look_closer(proc, pid, entry, moved, (waits, roots));
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
        (waits, roots): (WaitSource, &Roots),
    ) {
        let process = &mut entry.process;
        if !moved && process.state != Some('D') {
            process.blocked_in = None;
            process.tasks = None;
            return;
        }
        if entry.age >= entry.due {
            // Some write into their arguments what they are about.
            entry.identified &= entry.due == 0;
            entry.due = entry.age.saturating_add(FACTS_LAST);
            process.limits = limits::of_process(roots, pid).into();
        }
        process.priority = threads::priority(pid);
        process.blocked_in = threads::blocked_in(proc, pid);
        process.tasks = (self.threads_shown && process.threads > 1).then(|| {
            let counted = waits != WaitSource::None;
            threads::read(proc, pid, counted, &self.identifier).into()
        });
    }

    /// Whether it has been quiet for a while and it is not its turn.
    pub(super) fn may_rest(&self, pid: u32, entry: &Entry) -> bool {
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
        match self.begin(proc, pid) {
            Some(fresh) => {
                *entry = fresh;
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
        // Between fork and exec it still had its parent's name and arguments, and within exec it
        // has none.
        let bare = entry.age <= BARE_UNTIL && identity.arguments.is_empty();
        let changed = identity.name != now.name || identity.parent != now.parent;
        if changed || bare || (entry.age == 1 && self.sample > 2) {
            let mut fresh = self.identifier.begin(pid, &now);
            if entry.identified {
                fresh = self.identifier.complete(proc, fresh);
            }
            if fresh != **identity {
                entry.process.identity = Arc::new(fresh);
            }
        }
        true
    }
}

/// The process has ended.
struct Gone;
