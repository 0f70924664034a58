//! What every test of seeks needs to know first: the revolution, and what a command costs.

use super::command::{self, Command};
use super::layout::Sample;
use super::{Probe, Prober, revolution};
use crate::bench::BenchError;
use crate::stats::circular::wrap;
use crate::stats::student::NORMAL_975;

/// Bytes of the sectors in which tracks are counted.
pub const SECTOR: f64 = 512.0;

/// What the drive's clock and its electronics do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clockwork {
    /// One revolution in seconds.
    pub revolution: f64,
    /// Time of a command.
    pub command: Command,
    /// How much later an answer is seen for each e-fold of waiting for it, in seconds.
    pub waking: f64,
    /// Standard error of `waking`.
    pub waking_error: f64,
}

impl Clockwork {
    /// Finds both; `None`, with a verdict that says why, where nothing rotates. `share` is the
    /// part of the whole test that this stands for.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn find(prober: &mut Prober<'_, '_>, share: f64) -> Result<Option<Self>, BenchError> {
        let Some(found) = revolution::find(prober, 0.85 * share)? else {
            return Ok(None);
        };
        let repeated = command::measure(prober, 0.15 * share, found.period())?;
        let command = match repeated.known {
            true => repeated,
            false => command::of_quick(&found.quick),
        };
        if !command.known && !prober.over() {
            prober.bench.verdict(command::unknown());
        }
        Ok(Some(Self {
            revolution: found.period(),
            command,
            waking: found.waking,
            waking_error: found.waking_error,
        }))
    }

    /// The samples of probes that the medium itself answered.
    #[must_use]
    pub fn samples(&self, probes: &[Probe]) -> Vec<Sample> {
        probes
            .iter()
            .filter(|probe| !self.command.is_cached(probe.response()))
            .map(|probe| Sample {
                sector: probe.address as f64 / SECTOR,
                angle: wrap(probe.end / self.revolution),
            })
            .collect()
    }

    /// Addresses of which every eighth is read twice in a row, where the drive's cache answers the second
    /// read: it costs the command alone, under the very conditions of the seeks around it.
    #[must_use]
    pub fn with_repeats(&self, addresses: &[u64]) -> Vec<u64> {
        const EVERY: usize = 8;
        let times = |index: usize| match self.command.repeats && index % EVERY == EVERY - 1 {
            true => 2,
            false => 1,
        };
        let each = addresses.iter().enumerate();
        each.flat_map(|(index, address)| std::iter::repeat_n(*address, times(index)))
            .collect()
    }

    /// The reads that began where the one before had left the arm: both were answered by the
    /// medium. Each with its predecessor.
    pub fn moves(&self, probes: &[Probe]) -> Vec<(Probe, Probe)> {
        let cached = |probe: &Probe| self.command.is_cached(probe.response());
        // Of a block that is read twice in a row the first read tells where the arm is.
        let mut first = probes.to_vec();
        first.dedup_by_key(|probe| probe.address);
        first
            .windows(2)
            .filter(|two| !cached(&two[0]) && !cached(&two[1]))
            .map(|two| (two[0], two[1]))
            .collect()
    }

    /// What of a response in seconds is the command's and the computer's, and neither the arm's nor
    /// the platter's. Commands are measured on quick answers of the cache; after a long wait the
    /// computer itself takes longer to wake up.
    #[must_use]
    pub fn electronics(&self, response: f64) -> f64 {
        let time = self.command.time;
        if time <= 0.0 || response <= time {
            return time;
        }
        time + self.waking * (response / time).ln()
    }

    /// How far [`Self::electronics`] may be off, in seconds: the spread of commands, and what the
    /// computer takes to wake up, which is as uncertain as it is long.
    #[must_use]
    pub fn electronics_error(&self, response: f64) -> f64 {
        let Command { time, spread, .. } = self.command;
        if time <= 0.0 || response <= time {
            return spread;
        }
        let waiting = (response / time).ln();
        spread + (self.waking * waiting).max(NORMAL_975 * self.waking_error * waiting)
    }

    /// The same with the command as these repeated reads show it, which were made between the seeks;
    /// unchanged where the drive's cache does not answer them.
    #[must_use]
    pub fn with_commands(&self, again: &[f64]) -> Self {
        let found = command::of(again, self.revolution);
        match self.command.repeats && found.known {
            true => Self {
                command: found,
                ..*self
            },
            false => *self,
        }
    }

    /// Seconds in which a block passes under the head on a track of so many sectors.
    #[must_use]
    pub fn passing(&self, block: u64, sectors_per_track: f64) -> f64 {
        self.revolution * block as f64 / SECTOR / sectors_per_track
    }
}
