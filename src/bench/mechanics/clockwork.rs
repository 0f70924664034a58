//! What every test of seeks needs to know first: the revolution, and what a command costs.

use super::command::{self, Command};
use super::layout::Sample;
use super::{Probe, Prober, revolution};
use crate::bench::BenchError;
use crate::stats::circular::wrap;

/// Bytes of the sectors in which tracks are counted.
pub const SECTOR: f64 = 512.0;

/// What the drive's clock and its electronics do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clockwork {
    /// One revolution in seconds.
    pub revolution: f64,
    /// Time of a command.
    pub command: Command,
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
        let command = command::measure(prober, 0.15 * share, found.period())?;
        if !command.known && !prober.over() {
            prober.bench.verdict(command::unknown());
        }
        Ok(Some(Self {
            revolution: found.period(),
            command,
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

    /// The reads that began where the one before had left the arm: both were answered by the
    /// medium. Each with its predecessor.
    pub fn moves(&self, probes: &[Probe]) -> impl Iterator<Item = (Probe, Probe)> {
        let cached = |probe: &Probe| self.command.is_cached(probe.response());
        probes
            .windows(2)
            .filter(move |two| !cached(&two[0]) && !cached(&two[1]))
            .map(|two| (two[0], two[1]))
    }

    /// Seconds in which a block passes under the head on a track of so many sectors.
    #[must_use]
    pub fn passing(&self, block: u64, sectors_per_track: f64) -> f64 {
        self.revolution * block as f64 / SECTOR / sectors_per_track
    }
}
