//! How tracks lie, from the angles at which neighbouring sectors end.
//!
//! Along a track the angle rises by one turn per track's worth of sectors; where a track ends it
//! jumps by the skew, which hides the time for switching to the next head or cylinder (Ruemmler
//! and Wilkes, "An Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).

use std::f64::consts::TAU;

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

/// The tracks near a first value that is known to a share of `width`: length and boundary that make
/// the samples of every single track lie on one line, whatever the skews. `None` when there are
/// too few samples, or none fits.
#[must_use]
pub fn fit(samples: &[Sample], about: f64, width: f64) -> Option<Layout> {
    if samples.len() < 8 {
        return None;
    }
    let mut ascending = samples.to_vec();
    ascending.sort_by(|left, right| left.sector.total_cmp(&right.sector));
    let samples = &ascending[..];
    // A short piece bears a wide search; the longer the piece, the more exact the length must be.
    let (first, last) = (samples[0].sector, samples[samples.len() - 1].sector);
    let tracks = (last - first) / about;
    let (mut length, mut width, mut piece) = (about, width, 5.0);
    let boundary = loop {
        let until = first + piece * about;
        let part = &samples[..samples.partition_point(|sample| sample.sector <= until)];
        let boundary;
        (length, boundary) = search(part, length, width, width / 25.0)?;
        if piece >= tracks {
            break boundary;
        }
        (width, piece) = (width.min(0.03 / piece), piece * 3.0);
    };
    let (length, error) = straighten(samples, length, boundary)?;
    Some(Layout {
        sectors_per_track: length,
        error,
        boundary,
        coherence: score(&turned(samples, length), length, boundary),
        skews: skews(samples, length, boundary),
    })
}

/// The length within `width` (a share) of `about`, and the boundary, that fit best: the best places
/// of a grid in steps of `step` are straightened, and the best of those is taken.
fn search(samples: &[Sample], about: f64, width: f64, step: f64) -> Option<(f64, f64)> {
    const BOUNDARIES: usize = 32;
    const BEST: usize = 24;
    let origin = samples.first()?.sector;
    let steps = (width / step).ceil() as i32;
    let mut scored = Vec::new();
    for index in -steps..=steps {
        let length = about * (1.0 + step * f64::from(index));
        let turned = turned(samples, length);
        for part in 0..BOUNDARIES {
            let boundary = origin - length * part as f64 / BOUNDARIES as f64;
            scored.push((score(&turned, length, boundary), (length, boundary)));
        }
    }
    scored.sort_by(|left: &(f64, _), right| right.0.total_cmp(&left.0));
    scored
        .into_iter()
        .take(BEST)
        .filter_map(|(_, (length, boundary))| {
            let (length, _) = straighten(samples, length, boundary)?;
            Some((
                score(&turned(samples, length), length, boundary),
                (length, boundary),
            ))
        })
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, best)| best)
}

/// A sample with its way along the track taken off: what is left is where its track begins.
#[derive(Debug, Clone, Copy)]
struct Turned {
    sector: f64,
    begin: f64,
    cos: f64,
    sin: f64,
}

fn turned(samples: &[Sample], length: f64) -> Vec<Turned> {
    let turn = |sample: &Sample| {
        let begin = wrap(sample.angle - sample.sector / length);
        let (sin, cos) = (TAU * begin).sin_cos();
        Turned {
            sector: sample.sector,
            begin,
            cos,
            sin,
        }
    };
    samples.iter().map(turn).collect()
}

/// The samples of one track each, in their order.
fn tracks_of(
    turned: &[Turned],
    length: f64,
    boundary: f64,
) -> impl Iterator<Item = (i64, &[Turned], Resultant)> {
    let track = move |one: &Turned| ((one.sector - boundary) / length).floor() as i64;
    turned
        .chunk_by(move |one, next| track(one) == track(next))
        .map(move |part| {
            let mut sum = Resultant::default();
            part.iter().for_each(|one| sum.add_vector(one.cos, one.sin));
            (track(&part[0]), part, sum)
        })
}

/// How well the samples lie on the lines of their tracks, 0 to 1: the mean distance, where a
/// sample that is on another track counts for [`ELSEWHERE`] however far it is. A track with a
/// single sample says nothing.
fn score(turned: &[Turned], length: f64, boundary: f64) -> f64 {
    let (mut sum, mut freedom) = (0.0, 0.0);
    for (_, part, begin) in tracks_of(turned, length, boundary) {
        let begin = begin.direction();
        let distance = |one: &Turned| signed(one.begin - begin).abs().min(ELSEWHERE);
        sum += part.iter().map(distance).sum::<f64>() / ELSEWHERE;
        freedom += part.len() as f64 - 1.0;
    }
    if freedom > 0.0 {
        1.0 - sum / freedom
    } else {
        0.0
    }
}

/// Least squares of the angle against the sector, with one slope for all tracks and an intercept
/// for each: the length and its standard error. Samples far from their track's line, late answers
/// and those across its end, lose their weight (Tukey's biweight; Beaton and Tukey 1974).
fn straighten(samples: &[Sample], mut length: f64, boundary: f64) -> Option<(f64, f64)> {
    let (mut error, mut bound) = (f64::INFINITY, OUTLYING);
    for _ in 0..5 {
        let turned = turned(samples, length);
        let mut misses = Vec::with_capacity(samples.len());
        let mut tracks = Vec::new();
        for (_, part, begin) in tracks_of(&turned, length, boundary) {
            let begin = begin.direction();
            let point = |one: &Turned| {
                let miss = signed(one.begin - begin);
                let weight = (1.0 - (miss / bound).powi(2)).max(0.0).powi(2);
                Point {
                    along: one.sector - boundary,
                    miss,
                    weight,
                }
            };
            tracks.push(part.iter().map(point).collect::<Vec<Point>>());
            misses.extend(
                tracks
                    .last()
                    .into_iter()
                    .flatten()
                    .map(|point| point.miss.abs()),
            );
        }
        let (slope, slope_error) = common_slope(tracks.iter())?;
        length = 1.0 / (1.0 / length + slope);
        error = slope_error * length * length;
        // Seven times the median is about five standard deviations of normal noise.
        let typical = robust::median(misses)?;
        bound = (7.0 * typical).clamp(0.006, OUTLYING);
    }
    (length > 0.0).then_some((length, error))
}

/// A sample relative to its track's line.
struct Point {
    along: f64,
    miss: f64,
    weight: f64,
}

/// The slope that groups of points have in common, and its standard error.
fn common_slope<'a>(groups: impl Iterator<Item = &'a Vec<Point>>) -> Option<(f64, f64)> {
    let (mut spread, mut common, mut squares, mut freedom) = (0.0, 0.0, 0.0, -1.0);
    for group in groups {
        let sum = |of: &dyn Fn(&Point) -> f64| -> f64 {
            group.iter().map(|point| point.weight * of(point)).sum()
        };
        let count = sum(&|_| 1.0);
        if count <= 0.0 {
            continue;
        }
        let (x, y) = (
            sum(&|point| point.along) / count,
            sum(&|point| point.miss) / count,
        );
        spread += sum(&|point| (point.along - x).powi(2));
        common += sum(&|point| (point.along - x) * (point.miss - y));
        squares += sum(&|point| (point.miss - y).powi(2));
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
    let turned = turned(samples, length);
    let tracks: Vec<(i64, Resultant)> = tracks_of(&turned, length, boundary)
        .map(|(track, _, begin)| (track, begin))
        .collect();
    let clear = |track: &Resultant| track.count() >= 2 && track.length() > 0.9;
    tracks
        .windows(2)
        .filter(|two| two[0].0 + 1 == two[1].0 && clear(&two[0].1) && clear(&two[1].1))
        .map(|two| (two[1].0, wrap(two[1].1.direction() - two[0].1.direction())))
        .collect()
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
