//! Reading one process, in as much detail as needed.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::ended::update_ended_io;
use super::{ProcessTable, WaitSource};
use crate::probe::process::entry::ProcessEntry;
use crate::probe::process::stat::{parse_io, parse_stat};
use crate::probe::process::threads;
use crate::probe::sample::{Availability, ProcessIo};
use crate::probe::text::open_relative;
use crate::roots::SysPaths;

/// State and identity of idle processes are read once in this many samples.
const STAT_REFRESH_SAMPLES: u32 = 32;
/// A process that has been idle for this many samples counts as idle ...
const QUIET_AFTER_SAMPLES: u32 = 4;
/// ... and its counters are read once in this many samples.
const QUIET_REFRESH_SAMPLES: u32 = 8;
/// Up to this age in samples the arguments of a process without any are read again.
const ARGUMENTS_RETRY_SAMPLES: u32 = 3;
/// A process group with more processes is no pipeline, but a server.
const MAX_PIPELINE_PROCESSES: usize = 12;
/// Arguments and limits of active processes are read again after this many samples.
const FACTS_REFRESH_SAMPLES: u32 = 8;

impl ProcessTable {
    /// Reads one process; `false` when it has ended.
    pub(crate) fn refresh_process(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut ProcessEntry,
        waits: WaitSource,
        roots: &SysPaths,
    ) -> bool {
        let before = entry.process.io;
        let alive = match self.read_io(proc, pid, entry) {
            Ok(io) => {
                entry.process.io = io;
                entry.process.read_at = self.sample_time;
                true
            }
            Err(ProcessEnded) => false,
        };
        if !alive {
            self.record_closed(entry, true);
            entry.close_descriptors(&mut self.budget);
            return self.replace_process(proc, pid, entry);
        }
        self.explained_bytes = self
            .explained_bytes
            .saturating_add(entry.charged_bytes_since(before));
        let moved = entry.has_transferred(before, self.sample_number == 1);
        let unmoved = before == entry.process.io;
        entry.idle_samples = match (unmoved, self.sample_number) {
            (true, _) => entry.idle_samples.saturating_add(1),
            // After the first sample it is unknown which processes are idle: one more reading
            // decides, instead of several.
            (false, 1) => QUIET_AFTER_SAMPLES - 1,
            (false, _) => 0,
        };
        // A process that began between two samples may have executed another program since.
        let new = entry.age_samples == 0 || (entry.age_samples == 1 && self.sample_number > 2);
        let hangs = entry.process.state == Some('D');
        entry.needs_details =
            moved || new || hangs || self.is_refresh_due(pid, STAT_REFRESH_SAMPLES);
        entry.needs_identity =
            hangs || !(unmoved || entry.age_samples == 0 && self.sample_number == 1);
        // A descriptor that is not kept open does not prove that the process is the same.
        let unproven = !entry.io.is_kept() && !entry.stat.is_kept();
        let due = entry.needs_details && entry.age_samples > 0;
        if (due || unproven || waits == WaitSource::Stat)
            && !self.read_stat(proc, pid, entry, waits)
        {
            self.record_closed(entry, true);
            entry.close_descriptors(&mut self.budget);
            return self.replace_process(proc, pid, entry);
        }
        entry.is_active = moved;
        update_ended_io(proc, pid, entry);
        if self.own_pid != Some(pid) {
            entry.update_mappings(proc, pid, before);
            entry.update_descriptors(proc, pid, moved, roots);
            self.record_closed(entry, false);
        }
        self.read_details(proc, pid, entry, moved, (waits, roots));
        entry.age_samples = entry.age_samples.saturating_add(1);
        true
    }

    /// Reads details that are needed only for active or blocked processes.
    fn read_details(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut ProcessEntry,
        moved: bool,
        (waits, roots): (WaitSource, &SysPaths),
    ) {
        let process = &mut entry.process;
        if !moved && process.state != Some('D') {
            process.wait_channel = None;
            process.thread_samples = None;
            return;
        }
        if entry.age_samples >= entry.facts_due_age {
            // Some programs write their status into their arguments.
            entry.is_identified &= entry.facts_due_age == 0;
            entry.facts_due_age = entry.age_samples.saturating_add(FACTS_REFRESH_SAMPLES);
            let membership = self.hierarchies.membership(roots, pid);
            process.io_limits = membership.limits.into();
            process.unit = membership
                .group
                .and_then(|group| self.units.unit_of(roots, &group));
        }
        process.priority = threads::io_priority(pid);
        process.wait_channel = threads::wait_channel(proc, pid);
        process.thread_samples = (self.show_threads && process.thread_count > 1).then(|| {
            let counted = waits != WaitSource::None;
            threads::read_threads(proc, pid, counted, &self.identifier).into()
        });
    }

    /// Remembers the files that a process has written and closed.
    pub(crate) fn record_closed(&mut self, entry: &mut ProcessEntry, has_ended: bool) {
        let identity = Arc::clone(&entry.process.identity);
        let closed = entry.take_closed(has_ended).into_iter();
        self.closed_files
            .extend(closed.map(|file| (Arc::clone(&identity), file)));
    }

    /// Examines the open files of idle processes in the pipelines of active ones: splice(2), which pv
    /// uses, advances no counter.
    pub(crate) fn examine_pipelines(
        &self,
        proc: BorrowedFd<'_>,
        entries: &mut BTreeMap<u32, ProcessEntry>,
        roots: &SysPaths,
    ) {
        let mut members: BTreeMap<u32, usize> = entries
            .values()
            .filter(|entry| entry.is_active_in_pipeline())
            .map(|entry| (entry.process_group, 0))
            .collect();
        if members.is_empty() {
            return;
        }
        for entry in entries.values() {
            if let Some(count) = members.get_mut(&entry.process_group) {
                *count += 1;
            }
        }
        members.retain(|_, count| *count <= MAX_PIPELINE_PROCESSES);
        for (pid, entry) in entries {
            let is_member = members.contains_key(&entry.process_group);
            if is_member && !entry.is_active && self.own_pid != Some(*pid) {
                entry.update_descriptors(proc, *pid, true, roots);
            }
        }
    }

    /// Whether it has been idle for a while and is not due for a reading.
    pub(crate) fn can_skip(&self, pid: u32, entry: &ProcessEntry) -> bool {
        entry.idle_samples >= QUIET_AFTER_SAMPLES
            && entry.process.state != Some('D')
            && entry.descriptors.is_none()
            && !self.is_refresh_due(pid, QUIET_REFRESH_SAMPLES)
    }

    fn is_refresh_due(&self, pid: u32, turns: u32) -> bool {
        pid.wrapping_add(self.sample_number as u32)
            .is_multiple_of(turns)
    }

    /// Replaces a process whose id may have been reused.
    fn replace_process(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut ProcessEntry,
    ) -> bool {
        match self.read_new_process(proc, pid) {
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
        entry: &mut ProcessEntry,
    ) -> Result<Availability<ProcessIo>, ProcessEnded> {
        if entry.io.is_given_up() {
            return Ok(entry.process.io);
        }
        let mut buffer = [0; 256];
        let read = entry.io.read(
            &mut self.budget,
            || open_relative(proc, format!("{pid}/io")),
            &mut buffer,
        );
        match read {
            Ok(text) => Ok(parse_io(text).map_or(Availability::Absent, Availability::Available)),
            Err(Errno::ACCESS | Errno::PERM) => {
                entry.io.give_up(&mut self.budget);
                Ok(Availability::NotPermitted)
            }
            Err(Errno::NOENT) if entry.stat.is_kept() || self.process_exists(proc, pid) => {
                entry.io.give_up(&mut self.budget);
                Ok(Availability::Absent)
            }
            Err(_) => Err(ProcessEnded),
        }
    }

    fn process_exists(&self, proc: BorrowedFd<'_>, pid: u32) -> bool {
        open_relative(proc, format!("{pid}/stat")).is_ok()
    }

    /// Reads state and delays, and detects whether it executes another program; `false` when it has
    /// ended.
    fn read_stat(
        &mut self,
        proc: BorrowedFd<'_>,
        pid: u32,
        entry: &mut ProcessEntry,
        waits: WaitSource,
    ) -> bool {
        let mut buffer = [0; 1024];
        let opened = || open_relative(proc, format!("{pid}/stat"));
        let Ok(text) = entry.stat.read(&mut self.budget, opened, &mut buffer) else {
            return false;
        };
        let Some(now) = parse_stat(text) else {
            return false;
        };
        let identity = &entry.process.identity;
        if now.start_ticks != identity.start_ticks {
            return false;
        }
        entry.process.state = Some(now.state);
        entry.process_group = now.process_group;
        entry.process.cpu_time = Some(self.identifier.ticks_to_duration(now.cpu_ticks));
        entry.process.thread_count = now.thread_count;
        if now.reaped_faults != entry.reaped_faults {
            entry.reaped_faults = now.reaped_faults;
            entry.ended_changed = true;
        }
        // A count of 0 may also belong to a process that began before accounting was switched on.
        entry.process.io_delay = match waits {
            WaitSource::Stat => (now.blkio_delay_ticks > 0)
                .then(|| self.identifier.ticks_to_duration(now.blkio_delay_ticks)),
            WaitSource::Taskstats => entry.process.io_delay,
            WaitSource::None => None,
        };
        if waits != WaitSource::Taskstats {
            entry.process.swap_in_delay = None;
        }
        // Between fork and exec it still had its parent's name and arguments, and within exec it
        // has none.
        let bare = entry.age_samples <= ARGUMENTS_RETRY_SAMPLES && identity.arguments.is_empty();
        let changed = identity.name != now.name || identity.parent_pid != now.parent_pid;
        if changed || bare || (entry.age_samples == 1 && self.sample_number > 2) {
            let mut fresh = self.identifier.identity_from_stat(pid, &now);
            if entry.is_identified {
                fresh = self.identifier.add_arguments_and_user(proc, fresh);
            }
            if fresh != **identity {
                entry.process.identity = Arc::new(fresh);
            }
        }
        true
    }
}

/// The process has ended.
struct ProcessEnded;
