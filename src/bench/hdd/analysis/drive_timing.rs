//! Prerequisites of every seek benchmark: the revolution and the command overhead.

use serde_json::Value;

use super::checks::COMMAND_OVERHEAD_UNKNOWN;
use super::layout::SectorAngle;
use super::prober::{Prober, SECTOR_BYTES, TimedRead};
use super::rotation_estimate;
use crate::bench::{BenchError, RunContext};
use crate::stats::general::robust;
use crate::stats::general::student::NORMAL_975;
use crate::stats::rotation::circular::wrap_turns;

/// Time of a command that the drive's cache answers: without mechanical delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandOverhead {
    /// Median in seconds.
    pub median_seconds: f64,
    /// Spread (median absolute deviation) in seconds.
    pub spread: f64,
}

impl CommandOverhead {
    /// Command overhead from latencies of repeated reads, all in seconds. The drive's cache answers
    /// the second read of a block immediately. Without a cache it takes a whole revolution, and the
    /// overhead is unknown.
    pub fn from_repeats(again: &[f64], revolution: f64) -> Option<Self> {
        let mut fast = again.to_vec();
        fast.retain(|time| *time < 0.5 * revolution);
        let is_known = fast.len() >= 4 && 2 * fast.len() > again.len();
        let median = robust::median(fast.iter().copied()).filter(|_| is_known);
        median.map(|median_seconds| Self {
            median_seconds,
            spread: robust::median_absolute_deviation(&fast).unwrap_or(0.0),
        })
    }

    /// Whether a latency in seconds is that of a cache hit, without mechanical delay.
    fn is_cached(&self, response: f64) -> bool {
        response < 1.2 * self.median_seconds + 100e-6_f64.max(4.0 * self.spread).min(150e-6)
    }
}

/// Timing of a drive's rotation and electronics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveTiming {
    /// Time of one revolution in seconds.
    pub revolution: f64,
    /// Command overhead; `None` if the drive's cache does not answer a repeated read.
    pub command_overhead: Option<CommandOverhead>,
    /// Increase of the wake-up latency per e-fold of waiting time, in seconds.
    pub wakeup_latency: f64,
    /// Standard error of `wakeup_latency`.
    pub wakeup_latency_error: f64,
}

impl DriveTiming {
    /// The part of a latency in seconds that command and host add to the mechanical delays, and its
    /// error: the spread of command overheads, and the wake-up latency, which is as uncertain as it
    /// is long. The command overhead is measured on fast cache hits; after a long wait the host
    /// itself takes longer to wake up.
    pub fn fixed_overhead(&self, response: f64) -> (f64, f64) {
        let Some(command) = self.command_overhead else {
            return (0.0, 0.0);
        };
        let (time, spread) = (command.median_seconds, command.spread);
        if response <= time {
            return (time, spread);
        }
        let waiting = (response / time).ln();
        let waking = self.wakeup_latency * waiting;
        let error = NORMAL_975 * self.wakeup_latency_error * waiting;
        (time + waking, spread + waking.max(error))
    }

    /// The same timing with the command overhead of these repeated reads, made between the seeks;
    /// unchanged if the drive's cache does not answer them.
    pub fn with_measured_overhead(&self, again: &[f64]) -> Self {
        let found = CommandOverhead::from_repeats(again, self.revolution);
        Self {
            command_overhead: self.command_overhead.map(|known| found.unwrap_or(known)),
            ..*self
        }
    }

    /// Whether the medium itself answered a read.
    fn is_from_medium(&self, read: &TimedRead) -> bool {
        self.command_overhead
            .is_none_or(|command| !command.is_cached(read.response()))
    }

    /// Passage time of a block under the head in seconds, for a track of this many sectors.
    pub fn block_passage_time(&self, block: u64, sectors_per_track: f64) -> f64 {
        self.revolution * block as f64 / SECTOR_BYTES / sectors_per_track
    }
}

/// Reads after a seek, and the repeated reads between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeekBatch {
    /// Each read with its predecessor, where the medium answered both: only then is it known where
    /// the seek began.
    pub seeks: Vec<(TimedRead, TimedRead)>,
    /// Latencies of repeated reads in seconds.
    pub command_responses: Vec<f64>,
}

/// A drive that rotates, with its timing.
pub struct RotatingDrive<'b, 'a> {
    /// Reads from it.
    pub prober: Prober<'b, 'a>,
    /// Revolution and command overhead.
    pub timing: DriveTiming,
}

impl<'b, 'a> RotatingDrive<'b, 'a> {
    /// Measures revolution and command overhead; `None`, with a check that explains why, if nothing
    /// rotates.
    ///
    /// # Errors
    /// When the window does not hold one block, or the reads could not be started.
    pub fn find(bench: &'b mut RunContext<'a>) -> Result<Option<Self>, BenchError> {
        let mut prober = Prober::new(bench)?;
        let Some(found) = rotation_estimate::find_revolution(&mut prober)? else {
            return Ok(None);
        };
        let revolution = found.revolution_seconds();
        let command_overhead = measure_command_overhead(&mut prober, revolution)?;
        if command_overhead.is_none() && !prober.is_over() {
            prober.context.set_check(COMMAND_OVERHEAD_UNKNOWN.found(
                "the second of two reads of the same block took a whole revolution: no cache served it, \
                 and the command overhead could not be measured",
                "seek times include the command overhead, usually 0.1 to 0.3 ms",
                Value::Null,
            ));
        }
        prober.context.phase_finished();
        let timing = DriveTiming {
            revolution,
            command_overhead,
            wakeup_latency: found.wakeup_latency,
            wakeup_latency_error: found.wakeup_latency_error,
        };
        Ok(Some(Self { prober, timing }))
    }

    /// Number of batches of `reads` with seeks of about `seek` seconds within the time limit.
    pub fn batch_count(&self, reads: usize, seek: f64, without_limit: usize) -> usize {
        let one = reads as f64 * (0.5 * self.timing.revolution + seek);
        let limits = self.prober.remaining_limits();
        let left = limits.and_then(|limits| limits.duration);
        left.map_or(without_limit, |left| {
            (left.as_secs_f64() / one).ceil() as usize
        })
        .max(1)
    }

    /// The angles at which sectors end, of those reads that the medium itself answered.
    pub fn sector_angles(&self, reads: &[TimedRead]) -> Vec<SectorAngle> {
        let from_medium = reads.iter().filter(|read| self.timing.is_from_medium(read));
        let angle = |read: &TimedRead| SectorAngle {
            sector: read.address as f64 / SECTOR_BYTES,
            angle: wrap_turns(read.end / self.timing.revolution),
        };
        from_medium.map(angle).collect()
    }

    /// Reads at these addresses. If the drive's cache answers a repeated read, every eighth address is
    /// read again: that read takes the command overhead only, under the same conditions as the seeks
    /// around it.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn read_seeks(&mut self, phase: &str, addresses: &[u64]) -> Result<SeekBatch, BenchError> {
        const REPEAT_INTERVAL: usize = 8;
        let repeats = self.timing.command_overhead.is_some();
        let times = |index: usize| 1 + usize::from(repeats && index % REPEAT_INTERVAL == 7);
        let each = addresses.iter().enumerate();
        let order: Vec<u64> = each
            .flat_map(|(index, address)| std::iter::repeat_n(*address, times(index)))
            .collect();
        self.read_seeks_in_order(phase, &order)
    }

    /// Reads at these addresses, some of which are repeated.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn read_seeks_in_order(
        &mut self,
        phase: &str,
        addresses: &[u64],
    ) -> Result<SeekBatch, BenchError> {
        let mut reads = self.prober.read_addresses(phase, addresses)?;
        let command_responses = repeated_responses(&reads);
        // Of two consecutive reads of a block, the first one determines the actuator position.
        reads.dedup_by_key(|read| read.address);
        let from_medium = |two: &&[TimedRead]| {
            self.timing.is_from_medium(&two[0]) && self.timing.is_from_medium(&two[1])
        };
        let seeks = reads.windows(2).filter(from_medium);
        Ok(SeekBatch {
            seeks: seeks.map(|two| (two[0], two[1])).collect(),
            command_responses,
        })
    }
}

/// Reads blocks twice in a row.
fn measure_command_overhead(
    prober: &mut Prober<'_, '_>,
    revolution: f64,
) -> Result<Option<CommandOverhead>, BenchError> {
    const SAMPLED_ADDRESSES: usize = 24;
    let window = prober.window();
    let begin = prober.random_address(&window);
    // Nearby offsets: seek time is irrelevant here.
    let near = begin..(begin + (64 << 20)).min(window.end);
    let addresses: Vec<u64> = (0..SAMPLED_ADDRESSES)
        .flat_map(|_| [prober.random_address(&near); 2])
        .collect();
    let reads = prober.read_addresses("command overhead", &addresses)?;
    let again = repeated_responses(&reads);
    Ok(CommandOverhead::from_repeats(&again, revolution))
}

/// Latencies of the second read of each repeated pair.
fn repeated_responses(reads: &[TimedRead]) -> Vec<f64> {
    let again = reads
        .windows(2)
        .filter(|two| two[0].address == two[1].address);
    again.map(|two| two[1].response()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_overhead_is_found_from_cached_reads_only() {
        let command = CommandOverhead::from_repeats(&[0.2e-3; 10], 8e-3).unwrap();
        assert!((command.median_seconds - 0.2e-3).abs() < 1e-9);
        assert!(command.is_cached(0.25e-3) && !command.is_cached(0.5e-3));
        assert_eq!(CommandOverhead::from_repeats(&[8e-3; 10], 8e-3), None);
        assert_eq!(CommandOverhead::from_repeats(&[], 8e-3), None);
    }
}
