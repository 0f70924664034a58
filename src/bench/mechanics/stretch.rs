//! Where to measure jumps from cylinder to cylinder: a part of the drive without the end of a zone.

use std::ops::Range;

use super::Prober;
use super::chain::{self, Chain, Cylinders};
use super::clockwork::{Clockwork, SECTOR};
use super::zones::Place;
use crate::bench::BenchError;

/// Tracks that tell their length well enough.
const FEW: f64 = 6.0;

/// A part of the drive whose tracks are equally long.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Its highest address.
    pub top: u64,
    /// The tracks at its top, and how many of them make a cylinder.
    pub cylinders: Cylinders,
}

impl Stretch {
    /// A stretch near the middle of the window that shows its tracks, and at both ends the same: where a
    /// zone ends, a jump is another number of sectors before and after. The best one where none is clear.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn find(
        prober: &mut Prober<'_, '_>,
        clockwork: &Clockwork,
    ) -> Result<Option<Self>, BenchError> {
        const PLACES: [f64; 3] = [0.5, 0.53, 0.46];
        let window = prober.window();
        let mut best: Option<Self> = None;
        for place in PLACES {
            if prober.over() {
                break;
            }
            let top = window.start + ((window.end - window.start) as f64 * place) as u64;
            let Some(cylinders) = cylinders(prober, clockwork, top)? else {
                continue;
            };
            let found = Self { top, cylinders };
            let decided = found.cylinders.decided();
            if decided && found.is_even(prober, clockwork)? {
                return Ok(Some(found));
            }
            let known = best.as_ref();
            if known.is_none_or(|known| decided && !known.cylinders.decided()) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// Sectors of a cylinder; of a track, where all of them are alike.
    #[must_use]
    pub fn cylinder(&self) -> f64 {
        let tracks = self
            .cylinders
            .cylinder
            .map_or(1, |cylinder| cylinder.tracks);
        self.cylinders.layout.whole_sectors() * f64::from(tracks)
    }

    /// The lowest address of jumps of so many sectors: not so far that the length of the tracks
    /// changes; far enough to read none twice soon.
    #[must_use]
    pub fn bottom(&self, jump: f64, window: &Range<u64>) -> u64 {
        let reach = 400.0 * jump * SECTOR;
        self.top.saturating_sub(reach as u64).max(window.start)
    }

    /// Whether the tracks at the bottom are as long as those at the top.
    fn is_even(
        &self,
        prober: &mut Prober<'_, '_>,
        clockwork: &Clockwork,
    ) -> Result<bool, BenchError> {
        let here = Place::of(self.top, &self.cylinders.layout);
        let chain = Chain {
            top: self.bottom(self.cylinder(), &prober.window()),
            length: here.sectors_per_track,
            tracks: FEW,
            per_track: chain::PER_TRACK,
        };
        let found = chain::tracks(prober, clockwork, ("tracks", 0.02), chain, false)?;
        Ok(found.is_some_and(|(layout, _)| !here.is_other_zone(&Place::of(chain.top, &layout))))
    }
}

/// The tracks below an address, and how many of them make a cylinder.
fn cylinders(
    prober: &mut Prober<'_, '_>,
    clockwork: &Clockwork,
    top: u64,
) -> Result<Option<Cylinders>, BenchError> {
    let phase = ("tracks", 0.05);
    let near = chain::below(prober, clockwork, phase, (top, f64::INFINITY), FEW)?;
    let Some((near, _)) = near else {
        return Ok(None);
    };
    let length = near.sectors_per_track;
    // Clear of what was read just now.
    let top = top + (100.0 * length * SECTOR) as u64;
    let long = Chain {
        top,
        length,
        tracks: 72.0,
        per_track: 4.0,
    };
    chain::cylinders(prober, clockwork, 0.1, long)
}
