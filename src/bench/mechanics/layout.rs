//! How tracks lie, from the angles at which neighbouring sectors end.
//!
//! Along a track the angle rises by one turn per track's worth of sectors; where a track ends it
//! jumps by the skew, which hides the time for switching to the next head or cylinder (Ruemmler
//! and Wilkes, "An Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).

use std::collections::BTreeMap;

use crate::stats::circular::{Resultant, signed, wrap};
use crate::stats::robust;

/// What a sample on another track counts for, in revolutions.
const ELSEWHERE: f64 = 0.05;
/// Residual angles beyond this do not belong to the track.
const OUTLYING: f64 = 0.08;

/// One sector's angle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Sector of 512 bytes, counted from the beginning of the medium.
    pub sector: f64,
    /// Angle at which it ends, 0 to 1; its zero is the same for all samples of a set.
    pub angle: f64,
}

/// Tracks of equal length, as a set of samples shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Sectors of a track.
    pub sectors_per_track: f64,
    /// Its standard error.
    pub error: f64,
    /// Sector at which one of the tracks begins.
    pub boundary: f64,
    /// How well the samples lie on tracks, 0 to 1.
    pub coherence: f64,
    /// Jump of the angle from each track to the next, in ascending order of address, 0 to 1; only
    /// where both tracks have two samples or more.
    pub skews: Vec<(i64, f64)>,
}

/// A first value for the sectors per track between two bounds: pairs that are close together
/// mostly lie on one track, so that their difference in angle is their distance over the track.
#[must_use]
pub fn rough(samples: &[Sample], bounds: std::ops::Range<f64>) -> Option<f64> {
    const CLOSE: f64 = 0.26;
    const TOGETHER: f64 = 0.06;
    let score = |length: f64| {
        let (mut sum, mut pairs) = (0.0, 0_usize);
        for (index, one) in samples.iter().enumerate() {
            for other in &samples[index + 1..] {
                let distance = one.sector - other.sector;
                if distance.abs() <= CLOSE * length {
                    let miss = one.angle - other.angle - distance / length;
                    sum += (1.0 - signed(miss).abs() / TOGETHER).max(0.0);
                    pairs += 1;
                }
            }
        }
        (pairs > 0 && pairs >= samples.len() / 2).then(|| sum / pairs as f64)
    };
    let steps = (bounds.end / bounds.start).ln() / 0.01;
    (0..=steps as usize)
        .map(|step| bounds.start * (0.01 * step as f64).exp())
        .filter_map(|length| Some((score(length)?, length)))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, length)| length)
}

/// The tracks near a first value: length and boundary that make the samples of every single track
/// lie on one line, whatever the skews. `None` when there are too few samples, or none fits.
#[must_use]
pub fn fit(samples: &[Sample], about: f64) -> Option<Layout> {
    if samples.len() < 8 {
        return None;
    }
    // A short piece bears a wide search; the longer the piece, the more exact the length must be.
    let first = samples.iter().map(|sample| sample.sector).fold(f64::INFINITY, f64::min);
    let last = samples.iter().map(|sample| sample.sector).fold(0.0, f64::max);
    let tracks = (last - first) / about;
    let (mut length, mut width, mut piece) = (about, 0.25, 5.0);
    let boundary = loop {
        let until = first + piece * about;
        let part: Vec<Sample> =
            samples.iter().copied().filter(|sample| sample.sector <= until).collect();
        let boundary;
        (length, boundary) = search(&part, length, width, width / 25.0)?;
        if piece >= tracks {
            break boundary;
        }
        (width, piece) = (0.02 / piece, piece * 3.0);
    };
    let (length, error) = straighten(samples, length, boundary)?;
    Some(Layout {
        sectors_per_track: length,
        error,
        boundary,
        coherence: score(samples, length, boundary),
        skews: skews(samples, length, boundary),
    })
}

/// The length within `width` (a share) of `about`, and the boundary, that fit best: the best places
/// of a grid in steps of `step` are straightened, and the best of those is taken.
fn search(samples: &[Sample], about: f64, width: f64, step: f64) -> Option<(f64, f64)> {
    const BOUNDARIES: usize = 32;
    const BEST: usize = 24;
    let origin = samples.iter().map(|sample| sample.sector).fold(f64::INFINITY, f64::min);
    let steps = (width / step).ceil() as i32;
    let lengths = (-steps..=steps).map(|index| about * (1.0 + step * f64::from(index)));
    let places = lengths.flat_map(|length| {
        (0..BOUNDARIES).map(move |part| {
            (length, origin - length * part as f64 / BOUNDARIES as f64)
        })
    });
    let mut scored: Vec<(f64, (f64, f64))> = places
        .map(|(length, boundary)| (score(samples, length, boundary), (length, boundary)))
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0));
    scored
        .into_iter()
        .take(BEST)
        .filter_map(|(_, (length, boundary))| {
            let (length, _) = straighten(samples, length, boundary)?;
            Some((score(samples, length, boundary), (length, boundary)))
        })
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, best)| best)
}

fn track_of(sample: &Sample, length: f64, boundary: f64) -> i64 {
    ((sample.sector - boundary) / length).floor() as i64
}

/// The samples' angles with their way along the track taken off, by track.
fn by_track(samples: &[Sample], length: f64, boundary: f64) -> BTreeMap<i64, Resultant> {
    let mut tracks: BTreeMap<i64, Resultant> = BTreeMap::new();
    for sample in samples {
        let begin = sample.angle - (sample.sector - boundary) / length;
        tracks.entry(track_of(sample, length, boundary)).or_default().add(begin);
    }
    tracks
}

/// How far each sample is from its track's line, in revolutions.
fn misses(samples: &[Sample], length: f64, boundary: f64) -> Vec<f64> {
    let tracks = by_track(samples, length, boundary);
    let miss = |sample: &Sample| {
        let begin = tracks[&track_of(sample, length, boundary)].direction();
        signed(sample.angle - (sample.sector - boundary) / length - begin)
    };
    samples.iter().map(miss).collect()
}

/// How well the samples lie on the lines of their tracks, 0 to 1: the mean distance, where a
/// sample that is on another track counts for [`ELSEWHERE`] however far it is. A track with a
/// single sample says nothing.
fn score(samples: &[Sample], length: f64, boundary: f64) -> f64 {
    let of = |sample: &Sample| track_of(sample, length, boundary);
    let tracks = 1 + samples.windows(2).filter(|two| of(&two[0]) != of(&two[1])).count();
    let freedom = samples.len() as f64 - tracks as f64;
    let distance = |miss: f64| miss.abs().min(ELSEWHERE) / ELSEWHERE;
    let sum: f64 = misses(samples, length, boundary).into_iter().map(distance).sum();
    if freedom > 0.0 { 1.0 - sum / freedom } else { 0.0 }
}

/// Least squares of the angle against the sector, with one slope for all tracks and an intercept
/// for each: the length and its standard error. Samples far from their track's line, as those just
/// across its end are, are left out.
fn straighten(samples: &[Sample], mut length: f64, boundary: f64) -> Option<(f64, f64)> {
    let (mut error, mut bound) = (f64::INFINITY, OUTLYING);
    for _ in 0..4 {
        let misses = misses(samples, length, boundary);
        let mut points: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
        for (sample, miss) in samples.iter().zip(&misses) {
            if miss.abs() < bound {
                let track = track_of(sample, length, boundary);
                points.entry(track).or_default().push((sample.sector - boundary, *miss));
            }
        }
        let (slope, slope_error) = common_slope(points.values())?;
        length = 1.0 / (1.0 / length + slope);
        error = slope_error * length * length;
        // Six times the median: four standard deviations of normal noise.
        let typical = robust::median(misses.into_iter().map(f64::abs))?;
        bound = (6.0 * typical).clamp(0.006, OUTLYING);
    }
    (length > 0.0).then_some((length, error))
}

/// The slope that groups of points have in common, and its standard error.
fn common_slope<'a>(groups: impl Iterator<Item = &'a Vec<(f64, f64)>>) -> Option<(f64, f64)> {
    let (mut spread, mut common, mut squares, mut freedom) = (0.0, 0.0, 0.0, -1.0);
    for group in groups {
        let count = group.len() as f64;
        let mean_x = group.iter().map(|point| point.0).sum::<f64>() / count;
        let mean_y = group.iter().map(|point| point.1).sum::<f64>() / count;
        for (x, y) in group {
            spread += (x - mean_x).powi(2);
            common += (x - mean_x) * (y - mean_y);
            squares += (y - mean_y).powi(2);
        }
        freedom += count - 1.0;
    }
    if spread <= 0.0 || freedom < 2.0 {
        return None;
    }
    let slope = common / spread;
    let variance = (squares - slope * common).max(0.0) / freedom;
    Some((slope, (variance / spread).sqrt()))
}

fn skews(samples: &[Sample], length: f64, boundary: f64) -> Vec<(i64, f64)> {
    let tracks = by_track(samples, length, boundary);
    let clear = |track: &Resultant| track.count() >= 2 && track.length() > 0.9;
    tracks
        .iter()
        .zip(tracks.iter().skip(1))
        .filter(|((left, a), (right, b))| *left + 1 == **right && clear(a) && clear(b))
        .map(|((_, a), (right, b))| (*right, wrap(b.direction() - a.direction())))
        .collect()
}

/// What the skews say of the cylinder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cylinder {
    /// Tracks of a cylinder, which is the number of surfaces on drives that fill a cylinder before
    /// they go on to the next.
    pub tracks: u32,
    /// Skew between heads of a cylinder, in revolutions.
    pub head_skew: f64,
    /// Skew where the cylinder changes.
    pub cylinder_skew: f64,
}

/// Tells the tracks of a cylinder by the one skew in so many that differs from the others. `None`
/// when all skews are alike: then nothing but the skew itself is known.
#[must_use]
pub fn cylinder(skews: &[(i64, f64)]) -> Option<Cylinder> {
    const MOST: i64 = 64;
    let (first, last) = (skews.first()?.0, skews.last()?.0);
    let longest = MOST.min((last - first) / 2);
    // One more track in the period explains a little by chance alone: it has to pay for that.
    let worth = |(fit, period): (Split, i64)| (fit.unexplained + 0.002 * period as f64, period, fit);
    let whole = spread(&skews.iter().map(|skew| skew.1).collect::<Vec<_>>());
    if whole < 1e-12 {
        return None;
    }
    let (_, period, split) = (2..=longest)
        .filter_map(|period| Some(worth((split(skews, period, whole)?, period))))
        .min_by(|left, right| left.0.total_cmp(&right.0))?;
    let clear = split.unexplained < 0.8 && signed(split.odd - split.even).abs() > 6.0 * split.noise;
    clear.then_some(Cylinder {
        tracks: period as u32,
        head_skew: split.even,
        cylinder_skew: split.odd,
    })
}

/// Skews told apart by their place in a period.
struct Split {
    odd: f64,
    even: f64,
    unexplained: f64,
    noise: f64,
}

/// The place in the period whose skews differ most from the rest; `unexplained` is the share of
/// the spread that stays.
fn split(skews: &[(i64, f64)], period: i64, whole: f64) -> Option<Split> {
    (0..period)
        .filter_map(|place| {
            let side = |odd: bool| -> Vec<f64> {
                let here = |(track, _): &&(i64, f64)| (track.rem_euclid(period) == place) == odd;
                skews.iter().filter(here).map(|skew| skew.1).collect()
            };
            let (odd, even) = (side(true), side(false));
            if odd.len() < 3 || even.len() < 3 {
                return None;
            }
            let count = skews.len() as f64;
            let inside =
                (odd.len() as f64 * spread(&odd) + even.len() as f64 * spread(&even)) / count;
            let direction = |part: &[f64]| part.iter().copied().collect::<Resultant>().direction();
            let noise = inside.sqrt() * (1.0 / odd.len() as f64 + 1.0 / even.len() as f64).sqrt();
            Some(Split {
                odd: direction(&odd),
                even: direction(&even),
                unexplained: inside / whole,
                noise,
            })
        })
        .min_by(|left, right| left.unexplained.total_cmp(&right.unexplained))
}

/// Mean square distance from the mean direction; a wild skew counts for no more than a tenth of
/// a turn.
fn spread(angles: &[f64]) -> f64 {
    let mean = angles.iter().copied().collect::<Resultant>().direction();
    let square = |angle: &f64| signed(angle - mean).clamp(-0.1, 0.1).powi(2);
    angles.iter().map(square).sum::<f64>() / angles.len().max(1) as f64
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
