//! Reading one process, in as much detail as needed.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

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
/// ... and its counters are read once in this time: this late, what it does is noticed at the latest.
const MAX_QUIET_TIME: Duration = Duration::from_secs(3);
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
        // Of an idle process it is read once in many samples: the budget is for what is read more often.
        let is_read_often =
            waits == WaitSource::Stat || entry.idle_samples == 0 || !entry.io.is_kept();
        let read = match is_read_often {
            true => entry.stat.read(&mut self.budget, opened, &mut buffer),
            false => entry.stat.read_once(opened, &mut buffer),
        };
        let Ok(text) = read else {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest time between two readings of each of these idle processes.
    fn longest_quiet_time(pids: std::ops::Range<u32>, intervals: &[Duration]) -> Duration {
        let (root, roots) = SysPaths::with_files(&[("proc/loadavg", "0 0 0 1/1 5\n")]);
        for pid in pids.clone() {
            let directory = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&directory).unwrap();
            let zeros = "0 ".repeat(30);
            let stat = format!("{pid} (idle) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 {zeros}\n");
            std::fs::write(directory.join("stat"), stat).unwrap();
            let io = "rchar: 5000\nwchar: 0\nsyscr: 1\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n\
                      cancelled_write_bytes: 0\n";
            std::fs::write(directory.join("io"), io).unwrap();
        }
        let mut table = ProcessTable::new(&roots);
        let mut longest = Duration::ZERO;
        let mut at = Duration::from_secs(100);
        let mut read_at = vec![at; pids.len()];
        for interval in intervals.iter().cycle().take(200) {
            table.update(&roots, WaitSource::None, (at, None));
            for (process, before) in table.snapshot().iter().zip(&mut read_at) {
                longest = longest.max(process.read_at - *before);
                *before = process.read_at;
            }
            at += *interval;
        }
        assert_eq!(table.snapshot().len(), pids.len());
        longest
    }

    #[test]
    fn idle_process_is_read_every_three_seconds_at_any_interval() {
        let every =
            |milliseconds| longest_quiet_time(50..60, &[Duration::from_millis(milliseconds)]);
        assert_eq!(every(1000), MAX_QUIET_TIME);
        assert_eq!(every(500), MAX_QUIET_TIME);
        assert_eq!(every(2000), Duration::from_secs(2));
        assert_eq!(every(5000), Duration::from_secs(5));
        // In 32 turns.
        assert_eq!(every(50), Duration::from_millis(1600));
    }

    #[test]
    fn idle_process_is_read_in_time_when_samples_are_late() {
        let late = [1000, 1010, 990, 1200, 1000, 700].map(Duration::from_millis);
        let longest = longest_quiet_time(50..60, &late);
        assert!(longest <= MAX_QUIET_TIME.mul_f64(1.2), "{longest:?}");
    }
}
