//! Two samples one after the other, and what each process did between them.

use std::time::Duration;

use crate::probe::Sample;
use crate::probe::sample::{OpenFile, Process, ProcessIo};

/// A process that began so shortly before the sample before may have been missed by it.
pub(super) const CLOCK_GRAIN: Duration = Duration::from_millis(10);

/// Two samples one after the other; of the first of all there is none before it.
#[derive(Debug)]
pub struct Interval<'s> {
    /// The earlier one.
    pub before: Option<&'s Sample>,
    /// The later one.
    pub now: &'s Sample,
    /// Processes of the later one, each with itself in the earlier one.
    pub pairs: Vec<Pair<'s>>,
}

/// A process in a sample, and the same one in the sample before.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'s> {
    /// As it is now.
    pub now: &'s Process,
    /// As it was; `None` where it was not there, or was another process of the same number.
    pub earlier: Option<&'s Process>,
    /// When the sample before was taken, and how long ago that is; `None` without one.
    span: Option<(Duration, Duration)>,
}

impl<'s> Interval<'s> {
    /// Pairs the processes of two samples; both are sorted by process id.
    #[must_use]
    pub fn new(before: Option<&'s Sample>, now: &'s Sample) -> Self {
        let span = before.and_then(|before| {
            let elapsed = now.at.checked_sub(before.at)?;
            Some((before.at, elapsed)).filter(|_| !elapsed.is_zero())
        });
        let mut earlier = before.map_or(&[][..], |before| &before.processes).iter();
        let mut next = earlier.next();
        let pair = |now: &'s Process| {
            let wanted = &now.identity;
            while next.is_some_and(|process| process.identity.pid < wanted.pid) {
                next = earlier.next();
            }
            let same = |process: &&Process| {
                process.identity.pid == wanted.pid
                    && process.identity.start_ticks == wanted.start_ticks
            };
            Pair {
                now,
                earlier: next.filter(same),
                span,
            }
        };
        Self {
            before,
            now,
            pairs: now.processes.iter().map(pair).collect(),
        }
    }

    /// Seconds between the samples; `None` without an earlier one, or when no time went by.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let elapsed = self.now.at.checked_sub(self.before?.at)?.as_secs_f64();
        (elapsed > 0.0).then_some(elapsed)
    }
}

impl<'s> Pair<'s> {
    /// What the process moved between two readings of its counters, and the time between them.
    ///
    /// The counters of a process that has moved nothing for a while are not read for every sample.
    /// In the samples between it counts as quiet still, and what it did meanwhile is spread over
    /// the time since the reading before.
    #[must_use]
    pub fn moved(&self) -> Option<(ProcessIo, Duration)> {
        let (since, _) = self.span?;
        let after = self.now.io.value()?;
        let before = match self.earlier {
            Some(earlier) => earlier.io.value()?,
            None if self.now.identity.started + CLOCK_GRAIN >= since => ProcessIo::default(),
            None => return None,
        };
        Some((difference(&before, &after)?, self.between_readings()?))
    }

    /// Share of the time, 0 to 1, by which a count of time rose. Several threads may wait at once,
    /// and a long wait is counted when it ends: 1 is the most.
    #[must_use]
    pub fn share(&self, total: fn(&Process) -> Option<Duration>) -> Option<f64> {
        let earlier = total(self.earlier?)?;
        let waited = total(self.now)?.checked_sub(earlier)?.as_secs_f64();
        Some((waited / self.between_readings()?.as_secs_f64()).min(1.0))
    }

    /// A file that it has open as it was before.
    #[must_use]
    pub fn file_before(&self, file: &OpenFile) -> Option<&'s OpenFile> {
        open_file(self.earlier?, file.descriptor, file.inode)
    }

    /// Time between the readings of the process's counters; that between the samples where they
    /// were not read anew.
    fn between_readings(&self) -> Option<Duration> {
        let (_, samples) = self.span?;
        let readings = self.earlier.and_then(|earlier| {
            let time = self.now.read_at.checked_sub(earlier.read_at)?;
            Some(time).filter(|time| !time.is_zero())
        });
        Some(readings.unwrap_or(samples))
    }
}

/// What moved between two readings; `None` when a counter went backwards.
pub(super) fn difference(before: &ProcessIo, now: &ProcessIo) -> Option<ProcessIo> {
    Some(ProcessIo {
        asked_read: now.asked_read.checked_sub(before.asked_read)?,
        asked_write: now.asked_write.checked_sub(before.asked_write)?,
        read_calls: now.read_calls.checked_sub(before.read_calls)?,
        write_calls: now.write_calls.checked_sub(before.write_calls)?,
        read: now.read.checked_sub(before.read)?,
        written: now.written.checked_sub(before.written)?,
        cancelled: now.cancelled.checked_sub(before.cancelled)?,
    })
}

/// The file that a process has open under a descriptor, if it is the one expected.
#[must_use]
pub fn open_file(
    process: &Process,
    descriptor: u32,
    inode: ((u32, u32), u64),
) -> Option<&OpenFile> {
    let found = process
        .files
        .binary_search_by_key(&descriptor, |file| file.descriptor)
        .ok()?;
    let file = &process.files[found];
    (file.inode == inode).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::probe::sample::{Identity, Known};

    fn process(pid: u32, start_ticks: u64, read: u64, read_at: u64) -> Process {
        Process {
            identity: Arc::new(Identity {
                pid,
                start_ticks,
                ..Identity::default()
            }),
            io: Known::Is(ProcessIo {
                read,
                ..ProcessIo::default()
            }),
            read_at: Duration::from_secs(read_at),
            ..Process::default()
        }
    }

    fn sample(second: u64, processes: Vec<Process>) -> Sample {
        Sample {
            at: Duration::from_secs(second),
            processes,
            ..Sample::default()
        }
    }

    #[test]
    fn processes_are_paired_by_number_and_beginning() {
        let before = sample(
            10,
            vec![
                process(1, 1, 5, 10),
                process(2, 2, 5, 6),
                process(4, 4, 5, 10),
                process(9, 9, 5, 10),
            ],
        );
        let now = sample(
            12,
            vec![
                process(2, 2, 65, 12),
                process(3, 3, 5, 12),
                process(4, 40, 5, 12),
                process(9, 9, 4, 12),
            ],
        );
        let interval = Interval::new(Some(&before), &now);
        let read: Vec<_> = interval
            .pairs
            .iter()
            .map(|pair| pair.moved().map(|(io, time)| (io.read, time.as_secs())))
            .collect();
        // Six seconds between readings; not there before; another process; counters that fell.
        assert_eq!(read, [Some((60, 6)), None, None, None]);
        assert!(interval.pairs[3].earlier.is_some());
        assert_eq!(interval.seconds(), Some(2.0));
    }

    #[test]
    fn the_first_sample_has_no_intervals() {
        let now = sample(1, vec![process(1, 1, 5, 1)]);
        let interval = Interval::new(None, &now);
        assert_eq!(interval.pairs[0].moved(), None);
        assert_eq!(interval.seconds(), None);
        let same = Interval::new(Some(&now), &now);
        assert_eq!(same.pairs[0].moved(), None);
    }
}
