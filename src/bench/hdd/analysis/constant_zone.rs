//! Selection of a region for cylinder-to-cylinder jumps: without a zone boundary.

use super::drive_timing::RotatingDrive;
use super::prober::SECTOR_BYTES;
use super::sector_scan::{CylinderTracks, ScanResult};
use super::zones::TrackLengthSample;
use crate::bench::BenchError;

/// Minimum number of tracks for a reliable track length.
const MIN_TRACKS: f64 = 6.0;

/// A region of the drive with tracks of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantZone {
    /// Highest address.
    pub highest_address: u64,
    /// The tracks at its top, and the number of tracks per cylinder.
    pub cylinders: CylinderTracks,
}

impl ConstantZone {
    /// Finds a region near the middle of the window with detectable tracks of equal length at both
    /// ends: across a zone boundary, a jump has another length in sectors before and after. Returns
    /// the best region if none is clear.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn find(drive: &mut RotatingDrive<'_, '_>) -> ScanResult<Self> {
        const CANDIDATE_POSITIONS: [f64; 3] = [0.5, 0.53, 0.46];
        let (begin, size) = (drive.prober.window().start, drive.prober.window_bytes());
        let mut best: Option<Self> = None;
        for position in CANDIDATE_POSITIONS {
            if drive.prober.is_over() {
                break;
            }
            let highest_address = begin + (size as f64 * position) as u64;
            let Some(cylinders) = scan_cylinders_below(drive, highest_address)? else {
                continue;
            };
            let found = Self {
                highest_address,
                cylinders,
            };
            let is_decided = found.cylinders.is_conclusive();
            if is_decided && found.has_constant_tracks(drive)? {
                return Ok(Some(found));
            }
            let known = best.as_ref();
            if known.is_none_or(|known| is_decided && !known.cylinders.is_conclusive()) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// Sectors per cylinder; per track if all skews are alike.
    pub fn sectors_per_cylinder(&self) -> f64 {
        let tracks = self
            .cylinders
            .cylinder
            .map_or(1, |cylinder| cylinder.tracks);
        self.cylinders.first.layout.rounded_sectors_per_track() * f64::from(tracks)
    }

    /// The lowest address for jumps of this many sectors: near enough for a constant track length,
    /// far enough not to read a track twice within a short time.
    pub fn lowest_jump_address(&self, jump: f64, window_start: u64) -> u64 {
        let reach = 400.0 * jump * SECTOR_BYTES;
        self.highest_address
            .saturating_sub(reach as u64)
            .max(window_start)
    }

    /// Whether the tracks at the bottom are as long as those at the top.
    fn has_constant_tracks(&self, drive: &mut RotatingDrive<'_, '_>) -> Result<bool, BenchError> {
        let window_start = drive.prober.window().start;
        let bottom = self.lowest_jump_address(self.sectors_per_cylinder(), window_start);
        let here = &self.cylinders.first.layout;
        let below = drive.scan_tracks("tracks", bottom, here.sectors_per_track, MIN_TRACKS)?;
        let here = TrackLengthSample::from_layout(self.highest_address, here);
        Ok(below.is_some_and(|found| {
            !here.is_in_other_zone(&TrackLengthSample::from_layout(bottom, &found.layout))
        }))
    }
}

/// The tracks below an address, and the number of tracks per cylinder.
fn scan_cylinders_below(drive: &mut RotatingDrive<'_, '_>, top: u64) -> ScanResult<CylinderTracks> {
    let near = drive.scan_unknown_tracks("tracks", top, f64::INFINITY, MIN_TRACKS)?;
    let Some(near) = near else {
        return Ok(None);
    };
    let length = near.layout.sectors_per_track;
    // Clear of the tracks read just before.
    let top = top + (100.0 * length * SECTOR_BYTES) as u64;
    drive.scan_cylinders(top, length, 72.0)
}
