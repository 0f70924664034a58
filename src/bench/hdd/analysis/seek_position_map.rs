//! Seek distance between two addresses: not proportional to bytes, because outer tracks hold more.

use super::drive_timing::RotatingDrive;
use super::prober::SECTOR_BYTES;
use crate::bench::BenchError;

/// Number of offsets at which the track length is sampled.
const SAMPLED_ADDRESSES: u64 = 17;

/// Actuator position over address, from track lengths at sampled offsets.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekPositionMap {
    /// Address and position, both ascending; the position is the number of tracks passed.
    address_positions: Vec<(f64, f64)>,
    /// Mean sectors per track; `None` if no tracks were detected.
    pub sectors_per_track: Option<f64>,
    /// Standard error of a position in strokes: the location of zone boundaries between samples is
    /// unknown.
    pub position_error: f64,
}

impl SeekPositionMap {
    /// Samples the window. Without detectable tracks, positions are proportional to addresses.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn measure(drive: &mut RotatingDrive<'_, '_>) -> Result<Self, BenchError> {
        let window = drive.prober.window();
        let step = drive.prober.window_bytes() / SAMPLED_ADDRESSES;
        let mut lengths: Vec<(f64, f64)> = Vec::new();
        for index in 1..=SAMPLED_ADDRESSES {
            let top = window.start + step * index;
            let known = lengths.last().map(|(_, length)| *length);
            let length = match known {
                None => drive.first_track_length(top)?,
                known => known,
            };
            let Some(length) = length else {
                break;
            };
            let found = drive.scan_tracks("track lengths", top, length, 4.0)?;
            lengths.extend(found.map(|found| (top as f64, found.layout.sectors_per_track)));
        }
        Ok(Self::new(&lengths, window.start as f64, window.end as f64))
    }

    /// Actuator positions from `(address, sectors per track)`, which may be empty.
    pub fn new(lengths: &[(f64, f64)], begin: f64, end: f64) -> Self {
        let Some((_, first)) = lengths.first() else {
            return Self {
                address_positions: vec![(begin, 0.0), (end, 1.0)],
                sectors_per_track: None,
                // The innermost track has between half and all of the sectors of the outermost one.
                position_error: 0.03,
            };
        };
        let mut points = vec![(begin, 0.0)];
        let (mut at, mut length, mut tracks) = (begin, *first, 0.0);
        let mut variance = 0.0;
        let last = (end, lengths[lengths.len() - 1].1);
        for (address, next) in lengths.iter().copied().chain([last]) {
            if address <= at {
                continue;
            }
            let sectors = (address - at) / SECTOR_BYTES;
            tracks += sectors / (0.5 * (length + next));
            // Uniform between all tracks of one length and all of the other.
            variance += (sectors * (1.0 / length - 1.0 / next)).powi(2) / 12.0;
            points.push((address, tracks));
            (at, length) = (address, next);
        }
        let mean = (end - begin) / SECTOR_BYTES / tracks;
        points.iter_mut().for_each(|point| point.1 /= tracks);
        Self {
            address_positions: points,
            sectors_per_track: Some(mean),
            position_error: variance.sqrt() / tracks,
        }
    }

    /// Actuator position at an address, 0 at the window's begin to 1 at its end.
    pub fn position_of_address(&self, address: u64) -> f64 {
        interpolate(&self.address_positions, address as f64, |point| *point)
    }

    /// Address at an actuator position.
    pub fn address_of_position(&self, position: f64) -> u64 {
        interpolate(&self.address_positions, position, |(address, position)| {
            (*position, *address)
        })
        .max(0.0) as u64
    }
}

/// Linear interpolation; `of` maps a point to its known and its requested coordinate.
fn interpolate(points: &[(f64, f64)], x: f64, of: impl Fn(&(f64, f64)) -> (f64, f64)) -> f64 {
    let after = points
        .partition_point(|point| of(point).0 < x)
        .clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (of(&points[after - 1]), of(&points[after]));
    let share = ((x - x0) / (x1 - x0)).clamp(0.0, 1.0);
    y0 + share * (y1 - y0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seek_positions_of_equal_tracks_are_linear_in_address() {
        let stroke =
            SeekPositionMap::new(&[(500.0 * SECTOR_BYTES, 10.0)], 0.0, 1000.0 * SECTOR_BYTES);
        assert!((stroke.position_of_address(250 * 512) - 0.25).abs() < 1e-12);
        assert!((stroke.sectors_per_track.unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn seek_positions_with_shorter_inner_tracks_grow_faster() {
        let stroke = SeekPositionMap::new(&[(0.0, 20.0), (5e5, 15.0), (1e6, 10.0)], 0.0, 1e6);
        // 17.5 sectors per track on average outside, 12.5 inside.
        assert!(stroke.position_of_address(500_000) < 0.5);
    }

    #[test]
    fn seek_positions_of_unknown_tracks_are_linear_in_address() {
        let stroke = SeekPositionMap::new(&[], 100.0, 200.0);
        assert_eq!(stroke.sectors_per_track, None);
        assert!((stroke.position_of_address(150) - 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn seek_position_and_address_are_inverse(position in 0.0..1.0_f64, inner in 0.3..1.0_f64) {
            let stroke = SeekPositionMap::new(&[(0.0, 1000.0), (1e11, 1000.0 * inner)], 0.0, 1e11);
            let back = stroke.position_of_address(stroke.address_of_position(position));
            prop_assert!((back - position).abs() < 1e-6);
        }
    }
}
