//! A walk in jumps of one cylinder, each a little more or less, towards the beginning of the drive:
//! against the direction in which drives read ahead, and always on tracks not read before.

use super::clockwork::{Clockwork, SECTOR};
use super::{Probe, Prober};
use crate::bench::BenchError;
use crate::stats::circular::{Resultant, signed, wrap};

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
    /// By how many tracks it was longer than it should be on the average, -0.5 to 0.5.
    pub more: f64,
}

/// A walk in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    jumps: Jumps,
    at: u64,
    /// Jumps of every length: their responses follow the platter's law.
    pub even: Vec<Jump>,
    /// Jumps aimed at the edge of the law, where a revolution is just missed or just caught.
    pub aimed: Vec<Jump>,
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

    /// Jumps of even length within half a track of the mean.
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
        let more: Vec<f64> = (0..count).map(|_| prober.random.share() - 0.5).collect();
        let found = self.jump(prober, clockwork, phase, &more)?;
        self.even.extend(found);
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
        const SPREAD: f64 = 0.12;
        let turns = |jump: &Jump| jump.response / clockwork.revolution + jump.more;
        let aim: Resultant = self.even.iter().map(turns).collect();
        if aim.length() < 0.8 {
            return Ok(());
        }
        let middle = aim.direction() - edge / clockwork.revolution;
        let more: Vec<f64> = (0..count)
            .map(|_| signed(wrap(middle) + SPREAD * (prober.random.share() - 0.5)))
            .collect();
        let found = self.jump(prober, clockwork, phase, &more)?;
        self.aimed.extend(found);
        Ok(())
    }

    fn jump(
        &mut self,
        prober: &mut Prober<'_, '_>,
        clockwork: &Clockwork,
        phase: (&str, f64),
        more: &[f64],
    ) -> Result<Vec<Jump>, BenchError> {
        let Jumps {
            from,
            to,
            length,
            track,
        } = self.jumps;
        let mut addresses = vec![prober.aligned(self.at)];
        for more in more {
            let jump = ((length + more * track) * SECTOR) as u64;
            self.at = match self.at.checked_sub(jump) {
                Some(next) if next >= to => next,
                // Once more, but on other tracks.
                _ => from - prober.random.below((length * SECTOR) as u64),
            };
            addresses.push(prober.aligned(self.at));
        }
        let probes = prober.read(phase.0, phase.1, &addresses)?;
        Ok(clockwork
            .moves(&probes)
            .filter_map(|two| self.measured(two))
            .collect())
    }

    /// The jump between two reads; `None` where the walk began anew.
    fn measured(&self, (before, after): (Probe, Probe)) -> Option<Jump> {
        let sectors = before.address.checked_sub(after.address)? as f64 / SECTOR;
        let more = (sectors - self.jumps.length) / self.jumps.track;
        (more.abs() < 0.6).then(|| Jump {
            address: after.address,
            response: after.response(),
            more,
        })
    }
}
