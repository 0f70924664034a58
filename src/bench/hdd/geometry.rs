//! Geometry: sectors per track, zones, skew and surfaces, from the angles of adjacent sectors.

use std::time::Duration;

use rand::RngExt as _;
use serde_json::json;

use super::analysis::checks::{
    COMMAND_OVERHEAD_UNKNOWN, ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, TOO_FEW_PROBES,
    TRACKS_UNDETERMINED, too_few_observations, tracks_undetermined,
};
use super::analysis::drive_timing::RotatingDrive;
use super::analysis::prober::SECTOR_BYTES;
use super::analysis::sector_scan::{CylinderTracks, READS_PER_TRACK, ScanResult, ScannedTracks};
use super::analysis::zones;
use super::analysis::zones::TrackLengthSample;
use super::mechanics::{MechanicsBenchmark, ROTATION_METRICS, probing_parameters};
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, RunContext,
    framework,
};
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind};
use crate::stats::rotation::circular::ResultantVector;

/// Number of offsets sampled evenly over the drive.
const SAMPLED_ADDRESSES: u64 = 32;
/// Tracks per sample at both ends, where the result is to be exact.
const END_TRACKS: f64 = 32.0;
/// Resolution of zone boundaries as a part of the drive: each of 40 zones is at least eight times
/// as long.
const BOUNDARY_RESOLUTION: u64 = 512;
/// Maximum number of bisections between samples.
const MAX_BISECTIONS: usize = 200;

const DURATION: Parameter<Option<Duration>> =
    framework::DURATION.with_default(|_| Some(Duration::from_secs(120)));

const SURFACES_UNDETERMINED: Check = Check::note(
    "surfaces-undetermined",
    "The skews do not show the number of surfaces.",
);
const SURFACES_ADVICE: &str = "the drive has one surface, its head switch takes as long as a seek, or it switches heads only after \
     many tracks; if it had other users, repeat the run without them";
const ZONES_UNDETERMINED: Check = Check::note(
    "zones-undetermined",
    "The benchmark ended before all zone boundaries were found.",
);

static DESCRIPTION: Description = Description {
    name: "geometry",
    aliases: &[],
    group: BenchmarkGroup::HardDisks,
    example: "/dev/sda",
    summary: "sectors per track, zones, skew and surfaces",
    explanation: include_str!("geometry.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        TOO_FEW_PROBES,
        DOES_NOT_ROTATE,
        ROTATION_UNDETERMINED,
        ROTATION_DOUBTFUL,
        COMMAND_OVERHEAD_UNKNOWN,
        TRACKS_UNDETERMINED,
        SURFACES_UNDETERMINED,
        ZONES_UNDETERMINED,
    ],
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::SectorsPerTrackOuter,
            MetricKind::SectorsPerTrackInner,
            MetricKind::Surfaces,
            MetricKind::HeadSkew,
            MetricKind::CylinderSkew,
            MetricKind::TrackSkew,
            MetricKind::Zones,
        ]),
        ROTATION_METRICS,
    ],
    parameters: &probing_parameters(&DURATION),
    charts: &[
        ChartSpec::new(
            "Sectors per track",
            ChartShape::Steps,
            &[SeriesId::SECTORS_PER_TRACK],
        ),
        ChartSpec::new(
            "Angles of adjacent sectors",
            ChartShape::Scatter,
            &[SeriesId::ANGLE_OVER_ADDRESS],
        ),
        ChartSpec::new("Sector positions", ChartShape::Polar, &[SeriesId::PLATTER]),
    ],
    headline_metrics: &[
        MetricId::SECTORS_PER_TRACK_OUTER,
        MetricId::SECTORS_PER_TRACK_INNER,
        MetricId::ZONES,
        MetricId::SURFACES,
    ],
};

/// Measures the physical layout of the sectors.
pub static GEOMETRY: MechanicsBenchmark = MechanicsBenchmark {
    description: &DESCRIPTION,
    reads: "adjacent sectors at many positions",
    needs_rotation: true,
    // Four tracks at each offset, and at four more around each zone boundary; the remaining limits
    // cover what is then missing.
    phases: |phases, plan| {
        const READS_PER_ADDRESS: u64 = 4 * READS_PER_TRACK as u64;
        let mut usual = plan.clone();
        usual.limits.requests = Some(5 * SAMPLED_ADDRESSES * READS_PER_ADDRESS);
        phases.add_phase(usual).add_optional_phase(plan)
    },
    measure,
};

fn measure(bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let Some(drive) = RotatingDrive::find(bench)? else {
        return Ok(());
    };
    let mut survey = GeometrySurvey {
        drive,
        track_lengths: Vec::new(),
        plotted_angles: Vec::new(),
    };
    if survey.measure_both_ends()?.is_some() {
        survey.sample_evenly()?;
        survey.bisect_zone_boundaries()?;
    } else {
        let verdict = tracks_undetermined(survey.drive.prober.is_over());
        survey.drive.prober.context.set_check(verdict);
    }
    let prober = &mut survey.drive.prober;
    let (found, needed) = (survey.track_lengths.len(), SAMPLED_ADDRESSES as usize);
    if found < needed && prober.is_over() {
        let verdict = too_few_observations(("geometry", "geometry"), found, needed);
        prober.context.set_check(verdict);
    }
    Ok(())
}

/// Results so far.
struct GeometrySurvey<'b, 'a> {
    drive: RotatingDrive<'b, 'a>,
    /// Ascending by address.
    track_lengths: Vec<TrackLengthSample>,
    /// Angle and radius of samples.
    plotted_angles: Vec<[f64; 2]>,
}

impl GeometrySurvey<'_, '_> {
    /// Measures both ends exactly, and the cylinder at the outer end. `None` if no tracks are
    /// detected.
    fn measure_both_ends(&mut self) -> ScanResult<()> {
        let window = self.drive.prober.window();
        // Leaves space for the scans, which proceed towards lower addresses.
        let begin = window.start + ((window.end - window.start) / 64).min(256 << 20);
        let room = (begin - window.start) as f64 / SECTOR_BYTES * 0.9;
        let outer = MetricId::SECTORS_PER_TRACK_OUTER;
        let Some(length) = self.measure_end("outer tracks", begin, room, outer)? else {
            return Ok(None);
        };
        self.measure_cylinder(begin, length)?;
        let room = (window.end - begin) as f64 / SECTOR_BYTES;
        let inner = MetricId::SECTORS_PER_TRACK_INNER;
        let found = self.measure_end("inner tracks", window.end, room, inner)?;
        if found.is_some() {
            self.set_results();
        }
        Ok(found.map(|_| ()))
    }

    /// Scans tracks of unknown length below an address, within `room` sectors, and returns their
    /// length. Retries if other activity on the computer disturbed the first attempt.
    fn measure_end(&mut self, phase: &str, top: u64, room: f64, id: MetricId) -> ScanResult<f64> {
        const MAX_ATTEMPTS: u32 = 3;
        for _ in 0..MAX_ATTEMPTS {
            let found = self
                .drive
                .scan_unknown_tracks(phase, top, room, END_TRACKS)?;
            if let Some(found) = found {
                let length = found.layout.sectors_per_track;
                let margin = 1.96 * found.layout.standard_error;
                let metric =
                    Metric::new(id, length).with_interval(length - margin, length + margin);
                self.add_sample(top, &found);
                self.drive.prober.context.set_metric(metric);
                return Ok(Some(length));
            }
            if self.drive.prober.is_over() {
                break;
            }
        }
        Ok(None)
    }

    /// Skews and surfaces, from a long scan that begins well above the outer end.
    fn measure_cylinder(&mut self, begin: u64, length: f64) -> Result<(), BenchError> {
        const TRACKS: f64 = 96.0;
        let top = begin + ((TRACKS + 8.0) * length * SECTOR_BYTES) as u64;
        let found = self.drive.scan_cylinders(top, length, TRACKS)?;
        let context = &mut self.drive.prober.context;
        let undetermined =
            |evidence: String, facts| SURFACES_UNDETERMINED.found(evidence, SURFACES_ADVICE, facts);
        let Some(found) = found else {
            let evidence = "the angles of the scanned sectors show no tracks".to_owned();
            context.set_check(undetermined(evidence, json!({ "reason": "no-tracks" })));
            return Ok(());
        };
        context.set_series(angle_series(&found.first));
        let metric = |id, value| Metric::new(id, value);
        if let Some(cylinder) = found.cylinder {
            let surfaces = f64::from(cylinder.tracks);
            context.set_metric(metric(MetricId::SURFACES, surfaces));
            context.set_metric(metric(MetricId::HEAD_SKEW, cylinder.head_skew));
            context.set_metric(metric(MetricId::CYLINDER_SKEW, cylinder.cylinder_skew));
            return Ok(());
        }
        let (skews, pattern) = match found.is_conclusive() {
            true => ("uniform", "are all equal"),
            false => ("irregular", "show no pattern"),
        };
        if found.is_conclusive() {
            context.set_metric(metric(MetricId::TRACK_SKEW, mean_skew(&found)));
        }
        let tracks = found.skews.len();
        let facts = json!({ "reason": "skews", "tracks": tracks, "skews": skews });
        context.set_check(undetermined(
            format!("the skews of {tracks} tracks {pattern}"),
            facts,
        ));
        Ok(())
    }

    /// Samples offsets evenly over the drive.
    fn sample_evenly(&mut self) -> Result<(), BenchError> {
        let start = self.drive.prober.window().start;
        let distance = self.drive.prober.window_bytes() / SAMPLED_ADDRESSES;
        for step in 1..SAMPLED_ADDRESSES {
            let phase = format!("position {step} of {}", SAMPLED_ADDRESSES - 1);
            self.measure_track_length(&phase, start + distance * step)?;
            if self.drive.prober.is_over() {
                break;
            }
        }
        self.set_results();
        Ok(())
    }

    /// Repeatedly bisects the interval with the largest step between its ends, which contains a
    /// zone boundary.
    fn bisect_zone_boundaries(&mut self) -> Result<(), BenchError> {
        let finest = (self.drive.prober.window_bytes() / BOUNDARY_RESOLUTION) as f64;
        let mut failures = 0;
        for _ in 0..MAX_BISECTIONS {
            let Some(middle) = zones::widest_boundary_interval(&self.track_lengths, finest) else {
                break;
            };
            let prober = &mut self.drive.prober;
            if prober.is_over() || failures > MAX_BISECTIONS / 10 {
                break;
            }
            let known = self.track_lengths.len();
            // Off centre, so that after a failure the next attempt uses another offset.
            let aside = finest * (prober.random.random::<f64>() - 0.5);
            self.measure_track_length("zone boundaries", (middle + aside) as u64)?;
            failures += usize::from(self.track_lengths.len() == known);
            self.set_results();
        }
        let zones = zones::count_zones(&self.track_lengths, 2.0 * finest);
        let context = &mut self.drive.prober.context;
        if zones::widest_boundary_interval(&self.track_lengths, finest).is_none() {
            context.set_metric(Metric::new(MetricId::ZONES, zones as f64));
        } else {
            context.set_check(ZONES_UNDETERMINED.found(
                format!(
                    "at least {zones} zones: the benchmark ended before all their boundaries were found"
                ),
                "use a longer --duration",
                json!({ "zones": zones }),
            ));
        }
        Ok(())
    }

    /// Measures the track length below an address, starting from that of the nearest sample.
    fn measure_track_length(&mut self, phase: &str, top: u64) -> Result<(), BenchError> {
        let lengths = &self.track_lengths;
        let after = lengths.partition_point(|sample| sample.address < top as f64);
        let neighbours = lengths[after.saturating_sub(1)..(after + 1).min(lengths.len())].to_vec();
        let distance = |sample: &TrackLengthSample| (sample.address - top as f64).abs();
        let mut by_distance = neighbours.iter();
        let Some(near) = by_distance.next() else {
            return Ok(());
        };
        let near = by_distance.fold(near, |near, other| {
            if distance(other) < distance(near) {
                other
            } else {
                near
            }
        });
        let length = near.sectors_per_track;
        // Beyond the data that the drive's cache still holds from the first attempt.
        let aside = (64.0 * length * SECTOR_BYTES) as u64;
        let second = top
            .saturating_sub(aside)
            .max(self.drive.prober.window().start);
        let mut known = neighbours.clone();
        // Measures twice if the result differs from both adjacent samples: a few late completions can
        // mislead.
        for top in [top, second] {
            if let Some(found) = self.drive.scan_tracks(phase, top, length, 5.0)? {
                let sample = TrackLengthSample::from_layout(top, &found.layout);
                if known.iter().any(|other| !other.is_in_other_zone(&sample)) {
                    self.add_sample(top, &found);
                    break;
                }
                known.push(sample);
            }
        }
        Ok(())
    }

    /// Adds the result at an address.
    fn add_sample(&mut self, top: u64, found: &ScannedTracks) {
        let prober = &self.drive.prober;
        let above = top - prober.window().start;
        // The innermost track has about half the radius of the outermost.
        let radius = 1.0 - 0.5 * (above as f64 / prober.window_bytes() as f64);
        let angles = found.samples.iter().map(|sample| [sample.angle, radius]);
        self.plotted_angles.extend(angles);
        let sample = TrackLengthSample::from_layout(top, &found.layout);
        self.track_lengths.push(sample);
        self.track_lengths
            .sort_by(|left, right| left.address.total_cmp(&right.address));
    }

    fn set_results(&mut self) {
        let lengths = self.track_lengths.iter();
        let points = lengths.map(|sample| [sample.address, sample.sectors_per_track]);
        let lengths = Series::new(SeriesKind::SectorsPerTrack, points.collect());
        let platter = Series::new(SeriesKind::Platter, self.plotted_angles.clone());
        let context = &mut self.drive.prober.context;
        context.set_series(lengths);
        context.set_series(platter);
        context.phase_finished();
    }
}

fn mean_skew(found: &CylinderTracks) -> f64 {
    let skews = found.skews.iter().map(|skew| skew.1);
    skews.collect::<ResultantVector>().mean_direction()
}

/// The angles of the first eight tracks of a scan.
fn angle_series(found: &ScannedTracks) -> Series {
    let sectors = found.samples.iter().map(|sample| sample.sector);
    let end = sectors.fold(f64::INFINITY, f64::min) + 8.0 * found.layout.sectors_per_track;
    let first = found.samples.iter().filter(|sample| sample.sector <= end);
    let points = first.map(|sample| [sample.sector * SECTOR_BYTES, sample.angle]);
    Series::new(SeriesKind::AngleOverAddress, points.collect())
}
