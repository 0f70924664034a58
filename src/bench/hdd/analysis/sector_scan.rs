//! Reads nearby sectors in descending order, against the drive's read-ahead, and finds their
//! tracks.

use rand::RngExt as _;

use crate::bench::BenchError;
use crate::bench::hdd::analysis::cylinder::CylinderSkew;
use crate::bench::hdd::analysis::drive_timing::{DriveTiming, SECTOR_BYTES};
use crate::bench::hdd::analysis::layout::{SectorAngle, TrackLayout};
use crate::bench::hdd::analysis::seek_prober::SeekProber;
use crate::bench::hdd::analysis::{cylinder, layout};
use crate::stats::rotation::circular::ResultantVector;

/// Reads per track of a scan.
pub const READS_PER_TRACK: f64 = 8.0;

/// Addresses of a scan, descending at uneven distances.
#[must_use]
pub fn descending_addresses(prober: &mut SeekProber<'_, '_>, chain: &SectorScan) -> Vec<u64> {
    let gap = chain.expected_track_sectors * SECTOR_BYTES / chain.reads_per_track;
    let (mut position, mut addresses) = (chain.highest_address as f64, Vec::new());
    for _ in 0..(chain.track_count * chain.reads_per_track) as usize {
        let address = prober.align_down(position.max(0.0) as u64);
        if addresses.last() != Some(&address) {
            addresses.push(address);
        }
        position -= gap * (0.4 + 1.2 * prober.random.random::<f64>());
    }
    addresses
}

/// Location and size of a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectorScan {
    /// Highest address.
    pub highest_address: u64,
    /// Expected track length in sectors.
    pub expected_track_sectors: f64,
    /// Number of tracks to cover.
    pub track_count: f64,
    /// Reads per track.
    pub reads_per_track: f64,
}

/// Scans tracks. `certain` is false if their length is known only to a factor of two.
///
/// # Errors
/// When the reads could not be started.
pub fn scan_tracks(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    phase: (&str, f64),
    chain: SectorScan,
    certain: bool,
) -> Result<Option<(TrackLayout, Vec<SectorAngle>)>, BenchError> {
    let addresses = descending_addresses(prober, &chain);
    let probes = prober.read_addresses(phase.0, phase.1, &addresses)?;
    let samples = clockwork.sector_angles(&probes);
    let about = match certain {
        true => Some((chain.expected_track_sectors, 0.02)),
        false => layout::rough_track_length(
            &samples,
            0.45 * chain.expected_track_sectors..2.2 * chain.expected_track_sectors,
        )
        .map(|length| (length, 0.25)),
    };
    let found = about
        .and_then(|(length, width)| layout::fit_layout(&samples, length, width))
        .filter(|layout| layout.coherence > 0.5);
    Ok(found.map(|layout| (layout, samples)))
}

/// Scans tracks of unknown length below an address: first determines the length, then scans up to
/// `most` tracks within `room` sectors.
///
/// # Errors
/// When the reads could not be started.
pub fn scan_unknown_tracks_below(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    phase: (&str, f64),
    (top, room): (u64, f64),
    most: f64,
) -> Result<Option<(TrackLayout, Vec<SectorAngle>)>, BenchError> {
    let Some(length) = first_track_length(prober, clockwork, phase.1, top)? else {
        return Ok(None);
    };
    let chain = SectorScan {
        highest_address: top,
        expected_track_sectors: length,
        track_count: (room / length).min(most),
        reads_per_track: READS_PER_TRACK,
    };
    scan_tracks(prober, clockwork, phase, chain, false)
}

/// Cylinder structure from long scans.
#[derive(Debug, Clone, PartialEq)]
pub struct CylinderTracks {
    /// Tracks of the first scan.
    pub layout: TrackLayout,
    /// Samples of the first scan.
    pub samples: Vec<SectorAngle>,
    /// Jumps of the angle from each track to the next, of all scans; track numbers count from the
    /// boundary of the first one.
    pub skews: Vec<(i64, f64)>,
    /// The cylinder, if one skew per period differs.
    pub cylinder: Option<CylinderSkew>,
}

impl CylinderTracks {
    /// Whether the tracks per cylinder are certain, or the skews certainly hide no cylinders.
    #[must_use]
    pub fn is_conclusive(&self) -> bool {
        self.cylinder.is_some() || cylinder::are_skews_uniform(&self.skews)
    }

    /// Adds another scan, with track numbers that continue those known.
    fn add_scan(&mut self, layout: &TrackLayout) {
        let length = self.layout.sectors_per_track;
        let ahead = ((layout.track_boundary - self.layout.track_boundary) / length).round() as i64;
        let more = layout.skews.iter();
        self.skews
            .extend(more.map(|(track, skew)| (track + ahead, *skew)));
        self.skews.sort_by_key(|(track, _)| *track);
        self.cylinder = cylinder::find_cylinder(&self.skews);
    }
}

/// Scans many tracks of known length, and up to four more regions above, until the number of tracks
/// per cylinder is clear or three scans show uniform skews. `None` if no scan shows tracks.
///
/// # Errors
/// When the reads could not be started.
pub fn scan_cylinders(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    share: f64,
    chain: SectorScan,
) -> Result<Option<CylinderTracks>, BenchError> {
    const MAX_SCANS: u32 = 5;
    const CONCLUSIVE_SCANS: u32 = 3;
    let mut best: Option<CylinderTracks> = None;
    // Five tracks between two scans: this has no common divisor with most cylinders, so that
    // positions unobserved in one scan differ from those in the next.
    let reach = ((chain.track_count + 5.0) * chain.expected_track_sectors * SECTOR_BYTES) as u64;
    for attempt in 0..MAX_SCANS {
        let chain = SectorScan {
            highest_address: chain.highest_address + u64::from(attempt) * reach,
            ..chain
        };
        let phase = ("track skew", share / f64::from(MAX_SCANS));
        if let Some((layout, samples)) = scan_tracks(prober, clockwork, phase, chain, true)? {
            match &mut best {
                Some(known) => known.add_scan(&layout),
                None => {
                    best = Some(CylinderTracks {
                        skews: layout.skews.clone(),
                        cylinder: cylinder::find_cylinder(&layout.skews),
                        layout,
                        samples,
                    });
                }
            }
        }
        let is_known = best.as_ref().is_some_and(|known| {
            known.cylinder.is_some() || attempt + 1 >= CONCLUSIVE_SCANS && known.is_conclusive()
        });
        if prober.is_over() || is_known {
            break;
        }
    }
    Ok(best)
}

/// Initial estimate of the track length below `top`: angles over a piece that is certainly shorter
/// than a track, then over pieces four times as long each, until half a track is covered.
///
/// # Errors
/// When the reads could not be started.
pub fn first_track_length(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    share: f64,
    top: u64,
) -> Result<Option<f64>, BenchError> {
    const PIECE_COUNT: usize = 4;
    const READS_PER_PIECE: f64 = 10.0;
    const MAX_TRACK_SECTORS: f64 = 160_000.0;
    let mut piece = 64_f64.max(12.0 * prober.block_bytes() as f64 / SECTOR_BYTES);
    let mut slopes = 0.0..1.0 / piece;
    let mut next = top as f64;
    while piece < MAX_TRACK_SECTORS && !prober.is_over() {
        let mut addresses = Vec::new();
        for _ in 0..PIECE_COUNT {
            // Pieces have uneven distances, so that no track boundary recurs in all of them.
            let top = next.max(0.0) as u64;
            let chain = SectorScan {
                highest_address: top,
                expected_track_sectors: piece,
                track_count: 1.0,
                reads_per_track: READS_PER_PIECE,
            };
            addresses.extend(descending_addresses(prober, &chain));
            next -= (1.0 + prober.random.random::<f64>()) * (4.0 * piece + 2000.0) * SECTOR_BYTES;
        }
        let probes = prober.read_addresses("track length", share / 5.0, &addresses)?;
        let pieces: Vec<Vec<SectorAngle>> = probes
            .chunks(addresses.len().div_ceil(PIECE_COUNT))
            .map(|part| clockwork.sector_angles(part))
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

/// The slope of angle over sector that best fits all pieces, each with its own intercept.
fn common_slope(pieces: &[Vec<SectorAngle>], range: &std::ops::Range<f64>, piece: f64) -> f64 {
    const SLOPE_STEPS: usize = 200;
    let fits = |slope: f64| -> f64 {
        let turned = |samples: &Vec<SectorAngle>| {
            let begins = samples
                .iter()
                .map(|sample| sample.angle - slope * sample.sector);
            begins.collect::<ResultantVector>().resultant_length()
        };
        pieces.iter().map(turned).sum()
    };
    let step = ((range.end - range.start) / SLOPE_STEPS as f64).min(0.02 / piece);
    let steps = ((range.end - range.start) / step) as usize;
    (0..=steps)
        .map(|index| range.start + step * index as f64)
        .map(|slope| (fits(slope), slope))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map_or(range.start, |(_, slope)| slope)
}
