//! I/O of processes that ended between two samples.
//!
//! Where the kernel reports the I/O of ended threads, an ended process is counted from its own counters alone:
//! what no sample contains of it is a line below the process that it was a child of.
//!
//! Elsewhere wait(2) adds the counters of an ended child to those of its parent, and these are all that there
//! is. What was already shown for the child is taken off.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::interval::{ProcessPair, SampleInterval};
use crate::probe::sample::{ExitRecord, ProcessIo, ProcessKey, ProcessSample};
use crate::snapshot::view::EndedProgram;

/// Readings of a parent's counters within which those of an ended child have to appear.
const MAX_READINGS: u8 = 2;
/// A longer chain of parents is a cycle.
const MAX_ANCESTORS: usize = 64;
/// The process that inherits orphans.
const INIT_PID: u32 = 1;
/// Names of programs in one line at most.
const MAX_PROGRAMS: usize = 8;
/// Ended children that transferred fewer bytes, none of them from or to devices, are not shown: each
/// command of a shell reads some libraries.
const MIN_SHOWN_BYTES: u64 = 256 * 1024;

/// What ended children have done since the first sample, and those whose counters have not yet appeared in
/// those of their parents.
#[derive(Debug, Default)]
pub struct EndedChildren {
    accumulated: HashMap<ProcessKey, ProcessIo>,
    /// The counters that a parent whose own I/O is not known will get, each with the number of readings
    /// without them.
    pending: HashMap<ProcessKey, Vec<(ProcessIo, u8)>>,
}

/// Ended children of one process in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedIo {
    /// What they did since they were last sampled.
    pub io: ProcessIo,
    /// The same since the first sample.
    pub accumulated: ProcessIo,
    /// Time between the samples.
    pub elapsed: Duration,
    /// Their names with their number, most bytes first.
    pub programs: Vec<EndedProgram>,
}

/// What ended children did in an interval, by the process id of their parents.
#[derive(Debug, Default)]
pub struct EndedInInterval {
    /// Their I/O that no sample contains.
    pub unseen: HashMap<u32, EndedIo>,
    /// I/O to be taken off a parent's own because it was shown for its children.
    pub counted_twice: HashMap<u32, ProcessIo>,
}

impl EndedInInterval {
    /// What a process itself did, without what was shown for its children already, and the time that it took.
    #[must_use]
    pub fn own_io(&self, pair: &ProcessPair<'_>) -> Option<(ProcessIo, Duration)> {
        let (io, elapsed) = pair.io_delta()?;
        let twice = self.counted_twice.get(&pair.current.identity.pid);
        Some((twice.map_or(io, |twice| io.saturating_sub(twice)), elapsed))
    }
}

/// Children of one process: their I/O, and by name their number and bytes.
type Children = (ProcessIo, HashMap<Vec<u8>, (u64, u64)>);

impl EndedChildren {
    /// Records the processes that have ended in an interval.
    pub fn update(&mut self, interval: &SampleInterval<'_>) -> EndedInInterval {
        let mut found = EndedInInterval::default();
        let Some((previous, seconds)) = interval.previous.zip(interval.seconds()) else {
            return found;
        };
        let elapsed = Duration::from_secs_f64(seconds);
        let ended = Ended::new(interval, previous);
        for (parent, (io, programs)) in ended.children() {
            if !is_shown(&io) {
                continue;
            }
            let accumulated = self.accumulated.entry(parent).or_default();
            *accumulated = accumulated.saturating_add(&io);
            let ended = EndedIo {
                io,
                accumulated: *accumulated,
                elapsed,
                programs: most_bytes_first(programs),
            };
            found.unseen.insert(parent.0, ended);
        }
        for process in ended.gone() {
            self.accumulated.remove(&process.identity.key());
        }
        for (parent, io) in ended.added_to_parents() {
            self.pending.entry(parent).or_default().push((io, 0));
        }
        self.take_off_shown(interval, &mut found);
        found
    }

    /// Finds pending children in the counters of their parents, and drops those that do not appear there:
    /// their parents ignore them (`SIG_IGN` for SIGCHLD), or have ended too.
    fn take_off_shown(&mut self, interval: &SampleInterval<'_>, found: &mut EndedInInterval) {
        self.pending.retain(|(pid, start), children| {
            let is_parent = |pair: &&ProcessPair<'_>| pair.current.identity.key() == (*pid, *start);
            let Some(pair) = pair_of(interval, *pid).filter(is_parent) else {
                return false;
            };
            let total = pair
                .io_delta()
                .map_or_else(ProcessIo::default, |(io, _)| io);
            let mut rest = total;
            children.retain_mut(|(io, readings)| match rest.combine(io, u64::checked_sub) {
                Some(without) => {
                    rest = without;
                    false
                }
                None => {
                    *readings += u8::from(pair.was_read_again());
                    *readings < MAX_READINGS
                }
            });
            let twice = total.saturating_sub(&rest);
            if twice != ProcessIo::default() {
                found.counted_twice.insert(*pid, twice);
            }
            !children.is_empty()
        });
    }
}

fn most_bytes_first(programs: HashMap<Vec<u8>, (u64, u64)>) -> Vec<EndedProgram> {
    let mut programs: Vec<_> = programs.into_iter().collect();
    programs.sort_by(|(name, (_, bytes)), (other, (_, more))| {
        more.cmp(bytes).then_with(|| name.cmp(other))
    });
    programs.truncate(MAX_PROGRAMS);
    let named = |(name, (count, _)): (Vec<u8>, (u64, u64))| EndedProgram {
        name: SafeText::from_bytes(&name),
        count,
    };
    programs.into_iter().map(named).collect()
}

fn is_shown(io: &ProcessIo) -> bool {
    io.read_bytes > 0
        || io.write_bytes > io.cancelled_write_bytes
        || io.rchar.saturating_add(io.wchar) >= MIN_SHOWN_BYTES
}

fn pair_of<'i, 's>(interval: &'i SampleInterval<'s>, pid: u32) -> Option<&'i ProcessPair<'s>> {
    let pairs = &interval.process_pairs;
    let found = pairs.binary_search_by_key(&pid, |pair| pair.current.identity.pid);
    pairs.get(found.ok()?)
}

/// The processes that have ended in an interval.
struct Ended<'s> {
    previous: &'s SystemSample,
    current: &'s SystemSample,
    records: BTreeMap<u32, &'s ExitRecord>,
}

impl<'s> Ended<'s> {
    fn new(interval: &SampleInterval<'s>, previous: &'s SystemSample) -> Self {
        let records = interval.current.exit_records.iter();
        Self {
            previous,
            current: interval.current,
            records: records.map(|record| (record.pid, record)).collect(),
        }
    }

    /// Those that are in the earlier sample.
    fn gone(&self) -> impl Iterator<Item = &'s ProcessSample> {
        let is_gone = |process: &&ProcessSample| {
            let key = process.identity.key();
            self.current.process_with_key(key).is_none()
        };
        self.previous.processes.iter().filter(is_gone)
    }

    /// Those with a record, by the process that they were children of.
    fn children(&self) -> HashMap<ProcessKey, Children> {
        let mut children: HashMap<ProcessKey, Children> = HashMap::new();
        for record in self.records.values() {
            let Some(parent) = self.reaper(record.parent_pid) else {
                continue;
            };
            let (sum, programs) = children.entry(parent.identity.key()).or_default();
            *sum = sum.saturating_add(&record.io);
            let (count, bytes) = programs.entry(record.name.clone()).or_default();
            *count += 1;
            let moved = record.io.rchar.saturating_add(record.io.wchar);
            *bytes = bytes.saturating_add(moved.max(record.io.read_bytes));
        }
        children
    }

    /// The counters that are added to those of a parent whose own I/O is not known.
    fn added_to_parents(&self) -> Vec<(ProcessKey, ProcessIo)> {
        let mut ended: BTreeMap<u32, (u32, ProcessIo)> = BTreeMap::new();
        for process in self.gone() {
            let io = process.io.value().unwrap_or_default();
            ended.insert(process.identity.pid, (process.identity.parent_pid, io));
        }
        for (pid, record) in &self.records {
            let (_, io) = ended
                .entry(*pid)
                .or_insert((record.parent_pid, ProcessIo::default()));
            *io = io.saturating_add(&record.io);
        }
        let added = ended
            .into_values()
            .filter(|(_, io)| *io != ProcessIo::default());
        added
            .filter_map(|(parent, io)| {
                let parent = self
                    .reaper(parent)
                    .filter(|parent| parent.own_io.is_none())?;
                Some((parent.identity.key(), io))
            })
            .collect()
    }

    /// The process that an ended one was added to: the nearest ancestor that has not ended, from its
    /// parent on, or else init, which inherits orphans.
    fn reaper(&self, mut parent: u32) -> Option<&'s ProcessSample> {
        for _ in 0..MAX_ANCESTORS {
            let sampled = self
                .previous
                .process(parent)
                .map(|process| &process.identity);
            let alive = self.current.process(parent).filter(|process| {
                sampled.is_none_or(|sampled| sampled.key() == process.identity.key())
            });
            if alive.is_some() {
                return alive;
            }
            parent = match (sampled, self.records.get(&parent)) {
                (Some(sampled), _) => sampled.parent_pid,
                (None, Some(record)) => record.parent_pid,
                (None, None) => break,
            };
        }
        self.current.process(INIT_PID)
    }
}

#[cfg(test)]
mod tests;
