//! What every test of seeks needs to know first: the revolution, and what a command costs.

use super::command_overhead;
use super::command_overhead::CommandOverhead;
use super::layout::SectorAngle;
use super::{SeekProber, TimedRead, rotation_estimate};
use crate::bench::BenchError;
use crate::stats::general::student::NORMAL_975;
use crate::stats::rotation::circular::wrap_turns;

/// Bytes of the sectors in which tracks are counted.
pub const SECTOR_BYTES: f64 = 512.0;

/// What the drive's clock and its electronics do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveTiming {
    /// One revolution in seconds.
    pub revolution: f64,
    /// Time of a command.
    pub command_overhead: CommandOverhead,
    /// How much later an answer is seen for each e-fold of waiting for it, in seconds.
    pub wakeup_latency: f64,
    /// Standard error of `waking`.
    pub wakeup_latency_error: f64,
}

impl DriveTiming {
    /// Finds both; `None`, with a verdict that says why, where nothing rotates. `share` is the
    /// part of the whole test that this stands for.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn measure(
        prober: &mut SeekProber<'_, '_>,
        share: f64,
    ) -> Result<Option<Self>, BenchError> {
        let Some(found) = rotation_estimate::find_revolution(prober, 0.85 * share)? else {
            return Ok(None);
        };
        let repeated = command_overhead::measure_command_overhead(
            prober,
            0.15 * share,
            found.revolution_seconds(),
        )?;
        let command = match repeated.is_known {
            true => repeated,
            false => command_overhead::overhead_of_fast_reads(&found.cached_responses),
        };
        if !command.is_known && !prober.is_over() {
            prober
                .context
                .set_verdict(command_overhead::command_overhead_unknown());
        }
        Ok(Some(Self {
            revolution: found.revolution_seconds(),
            command_overhead: command,
            wakeup_latency: found.wakeup_latency,
            wakeup_latency_error: found.wakeup_latency_error,
        }))
    }

    /// The samples of probes that the medium itself answered.
    #[must_use]
    pub fn sector_angles(&self, probes: &[TimedRead]) -> Vec<SectorAngle> {
        probes
            .iter()
            .filter(|probe| !self.command_overhead.is_cached(probe.response()))
            .map(|probe| SectorAngle {
                sector: probe.address as f64 / SECTOR_BYTES,
                angle: wrap_turns(probe.end / self.revolution),
            })
            .collect()
    }

    /// Addresses of which every eighth is read twice in a row, where the drive's cache answers the second
    /// read: it costs the command alone, under the very conditions of the seeks around it.
    #[must_use]
    pub fn insert_repeated_reads(&self, addresses: &[u64]) -> Vec<u64> {
        const REPEAT_INTERVAL: usize = 8;
        let times = |index: usize| match self.command_overhead.caches_last_read
            && index % REPEAT_INTERVAL == REPEAT_INTERVAL - 1
        {
            true => 2,
            false => 1,
        };
        let each = addresses.iter().enumerate();
        each.flat_map(|(index, address)| std::iter::repeat_n(*address, times(index)))
            .collect()
    }

    /// The reads that began where the one before had left the arm: both were answered by the
    /// medium. Each with its predecessor.
    pub fn seeks_between(&self, probes: &[TimedRead]) -> Vec<(TimedRead, TimedRead)> {
        let cached = |probe: &TimedRead| self.command_overhead.is_cached(probe.response());
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
    pub fn fixed_overhead(&self, response: f64) -> f64 {
        let time = self.command_overhead.median_seconds;
        if time <= 0.0 || response <= time {
            return time;
        }
        time + self.wakeup_latency * (response / time).ln()
    }

    /// How far [`Self::electronics`] may be off, in seconds: the spread of commands, and what the
    /// computer takes to wake up, which is as uncertain as it is long.
    #[must_use]
    pub fn fixed_overhead_error(&self, response: f64) -> f64 {
        let CommandOverhead {
            median_seconds: time,
            spread,
            ..
        } = self.command_overhead;
        if time <= 0.0 || response <= time {
            return spread;
        }
        let waiting = (response / time).ln();
        spread
            + (self.wakeup_latency * waiting).max(NORMAL_975 * self.wakeup_latency_error * waiting)
    }

    /// The same with the command as these repeated reads show it, which were made between the seeks;
    /// unchanged where the drive's cache does not answer them.
    #[must_use]
    pub fn with_measured_overhead(&self, again: &[f64]) -> Self {
        let found = command_overhead::overhead_of_repeats(again, self.revolution);
        match self.command_overhead.caches_last_read && found.is_known {
            true => Self {
                command_overhead: found,
                ..*self
            },
            false => *self,
        }
    }

    /// Seconds in which a block passes under the head on a track of so many sectors.
    #[must_use]
    pub fn block_passage_time(&self, block: u64, sectors_per_track: f64) -> f64 {
        self.revolution * block as f64 / SECTOR_BYTES / sectors_per_track
    }
}
