//! Tracks as lines of angle over sector: goodness of fit of the samples, common slope, and begin of
//! each track.

use std::f64::consts::TAU;

use crate::stats::general::robust;
use crate::stats::rotation::circular::{
    ResultantVector, median_direction, signed_turns, wrap_turns,
};

/// Angle of one sector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectorAngle {
    /// Sector of 512 bytes, counted from the beginning of the medium.
    pub sector: f64,
    /// Angle at which the sector ends, 0 to 1; all samples of a set share the same origin.
    pub angle: f64,
}

/// Distance assigned to a sample on another track, in revolutions.
const OTHER_TRACK_DISTANCE: f64 = 0.05;
/// Samples with a larger residual angle do not belong to the track.
const MAX_RESIDUAL_ANGLE: f64 = 0.08;

/// A sample without its rotation along the track: the remainder is the begin of its track.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackOffset {
    sector: f64,
    track_start_angle: f64,
    cos: f64,
    sin: f64,
}

/// Removes the rotation along tracks of this length from all samples.
pub(crate) fn track_offsets(samples: &[SectorAngle], length: f64) -> Vec<TrackOffset> {
    let turn = |sample: &SectorAngle| {
        let begin = wrap_turns(sample.angle - sample.sector / length);
        let (sin, cos) = (TAU * begin).sin_cos();
        TrackOffset {
            sector: sample.sector,
            track_start_angle: begin,
            cos,
            sin,
        }
    };
    samples.iter().map(turn).collect()
}

/// The samples of each track, in their order.
fn samples_by_track(
    turned: &[TrackOffset],
    length: f64,
    boundary: f64,
) -> impl Iterator<Item = (i64, &[TrackOffset], ResultantVector)> {
    let track = move |one: &TrackOffset| ((one.sector - boundary) / length).floor() as i64;
    turned
        .chunk_by(move |one, next| track(one) == track(next))
        .map(move |part| {
            let mut sum = ResultantVector::default();
            part.iter().for_each(|one| sum.add_vector(one.cos, one.sin));
            (track(&part[0]), part, sum)
        })
}

/// Goodness of fit of the samples to the lines of their tracks, 0 to 1: the mean distance, where a
/// sample on another track has the distance [`OTHER_TRACK_DISTANCE`]. A track with a single sample
/// is ignored.
pub(crate) fn layout_score(turned: &[TrackOffset], length: f64, boundary: f64) -> f64 {
    let (mut sum, mut freedom) = (0.0, 0.0);
    for (_, part, begin) in samples_by_track(turned, length, boundary) {
        let begin = begin.mean_direction();
        let misses = part
            .iter()
            .map(|one| signed_turns(one.track_start_angle - begin).abs());
        sum += misses
            .map(|miss| miss.min(OTHER_TRACK_DISTANCE))
            .sum::<f64>()
            / OTHER_TRACK_DISTANCE;
        freedom += part.len() as f64 - 1.0;
    }
    if freedom > 0.0 {
        1.0 - sum / freedom
    } else {
        0.0
    }
}

/// Least squares of angle over sector, with one slope for all tracks and an intercept for each: the
/// length and its standard error. Samples far from their track's line, late completions and those
/// across its end have reduced weight (Tukey's biweight; Beaton and Tukey 1974). The given length
/// fixes the assignment of samples to tracks: otherwise a slightly different length would move more
/// and more samples to wrong tracks, which would increase its error further.
pub(crate) fn refit_track_length(
    samples: &[SectorAngle],
    given: f64,
    boundary: f64,
) -> Option<(f64, f64)> {
    let given_offsets = track_offsets(samples, given);
    let groups = samples_by_track(&given_offsets, given, boundary);
    let group_lengths: Vec<usize> = groups.map(|(_, part, _)| part.len()).collect();
    let (mut length, mut error, mut bound) = (given, f64::INFINITY, MAX_RESIDUAL_ANGLE);
    for _ in 0..5 {
        let turned = track_offsets(samples, length);
        let mut rest = turned.as_slice();
        let (mut misses, mut tracks) = (Vec::new(), Vec::new());
        for count in &group_lengths {
            let (track, behind) = rest.split_at(*count);
            rest = behind;
            let begin = median_offset(track)?;
            let point = |one: &TrackOffset| {
                let residual = signed_turns(one.track_start_angle - begin);
                LinePoint {
                    position: one.sector - boundary,
                    residual,
                    weight: (1.0 - (residual / bound).powi(2)).max(0.0).powi(2),
                }
            };
            let points: Vec<LinePoint> = track.iter().map(point).collect();
            misses.extend(points.iter().map(|point| point.residual.abs()));
            tracks.push(points);
        }
        let (slope, slope_error) = common_slope(&tracks)?;
        length = 1.0 / (1.0 / length + slope);
        error = slope_error * length * length;
        // Seven times the median is about five standard deviations of normal noise.
        let typical = robust::median(misses)?;
        bound = (7.0 * typical).clamp(0.006, MAX_RESIDUAL_ANGLE);
    }
    (length > 0.0).then_some((length, error))
}

/// A sample relative to its track's line.
struct LinePoint {
    position: f64,
    residual: f64,
    weight: f64,
}

/// The common slope of groups of points, and its standard error.
fn common_slope(groups: &[Vec<LinePoint>]) -> Option<(f64, f64)> {
    let (mut spread, mut common, mut squares, mut freedom) = (0.0, 0.0, 0.0, -1.0);
    for group in groups {
        let sum = |of: &dyn Fn(&LinePoint) -> f64| -> f64 {
            group.iter().map(|point| point.weight * of(point)).sum()
        };
        let count = sum(&|_| 1.0);
        if count <= 0.0 {
            continue;
        }
        let x = sum(&|point| point.position) / count;
        let y = sum(&|point| point.residual) / count;
        spread += sum(&|point| (point.position - x).powi(2));
        common += sum(&|point| (point.position - x) * (point.residual - y));
        squares += sum(&|point| (point.residual - y).powi(2));
        freedom += count - 1.0;
    }
    if spread <= 0.0 || freedom < 2.0 {
        return None;
    }
    let slope = common / spread;
    let variance = (squares - slope * common).max(0.0) / freedom;
    Some((slope, (variance / spread).sqrt()))
}

/// Jumps of the angle from each track to the next, where both have two samples or more.
pub(crate) fn track_skews(samples: &[SectorAngle], length: f64, boundary: f64) -> Vec<(i64, f64)> {
    let turned = track_offsets(samples, length);
    let tracks: Vec<(i64, f64)> = samples_by_track(&turned, length, boundary)
        .filter(|(_, part, begin)| part.len() >= 2 && begin.mean_resultant_length() > 0.9)
        .filter_map(|(track, part, _)| Some((track, median_offset(part)?)))
        .collect();
    tracks
        .windows(2)
        .filter(|two| two[0].0 + 1 == two[1].0)
        .map(|two| (two[1].0, wrap_turns(two[1].1 - two[0].1)))
        .collect()
}

/// The median begin of a track: robust against a few late completions.
fn median_offset(track: &[TrackOffset]) -> Option<f64> {
    median_direction(track.iter().map(|one| one.track_start_angle))
}
