//! Selection of a region for cylinder-to-cylinder jumps: without a zone boundary.

use std::ops::Range;

use crate::bench::BenchError;
use crate::bench::hdd::analysis::drive_timing::{DriveTiming, SECTOR_BYTES};
use crate::bench::hdd::analysis::sector_scan;
use crate::bench::hdd::analysis::sector_scan::{CylinderTracks, SectorScan};
use crate::bench::hdd::analysis::seek_prober::SeekProber;
use crate::bench::hdd::analysis::zones::TrackLengthSample;

/// Minimum number of tracks for a reliable track length.
const MIN_TRACKS: f64 = 6.0;

/// A region of the drive with tracks of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantZone {
    /// Highest address.
    pub highest_address: u64,
    /// The tracks at its top, and the number of tracks per cylinder.
    pub cylinder_scan: CylinderTracks,
}

impl ConstantZone {
    /// Finds a region near the middle of the window with detectable tracks of equal length at both
    /// ends: across a zone boundary, a jump has another length in sectors before and after. Returns
    /// the best region if none is clear.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn find_constant_zone(
        prober: &mut SeekProber<'_, '_>,
        clockwork: &DriveTiming,
    ) -> Result<Option<Self>, BenchError> {
        const CANDIDATE_POSITIONS: [f64; 3] = [0.5, 0.53, 0.46];
        let window = prober.window();
        let mut best: Option<Self> = None;
        for position in CANDIDATE_POSITIONS {
            if prober.is_over() {
                break;
            }
            let top = window.start + ((window.end - window.start) as f64 * position) as u64;
            let Some(cylinders) = scan_cylinders_below(prober, clockwork, top)? else {
                continue;
            };
            let found = Self {
                highest_address: top,
                cylinder_scan: cylinders,
            };
            let decided = found.cylinder_scan.is_conclusive();
            if decided && found.has_constant_tracks(prober, clockwork)? {
                return Ok(Some(found));
            }
            let known = best.as_ref();
            if known.is_none_or(|known| decided && !known.cylinder_scan.is_conclusive()) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// Sectors per cylinder; per track if all skews are alike.
    #[must_use]
    pub fn sectors_per_cylinder(&self) -> f64 {
        let tracks = self
            .cylinder_scan
            .cylinder
            .map_or(1, |cylinder| cylinder.tracks);
        self.cylinder_scan.layout.rounded_sectors_per_track() * f64::from(tracks)
    }

    /// The lowest address for jumps of this many sectors: near enough for a constant track length,
    /// far enough not to read a track twice within a short time.
    #[must_use]
    pub fn lowest_jump_address(&self, jump: f64, window: &Range<u64>) -> u64 {
        let reach = 400.0 * jump * SECTOR_BYTES;
        self.highest_address
            .saturating_sub(reach as u64)
            .max(window.start)
    }

    /// Whether the tracks at the bottom are as long as those at the top.
    fn has_constant_tracks(
        &self,
        prober: &mut SeekProber<'_, '_>,
        clockwork: &DriveTiming,
    ) -> Result<bool, BenchError> {
        let here = TrackLengthSample::from_layout(self.highest_address, &self.cylinder_scan.layout);
        let chain = SectorScan {
            highest_address: self
                .lowest_jump_address(self.sectors_per_cylinder(), &prober.window()),
            expected_track_sectors: here.sectors_per_track,
            track_count: MIN_TRACKS,
            reads_per_track: sector_scan::READS_PER_TRACK,
        };
        let found = sector_scan::scan_tracks(prober, clockwork, ("tracks", 0.02), chain, false)?;
        Ok(found.is_some_and(|(layout, _)| {
            !here.is_in_other_zone(&TrackLengthSample::from_layout(
                chain.highest_address,
                &layout,
            ))
        }))
    }
}

/// The tracks below an address, and the number of tracks per cylinder.
fn scan_cylinders_below(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    top: u64,
) -> Result<Option<CylinderTracks>, BenchError> {
    let phase = ("tracks", 0.05);
    let near = sector_scan::scan_unknown_tracks_below(
        prober,
        clockwork,
        phase,
        (top, f64::INFINITY),
        MIN_TRACKS,
    )?;
    let Some((near, _)) = near else {
        return Ok(None);
    };
    let length = near.sectors_per_track;
    // Clear of the tracks read just before.
    let top = top + (100.0 * length * SECTOR_BYTES) as u64;
    let long = SectorScan {
        highest_address: top,
        expected_track_sectors: length,
        track_count: 72.0,
        reads_per_track: 4.0,
    };
    sector_scan::scan_cylinders(prober, clockwork, 0.1, long)
}
