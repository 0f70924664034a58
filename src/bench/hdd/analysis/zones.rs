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
        let difference = (self.sectors_per_track - other.sectors_per_track).abs();
        let error = self.standard_error.hypot(other.standard_error);
        difference > MIN_SIGMAS * error && difference / self.sectors_per_track > MAX_ZONE_VARIATION
    }
}

/// Midpoint of the widest interval, above `finest` bytes, that contains a boundary; `None` when all
/// boundaries are known to that resolution. Samples are in ascending order.
pub fn widest_boundary_interval(samples: &[TrackLengthSample], finest: f64) -> Option<f64> {
    let width = |two: &[TrackLengthSample]| two[1].address - two[0].address;
    samples
        .windows(2)
        .filter(|two| width(two) > finest && two[0].is_in_other_zone(&two[1]))
        .max_by(|left, right| width(left).total_cmp(&width(right)))
        .map(|two| 0.5 * (two[0].address + two[1].address))
}

/// Number of zones: runs of adjacent samples with tracks of equal length. A single sample with adjacent
/// samples nearer than `finest` lies across a boundary and forms no zone; nor does one between two
/// adjacent samples that are alike.
pub fn count_zones(samples: &[TrackLengthSample], finest: f64) -> usize {
    let mut zones: Vec<Vec<TrackLengthSample>> = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let is_astray = with_neighbours(samples, index).is_some_and(|[before, _, after]| {
            !before.is_in_other_zone(after)
                && sample.is_in_other_zone(before)
                && sample.is_in_other_zone(after)
        });
        match zones.last_mut() {
            _ if is_astray => {}
            Some(zone) if !mean_track_length(zone).is_in_other_zone(sample) => zone.push(*sample),
            _ => zones.push(vec![*sample]),
        }
    }
    let is_across = |index: &usize| {
        with_neighbours(&zones, *index).is_some_and(|[before, zone, after]| {
            let width = after[0].address - before[before.len() - 1].address;
            zone.len() == 1 && width < 2.0 * finest
        })
    };
    let across = (0..zones.len()).filter(is_across).count();
    zones.len() - across
}

/// The item at an index between those beside it; `None` at either end.
fn with_neighbours<T>(items: &[T], index: usize) -> Option<&[T; 3]> {
    items.get(index.checked_sub(1)?..)?.first_chunk()
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
        assert_eq!(count_zones(&samples, 0.1), 3);
        assert_eq!(count_zones(&samples[3..], 1.5), 2);
        assert_eq!(count_zones(&samples, 1.5), 3);
        assert_eq!(widest_boundary_interval(&samples, 0.5), Some(4.5));
        assert_eq!(widest_boundary_interval(&samples, 1.0), None);
        assert_eq!(count_zones(&[], 0.1), 0);
    }

    #[test]
    fn zone_of_single_outlier_is_rejected() {
        let samples = samples_of_lengths(&[1000.0, 1000.0, 640.0, 1000.0, 1000.0, 900.0, 900.0]);
        assert_eq!(count_zones(&samples, 0.1), 2);
    }
}
