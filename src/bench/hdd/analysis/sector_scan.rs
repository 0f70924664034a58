//! Reads nearby sectors in descending order, against the drive's read-ahead, and finds their
//! tracks.

use rand::RngExt as _;

use super::cylinder;
use super::cylinder::CylinderSkew;
use super::drive_timing::RotatingDrive;
use super::layout;
use super::layout::{SectorAngle, TrackLayout};
use super::prober::SECTOR_BYTES;
use crate::bench::BenchError;
use crate::stats::rotation::circular::ResultantVector;

/// Reads per track of a scan.
pub const READS_PER_TRACK: f64 = 8.0;

/// The tracks that a scan has found.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedTracks {
    /// The tracks.
    pub layout: TrackLayout,
    /// The angles of the sectors.
    pub samples: Vec<SectorAngle>,
}

/// What a scan has found; `None` if its angles show no tracks.
pub type ScanResult<T> = Result<Option<T>, BenchError>;

/// Cylinder structure from long scans.
#[derive(Debug, Clone, PartialEq)]
pub struct CylinderTracks {
    /// The first scan.
    pub first: ScannedTracks,
    /// Jumps of the angle from each track to the next, of all scans; track numbers count from the
    /// boundary of the first one.
    pub skews: Vec<(i64, f64)>,
    /// The cylinder, if one skew per period differs.
    pub cylinder: Option<CylinderSkew>,
}

impl CylinderTracks {
    fn new(first: ScannedTracks) -> Self {
        let skews = first.layout.skews.clone();
        Self {
            cylinder: cylinder::find_cylinder(&skews),
            skews,
            first,
        }
    }

    /// Whether the tracks per cylinder are certain, or the skews certainly hide no cylinders.
    pub fn is_conclusive(&self) -> bool {
        self.cylinder.is_some() || cylinder::are_skews_uniform(&self.skews)
    }

    /// Adds another scan, with track numbers that continue those known.
    fn add_scan(&mut self, layout: &TrackLayout) {
        let known = &self.first.layout;
        let distance = layout.track_boundary - known.track_boundary;
        let ahead = (distance / known.sectors_per_track).round() as i64;
        let more = layout.skews.iter();
        self.skews
            .extend(more.map(|(track, skew)| (track + ahead, *skew)));
        self.skews.sort_by_key(|(track, _)| *track);
        self.cylinder = cylinder::find_cylinder(&self.skews);
    }
}

impl RotatingDrive<'_, '_> {
    /// Addresses below `top`, descending at uneven distances of about `gap` sectors.
    fn descending_addresses(&mut self, top: u64, gap: f64, count: usize) -> Vec<u64> {
        let (mut position, mut addresses) = (top as f64, Vec::new());
        for _ in 0..count {
            let address = self.prober.align_down(position.max(0.0) as u64);
            if addresses.last() != Some(&address) {
                addresses.push(address);
            }
            let uneven = 0.4 + 1.2 * self.prober.random.random::<f64>();
            position -= gap * SECTOR_BYTES * uneven;
        }
        addresses
    }

    /// Scans so many tracks below `top` whose `length` in sectors is known to a factor of two.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn scan_tracks(
        &mut self,
        phase: &str,
        top: u64,
        length: f64,
        tracks: f64,
    ) -> ScanResult<ScannedTracks> {
        let (gap, count) = (length / READS_PER_TRACK, tracks * READS_PER_TRACK);
        let addresses = self.descending_addresses(top, gap, count as usize);
        self.scan(phase, &addresses, |samples| {
            let rough = layout::rough_track_length(samples, 0.45 * length..2.2 * length)?;
            layout::fit_layout(samples, rough, 0.25)
        })
    }

    fn scan(
        &mut self,
        phase: &str,
        addresses: &[u64],
        fit: impl FnOnce(&[SectorAngle]) -> Option<TrackLayout>,
    ) -> ScanResult<ScannedTracks> {
        let reads = self.prober.read_addresses(phase, addresses)?;
        let samples = self.sector_angles(&reads);
        let layout = fit(&samples).filter(|layout| layout.coherence > 0.5);
        Ok(layout.map(|layout| ScannedTracks { layout, samples }))
    }

    /// Scans tracks of unknown length below an address: first determines the length, then scans up
    /// to `most` tracks within `room` sectors.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn scan_unknown_tracks(
        &mut self,
        phase: &str,
        top: u64,
        room: f64,
        most: f64,
    ) -> ScanResult<ScannedTracks> {
        match self.first_track_length(top)? {
            Some(length) => self.scan_tracks(phase, top, length, (room / length).min(most)),
            None => Ok(None),
        }
    }

    /// Scans `tracks` tracks of known length, and up to four more regions above, until the number of
    /// tracks per cylinder is clear or three scans show uniform skews. `None` if no scan shows tracks.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn scan_cylinders(
        &mut self,
        top: u64,
        length: f64,
        tracks: f64,
    ) -> ScanResult<CylinderTracks> {
        const MAX_SCANS: u64 = 5;
        const CONCLUSIVE_SCANS: u64 = 3;
        let mut best: Option<CylinderTracks> = None;
        // Five tracks between two scans: this has no common divisor with most cylinders, so that
        // positions unobserved in one scan differ from those in the next.
        let reach = ((tracks + 5.0) * length * SECTOR_BYTES) as u64;
        let reads = (tracks * 4.0) as usize;
        for attempt in 0..MAX_SCANS {
            let addresses = self.descending_addresses(top + attempt * reach, length / 4.0, reads);
            let fit = |samples: &[SectorAngle]| layout::fit_layout(samples, length, 0.02);
            if let Some(found) = self.scan("track skew", &addresses, fit)? {
                match &mut best {
                    Some(known) => known.add_scan(&found.layout),
                    None => best = Some(CylinderTracks::new(found)),
                }
            }
            let is_known = best.as_ref().is_some_and(|known| {
                known.cylinder.is_some() || attempt + 1 >= CONCLUSIVE_SCANS && known.is_conclusive()
            });
            if self.prober.is_over() || is_known {
                break;
            }
        }
        Ok(best)
    }

    /// Initial estimate of the track length below `top`: angles over a piece that is certainly
    /// shorter than a track, then over pieces four times as long each, until half a track is covered.
    ///
    /// # Errors
    /// When the reads could not be started.
    pub fn first_track_length(&mut self, top: u64) -> ScanResult<f64> {
        const PIECE_COUNT: usize = 4;
        const READS_PER_PIECE: usize = 10;
        const MAX_TRACK_SECTORS: f64 = 160_000.0;
        let mut piece = 64_f64.max(12.0 * self.prober.block_bytes() as f64 / SECTOR_BYTES);
        let mut slopes = 0.0..1.0 / piece;
        let mut next = top as f64;
        while piece < MAX_TRACK_SECTORS && !self.prober.is_over() {
            let mut addresses = Vec::new();
            for _ in 0..PIECE_COUNT {
                let (top, gap) = (next.max(0.0) as u64, piece / READS_PER_PIECE as f64);
                addresses.extend(self.descending_addresses(top, gap, READS_PER_PIECE));
                // Pieces have uneven distances, so that no track boundary recurs in all of them.
                let uneven = 1.0 + self.prober.random.random::<f64>();
                next -= uneven * (4.0 * piece + 2000.0) * SECTOR_BYTES;
            }
            let reads = self.prober.read_addresses("track length", &addresses)?;
            let pieces: Vec<Vec<SectorAngle>> = reads
                .chunks(addresses.len().div_ceil(PIECE_COUNT))
                .map(|part| self.sector_angles(part))
                .collect();
            let slope = common_slope(&pieces, &slopes, piece);
            if slope * piece >= 0.5 {
                return Ok(Some(1.0 / slope));
            }
            let error = 0.06 / piece;
            slopes = (slope - error).max(1.0 / MAX_TRACK_SECTORS / 4.0)..slope + error;
            piece *= 4.0;
        }
        Ok(None)
    }
}

/// The slope of angle over sector that best fits all pieces, each with its own intercept.
fn common_slope(pieces: &[Vec<SectorAngle>], range: &std::ops::Range<f64>, piece: f64) -> f64 {
    const SLOPE_STEPS: usize = 200;
    let fit_of = |slope: f64| -> f64 {
        let turned = |samples: &Vec<SectorAngle>| {
            let begins = samples.iter().map(|one| one.angle - slope * one.sector);
            begins.collect::<ResultantVector>().resultant_length()
        };
        pieces.iter().map(turned).sum()
    };
    let step = ((range.end - range.start) / SLOPE_STEPS as f64).min(0.02 / piece);
    let steps = ((range.end - range.start) / step) as usize;
    (0..=steps)
        .map(|index| range.start + step * index as f64)
        .map(|slope| (fit_of(slope), slope))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map_or(range.start, |(_, slope)| slope)
}
