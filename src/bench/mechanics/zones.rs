//! Zones: stretches of addresses whose tracks are equally long.

use super::layout::Layout;

/// Tracks of the same zone differ by no more than this share.
const SAME: f64 = 0.006;
/// A step this many standard errors high is no chance.
const CERTAIN: f64 = 4.0;

/// The length of tracks at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Byte address.
    pub address: f64,
    /// Sectors of a track there.
    pub sectors_per_track: f64,
    /// Its standard error.
    pub error: f64,
}

impl Place {
    /// The tracks below an address.
    #[must_use]
    pub fn of(top: u64, layout: &Layout) -> Self {
        Self {
            address: top as f64,
            sectors_per_track: layout.sectors_per_track,
            error: layout.error,
        }
    }

    /// Whether the tracks of another place are certainly of another length.
    #[must_use]
    pub fn is_other_zone(&self, other: &Self) -> bool {
        step(self, other) > 0.0
    }
}

/// How high the step from one place to another is, as a share; 0 where it may be chance.
fn step(left: &Place, right: &Place) -> f64 {
    let difference = (left.sectors_per_track - right.sectors_per_track).abs();
    let error = left.error.hypot(right.error);
    let share = difference / left.sectors_per_track;
    if difference > CERTAIN * error && share > SAME {
        share
    } else {
        0.0
    }
}

/// The middle of the widest interval that still hides a boundary, wider than `finest` bytes;
/// `None` when all boundaries are known as finely as that. Places in ascending order.
#[must_use]
pub fn widest_step(places: &[Place], finest: f64) -> Option<f64> {
    places
        .windows(2)
        .filter(|two| two[1].address - two[0].address > finest && two[0].is_other_zone(&two[1]))
        .max_by(|left, right| {
            let width = |two: &[Place]| two[1].address - two[0].address;
            width(left).total_cmp(&width(right))
        })
        .map(|two| 0.5 * (two[0].address + two[1].address))
}

/// Joins neighbours with equally long tracks: begin and mean length of each zone. A single place
/// with neighbours nearer than `finest` lies across a boundary and is none of its own; nor is one
/// between two neighbours that are alike.
#[must_use]
pub fn group(places: &[Place], finest: f64) -> Vec<(f64, f64)> {
    let astray = |index: usize| {
        let neighbours = index.checked_sub(1).and_then(|before| {
            let (before, after) = (places.get(before)?, places.get(index + 1)?);
            Some((before, after))
        });
        neighbours.is_some_and(|(before, after)| {
            !before.is_other_zone(after)
                && places[index].is_other_zone(before)
                && places[index].is_other_zone(after)
        })
    };
    let mut zones: Vec<Vec<Place>> = Vec::new();
    for index in (0..places.len()).filter(|index| !astray(*index)) {
        let place = places[index];
        match zones.last_mut() {
            Some(zone) if !mean(zone).is_other_zone(&place) => zone.push(place),
            _ => zones.push(vec![place]),
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
                mean(&zones[index]).sectors_per_track,
            )
        })
        .collect()
}

fn mean(zone: &[Place]) -> Place {
    let count = zone.len() as f64;
    let sum = |of: fn(&Place) -> f64| zone.iter().map(of).sum::<f64>();
    Place {
        address: zone[0].address,
        sectors_per_track: sum(|place| place.sectors_per_track) / count,
        error: sum(|place| place.error * place.error).sqrt() / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(lengths: &[f64]) -> Vec<Place> {
        lengths
            .iter()
            .enumerate()
            .map(|(index, length)| Place {
                address: index as f64,
                sectors_per_track: *length,
                error: 1.0,
            })
            .collect()
    }

    #[test]
    fn steps_are_zones_and_noise_is_none() {
        let places = places(&[1000.0, 1002.0, 999.0, 950.0, 951.0, 800.0]);
        let zones = group(&places, 0.1);
        assert_eq!(
            zones.iter().map(|zone| zone.0).collect::<Vec<_>>(),
            [0.0, 3.0, 5.0]
        );
        assert_eq!(group(&places[3..], 1.5).len(), 2);
        assert_eq!(group(&places, 1.5).len(), 3);
        assert_eq!(widest_step(&places, 0.5), Some(4.5));
        assert_eq!(widest_step(&places, 1.0), None);
        assert!(group(&[], 0.1).is_empty());
    }

    #[test]
    fn a_single_place_that_went_astray_is_no_zone() {
        let places = places(&[1000.0, 1000.0, 640.0, 1000.0, 1000.0, 900.0, 900.0]);
        let zones = group(&places, 0.1);
        assert_eq!(zones, [(0.0, 1000.0), (5.0, 900.0)]);
    }
}
