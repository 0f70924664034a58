//! Reading one process, in as much detail as needed.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::{ProcessReading, ProcessTable, WaitSource};
use crate::probe::process::entry::ProcessEntry;
use crate::probe::process::io_priority::io_priority;
use crate::probe::process::reused_file::ReusedFile;
use crate::probe::process::stat::{parse_io, parse_stat};
use crate::probe::process::threads;
use crate::probe::sample::{Availability, ProcessIo};
use crate::probe::text::open_relative;

/// State and identity of idle processes are read once in this many samples.
const STAT_REFRESH_SAMPLES: u32 = 32;
/// A process that has been idle for this many samples counts as idle ...
const QUIET_AFTER_SAMPLES: u32 = 4;
/// ... and its counters are read once in this time: this late, what it does is noticed at the latest.
pub(super) const MAX_QUIET_TIME: Duration = Duration::from_secs(3);
/// Samples are not taken exactly on time: fraction of [`MAX_QUIET_TIME`] that a reading may be late.
const QUIET_TOLERANCE: f64 = 0.1;
/// With short intervals between samples, at least once in this many.
const MAX_QUIET_REFRESH_SAMPLES: f64 = 32.0;
/// Up to this age in samples the arguments of a process without any are read again.
const ARGUMENTS_RETRY_SAMPLES: u32 = 3;
/// A process group with more processes is no pipeline, but a server.
const MAX_PIPELINE_PROCESSES: usize = 12;
/// Arguments and limits of active processes are read again after this many samples.
const FACTS_REFRESH_SAMPLES: u32 = 8;

impl ProcessTable {
    /// Reads one process, or the one that has its id now; `false` when it has ended.
    pub(super) fn refresh_process(
        &mut self,
        entry: &mut ProcessEntry,
        reading: &ProcessReading<'_>,
    ) -> bool {
        if self.read_process(entry, reading).is_some() {
            return true;
        }
        self.forget(entry);
        let fresh = self.read_new_process(reading.proc, entry.process.identity.pid);
        let is_reused = fresh.is_some();
        *entry = fresh.unwrap_or_default();
        is_reused
    }

    /// Reads one process; `None` when it has ended.
    fn read_process(
        &mut self,
        entry: &mut ProcessEntry,
        reading: &ProcessReading<'_>,
    ) -> Option<()> {
        let pid = entry.process.identity.pid;
        let before = entry.process.io;
        entry.process.io = self.read_io(reading.proc, entry)?;
        entry.process.read_at = (reading.now)();
        let charged = entry.charged_bytes_since(before);
        self.explained_bytes = self.explained_bytes.saturating_add(charged);
        let is_first = self.sample_number == 1;
        let has_io = before != entry.process.io;
        let moved = entry.has_transferred(before, is_first);
        entry.idle_samples = match has_io {
            false => entry.idle_samples.saturating_add(1),
            // After the first sample it is unknown which processes are idle: one more reading
            // decides, instead of several.
            true if is_first => QUIET_AFTER_SAMPLES - 1,
            true => 0,
        };
        // A process that began between two samples may have executed another program since.
        let is_new = entry.age_samples == 0 || (entry.age_samples == 1 && self.sample_number > 2);
        let hangs = entry.process.state == Some('D');
        entry.needs_details =
            moved || is_new || hangs || self.is_refresh_due(pid, STAT_REFRESH_SAMPLES);
        entry.needs_identity = hangs || (has_io && !(is_first && entry.age_samples == 0));
        // A descriptor that is not kept open does not prove that the process is the same.
        let is_unproven = !entry.io.is_kept() && !entry.stat.is_kept();
        let is_due = entry.needs_details && entry.age_samples > 0;
        if is_due || is_unproven || reading.waits == WaitSource::Stat {
            self.read_stat(entry, reading)?;
        }
        entry.is_active = moved;
        if has_io || entry.age_samples == 0 {
            entry.update_own_io(reading.proc, is_first);
        }
        if self.own_pid != Some(pid) {
            entry.update_descriptors(reading.proc, moved, reading.roots);
            self.record_closed(entry, false);
        }
        self.read_details(entry, reading);
        entry.age_samples = entry.age_samples.saturating_add(1);
        Some(())
    }

    /// Reads details that are needed only for active or blocked processes.
    fn read_details(&mut self, entry: &mut ProcessEntry, reading: &ProcessReading<'_>) {
        let process = &mut entry.process;
        let (proc, pid) = (reading.proc, process.identity.pid);
        if !entry.is_active && process.state != Some('D') {
            process.wait_channel = None;
            process.thread_samples = None;
            return;
        }
        if entry.age_samples >= entry.facts_due_age {
            // Some programs write their status into their arguments.
            entry.is_identified &= entry.facts_due_age == 0;
            entry.facts_due_age = entry.age_samples.saturating_add(FACTS_REFRESH_SAMPLES);
            let membership = reading.hierarchies.membership(reading.roots, pid);
            process.io_limits = membership.limits.into();
            let group = membership.group;
            process.unit = group.and_then(|group| self.units.unit_of(reading.roots, &group));
        }
        process.priority = io_priority(pid).ok();
        process.wait_channel = threads::wait_channel(proc, pid);
        process.thread_samples = (reading.threads && process.thread_count > 1).then(|| {
            let counted = reading.waits != WaitSource::None;
            threads::read_threads(proc, pid, counted, &self.identifier).into()
        });
    }

    /// Remembers the files that a process has written and closed.
    pub(super) fn record_closed(&mut self, entry: &mut ProcessEntry, has_ended: bool) {
        let identity = Arc::clone(&entry.process.identity);
        let closed = entry.take_closed(has_ended).into_iter();
        self.closed_files
            .extend(closed.map(|file| (Arc::clone(&identity), file)));
    }

    /// Examines the open files of idle processes in the pipelines of active ones: splice(2), which pv
    /// uses, advances no counter.
    pub(super) fn examine_pipelines(
        &self,
        entries: &mut BTreeMap<u32, ProcessEntry>,
        reading: &ProcessReading<'_>,
    ) {
        let active = entries.values().filter(|it| it.is_active_in_pipeline());
        let mut members: BTreeMap<u32, usize> = active.map(|it| (it.process_group, 0)).collect();
        if members.is_empty() {
            return;
        }
        for entry in entries.values() {
            members
                .entry(entry.process_group)
                .and_modify(|count| *count += 1);
        }
        members.retain(|_, count| *count <= MAX_PIPELINE_PROCESSES);
        for (pid, entry) in entries {
            let is_member = members.contains_key(&entry.process_group);
            if is_member && !entry.is_active && self.own_pid != Some(*pid) {
                entry.update_descriptors(reading.proc, true, reading.roots);
            }
        }
    }

    /// Whether it has been idle for a while and is not due for a reading.
    pub(super) fn can_skip(&self, pid: u32, entry: &ProcessEntry) -> bool {
        entry.idle_samples >= QUIET_AFTER_SAMPLES
            && entry.process.state != Some('D')
            && entry.descriptors.is_none()
            && !self.is_refresh_due(pid, self.quiet_refresh_samples())
            && !self.would_be_late(entry)
    }

    /// In how many samples the idle processes are read in turn.
    fn quiet_refresh_samples(&self) -> u32 {
        let interval = self.sample_interval.as_secs_f64();
        let samples = MAX_QUIET_TIME.as_secs_f64() / interval + QUIET_TOLERANCE;
        samples.clamp(1.0, MAX_QUIET_REFRESH_SAMPLES) as u32
    }

    /// Whether the next sample would be too late to read an idle process: its turn changes with the
    /// interval between samples.
    fn would_be_late(&self, entry: &ProcessEntry) -> bool {
        let next = (self.sample_time + self.sample_interval).saturating_sub(entry.process.read_at);
        next > MAX_QUIET_TIME.mul_f64(1.0 + QUIET_TOLERANCE)
    }

    fn is_refresh_due(&self, pid: u32, turns: u32) -> bool {
        pid.wrapping_add(self.sample_number as u32)
            .is_multiple_of(turns)
    }

    /// The counters of a process; `None` when it has ended.
    fn read_io(
        &self,
        proc: BorrowedFd<'_>,
        entry: &mut ProcessEntry,
    ) -> Option<Availability<ProcessIo>> {
        let pid = entry.process.identity.pid;
        if matches!(entry.io, ReusedFile::GivenUp) {
            return Some(entry.process.io);
        }
        let mut buffer = [0; 256];
        let opened = || open_relative(proc, format!("{pid}/io"));
        match entry.io.read(self.highest_kept, opened, &mut buffer) {
            Ok(text) => Some(parse_io(text).map_or(Availability::Absent, Availability::Available)),
            Err(Errno::ACCESS | Errno::PERM) => {
                entry.io = ReusedFile::GivenUp;
                Some(Availability::NotPermitted)
            }
            Err(Errno::NOENT)
                if entry.stat.is_kept() || open_relative(proc, format!("{pid}/stat")).is_ok() =>
            {
                entry.io = ReusedFile::GivenUp;
                Some(Availability::Absent)
            }
            Err(_) => None,
        }
    }

    /// Reads state and delays, and detects whether it executes another program; `None` when it has
    /// ended.
    fn read_stat(&mut self, entry: &mut ProcessEntry, reading: &ProcessReading<'_>) -> Option<()> {
        let (proc, waits) = (reading.proc, reading.waits);
        let pid = entry.process.identity.pid;
        let mut buffer = [0; 1024];
        let opened = || open_relative(proc, format!("{pid}/stat"));
        // Of an idle process it is read once in many samples: what is read more often is kept open.
        let is_read_often =
            waits == WaitSource::Stat || entry.idle_samples == 0 || !entry.io.is_kept();
        let highest = if is_read_often { self.highest_kept } else { -1 };
        let now = parse_stat(entry.stat.read(highest, opened, &mut buffer).ok()?)?;
        let identity = &entry.process.identity;
        if now.start_ticks != identity.start_ticks {
            return None;
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
            entry.set_identity(fresh);
        }
        entry.set_state(&now, &self.identifier);
        if waits != WaitSource::Taskstats {
            // A count of 0 may also belong to a process that began before accounting was switched on.
            let ticks = now.blkio_delay_ticks;
            let is_counted = waits == WaitSource::Stat && ticks > 0;
            let delay = is_counted.then(|| self.identifier.ticks_to_duration(ticks));
            entry.process.io_delay = delay;
            entry.process.swap_in_delay = None;
        }
        Some(())
    }
}
