//! I/O of processes that ended between two samples.
//!
//! wait(2) adds the counters of an ended child to those of its parent. What was already shown for
//! the child is taken off; the rest is what its children did after they were last sampled, those
//! included that no sample has seen.
//!
//! Where the kernel reports the I/O of ended threads, that is what such a child did: known by name, also where its
//! parent has several threads or ignores its children.

mod exit_sums;

use std::collections::HashMap;
use std::time::Duration;

use self::exit_sums::{ExitSums, RecordedChildren};
use crate::probe::SystemSample;
use crate::probe::interval::{ProcessPair, SampleInterval};
use crate::probe::sample::{ExitRecord, ProcessIo, ProcessKey, ProcessSample};

/// Readings of a parent's counters within which those of an ended child have to appear.
const MAX_READINGS: u8 = 2;
/// A longer chain of parents is a cycle.
const MAX_ANCESTORS: usize = 64;
/// The process that inherits orphans.
const INIT_PID: u32 = 1;
/// Ended children that transferred fewer bytes, none of them from or to devices, are not shown: each
/// command of a shell reads some libraries.
const MIN_SHOWN_BYTES: u64 = 256 * 1024;

/// Ended children whose counters have not yet appeared in those of their parents, and what ended
/// children have done since the first sample.
#[derive(Debug, Default)]
pub struct EndedChildren {
    pending: HashMap<ProcessKey, Vec<PendingChild>>,
    accumulated: HashMap<ProcessKey, ProcessIo>,
    records: ExitSums,
}

/// An ended child: the counters that its parent will get.
#[derive(Debug)]
struct PendingChild {
    io: ProcessIo,
    readings: u8,
}

/// Ended children of one process in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedIo {
    /// What they did since they were last sampled.
    pub io: ProcessIo,
    /// The same since the first sample.
    pub accumulated: ProcessIo,
    /// Time between the readings.
    pub elapsed: Duration,
    /// Their names with their number, most bytes first; empty where the kernel does not report them.
    pub programs: Vec<(Vec<u8>, u64)>,
}

/// What ended children did in an interval, by the process id of their parents.
#[derive(Debug, Default)]
pub struct EndedInInterval {
    /// Their I/O that was not shown before.
    pub unseen: HashMap<u32, EndedIo>,
    /// I/O to be taken off a parent's own because it was shown for its children, where the sample
    /// does not separate it.
    pub counted_twice: HashMap<u32, ProcessIo>,
}

impl EndedChildren {
    /// Records the processes that have ended in an interval and finds their I/O in the counters of
    /// their parents.
    pub fn update(&mut self, interval: &SampleInterval<'_>) -> EndedInInterval {
        let mut recorded = self.add_ended(interval);
        let mut found = EndedInInterval::default();
        for pair in &interval.process_pairs {
            let key = pair.current.identity.key();
            let recorded = recorded.remove(&key).unwrap_or_default();
            let separate = pair.ended_io_delta();
            let mut unseen = recorded.io;
            let mut elapsed = pair.sample_interval();
            if let Some((io, since)) = separate
                && io != ProcessIo::default()
            {
                let rest = self.take_off_known(key, io);
                unseen = unseen.saturating_add(&rest);
                // The counters of a parent that was idle cover a longer time.
                elapsed = elapsed.map(|sample| match recorded.is_empty() {
                    true => since,
                    false => sample,
                });
            } else if separate.is_none()
                && self.pending.contains_key(&key)
                && let Some((total, _)) = pair.io_delta()
            {
                let own = self.take_off_known(key, total);
                let twice = total.saturating_sub(&own);
                found.counted_twice.insert(pair.current.identity.pid, twice);
            }
            if let Some(elapsed) = elapsed.filter(|_| is_shown(&unseen)) {
                let accumulated = self.accumulated.entry(key).or_default();
                *accumulated = accumulated.saturating_add(&unseen);
                let ended = EndedIo {
                    io: unseen,
                    accumulated: *accumulated,
                    elapsed,
                    programs: recorded.programs_by_bytes(),
                };
                found.unseen.insert(pair.current.identity.pid, ended);
            }
        }
        self.forget_old(interval);
        found
    }

    /// Adds the processes that have ended to the pending children of those that get their counters.
    /// Returns what their exit records contain beyond their last samples, by these.
    fn add_ended(
        &mut self,
        interval: &SampleInterval<'_>,
    ) -> HashMap<ProcessKey, RecordedChildren> {
        let mut recorded: HashMap<ProcessKey, RecordedChildren> = HashMap::new();
        let ended = self.records.take_ended(interval.current);
        let Some(previous) = interval.previous else {
            return recorded;
        };
        let is_gone = |process: &&ProcessSample| {
            let key = process.identity.key();
            interval.current.process_with_key(key).is_none()
        };
        for process in previous.processes.iter().filter(is_gone) {
            self.accumulated.remove(&process.identity.key());
            let parent = process.identity.parent_pid;
            if !ended.contains_key(&process.identity.pid)
                && let Some(io) = process.io.value()
            {
                self.add_pending(find_reaper(interval, previous, &ended, parent), io);
            }
        }
        for (pid, record) in &ended {
            let shown = match previous.process(*pid) {
                Some(process) => match process.io.value() {
                    Some(total) => (total, process.ended_io.unwrap_or_default()),
                    None => continue,
                },
                None => Default::default(),
            };
            let unseen = record.io.saturating_sub(&shown.0.saturating_sub(&shown.1));
            let reaper = find_reaper(interval, previous, &ended, record.parent_pid);
            self.add_pending(reaper, shown.0.saturating_add(&unseen));
            if let Some(reaper) = reaper {
                let children = recorded.entry(reaper).or_default();
                children.add(&record.name, &unseen);
            }
        }
        recorded
    }

    fn add_pending(&mut self, reaper: Option<ProcessKey>, io: ProcessIo) {
        if let Some(reaper) = reaper.filter(|_| io != ProcessIo::default()) {
            let child = PendingChild { io, readings: 0 };
            self.pending.entry(reaper).or_default().push(child);
        }
    }

    /// The I/O without that of the pending children that it contains.
    fn take_off_known(&mut self, parent: ProcessKey, mut io: ProcessIo) -> ProcessIo {
        if let Some(children) = self.pending.get_mut(&parent) {
            children.retain(|child| match io.combine(&child.io, u64::checked_sub) {
                Some(rest) => {
                    io = rest;
                    false
                }
                None => true,
            });
        }
        io
    }

    /// Drops children that do not appear in the counters of their parents: these ignore them
    /// (`SIG_IGN` for SIGCHLD), or have ended too.
    fn forget_old(&mut self, interval: &SampleInterval<'_>) {
        self.pending.retain(|(pid, start), children| {
            let is_parent = |pair: &&ProcessPair<'_>| pair.current.identity.start_ticks == *start;
            let Some(pair) = pair_of(interval, *pid).filter(is_parent) else {
                return false;
            };
            if pair.was_read_again() {
                for child in children.iter_mut() {
                    child.readings += 1;
                }
            }
            children.retain(|child| child.readings < MAX_READINGS);
            !children.is_empty()
        });
    }
}

fn is_shown(io: &ProcessIo) -> bool {
    io.read_bytes > 0
        || io.write_bytes > io.cancelled_write_bytes
        || io.rchar.saturating_add(io.wchar) >= MIN_SHOWN_BYTES
}

fn pair_of<'i, 's>(interval: &'i SampleInterval<'s>, pid: u32) -> Option<&'i ProcessPair<'s>> {
    let found = interval
        .process_pairs
        .binary_search_by_key(&pid, |pair| pair.current.identity.pid);
    Some(&interval.process_pairs[found.ok()?])
}

/// The process that an ended one was added to: the nearest ancestor that has not ended, from its
/// parent on, or else init, which inherits orphans.
fn find_reaper(
    interval: &SampleInterval<'_>,
    previous: &SystemSample,
    ended: &HashMap<u32, ExitRecord>,
    mut parent: u32,
) -> Option<ProcessKey> {
    for _ in 0..MAX_ANCESTORS {
        let sampled = previous.process(parent).map(|process| &process.identity);
        let alive = interval.current.process(parent).filter(|process| {
            sampled.is_none_or(|sampled| sampled.key() == process.identity.key())
        });
        if let Some(alive) = alive {
            return Some(alive.identity.key());
        }
        parent = match (sampled, ended.get(&parent)) {
            (Some(sampled), _) => sampled.parent_pid,
            (None, Some(record)) => record.parent_pid,
            (None, None) => break,
        };
    }
    let init = interval.current.process(INIT_PID);
    init.map(|process| process.identity.key())
}

#[cfg(test)]
mod tests;
