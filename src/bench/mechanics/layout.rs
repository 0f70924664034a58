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
    let found = narrow_down(&ascending, about, width)?;
    if !found.is_seamless() {
        return Some(found);
    }
    // Tracks that join without a seam have the skew in their slope, for no drive moves its arm in
    // no time. They are longer by as much.
    const SKEWS: f64 = 0.055;
    narrow_down(&ascending, found.sectors_per_track * (1.0 + SKEWS), SKEWS)
        .filter(|other| !other.is_seamless())
        .or(Some(found))
}

/// Searches over a short piece, which bears a wide search, and from each of its best places over
/// longer and longer pieces, for which the length must be known more exactly. Of those the one that
/// fits all samples best is taken: noise may let a short piece fit better elsewhere. Samples in
/// ascending order.
fn narrow_down(samples: &[Sample], about: f64, width: f64) -> Option<Layout> {
    // Tracks of the first piece for a width of 1: a step of the search is then a small part of a
    // track at its end.
    const SHORT: f64 = 0.4;
    const STEPS: f64 = 25.0;
    const GROWTH: f64 = 3.0;
    let short = (SHORT / width).clamp(5.0, 32.0);
    let (first, last) = (samples[0].sector, samples[samples.len() - 1].sector);
    let tracks = (last - first) / about;
    let piece = |tracks: f64| {
        let until = first + tracks * about;
        &samples[..samples.partition_point(|sample| sample.sector <= until)]
    };
    let follow = |(mut length, mut boundary): (f64, f64)| {
        let mut known = short;
        while known < tracks {
            let width = width.min(0.03 / known);
            known *= GROWTH;
            (length, boundary) = *search(piece(known), length, width, width / STEPS).first()?;
        }
        lay_out(samples, length, boundary)
    };
    search(piece(short), about, width, width / STEPS)
        .into_iter()
        .filter_map(follow)
        .max_by(|left, right| left.coherence.total_cmp(&right.coherence))
}

/// The tracks of that length and boundary, straightened once more.
fn lay_out(samples: &[Sample], length: f64, boundary: f64) -> Option<Layout> {
    let (length, error) = straighten(samples, length, boundary)?;
    Some(Layout {
        sectors_per_track: length,
        error,
        boundary,
        coherence: score(&turned(samples, length), length, boundary),
        skews: skews(samples, length, boundary),
    })
}

impl Layout {
    /// Whether the angle goes on from track to track as if there were none.
    fn is_seamless(&self) -> bool {
        const SEAM: f64 = 0.01;
        let mean: Resultant = self.skews.iter().map(|(_, skew)| *skew).collect();
        signed(mean.direction()).abs() < SEAM
    }
}

/// Lengths within `width` (a share) of `about`, each with its boundary, that fit best, the best one
/// first: the best places of a grid in steps of `step` are straightened. None that strays from
/// there, and no two that are nearly the same.
fn search(samples: &[Sample], about: f64, width: f64, step: f64) -> Vec<(f64, f64)> {
    const BOUNDARIES: usize = 32;
    const BEST: usize = 24;
    const KEPT: usize = 3;
    // What noise may move the best place of a short piece by.
    const NOISE: f64 = 0.008;
    let Some(origin) = samples.first().map(|sample| sample.sector) else {
        return Vec::new();
    };
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
    let best_first = |left: &(f64, _), right: &(f64, _)| right.0.total_cmp(&left.0);
    scored.sort_by(best_first);
    let straight = |(_, (length, boundary)): (f64, (f64, f64))| {
        let (length, _) = straighten(samples, length, boundary)?;
        let score = score(&turned(samples, length), length, boundary);
        ((length / about - 1.0).abs() <= 1.3 * width + NOISE).then_some((score, (length, boundary)))
    };
    let mut straight: Vec<_> = scored.into_iter().take(BEST).filter_map(straight).collect();
    straight.sort_by(best_first);
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (_, (length, boundary)) in straight {
        let near = |known: &(f64, f64)| (known.0 / length - 1.0).abs() < 2.0 * step;
        if kept.len() < KEPT && !kept.iter().any(near) {
            kept.push((length, boundary));
        }
    }
    kept
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
/// and those across its end, lose their weight (Tukey's biweight; Beaton and Tukey 1974). Which
/// sample is on which track is settled by the length given: else a slightly other length would put
/// more and more samples on wrong tracks, and those would pull it further away.
fn straighten(samples: &[Sample], given: f64, boundary: f64) -> Option<(f64, f64)> {
    let groups: Vec<std::ops::Range<usize>> = tracks_of(&turned(samples, given), given, boundary)
        .scan(0, |begin, (_, part, _)| {
            let from = *begin;
            *begin += part.len();
            Some(from..*begin)
        })
        .collect();
    let (mut length, mut error, mut bound) = (given, f64::INFINITY, OUTLYING);
    for _ in 0..5 {
        let turned = turned(samples, length);
        let mut misses = Vec::with_capacity(samples.len());
        let mut tracks = Vec::with_capacity(groups.len());
        for group in &groups {
            let track = &turned[group.clone()];
            let begin = middle(track)?;
            let point = |one: &Turned| {
                let miss = signed(one.begin - begin);
                let weight = (1.0 - (miss / bound).powi(2)).max(0.0).powi(2);
                Point {
                    along: one.sector - boundary,
                    miss,
                    weight,
                }
            };
            let points: Vec<Point> = track.iter().map(point).collect();
            misses.extend(points.iter().map(|point| point.miss.abs()));
            tracks.push(points);
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
    let tracks: Vec<(i64, f64)> = tracks_of(&turned, length, boundary)
        .filter(|(_, part, begin)| part.len() >= 2 && begin.length() > 0.9)
        .filter_map(|(track, part, _)| Some((track, middle(part)?)))
        .collect();
    tracks
        .windows(2)
        .filter(|two| two[0].0 + 1 == two[1].0)
        .map(|two| (two[1].0, wrap(two[1].1 - two[0].1)))
        .collect()
}

/// The median begin of a track: a late answer or two cannot move it far.
fn middle(track: &[Turned]) -> Option<f64> {
    let mut sum = Resultant::default();
    track
        .iter()
        .for_each(|one| sum.add_vector(one.cos, one.sin));
    let about = sum.direction();
    let way = robust::median(track.iter().map(|one| signed(one.begin - about)))?;
    Some(wrap(about + way))
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
