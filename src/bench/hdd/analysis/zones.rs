//! Zones: address ranges with tracks of equal length.

use super::layout::TrackLayout;

/// Maximum relative difference of track lengths within a zone.
const MAX_ZONE_VARIATION: f64 = 0.006;
/// Minimum significance of a step in standard errors.
const MIN_SIGMAS: f64 = 4.0;

/// Track length at one offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrackLengthSample {
    /// Byte address.
    pub address: f64,
    /// Sectors per track there.
    pub sectors_per_track: f64,
    /// Standard error of the sectors per track.
    pub standard_error: f64,
}

impl TrackLengthSample {
    /// A sample from the tracks below an address.
    pub fn from_layout(top: u64, layout: &TrackLayout) -> Self {
        Self {
            address: top as f64,
            sectors_per_track: layout.sectors_per_track,
            standard_error: layout.standard_error,
        }
    }

    /// Whether the track length at another offset is significantly different.
    pub fn is_in_other_zone(&self, other: &Self) -> bool {
        step_height(self, other) > 0.0
    }
}

/// Relative height of the step between two offsets; 0 if not significant.
fn step_height(left: &TrackLengthSample, right: &TrackLengthSample) -> f64 {
    let difference = (left.sectors_per_track - right.sectors_per_track).abs();
    let error = left.standard_error.hypot(right.standard_error);
    let share = difference / left.sectors_per_track;
    if difference > MIN_SIGMAS * error && share > MAX_ZONE_VARIATION {
        share
    } else {
        0.0
    }
}

/// Midpoint of the widest interval, above `finest` bytes, that contains a boundary; `None` when all
/// boundaries are known to that resolution. Samples are in ascending order.
pub fn widest_boundary_interval(samples: &[TrackLengthSample], finest: f64) -> Option<f64> {
    samples
        .windows(2)
        .filter(|two| two[1].address - two[0].address > finest && two[0].is_in_other_zone(&two[1]))
        .max_by(|left, right| {
            let width = |two: &[TrackLengthSample]| two[1].address - two[0].address;
            width(left).total_cmp(&width(right))
        })
        .map(|two| 0.5 * (two[0].address + two[1].address))
}

/// Merges adjacent samples with tracks of equal length: begin and mean length of each zone. A single
/// sample with adjacent samples nearer than `finest` lies across a boundary and forms no zone; nor does
/// one between two adjacent samples that are alike.
pub fn group_zones(samples: &[TrackLengthSample], finest: f64) -> Vec<(f64, f64)> {
    let astray = |index: usize| {
        let adjacent = index.checked_sub(1).and_then(|before| {
            let (before, after) = (samples.get(before)?, samples.get(index + 1)?);
            Some((before, after))
        });
        adjacent.is_some_and(|(before, after)| {
            !before.is_in_other_zone(after)
                && samples[index].is_in_other_zone(before)
                && samples[index].is_in_other_zone(after)
        })
    };
    let mut zones: Vec<Vec<TrackLengthSample>> = Vec::new();
    for index in (0..samples.len()).filter(|index| !astray(*index)) {
        let sample = samples[index];
        match zones.last_mut() {
            Some(zone) if !mean_track_length(zone).is_in_other_zone(&sample) => zone.push(sample),
            _ => zones.push(vec![sample]),
        }
    }
    let across = |index: usize| {
        let (Some(before), Some(after)) = (index.checked_sub(1), zones.get(index + 1)) else {
            return false;
        };
        let last = zones[before][zones[before].len() - 1].address;
        zones[index].len() == 1 && after[0].address - last < 2.0 * finest
    };
    (0..zones.len())
        .filter(|index| !across(*index))
        .map(|index| {
            (
                zones[index][0].address,
                mean_track_length(&zones[index]).sectors_per_track,
            )
        })
        .collect()
}

fn mean_track_length(zone: &[TrackLengthSample]) -> TrackLengthSample {
    let count = zone.len() as f64;
    let sum = |of: fn(&TrackLengthSample) -> f64| zone.iter().map(of).sum::<f64>();
    TrackLengthSample {
        address: zone[0].address,
        sectors_per_track: sum(|sample| sample.sectors_per_track) / count,
        standard_error: sum(|sample| sample.standard_error * sample.standard_error).sqrt() / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples_of_lengths(lengths: &[f64]) -> Vec<TrackLengthSample> {
        lengths
            .iter()
            .enumerate()
            .map(|(index, length)| TrackLengthSample {
                address: index as f64,
                sectors_per_track: *length,
                standard_error: 1.0,
            })
            .collect()
    }

    #[test]
    fn zones_are_found_at_steps_and_not_in_noise() {
        let samples = samples_of_lengths(&[1000.0, 1002.0, 999.0, 950.0, 951.0, 800.0]);
        let zones = group_zones(&samples, 0.1);
        assert_eq!(
            zones.iter().map(|zone| zone.0).collect::<Vec<_>>(),
            [0.0, 3.0, 5.0]
        );
        assert_eq!(group_zones(&samples[3..], 1.5).len(), 2);
        assert_eq!(group_zones(&samples, 1.5).len(), 3);
        assert_eq!(widest_boundary_interval(&samples, 0.5), Some(4.5));
        assert_eq!(widest_boundary_interval(&samples, 1.0), None);
        assert!(group_zones(&[], 0.1).is_empty());
    }

    #[test]
    fn zone_of_single_outlier_is_rejected() {
        let samples = samples_of_lengths(&[1000.0, 1000.0, 640.0, 1000.0, 1000.0, 900.0, 900.0]);
        let zones = group_zones(&samples, 0.1);
        assert_eq!(zones, [(0.0, 1000.0), (5.0, 900.0)]);
    }
}
