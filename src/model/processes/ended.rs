//! I/O of processes that ended between two samples.
//!
//! wait(2) adds the counters of an ended child to those of its parent. What was already shown for
//! the child is taken off; the rest is what its children did after they were last sampled, those
//! included that no sample has seen.

use std::collections::HashMap;
use std::time::Duration;

use crate::model::interval::{ProcessPair, SampleInterval};
use crate::probe::SystemSample;
use crate::probe::sample::{ProcessIo, ProcessKey, ProcessSample};

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
}

/// An ended child as it was last sampled.
#[derive(Debug)]
struct PendingChild {
    io: ProcessIo,
    readings: u8,
}

/// Ended children of one process in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedIo {
    /// What they did since they were last sampled.
    pub io: ProcessIo,
    /// The same since the first sample.
    pub accumulated: ProcessIo,
    /// Time between the readings.
    pub elapsed: Duration,
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
        self.add_ended(interval);
        let mut found = EndedInInterval::default();
        for pair in &interval.process_pairs {
            let key = pair.current.identity.key();
            let separate = pair.ended_io_delta();
            if let Some((io, elapsed)) = separate
                && io != ProcessIo::default()
            {
                let unseen = self.take_off_known(key, io);
                if is_shown(&unseen) {
                    let accumulated = self.accumulated.entry(key).or_default();
                    *accumulated = accumulated.saturating_add(&unseen);
                    let ended = EndedIo {
                        io: unseen,
                        accumulated: *accumulated,
                        elapsed,
                    };
                    found.unseen.insert(pair.current.identity.pid, ended);
                }
            } else if separate.is_none()
                && self.pending.contains_key(&key)
                && let Some((total, _)) = pair.io_delta()
            {
                let own = self.take_off_known(key, total);
                let twice = total.saturating_sub(&own);
                found.counted_twice.insert(pair.current.identity.pid, twice);
            }
        }
        self.forget_old(interval);
        found
    }

    /// Adds the processes of the earlier sample that are missing in the later one.
    fn add_ended(&mut self, interval: &SampleInterval<'_>) {
        let Some(previous) = interval.previous else {
            return;
        };
        for process in &previous.processes {
            if interval
                .current
                .process_with_key(process.identity.key())
                .is_some()
            {
                continue;
            }
            self.accumulated.remove(&process.identity.key());
            if let Some(io) = process.io.value()
                && io != ProcessIo::default()
                && let Some(reaper) = find_reaper(previous, interval.current, process)
            {
                let child = PendingChild { io, readings: 0 };
                self.pending.entry(reaper).or_default().push(child);
            }
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

/// The process that an ended one was added to: the nearest ancestor that has not ended, or else
/// init, which inherits orphans.
fn find_reaper(
    previous: &SystemSample,
    current: &SystemSample,
    ended: &ProcessSample,
) -> Option<ProcessKey> {
    let mut parent = ended.identity.parent_pid;
    for _ in 0..MAX_ANCESTORS {
        let Some(process) = previous.process(parent) else {
            break;
        };
        if let Some(alive) = current.process_with_key(process.identity.key()) {
            return Some(alive.identity.key());
        }
        parent = process.identity.parent_pid;
    }
    current
        .process(INIT_PID)
        .map(|process| process.identity.key())
}

#[cfg(test)]
mod tests;
