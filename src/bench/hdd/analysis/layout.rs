//! How tracks lie, from the angles at which neighbouring sectors end.
//!
//! Along a track the angle rises by one turn per track's worth of sectors; where a track ends it
//! jumps by the skew, which hides the time for switching to the next head or cylinder (Ruemmler
//! and Wilkes, "An Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).

mod track_lines;

use self::track_lines::{layout_score, refit_track_length, track_offsets, track_skews};
use crate::stats::rotation::circular::{ResultantVector, signed_turns};

/// One sector's angle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectorAngle {
    /// Sector of 512 bytes, counted from the beginning of the medium.
    pub sector: f64,
    /// Angle at which it ends, 0 to 1; its zero is the same for all samples of a set.
    pub angle: f64,
}

/// Tracks of equal length, as a set of samples shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackLayout {
    /// Sectors of a track.
    pub sectors_per_track: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Sector at which one of the tracks begins.
    pub track_boundary: f64,
    /// How well the samples lie on tracks, 0 to 1.
    pub coherence: f64,
    /// Jump of the angle from each track to the next, in ascending order of address, 0 to 1; only
    /// where both tracks have two samples or more.
    pub skews: Vec<(i64, f64)>,
}

impl TrackLayout {
    /// Sectors of a track, which are a whole number: exact where they are known to half a one.
    #[must_use]
    pub fn rounded_sectors_per_track(&self) -> f64 {
        match 1.96 * self.standard_error < 0.5 {
            true => self.sectors_per_track.round(),
            false => self.sectors_per_track,
        }
    }
}

/// A first value for the sectors per track between two bounds: pairs that are close together
/// mostly lie on one track, so that their difference in angle is their distance over the track.
#[must_use]
pub fn rough_track_length(samples: &[SectorAngle], bounds: std::ops::Range<f64>) -> Option<f64> {
    const MAX_PAIR_DISTANCE: f64 = 0.26;
    const MAX_PAIR_ANGLE: f64 = 0.06;
    let score = |length: f64| {
        let (mut sum, mut pairs) = (0.0, 0_usize);
        for (index, one) in samples.iter().enumerate() {
            for other in &samples[index + 1..] {
                let distance = one.sector - other.sector;
                if distance.abs() <= MAX_PAIR_DISTANCE * length {
                    let miss = one.angle - other.angle - distance / length;
                    sum += (1.0 - signed_turns(miss).abs() / MAX_PAIR_ANGLE).max(0.0);
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
pub fn fit_layout(samples: &[SectorAngle], about: f64, width: f64) -> Option<TrackLayout> {
    if samples.len() < 8 {
        return None;
    }
    let mut ascending = samples.to_vec();
    ascending.sort_by(|left, right| left.sector.total_cmp(&right.sector));
    let found = refine_layout(&ascending, about, width)?;
    if !found.is_seamless() {
        return Some(found);
    }
    // Tracks that join without a seam have the skew in their slope, for no drive moves its arm in
    // no time. They are longer by as much.
    const MIN_SKEW: f64 = 0.055;
    refine_layout(
        &ascending,
        found.sectors_per_track * (1.0 + MIN_SKEW),
        MIN_SKEW,
    )
    .filter(|other| !other.is_seamless())
    .or(Some(found))
}

/// Searches over a short piece, which bears a wide search, and from each of its best places over
/// longer and longer pieces, for which the length must be known more exactly. Of those the one that
/// fits all samples best is taken: noise may let a short piece fit better elsewhere. Samples in
/// ascending order.
fn refine_layout(samples: &[SectorAngle], about: f64, width: f64) -> Option<TrackLayout> {
    // Tracks of the first piece for a width of 1: a step of the search is then a small part of a
    // track at its end.
    const FIRST_PIECE_TRACKS: f64 = 0.4;
    const STEPS_PER_WIDTH: f64 = 25.0;
    const PIECE_GROWTH: f64 = 3.0;
    let short = (FIRST_PIECE_TRACKS / width).clamp(5.0, 32.0);
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
            known *= PIECE_GROWTH;
            (length, boundary) =
                *search_layouts(piece(known), length, width, width / STEPS_PER_WIDTH).first()?;
        }
        layout_from_track(samples, length, boundary)
    };
    search_layouts(piece(short), about, width, width / STEPS_PER_WIDTH)
        .into_iter()
        .filter_map(follow)
        .max_by(|left, right| left.coherence.total_cmp(&right.coherence))
}

/// The tracks of that length and boundary, straightened once more.
fn layout_from_track(samples: &[SectorAngle], length: f64, boundary: f64) -> Option<TrackLayout> {
    let (length, error) = refit_track_length(samples, length, boundary)?;
    Some(TrackLayout {
        sectors_per_track: length,
        standard_error: error,
        track_boundary: boundary,
        coherence: layout_score(&track_offsets(samples, length), length, boundary),
        skews: track_skews(samples, length, boundary),
    })
}

impl TrackLayout {
    /// Whether the angle goes on from track to track as if there were none.
    fn is_seamless(&self) -> bool {
        const MAX_SEAMLESS_SKEW: f64 = 0.01;
        let mean: ResultantVector = self.skews.iter().map(|(_, skew)| *skew).collect();
        signed_turns(mean.mean_direction()).abs() < MAX_SEAMLESS_SKEW
    }
}

/// Lengths within `width` (a share) of `about`, each with its boundary, that fit best, the best one
/// first: the best places of a grid in steps of `step` are straightened. None that strays from
/// there, and no two that are nearly the same.
fn search_layouts(samples: &[SectorAngle], about: f64, width: f64, step: f64) -> Vec<(f64, f64)> {
    const BOUNDARY_STEPS: usize = 32;
    const MAX_CANDIDATES: usize = 24;
    const MAX_RESULTS: usize = 3;
    // What noise may move the best place of a short piece by.
    const CANDIDATE_DISTANCE: f64 = 0.008;
    let Some(origin) = samples.first().map(|sample| sample.sector) else {
        return Vec::new();
    };
    let steps = (width / step).ceil() as i32;
    let mut scored = Vec::new();
    for index in -steps..=steps {
        let length = about * (1.0 + step * f64::from(index));
        let turned = track_offsets(samples, length);
        for part in 0..BOUNDARY_STEPS {
            let boundary = origin - length * part as f64 / BOUNDARY_STEPS as f64;
            scored.push((layout_score(&turned, length, boundary), (length, boundary)));
        }
    }
    let best_first = |left: &(f64, _), right: &(f64, _)| right.0.total_cmp(&left.0);
    scored.sort_by(best_first);
    let straight = |(_, (length, boundary)): (f64, (f64, f64))| {
        let (length, _) = refit_track_length(samples, length, boundary)?;
        let score = layout_score(&track_offsets(samples, length), length, boundary);
        ((length / about - 1.0).abs() <= 1.3 * width + CANDIDATE_DISTANCE)
            .then_some((score, (length, boundary)))
    };
    let mut straight: Vec<_> = scored
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter_map(straight)
        .collect();
    straight.sort_by(best_first);
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (_, (length, boundary)) in straight {
        let near = |known: &(f64, f64)| (known.0 / length - 1.0).abs() < 2.0 * step;
        if kept.len() < MAX_RESULTS && !kept.iter().any(near) {
            kept.push((length, boundary));
        }
    }
    kept
}

#[cfg(test)]
mod tests;
