//! A walk in jumps of one cylinder, plus or minus up to a track, towards the beginning of the
//! drive: against the drive's read-ahead, and always on unread tracks.
//!
//! If the drive's cache answers repeated reads, the walk reads every block twice: the second read
//! takes the command overhead only, under the same conditions as the jump before it.

use rand::{Rng as _, RngExt as _};

use super::drive_timing::{CommandOverhead, DriveTiming, RotatingDrive, SeekBatch};
use super::prober::{SECTOR_BYTES, TimedRead};
use crate::bench::BenchError;
use crate::stats::general::robust;
use crate::stats::random::scale_to_bound;
use crate::stats::rotation::circular::{ResultantVector, signed_turns, wrap_turns};

/// Jumps and commands are compared at their lower quartile: both are sometimes late, hardly ever
/// early, and not by the same amount.
const COMPARED_QUANTILE: f64 = 0.25;
/// Minimum mean resultant length at which the jumps agree on the angle of the blocks. One in eight
/// crosses a track more or less than a cylinder has, and may lie on the opposite side of the
/// platter.
const MIN_RESULTANT_LENGTH: f64 = 0.6;
/// Residual angle in revolutions beyond which a response is an outlier.
const MAX_TURN_RESIDUAL: f64 = 0.1;
/// Bounds for a delay caused by the host alone: maximum and minimum in seconds, and the multiple of
/// the usual scatter (median absolute deviation). A jump that crosses one track more or less ends
/// further away: by the skew, which hides a head switch.
const MAX_HOST_DELAY: f64 = 150e-6;
const MIN_HOST_DELAY: f64 = 20e-6;
const DELAY_DEVIATIONS: f64 = 8.0;
/// Maximum repeated reads after a jump. Their number varies, so that jumps also begin at angles
/// between those of whole sectors.
pub const MAX_REPEATS: u64 = 3;
/// Deviation of a jump's length from [`JumpPattern::jump_sectors`] in tracks. A jump of a whole
/// cylinder crosses as many track boundaries as the cylinder has, exactly one of which is a
/// cylinder boundary: the actuator moves by one cylinder. A jump that is longer or shorter by this much
/// does so at least half the time, and the angle of its block shows whether it did.
const OFF_CYLINDER_TRACKS: f64 = 0.5;
/// Jumps up to this much longer or shorter mostly cross as many tracks as a cylinder has.
const MAX_CYLINDER_EXCESS: f64 = 0.25;

/// Angle at which most jumps end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpLine {
    /// Median of [`SeekJump::elapsed_turns`].
    pub median_turns: f64,
    /// Scatter of host-delayed responses around the median, in seconds.
    pub max_delay: f64,
}

/// Address range and length of the jumps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JumpPattern {
    /// Highest address.
    pub highest_address: u64,
    /// Lowest address.
    pub lowest_address: u64,
    /// Length of a jump in sectors.
    pub jump_sectors: f64,
    /// Sectors per track.
    pub track_sectors: f64,
}

/// One jump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekJump {
    /// Address at which it ended.
    pub address: u64,
    /// Latency of the read in seconds.
    pub response: f64,
    /// Excess length over a cylinder in tracks, -0.5 to 0.5.
    pub excess_tracks: f64,
    /// Revolutions from the end of the previous read to the end of this one, corrected to a jump of
    /// one cylinder: equal for all jumps except for whole revolutions and noise.
    pub elapsed_turns: f64,
}

/// Jumps of one batch, and the repeated reads between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JumpBatch {
    /// The jumps.
    pub jumps: Vec<SeekJump>,
    /// Latencies of repeated reads in seconds.
    pub command_responses: Vec<f64>,
}

/// A walk in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekWalk {
    jumps: JumpPattern,
    current_address: u64,
    /// Jumps of all lengths, whose responses follow the distribution of the rotational delay.
    pub uniform_batches: Vec<JumpBatch>,
    /// Jumps aimed at the edge of the distribution, where a revolution is just missed or just
    /// caught.
    pub edge_batches: Vec<JumpBatch>,
}

/// The compared quantile of the command responses in seconds.
pub fn command_quantile(times: &[f64]) -> Option<f64> {
    let ascending = robust::sorted_finite(times.iter().copied());
    robust::quantile(&ascending, COMPARED_QUANTILE)
}

/// The jumps of these batches.
pub fn all_jumps(batches: &[JumpBatch]) -> impl Iterator<Item = &SeekJump> {
    batches.iter().flat_map(|batch| &batch.jumps)
}

impl SeekWalk {
    /// A walk without any jumps yet.
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

    /// Makes jumps of all lengths within a track.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn measure_uniform_jumps(
        &mut self,
        drive: &mut RotatingDrive<'_, '_>,
        phase: &str,
        count: usize,
    ) -> Result<(), BenchError> {
        let lengths = (0..count).map(|_| {
            let repeats = random_repeats(drive);
            let excess = drive.prober.random.random::<f64>() - OFF_CYLINDER_TRACKS;
            (excess, repeats)
        });
        let lengths: Vec<(f64, usize)> = lengths.collect();
        let batch = self.measure_batch(drive, phase, &lengths)?;
        self.uniform_batches.push(batch);
        Ok(())
    }

    /// Makes jumps aimed so that the block arrives about `edge` seconds after the request: some are
    /// caught at once and some a revolution later, which determines the edge exactly. Makes uniform
    /// jumps if these do not permit aiming.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn measure_edge_jumps(
        &mut self,
        drive: &mut RotatingDrive<'_, '_>,
        phase: &str,
        count: usize,
        edge: f64,
    ) -> Result<(), BenchError> {
        // Wide at first, then narrower, but not narrower than the scatter on a busy computer.
        const INITIAL_SPREAD: f64 = 0.12;
        const MIN_SPREAD_SECONDS: f64 = 400e-6;
        let revolution = drive.timing.revolution;
        let Some(line) = self.jump_line(revolution) else {
            return self.measure_uniform_jumps(drive, phase, count);
        };
        let width = match self.edge_batches.len() {
            0 | 1 => INITIAL_SPREAD,
            _ => INITIAL_SPREAD.min(MIN_SPREAD_SECONDS / revolution),
        };
        let command = self.command_overhead(&drive.timing);
        let command = command.map_or(0.0, |command| command.median_seconds);
        let lengths = (0..count).map(|_| {
            let repeats = random_repeats(drive);
            let before = repeats as f64 * command + edge;
            let aside = width * (drive.prober.random.random::<f64>() - 0.5);
            let excess = line.median_turns - before / revolution + aside;
            let excess = wrap_turns(excess + OFF_CYLINDER_TRACKS) - OFF_CYLINDER_TRACKS;
            (excess, repeats)
        });
        let lengths: Vec<(f64, usize)> = lengths.collect();
        let batch = self.measure_batch(drive, phase, &lengths)?;
        self.edge_batches.push(batch);
        Ok(())
    }

    /// Makes jumps that exceed a cylinder by these numbers of tracks, each after this many repeated
    /// reads of the previous block.
    fn measure_batch(
        &mut self,
        drive: &mut RotatingDrive<'_, '_>,
        phase: &str,
        lengths: &[(f64, usize)],
    ) -> Result<JumpBatch, BenchError> {
        let prober = &mut drive.prober;
        let pattern = self.jumps;
        let mut addresses = vec![prober.align_down(self.current_address)];
        for (excess, repeats) in lengths {
            let here = prober.align_down(self.current_address);
            addresses.extend(std::iter::repeat_n(here, *repeats));
            let sectors = pattern.jump_sectors + excess * pattern.track_sectors;
            let next = self
                .current_address
                .checked_sub((sectors * SECTOR_BYTES) as u64);
            let next = next.filter(|next| *next >= pattern.lowest_address);
            self.current_address = next.unwrap_or_else(|| {
                // Restarts at the top on other tracks.
                let length = (pattern.jump_sectors * SECTOR_BYTES) as u64;
                pattern.highest_address - scale_to_bound(prober.random.next_u64(), length)
            });
            addresses.push(prober.align_down(self.current_address));
        }
        let SeekBatch {
            seeks,
            command_responses,
        } = drive.read_seeks_in_order(phase, &addresses)?;
        let jumps = seeks.iter();
        let jumps = jumps.filter_map(|seek| self.jump_between(seek, drive.timing.revolution));
        Ok(JumpBatch {
            jumps: jumps.collect(),
            command_responses,
        })
    }

    /// The jump between two reads; `None` where the walk restarted.
    fn jump_between(
        &self,
        (before, after): &(TimedRead, TimedRead),
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

    /// Command overhead from the repeated reads of the whole walk; the earlier estimate if there
    /// are none.
    pub fn command_overhead(&self, timing: &DriveTiming) -> Option<CommandOverhead> {
        let earlier = timing.command_overhead?;
        let responses = self.batches().flat_map(|batch| &batch.command_responses);
        let again: Vec<f64> = responses.copied().collect();
        let mut found = CommandOverhead::from_repeats(&again, timing.revolution);
        if let Some(found) = &mut found {
            found.median_seconds = command_quantile(&again).unwrap_or(found.median_seconds);
        }
        found.or(Some(earlier))
    }

    /// Fraction of the uniform jumps of about a cylinder that end at the common angle.
    pub fn fraction_on_line(&self, revolution: f64) -> f64 {
        let Some(line) = self.jump_line(revolution) else {
            return 0.0;
        };
        let jumps = all_jumps(&self.uniform_batches);
        let (mut count, mut on_line) = (0, 0);
        for jump in jumps.filter(|jump| jump.is_about_one_cylinder()) {
            count += 1;
            on_line += usize::from(jump.lies_on_line(line, revolution));
        }
        on_line as f64 / count.max(1) as f64
    }

    /// Common angle after a seek of one cylinder, on which most jumps of about a cylinder agree;
    /// `None` if they do not.
    pub fn jump_line(&self, revolution: f64) -> Option<JumpLine> {
        let even = all_jumps(&self.uniform_batches).filter(|jump| jump.is_about_one_cylinder());
        let aim: ResultantVector = even.map(|jump| jump.elapsed_turns).collect();
        if aim.mean_resultant_length() < MIN_RESULTANT_LENGTH {
            return None;
        }
        let near = |line: f64, width: f64| -> Vec<f64> {
            let jumps = self.batches().flat_map(|batch| &batch.jumps);
            let jumps = jumps.filter(|jump| jump.is_about_one_cylinder());
            let off = jumps.map(|jump| signed_turns(jump.elapsed_turns - line));
            off.filter(|off| off.abs() < width).collect()
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
    /// Whether the jump was about one cylinder long.
    fn is_about_one_cylinder(&self) -> bool {
        self.excess_tracks.abs() < MAX_CYLINDER_EXCESS
    }

    /// Seconds by which the block ended later than a seek of one cylinder predicts.
    fn delay(&self, line: JumpLine, revolution: f64) -> f64 {
        revolution * signed_turns(self.elapsed_turns - line.median_turns)
    }

    /// Whether the block was at the angle that a seek of one cylinder predicts.
    pub fn lies_on_line(&self, line: JumpLine, revolution: f64) -> bool {
        self.delay(line, revolution).abs() < line.max_delay
    }

    /// The latency corrected for host delays, which show in the angle. A response that is
    /// early for its angle needs no correction: there the previous completion was seen late.
    pub fn punctual(&self, line: JumpLine, revolution: f64) -> f64 {
        let late = self.delay(line, revolution);
        match (0.0..line.max_delay).contains(&late) {
            true => self.response - late,
            false => self.response,
        }
    }
}

/// Number of repeated reads before a jump; none without a cache that answers them.
fn random_repeats(drive: &mut RotatingDrive<'_, '_>) -> usize {
    match drive.timing.command_overhead {
        Some(_) => 1 + scale_to_bound(drive.prober.random.next_u64(), MAX_REPEATS) as usize,
        None => 0,
    }
}
