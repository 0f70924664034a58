//! A walk in jumps of one cylinder, up to a track more or less, towards the beginning of the drive:
//! against the direction in which drives read ahead, and always on tracks not read before.
//!
//! Where the drive's cache answers repeated reads, every block is read twice: the second time costs
//! the command alone, under the very conditions of the jump before it.

use super::command_overhead;
use super::command_overhead::CommandOverhead;
use super::drive_timing::{DriveTiming, SECTOR_BYTES};
use super::{SeekProber, TimedRead};
use crate::bench::BenchError;
use crate::stats::general::robust;
use crate::stats::rotation::circular::{ResultantVector, signed_turns, wrap_turns};

/// Jumps and commands are compared where a quarter of either is done: both are delayed at times,
/// hardly ever hastened, and not by the same.
pub const COMPARED_QUANTILE: f64 = 0.25;
/// Mean resultant length from which the jumps agree on where the blocks lie. One in eight passes a
/// track more or less than a cylinder has, and may lie on the other side of the platter.
const MIN_RESULTANT_LENGTH: f64 = 0.6;
/// An answer further than this from where most blocks lie, in revolutions, is an outlier.
const MAX_TURN_RESIDUAL: f64 = 0.1;
/// No later than this, in seconds, is an answer seen that only the computer delayed, and the least
/// and the multiple of their usual scatter (median absolute deviation) that is allowed for. A jump
/// that crosses one track more or less ends further away: by the skew, which hides a change of head.
const MAX_HOST_DELAY: f64 = 150e-6;
const MIN_HOST_DELAY: f64 = 20e-6;
const DELAY_DEVIATIONS: f64 = 8.0;
/// Repeated reads after a jump: another number each time, so that jumps begin at angles between
/// those of whole sectors too.
pub const MAX_REPEATS: u64 = 3;
/// By how many tracks a jump may be shorter or longer than [`Jumps::length`]. A jump of a whole
/// cylinder passes as many ends of tracks as the cylinder has, and exactly one of them is its own: the
/// arm moves by one cylinder. One that is longer or shorter by this much does so at least half the
/// time, and where its block lies tells whether it did.
const OFF_CYLINDER_TRACKS: f64 = 0.5;
/// Jumps no longer or shorter than this mostly pass as many tracks as a cylinder has.
const MAX_CYLINDER_EXCESS: f64 = 0.25;

/// Where most jumps end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpLine {
    /// [`Jump::turns`] of most.
    pub median_turns: f64,
    /// How far answers scatter around it, in seconds, that only the computer delayed.
    pub max_delay: f64,
}

/// Where jumps go and how long they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpPattern {
    /// Highest and lowest address.
    pub highest_address: u64,
    /// See `from`.
    pub lowest_address: u64,
    /// Sectors of a jump.
    pub jump_sectors: f64,
    /// Sectors of a track.
    pub track_sectors: f64,
}

/// One jump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekJump {
    /// Where it ended.
    pub address: u64,
    /// How long the read took, in seconds.
    pub response: f64,
    /// By how many tracks it was longer than a cylinder, -0.5 to 0.5.
    pub excess_tracks: f64,
    /// Revolutions from the end of the read before it to the end of this one, as if the jump had
    /// been one cylinder long: the same for all jumps, but for whole revolutions and noise.
    pub elapsed_turns: f64,
}

/// Jumps of one batch, and the commands between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JumpBatch {
    /// The jumps.
    pub jumps: Vec<SeekJump>,
    /// Response times of repeated reads, in seconds.
    pub command_responses: Vec<f64>,
}

/// A walk in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekWalk {
    jumps: JumpPattern,
    current_address: u64,
    /// Jumps of every length: their responses follow the platter's law.
    pub uniform_batches: Vec<JumpBatch>,
    /// Jumps aimed at the edge of the law, where a revolution is just missed or just caught.
    pub edge_batches: Vec<JumpBatch>,
}

/// The time in which the usual share ([`QUANTILE`]) of commands is done.
#[must_use]
pub fn command_quantile(times: &[f64]) -> Option<f64> {
    robust::quantile(
        &robust::sorted_finite(times.iter().copied()),
        COMPARED_QUANTILE,
    )
}

/// All jumps of some batches.
pub fn all_jumps(batches: &[JumpBatch]) -> impl Iterator<Item = &SeekJump> {
    batches.iter().flat_map(|batch| &batch.jumps)
}

impl SeekWalk {
    /// A walk that is still to begin.
    #[must_use]
    pub fn new(jumps: JumpPattern) -> Self {
        Self {
            jumps,
            current_address: jumps.highest_address,
            uniform_batches: Vec::new(),
            edge_batches: Vec::new(),
        }
    }

    /// All batches.
    pub fn batches(&self) -> impl Iterator<Item = &JumpBatch> {
        self.uniform_batches.iter().chain(&self.edge_batches)
    }

    /// Jumps of every length within a track.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn measure_uniform_jumps(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        clockwork: &DriveTiming,
        phase: (&str, f64),
        count: usize,
    ) -> Result<(), BenchError> {
        let more: Vec<(f64, usize)> = (0..count)
            .map(|_| {
                let repeats = self.repeats_before_jump(prober, clockwork);
                (prober.random.uniform() - OFF_CYLINDER_TRACKS, repeats)
            })
            .collect();
        let batch = self.measure_batch(prober, clockwork, phase, &more)?;
        self.uniform_batches.push(batch);
        Ok(())
    }

    /// Jumps aimed so that the block comes by about `edge` seconds after the request: some are
    /// caught at once and some a revolution later, which tells the edge exactly. Does nothing
    /// where the even jumps do not tell how to aim.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn measure_edge_jumps(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        clockwork: &DriveTiming,
        phase: (&str, f64),
        (edge, count): (f64, usize),
    ) -> Result<(), BenchError> {
        // Widely at first; then more closely, but not closer than answers of a busy computer lie.
        const INITIAL_SPREAD: f64 = 0.12;
        const MIN_SPREAD_SECONDS: f64 = 400e-6;
        let Some(line) = self.jump_line(clockwork.revolution) else {
            return Ok(());
        };
        let width = match self.edge_batches.len() {
            0 | 1 => INITIAL_SPREAD,
            _ => INITIAL_SPREAD.min(MIN_SPREAD_SECONDS / clockwork.revolution),
        };
        let command = self.command_overhead(clockwork).median_seconds;
        let more: Vec<(f64, usize)> = (0..count)
            .map(|_| {
                let repeats = self.repeats_before_jump(prober, clockwork);
                let before = repeats as f64 * command + edge;
                let aside = width * (prober.random.uniform() - 0.5);
                let more = line.median_turns - before / clockwork.revolution + aside;
                (
                    wrap_turns(more + OFF_CYLINDER_TRACKS) - OFF_CYLINDER_TRACKS,
                    repeats,
                )
            })
            .collect();
        let batch = self.measure_batch(prober, clockwork, phase, &more)?;
        self.edge_batches.push(batch);
        Ok(())
    }

    /// How often the block is read again before the next jump.
    fn repeats_before_jump(
        &self,
        prober: &mut SeekProber<'_, '_>,
        clockwork: &DriveTiming,
    ) -> usize {
        match clockwork.command_overhead.caches_last_read {
            true => 1 + prober.random.next_below(MAX_REPEATS) as usize,
            false => 0,
        }
    }

    /// Jumps that are so many tracks longer than a cylinder, each after so many repeated reads of the
    /// block before it.
    fn measure_batch(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        clockwork: &DriveTiming,
        phase: (&str, f64),
        more: &[(f64, usize)],
    ) -> Result<JumpBatch, BenchError> {
        let JumpPattern {
            highest_address: from,
            lowest_address: to,
            jump_sectors: length,
            track_sectors: track,
        } = self.jumps;
        let mut addresses = vec![prober.align_down(self.current_address)];
        for (more, repeats) in more {
            let here = prober.align_down(self.current_address);
            addresses.extend(std::iter::repeat_n(here, *repeats));
            let jump = ((length + more * track) * SECTOR_BYTES) as u64;
            self.current_address = match self.current_address.checked_sub(jump) {
                Some(next) if next >= to => next,
                // Once more, but on other tracks.
                _ => from - prober.random.next_below((length * SECTOR_BYTES) as u64),
            };
            addresses.push(prober.align_down(self.current_address));
        }
        let probes = prober.read_addresses(phase.0, phase.1, &addresses)?;
        Ok(self.split_batch(&probes, clockwork))
    }

    /// Tells jumps from repeated reads.
    fn split_batch(&self, probes: &[TimedRead], clockwork: &DriveTiming) -> JumpBatch {
        JumpBatch {
            jumps: clockwork
                .seeks_between(probes)
                .into_iter()
                .filter_map(|(before, after)| {
                    self.jump_between(before, after, clockwork.revolution)
                })
                .collect(),
            command_responses: command_overhead::repeated_reads(probes)
                .map(TimedRead::response)
                .collect(),
        }
    }

    /// The jump between two reads; `None` where the walk began anew.
    fn jump_between(
        &self,
        before: TimedRead,
        after: TimedRead,
        revolution: f64,
    ) -> Option<SeekJump> {
        let sectors = before.address.checked_sub(after.address)? as f64 / SECTOR_BYTES;
        let more = (sectors - self.jumps.jump_sectors) / self.jumps.track_sectors;
        (-0.6..0.6).contains(&more).then(|| SeekJump {
            address: after.address,
            response: after.response(),
            excess_tracks: more,
            elapsed_turns: (after.end - before.end) / revolution + more,
        })
    }

    /// The command as the repeated reads of the whole walk show it; as it was known before where
    /// there are none.
    #[must_use]
    pub fn command_overhead(&self, clockwork: &DriveTiming) -> CommandOverhead {
        let again: Vec<f64> = self
            .batches()
            .flat_map(|batch| batch.command_responses.iter().copied())
            .collect();
        if !clockwork.command_overhead.caches_last_read {
            return clockwork.command_overhead;
        }
        let found = command_overhead::overhead_of_repeats(&again, clockwork.revolution);
        match command_quantile(&again) {
            Some(time) if found.is_known => CommandOverhead {
                median_seconds: time,
                ..found
            },
            _ => clockwork.command_overhead,
        }
    }

    /// Share of the even jumps of nearly a whole cylinder that end where most of them do.
    #[must_use]
    pub fn fraction_on_line(&self, revolution: f64) -> f64 {
        let Some(line) = self.jump_line(revolution) else {
            return 0.0;
        };
        let whole: Vec<&SeekJump> = all_jumps(&self.uniform_batches)
            .filter(|jump| jump.is_about_one_cylinder())
            .collect();
        let on = whole
            .iter()
            .filter(|jump| jump.lies_on_line(line, revolution));
        on.count() as f64 / whole.len().max(1) as f64
    }

    /// Where the arm moved by one cylinder, as most of the jumps of nearly a whole cylinder agree on;
    /// `None` where they do not.
    #[must_use]
    pub fn jump_line(&self, revolution: f64) -> Option<JumpLine> {
        let even = all_jumps(&self.uniform_batches).filter(|jump| jump.is_about_one_cylinder());
        let aim: ResultantVector = even.map(|jump| jump.elapsed_turns).collect();
        if aim.mean_resultant_length() < MIN_RESULTANT_LENGTH {
            return None;
        }
        let near = |line: f64, width: f64| -> Vec<f64> {
            let jumps = self.batches().flat_map(|batch| &batch.jumps);
            let whole = jumps.filter(|jump| jump.is_about_one_cylinder());
            whole
                .map(|jump| signed_turns(jump.elapsed_turns - line))
                .filter(|off| off.abs() < width)
                .collect()
        };
        let closer = |line: f64, width: f64| {
            let off = robust::median(near(line, width))?;
            Some(wrap_turns(line + off))
        };
        let rough = closer(aim.mean_direction(), MAX_TURN_RESIDUAL)?;
        let turns = closer(rough, MAX_HOST_DELAY / revolution)?;
        let scatter = robust::median_absolute_deviation(&near(turns, MAX_HOST_DELAY / revolution))?;
        Some(JumpLine {
            median_turns: turns,
            max_delay: (DELAY_DEVIATIONS * scatter * revolution)
                .clamp(MIN_HOST_DELAY, MAX_HOST_DELAY),
        })
    }
}

impl SeekJump {
    /// Whether it was nearly one cylinder long.
    #[must_use]
    pub fn is_about_one_cylinder(&self) -> bool {
        self.excess_tracks.abs() < MAX_CYLINDER_EXCESS
    }

    /// Whether the block was where a jump of one cylinder finds it.
    #[must_use]
    pub fn lies_on_line(&self, line: JumpLine, revolution: f64) -> bool {
        (revolution * signed_turns(self.elapsed_turns - line.median_turns)).abs() < line.max_delay
    }

    /// The response as it would be had the answer been seen as early as most: how late it was shows
    /// in the angle. An answer that is early for its angle is right as it is: there the read before
    /// it was seen late.
    #[must_use]
    pub fn punctual(&self, line: Option<JumpLine>, revolution: f64) -> f64 {
        let late = line.map_or(0.0, |line| {
            revolution * signed_turns(self.elapsed_turns - line.median_turns)
        });
        if line.is_some_and(|line| (0.0..line.max_delay).contains(&late)) {
            self.response - late
        } else {
            self.response
        }
    }
}
