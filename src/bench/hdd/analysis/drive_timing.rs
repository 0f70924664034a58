//! Prerequisites of every seek benchmark: the revolution and the command overhead.

use serde_json::Value;

use crate::bench::BenchError;
use crate::bench::hdd::analysis::checks::COMMAND_OVERHEAD_UNKNOWN;
use crate::bench::hdd::analysis::command_overhead::CommandOverhead;
use crate::bench::hdd::analysis::layout::SectorAngle;
use crate::bench::hdd::analysis::seek_prober::{SeekProber, TimedRead};
use crate::bench::hdd::analysis::{command_overhead, rotation_estimate};
use crate::stats::general::student::NORMAL_975;
use crate::stats::rotation::circular::wrap_turns;

/// Bytes of the sectors in which tracks are counted.
pub const SECTOR_BYTES: f64 = 512.0;

/// Timing of a drive's rotation and electronics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveTiming {
    /// Time of one revolution in seconds.
    pub revolution: f64,
    /// Command overhead.
    pub command_overhead: CommandOverhead,
    /// Increase of the wake-up latency per e-fold of waiting time, in seconds.
    pub wakeup_latency: f64,
    /// Standard error of `wakeup_latency`.
    pub wakeup_latency_error: f64,
}

impl DriveTiming {
    /// Measures revolution and command overhead; `None`, with a check that explains why, if nothing
    /// rotates. `share` is the fraction of the whole benchmark that this represents.
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
            prober.context.set_check(COMMAND_OVERHEAD_UNKNOWN.found(
                "the second of two reads of the same block took a whole revolution: no cache served it, \
                 and the command overhead could not be measured",
                "seek times include the command overhead, usually 0.1 to 0.3 ms",
                Value::Null,
            ));
        }
        Ok(Some(Self {
            revolution: found.revolution_seconds(),
            command_overhead: command,
            wakeup_latency: found.wakeup_latency,
            wakeup_latency_error: found.wakeup_latency_error,
        }))
    }

    /// The samples of those reads that the medium itself answered.
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

    /// Repeats every eighth address if the drive's cache answers a repeated read: that read takes
    /// the command overhead only, under the same conditions as the seeks around it.
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

    /// Reads whose start position is known because the medium answered both this read and the
    /// previous one. Each with its predecessor.
    pub fn seeks_between(&self, probes: &[TimedRead]) -> Vec<(TimedRead, TimedRead)> {
        let cached = |probe: &TimedRead| self.command_overhead.is_cached(probe.response());
        // Of two consecutive reads of a block, the first one determines the actuator position.
        let mut first = probes.to_vec();
        first.dedup_by_key(|probe| probe.address);
        first
            .windows(2)
            .filter(|two| !cached(&two[0]) && !cached(&two[1]))
            .map(|two| (two[0], two[1]))
            .collect()
    }

    /// The part of a latency in seconds that command and host add to the mechanical delays.
    /// The command overhead is measured on fast cache hits; after a long wait the host itself takes
    /// longer to wake up.
    #[must_use]
    pub fn fixed_overhead(&self, response: f64) -> f64 {
        let time = self.command_overhead.median_seconds;
        if time <= 0.0 || response <= time {
            return time;
        }
        time + self.wakeup_latency * (response / time).ln()
    }

    /// Error of [`Self::fixed_overhead`] in seconds: the spread of command overheads, and the
    /// wake-up latency, which is as uncertain as it is long.
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

    /// The same timing with the command overhead of these repeated reads, made between the seeks;
    /// unchanged if the drive's cache does not answer them.
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

    /// Passage time of a block under the head in seconds, for a track of this many sectors.
    #[must_use]
    pub fn block_passage_time(&self, block: u64, sectors_per_track: f64) -> f64 {
        self.revolution * block as f64 / SECTOR_BYTES / sectors_per_track
    }
}
