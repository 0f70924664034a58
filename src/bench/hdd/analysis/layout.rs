//! Track layout, from the angles at which adjacent sectors end.
//!
//! Along a track the angle increases by one turn per track length in sectors. At a track boundary
//! it jumps by the skew, which hides the time for the switch to the next head or cylinder (Ruemmler
//! and Wilkes, "An Introduction to Disk Drive Modeling", IEEE Computer 27 (1994)).

mod track_lines;

pub use self::track_lines::SectorAngle;
use self::track_lines::{layout_score, refit_track_length, track_offsets, track_skews};
use crate::stats::rotation::circular::{ResultantVector, signed_turns};

/// Tracks of equal length, fitted to a set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackLayout {
    /// Sectors per track.
    pub sectors_per_track: f64,
    /// Standard error of the sectors per track.
    pub standard_error: f64,
    /// Sector at which one of the tracks begins.
    pub track_boundary: f64,
    /// Goodness of fit of the samples to the tracks, 0 to 1.
    pub coherence: f64,
    /// Jump of the angle from each track to the next, in ascending order of address, 0 to 1; only
    /// where both tracks have two samples or more.
    pub skews: Vec<(i64, f64)>,
}

impl TrackLayout {
    /// Sectors per track as a whole number: exact if the estimate is within half a sector.
    pub fn rounded_sectors_per_track(&self) -> f64 {
        let is_exact = 1.96 * self.standard_error < 0.5;
        if is_exact {
            self.sectors_per_track.round()
        } else {
            self.sectors_per_track
        }
    }
}

/// Initial estimate of the sectors per track between two bounds: close pairs of sectors mostly lie
/// on one track, so that their difference in angle is their distance divided by the track length.
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

/// Fits tracks near an initial estimate with relative error `width`: length and boundary for which
/// the samples of each track lie on one line, whatever the skews. `None` if there are too few
/// samples or no layout fits.
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
    // Tracks that join seamlessly have the skew in their slope, because no actuator moves in zero time.
    // Their true length is greater by that amount.
    const MIN_SKEW: f64 = 0.055;
    let longer = found.sectors_per_track * (1.0 + MIN_SKEW);
    let other = refine_layout(&ascending, longer, MIN_SKEW);
    other.filter(|other| !other.is_seamless()).or(Some(found))
}

/// Searches a short piece, which permits a wide search, and then refines each candidate over longer
/// and longer pieces, which need a more exact length. Returns the candidate that fits all samples
/// best: noise may favour a wrong one on a short piece. Samples are in ascending order.
fn refine_layout(samples: &[SectorAngle], about: f64, width: f64) -> Option<TrackLayout> {
    // Tracks of the first piece for a width of 1: a search step is then a small part of a track at
    // the end of the piece.
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

/// The tracks of this length and boundary after a final refit.
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
    /// Whether the angle is continuous across track boundaries.
    fn is_seamless(&self) -> bool {
        const MAX_SEAMLESS_SKEW: f64 = 0.01;
        let mean: ResultantVector = self.skews.iter().map(|(_, skew)| *skew).collect();
        signed_turns(mean.mean_direction()).abs() < MAX_SEAMLESS_SKEW
    }
}

/// Candidate lengths within the relative error `width` of `about`, each with its boundary, best
/// first. Refits the best points of a grid with step `step`; omits results that leave the range and
/// near duplicates.
fn search_layouts(samples: &[SectorAngle], about: f64, width: f64, step: f64) -> Vec<(f64, f64)> {
    const BOUNDARY_STEPS: usize = 32;
    const MAX_CANDIDATES: usize = 24;
    const MAX_RESULTS: usize = 3;
    // Effect of noise on the best point of a short piece.
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
    let best = scored.into_iter().take(MAX_CANDIDATES);
    let mut straight: Vec<_> = best.filter_map(straight).collect();
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
