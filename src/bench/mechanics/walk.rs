//! A walk in jumps of one cylinder, up to a track more or less, towards the beginning of the drive:
//! against the direction in which drives read ahead, and always on tracks not read before.
//!
//! Where the drive's cache answers repeated reads, every block is read twice: the second time costs
//! the command alone, under the very conditions of the jump before it.

use super::clockwork::{Clockwork, SECTOR};
use super::command::{self, Command};
use super::{Probe, Prober};
use crate::bench::BenchError;
use crate::stats::circular::{Resultant, signed, wrap};
use crate::stats::robust;

/// Jumps and commands are compared where a quarter of either is done: both are delayed at times,
/// hardly ever hastened, and not by the same.
pub const QUANTILE: f64 = 0.25;
/// Mean resultant length from which the jumps agree on where the blocks lie. One in eight passes a
/// track more or less than a cylinder has, and may lie on the other side of the platter.
const CLEAR: f64 = 0.6;
/// An answer further than this from where most blocks lie, in revolutions, is an outlier.
const OUTLYING: f64 = 0.1;
/// No later than this, in seconds, is an answer seen that only the computer delayed, and the least
/// and the multiple of their usual scatter (median absolute deviation) that is allowed for. A jump
/// that crosses one track more or less ends further away: by the skew, which hides a change of head.
const LATEST: f64 = 150e-6;
const LEAST_LATE: f64 = 20e-6;
const SCATTERS: f64 = 8.0;
/// Repeated reads after a jump: another number each time, so that jumps begin at angles between
/// those of whole sectors too.
pub const REPEATS: u64 = 3;
/// By how many tracks a jump may be shorter or longer than [`Jumps::length`]. A jump of a whole
/// cylinder passes as many ends of tracks as the cylinder has, and exactly one of them is its own: the
/// arm moves by one cylinder. One that is longer or shorter by this much does so at least half the
/// time, and where its block lies tells whether it did.
const ASIDE: f64 = 0.5;
/// Jumps no longer or shorter than this mostly pass as many tracks as a cylinder has.
const NEARLY_WHOLE: f64 = 0.25;

/// Where most jumps end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// [`Jump::turns`] of most.
    pub turns: f64,
    /// How far answers scatter around it, in seconds, that only the computer delayed.
    pub latest: f64,
}

/// Where jumps go and how long they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jumps {
    /// Highest and lowest address.
    pub from: u64,
    /// See `from`.
    pub to: u64,
    /// Sectors of a jump.
    pub length: f64,
    /// Sectors of a track.
    pub track: f64,
}

/// One jump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jump {
    /// Where it ended.
    pub address: u64,
    /// How long the read took, in seconds.
    pub response: f64,
    /// By how many tracks it was longer than a cylinder, -0.5 to 0.5.
    pub more: f64,
    /// Revolutions from the end of the read before it to the end of this one, as if the jump had
    /// been one cylinder long: the same for all jumps, but for whole revolutions and noise.
    pub turns: f64,
}

/// Jumps of one batch, and the commands between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The jumps.
    pub jumps: Vec<Jump>,
    /// Response times of repeated reads, in seconds.
    pub commands: Vec<f64>,
}

/// A walk in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    jumps: Jumps,
    at: u64,
    /// Jumps of every length: their responses follow the platter's law.
    pub even: Vec<Batch>,
    /// Jumps aimed at the edge of the law, where a revolution is just missed or just caught.
    pub aimed: Vec<Batch>,
}

/// The time in which the usual share ([`QUANTILE`]) of commands is done.
#[must_use]
pub fn typical_command(times: &[f64]) -> Option<f64> {
    robust::quantile(&robust::ascending(times.iter().copied()), QUANTILE)
}

/// All jumps of some batches.
pub fn jumps(batches: &[Batch]) -> impl Iterator<Item = &Jump> {
    batches.iter().flat_map(|batch| &batch.jumps)
}

impl Walk {
    /// A walk that is still to begin.
    #[must_use]
    pub fn new(jumps: Jumps) -> Self {
        Self {
            jumps,
            at: jumps.from,
            even: Vec::new(),
            aimed: Vec::new(),
        }
    }

    /// All batches.
    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.even.iter().chain(&self.aimed)
    }

    /// Jumps of every length within a track.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn evenly(
        &mut self,
        prober: &mut Prober<'_, '_>,
        clockwork: &Clockwork,
        phase: (&str, f64),
        count: usize,
    ) -> Result<(), BenchError> {
        let more: Vec<(f64, usize)> = (0..count)
            .map(|_| {
                let repeats = self.repeats(prober, clockwork);
                (prober.random.share() - ASIDE, repeats)
            })
            .collect();
        let batch = self.jump(prober, clockwork, phase, &more)?;
        self.even.push(batch);
        Ok(())
    }

    /// Jumps aimed so that the block comes by about `edge` seconds after the request: some are
    /// caught at once and some a revolution later, which tells the edge exactly. Does nothing
    /// where the even jumps do not tell how to aim.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn at_the_edge(
        &mut self,
        prober: &mut Prober<'_, '_>,
        clockwork: &Clockwork,
        phase: (&str, f64),
        (edge, count): (f64, usize),
    ) -> Result<(), BenchError> {
        // Widely at first; then more closely, but not closer than answers of a busy computer lie.
        const WIDE: f64 = 0.12;
        const NARROW_SECONDS: f64 = 400e-6;
        let Some(line) = self.line(clockwork.revolution) else {
            return Ok(());
        };
        let width = match self.aimed.len() {
            0 | 1 => WIDE,
            _ => WIDE.min(NARROW_SECONDS / clockwork.revolution),
        };
        let command = self.command(clockwork).time;
        let more: Vec<(f64, usize)> = (0..count)
            .map(|_| {
                let repeats = self.repeats(prober, clockwork);
                let before = repeats as f64 * command + edge;
                let aside = width * (prober.random.share() - 0.5);
                let more = line.turns - before / clockwork.revolution + aside;
                (wrap(more + ASIDE) - ASIDE, repeats)
            })
            .collect();
        let batch = self.jump(prober, clockwork, phase, &more)?;
        self.aimed.push(batch);
        Ok(())
    }

    /// How often the block is read again before the next jump.
    fn repeats(&self, prober: &mut Prober<'_, '_>, clockwork: &Clockwork) -> usize {
        match clockwork.command.repeats {
            true => 1 + prober.random.below(REPEATS) as usize,
            false => 0,
        }
    }

    /// Jumps that are so many tracks longer than a cylinder, each after so many repeated reads of the
    /// block before it.
    fn jump(
        &mut self,
        prober: &mut Prober<'_, '_>,
        clockwork: &Clockwork,
        phase: (&str, f64),
        more: &[(f64, usize)],
    ) -> Result<Batch, BenchError> {
        let Jumps {
            from,
            to,
            length,
            track,
        } = self.jumps;
        let mut addresses = vec![prober.aligned(self.at)];
        for (more, repeats) in more {
            let here = prober.aligned(self.at);
            addresses.extend(std::iter::repeat_n(here, *repeats));
            let jump = ((length + more * track) * SECTOR) as u64;
            self.at = match self.at.checked_sub(jump) {
                Some(next) if next >= to => next,
                // Once more, but on other tracks.
                _ => from - prober.random.below((length * SECTOR) as u64),
            };
            addresses.push(prober.aligned(self.at));
        }
        let probes = prober.read(phase.0, phase.1, &addresses)?;
        Ok(self.batch(&probes, clockwork))
    }

    /// Tells jumps from repeated reads.
    fn batch(&self, probes: &[Probe], clockwork: &Clockwork) -> Batch {
        Batch {
            jumps: clockwork
                .moves(probes)
                .into_iter()
                .filter_map(|(before, after)| self.measured(before, after, clockwork.revolution))
                .collect(),
            commands: command::repeats(probes).map(Probe::response).collect(),
        }
    }

    /// The jump between two reads; `None` where the walk began anew.
    fn measured(&self, before: Probe, after: Probe, revolution: f64) -> Option<Jump> {
        let sectors = before.address.checked_sub(after.address)? as f64 / SECTOR;
        let more = (sectors - self.jumps.length) / self.jumps.track;
        (-0.6..0.6).contains(&more).then(|| Jump {
            address: after.address,
            response: after.response(),
            more,
            turns: (after.end - before.end) / revolution + more,
        })
    }

    /// The command as the repeated reads of the whole walk show it; as it was known before where
    /// there are none.
    #[must_use]
    pub fn command(&self, clockwork: &Clockwork) -> Command {
        let again: Vec<f64> = self
            .batches()
            .flat_map(|batch| batch.commands.iter().copied())
            .collect();
        if !clockwork.command.repeats {
            return clockwork.command;
        }
        let found = command::of(&again, clockwork.revolution);
        match typical_command(&again) {
            Some(time) if found.known => Command { time, ..found },
            _ => clockwork.command,
        }
    }

    /// Share of the even jumps of nearly a whole cylinder that end where most of them do.
    #[must_use]
    pub fn clear(&self, revolution: f64) -> f64 {
        let Some(line) = self.line(revolution) else {
            return 0.0;
        };
        let whole: Vec<&Jump> = jumps(&self.even).filter(|jump| jump.is_whole()).collect();
        let on = whole.iter().filter(|jump| jump.is_on(line, revolution));
        on.count() as f64 / whole.len().max(1) as f64
    }

    /// Where the arm moved by one cylinder, as most of the jumps of nearly a whole cylinder agree on;
    /// `None` where they do not.
    #[must_use]
    pub fn line(&self, revolution: f64) -> Option<Line> {
        let even = jumps(&self.even).filter(|jump| jump.is_whole());
        let aim: Resultant = even.map(|jump| jump.turns).collect();
        if aim.length() < CLEAR {
            return None;
        }
        let near = |line: f64, width: f64| -> Vec<f64> {
            let jumps = self.batches().flat_map(|batch| &batch.jumps);
            let whole = jumps.filter(|jump| jump.is_whole());
            whole
                .map(|jump| signed(jump.turns - line))
                .filter(|off| off.abs() < width)
                .collect()
        };
        let closer = |line: f64, width: f64| {
            let off = robust::median(near(line, width))?;
            Some(wrap(line + off))
        };
        let rough = closer(aim.direction(), OUTLYING)?;
        let turns = closer(rough, LATEST / revolution)?;
        let scatter = robust::median_absolute_deviation(&near(turns, LATEST / revolution))?;
        Some(Line {
            turns,
            latest: (SCATTERS * scatter * revolution).clamp(LEAST_LATE, LATEST),
        })
    }
}

impl Jump {
    /// Whether it was nearly one cylinder long.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.more.abs() < NEARLY_WHOLE
    }

    /// Whether the block was where a jump of one cylinder finds it.
    #[must_use]
    pub fn is_on(&self, line: Line, revolution: f64) -> bool {
        (revolution * signed(self.turns - line.turns)).abs() < line.latest
    }

    /// The response as it would be had the answer been seen as early as most: how late it was shows
    /// in the angle. An answer that is early for its angle is right as it is: there the read before
    /// it was seen late.
    #[must_use]
    pub fn punctual(&self, line: Option<Line>, revolution: f64) -> f64 {
        let late = line.map_or(0.0, |line| revolution * signed(self.turns - line.turns));
        if line.is_some_and(|line| (0.0..line.latest).contains(&late)) {
            self.response - late
        } else {
            self.response
        }
    }
}
