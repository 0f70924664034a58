//! Reads chains of neighbouring sectors, against the direction in which drives read ahead, and
//! finds the tracks that they lie on.

use super::Prober;
use super::clockwork::{Clockwork, SECTOR};
use super::cylinder::{self, Cylinder};
use super::layout::{self, Layout, Sample};
use crate::bench::BenchError;
use crate::stats::circular::Resultant;

/// Reads on each track of a chain.
pub const PER_TRACK: f64 = 8.0;

/// Addresses of a chain, going down at uneven distances.
#[must_use]
pub fn descending(prober: &mut Prober<'_, '_>, chain: &Chain) -> Vec<u64> {
    let gap = chain.length * SECTOR / chain.per_track;
    let (mut place, mut addresses) = (chain.top as f64, Vec::new());
    for _ in 0..(chain.tracks * chain.per_track) as usize {
        let address = prober.aligned(place.max(0.0) as u64);
        if addresses.last() != Some(&address) {
            addresses.push(address);
        }
        place -= gap * (0.4 + 1.2 * prober.random.share());
    }
    addresses
}

/// A chain to be read: where, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// Its highest address.
    pub top: u64,
    /// What is thought of the length of its tracks, in sectors.
    pub length: f64,
    /// Tracks that it shall reach over.
    pub tracks: f64,
    /// Reads on each.
    pub per_track: f64,
}

/// The tracks of a chain. Where their length is known only to a factor of two, `certain` is false.
///
/// # Errors
/// When the reads could not be started.
pub fn tracks(
    prober: &mut Prober<'_, '_>,
    clockwork: &Clockwork,
    phase: (&str, f64),
    chain: Chain,
    certain: bool,
) -> Result<Option<(Layout, Vec<Sample>)>, BenchError> {
    let addresses = descending(prober, &chain);
    let probes = prober.read(phase.0, phase.1, &addresses)?;
    let samples = clockwork.samples(&probes);
    let about = match certain {
        true => Some((chain.length, 0.02)),
        false => layout::rough(&samples, 0.45 * chain.length..2.2 * chain.length)
            .map(|length| (length, 0.25)),
    };
    let found = about
        .and_then(|(length, width)| layout::fit(&samples, length, width))
        .filter(|layout| layout.coherence > 0.5);
    Ok(found.map(|layout| (layout, samples)))
}

/// The tracks below an address, of whose length nothing is known: first the length, then a chain of up
/// to `most` of them, within `room` sectors.
///
/// # Errors
/// When the reads could not be started.
pub fn below(
    prober: &mut Prober<'_, '_>,
    clockwork: &Clockwork,
    phase: (&str, f64),
    (top, room): (u64, f64),
    most: f64,
) -> Result<Option<(Layout, Vec<Sample>)>, BenchError> {
    let Some(length) = first_length(prober, clockwork, phase.1, top)? else {
        return Ok(None);
    };
    let chain = Chain {
        top,
        length,
        tracks: (room / length).min(most),
        per_track: PER_TRACK,
    };
    tracks(prober, clockwork, phase, chain, false)
}

/// What long chains tell of the cylinder.
#[derive(Debug, Clone, PartialEq)]
pub struct Cylinders {
    /// Tracks of the first chain.
    pub layout: Layout,
    /// Its samples.
    pub samples: Vec<Sample>,
    /// Jumps of the angle from each track to the next, of all chains; tracks are counted from the
    /// boundary of the first one.
    pub skews: Vec<(i64, f64)>,
    /// The cylinder, where one skew in so many differs.
    pub cylinder: Option<Cylinder>,
}

impl Cylinders {
    /// Whether it is certain how many tracks make a cylinder, or that the skews hide none.
    #[must_use]
    pub fn decided(&self) -> bool {
        self.cylinder.is_some() || cylinder::all_alike(&self.skews)
    }

    /// Adds another chain: its tracks are counted on from those known.
    fn add(&mut self, layout: &Layout) {
        let length = self.layout.sectors_per_track;
        let ahead = ((layout.boundary - self.layout.boundary) / length).round() as i64;
        let more = layout.skews.iter();
        self.skews
            .extend(more.map(|(track, skew)| (track + ahead, *skew)));
        self.skews.sort_by_key(|(track, _)| *track);
        self.cylinder = cylinder::cylinder(&self.skews);
    }
}

/// Reads a long chain of tracks of a known length, and up to four more above it until it is clear
/// how many tracks make a cylinder, or three of them show that they are all alike. `None` where none
/// shows tracks.
///
/// # Errors
/// When the reads could not be started.
pub fn cylinders(
    prober: &mut Prober<'_, '_>,
    clockwork: &Clockwork,
    share: f64,
    chain: Chain,
) -> Result<Option<Cylinders>, BenchError> {
    const TRIES: u32 = 5;
    const ENOUGH: u32 = 3;
    let mut best: Option<Cylinders> = None;
    // Five tracks between two chains: no common divisor with most cylinders, so that what one chain
    // does not show lies elsewhere in the next.
    let reach = ((chain.tracks + 5.0) * chain.length * SECTOR) as u64;
    for attempt in 0..TRIES {
        let chain = Chain {
            top: chain.top + u64::from(attempt) * reach,
            ..chain
        };
        let phase = ("skew of tracks", share / f64::from(TRIES));
        if let Some((layout, samples)) = tracks(prober, clockwork, phase, chain, true)? {
            match &mut best {
                Some(known) => known.add(&layout),
                None => {
                    best = Some(Cylinders {
                        skews: layout.skews.clone(),
                        cylinder: cylinder::cylinder(&layout.skews),
                        layout,
                        samples,
                    });
                }
            }
        }
        let told = best.as_ref().is_some_and(|known| {
            known.cylinder.is_some() || attempt + 1 >= ENOUGH && known.decided()
        });
        if prober.over() || told {
            break;
        }
    }
    Ok(best)
}

/// A first length of the tracks below `top`, nothing known: angles over a piece that is certainly
/// shorter than a track, then over pieces four times as long each, until half a track is seen.
///
/// # Errors
/// When the reads could not be started.
pub fn first_length(
    prober: &mut Prober<'_, '_>,
    clockwork: &Clockwork,
    share: f64,
    top: u64,
) -> Result<Option<f64>, BenchError> {
    const PIECES: usize = 4;
    const READS: f64 = 10.0;
    const LONGEST: f64 = 160_000.0;
    let mut piece = 64_f64.max(12.0 * prober.block() as f64 / SECTOR);
    let mut slopes = 0.0..1.0 / piece;
    let mut next = top as f64;
    while piece < LONGEST && !prober.over() {
        let mut addresses = Vec::new();
        for _ in 0..PIECES {
            // Pieces lie apart, and not evenly, so that no track's end is in all of them.
            let top = next.max(0.0) as u64;
            let chain = Chain {
                top,
                length: piece,
                tracks: 1.0,
                per_track: READS,
            };
            addresses.extend(descending(prober, &chain));
            next -= (1.0 + prober.random.share()) * (4.0 * piece + 2000.0) * SECTOR;
        }
        let probes = prober.read("length of a track", share / 5.0, &addresses)?;
        let pieces: Vec<Vec<Sample>> = probes
            .chunks(addresses.len().div_ceil(PIECES))
            .map(|part| clockwork.samples(part))
            .collect();
        let slope = common_slope(&pieces, &slopes, piece);
        if slope * piece >= 0.5 {
            return Ok(Some(1.0 / slope));
        }
        let error = 0.06 / piece;
        slopes = (slope - error).max(1.0 / LONGEST / 4.0)..slope + error;
        piece *= 4.0;
    }
    Ok(None)
}

/// The rise of the angle per sector that fits all pieces best, each with a begin of its own.
fn common_slope(pieces: &[Vec<Sample>], range: &std::ops::Range<f64>, piece: f64) -> f64 {
    const STEPS: usize = 200;
    let fits = |slope: f64| -> f64 {
        let turned = |samples: &Vec<Sample>| {
            let begins = samples
                .iter()
                .map(|sample| sample.angle - slope * sample.sector);
            begins.collect::<Resultant>().sum()
        };
        pieces.iter().map(turned).sum()
    };
    let step = ((range.end - range.start) / STEPS as f64).min(0.02 / piece);
    let steps = ((range.end - range.start) / step) as usize;
    (0..=steps)
        .map(|index| range.start + step * index as f64)
        .map(|slope| (fits(slope), slope))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map_or(range.start, |(_, slope)| slope)
}
