//! Two consecutive samples, and the I/O of each process between them.

use std::time::Duration;

use crate::probe::SystemSample;
use crate::probe::sample::{OpenFile, ProcessIo, ProcessSample};

/// A process that began this shortly before the previous sample may be missing in it.
pub const CLOCK_RESOLUTION: Duration = Duration::from_millis(10);

/// Two consecutive samples; the first sample has no predecessor.
#[derive(Debug)]
pub struct SampleInterval<'s> {
    /// The earlier one.
    pub previous: Option<&'s SystemSample>,
    /// The later one.
    pub current: &'s SystemSample,
    /// Processes of the later sample, each paired with itself in the earlier one.
    pub process_pairs: Vec<ProcessPair<'s>>,
}

/// A process in a sample, and the same process in the previous sample.
#[derive(Debug, Clone, Copy)]
pub struct ProcessPair<'s> {
    /// Its state in the later sample.
    pub current: &'s ProcessSample,
    /// Its state in the earlier sample; `None` where it was missing or its id belonged to another
    /// process.
    pub previous: Option<&'s ProcessSample>,
    /// Time of the previous sample, and the time since then; `None` without one.
    previous_sample_age: Option<(Duration, Duration)>,
}

impl<'s> SampleInterval<'s> {
    /// Pairs the processes of two samples; both are sorted by process id.
    #[must_use]
    pub fn new(before: Option<&'s SystemSample>, now: &'s SystemSample) -> Self {
        let span = before.and_then(|before| Some((before.boot_time, elapsed(before, now)?)));
        let mut earlier = before.map_or(&[][..], |before| &before.processes).iter();
        let mut next = earlier.next();
        let pair = |now: &'s ProcessSample| {
            let wanted = &now.identity;
            while next.is_some_and(|process| process.identity.pid < wanted.pid) {
                next = earlier.next();
            }
            let same = |process: &&ProcessSample| process.identity.key() == wanted.key();
            ProcessPair {
                current: now,
                previous: next.filter(same),
                previous_sample_age: span,
            }
        };
        Self {
            previous: before,
            current: now,
            process_pairs: now.processes.iter().map(pair).collect(),
        }
    }

    /// Seconds between the samples; `None` without an earlier one, or when no time passed.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let elapsed = elapsed(self.previous?, self.current)?;
        Some(elapsed.as_secs_f64())
    }
}

/// Time between two samples; `None` when none passed.
fn elapsed(before: &SystemSample, now: &SystemSample) -> Option<Duration> {
    let elapsed = now.boot_time.checked_sub(before.boot_time)?;
    Some(elapsed).filter(|elapsed| !elapsed.is_zero())
}

impl<'s> ProcessPair<'s> {
    /// I/O of the process between two readings of its counters, and the time between them: without
    /// that of its ended children, where these can be told apart.
    ///
    /// The counters of a process that has been idle for a while are not read for every sample. In
    /// the samples between, it counts as idle, and its I/O is spread over the time since the
    /// previous reading.
    #[must_use]
    pub fn io_delta(&self) -> Option<(ProcessIo, Duration)> {
        let (since, _) = self.previous_sample_age?;
        let now = self.current;
        let io = match self.previous {
            Some(before) => match before.own_io.zip(now.own_io) {
                Some((before, now)) => io_difference(&before, &now)?,
                None => io_difference(&before.io.value()?, &now.io.value()?)?,
            },
            None if now.identity.started + CLOCK_RESOLUTION >= since => {
                now.own_io.or(now.io.value())?
            }
            None => return None,
        };
        Some((io, self.time_between_readings()?))
    }

    /// Whether [`io_delta`](Self::io_delta) contains the I/O of children that have ended.
    #[must_use]
    pub fn includes_ended_children(&self) -> bool {
        let reaped_before = self.previous.map_or(0, |before| before.reaped_faults);
        self.current.own_io.is_none() && self.current.reaped_faults != reaped_before
    }

    /// Time between the samples; `None` without an earlier one.
    #[must_use]
    pub fn sample_interval(&self) -> Option<Duration> {
        self.previous_sample_age.map(|(_, elapsed)| elapsed)
    }

    /// Whether its counters were read again.
    #[must_use]
    pub fn was_read_again(&self) -> bool {
        self.previous
            .is_none_or(|earlier| earlier.read_at != self.current.read_at)
    }

    /// Fraction of the time, 0 to 1, by which a time counter rose. Several threads may wait at
    /// once, and a long wait is counted when it ends, so the fraction is limited to 1.
    #[must_use]
    pub fn time_fraction(&self, total: fn(&ProcessSample) -> Option<Duration>) -> Option<f64> {
        let earlier = total(self.previous?)?;
        let waited = total(self.current)?.checked_sub(earlier)?.as_secs_f64();
        Some((waited / self.time_between_readings()?.as_secs_f64()).min(1.0))
    }

    /// The same open file in the earlier sample.
    #[must_use]
    pub fn previous_file(&self, file: &OpenFile) -> Option<&'s OpenFile> {
        open_file(self.previous?, file.descriptor, file.inode)
    }

    /// Time between the readings of the process's counters, or between the samples where they were
    /// not read again.
    fn time_between_readings(&self) -> Option<Duration> {
        let (_, samples) = self.previous_sample_age?;
        let readings = self.previous.and_then(|earlier| {
            let time = self.current.read_at.checked_sub(earlier.read_at)?;
            Some(time).filter(|time| !time.is_zero())
        });
        Some(readings.unwrap_or(samples))
    }
}

/// I/O between two readings; `None` when a counter went backwards.
pub fn io_difference(before: &ProcessIo, now: &ProcessIo) -> Option<ProcessIo> {
    now.combine(before, u64::checked_sub)
}

/// The file at a descriptor of a process, if it is the expected one.
#[must_use]
pub fn open_file(
    process: &ProcessSample,
    descriptor: u32,
    inode: ((u32, u32), u64),
) -> Option<&OpenFile> {
    let found = process
        .files
        .binary_search_by_key(&descriptor, |file| file.descriptor);
    process
        .files
        .get(found.ok()?)
        .filter(|file| file.inode == inode)
}
