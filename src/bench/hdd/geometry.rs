//! Geometry: sectors per track, zones, skew and surfaces, from the angles of adjacent sectors.

use std::time::Duration;

use rand::RngExt as _;
use serde_json::json;

use super::analysis;
use super::analysis::checks::{
    COMMAND_OVERHEAD_UNKNOWN, ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, TOO_FEW_PROBES,
    TRACKS_UNDETERMINED, too_few_observations, tracks_undetermined,
};
use super::analysis::layout::{SectorAngle, TrackLayout};
use super::analysis::sector_scan;
use super::analysis::sector_scan::SectorScan;
use super::analysis::zones;
use super::analysis::zones::TrackLengthSample;
use super::analysis::{DriveTiming, SECTOR_BYTES, SeekProber};
use crate::bench::framework;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, Parameter, ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind, Verdict,
};
use crate::stats::rotation::circular::ResultantVector;

/// Measures the physical layout of the sectors.
pub struct GeometryBenchmark;

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
    metrics: &[MetricFamily::Own(&[
        MetricKind::SectorsPerTrackOuter,
        MetricKind::SectorsPerTrackInner,
        MetricKind::Surfaces,
        MetricKind::HeadSkew,
        MetricKind::CylinderSkew,
        MetricKind::TrackSkew,
        MetricKind::Zones,
        MetricKind::RotationSpeed,
        MetricKind::RevolutionTime,
        MetricKind::RotationCoherence,
    ])],
    parameters: &analysis::probing_parameters(&DURATION),
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

/// Four tracks at each offset, and at four more around each zone boundary; the remaining limits
/// cover what is then missing.
fn planned_phases(target: &Target, parameters: &ParameterSet) -> PlannedPhases {
    const READS_PER_ADDRESS: u64 = 4 * sector_scan::READS_PER_TRACK as u64;
    let rest = analysis::single_read_plan(target, parameters);
    let mut usual = rest.clone();
    usual.limits.requests = Some(5 * SAMPLED_ADDRESSES * READS_PER_ADDRESS);
    let limits = framework::plan_limits(parameters);
    PlannedPhases::first_come(limits)
        .add_phase(usual)
        .add_optional_phase(rest)
}

impl Benchmark for GeometryBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let forecast = analysis::forecast(target, parameters, "adjacent sectors at many positions");
        Ok(match target.is_rotational() {
            Some(false) => forecast,
            _ => Forecast {
                run_time: planned_phases(target, parameters).run_time(target),
                ..forecast
            },
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = analysis::start_seek_probing(bench, 0.1)? else {
            return Ok(());
        };
        let mut survey = GeometrySurvey {
            drive_timing: clockwork,
            track_lengths: Vec::new(),
            plotted_angles: Vec::new(),
        };
        if survey.measure_both_ends(&mut prober)? {
            survey.sample_evenly(&mut prober)?;
            survey.bisect_zone_boundaries(&mut prober)?;
        } else {
            prober
                .context
                .set_check(tracks_undetermined(prober.is_over()));
        }
        let (found, needed) = (survey.track_lengths.len(), SAMPLED_ADDRESSES as usize);
        if found < needed && prober.is_over() {
            let quantity = ("geometry", "geometry");
            prober
                .context
                .set_check(too_few_observations(quantity, found, needed));
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// Results so far.
struct GeometrySurvey {
    drive_timing: DriveTiming,
    /// Ascending by address.
    track_lengths: Vec<TrackLengthSample>,
    /// Angle and radius of samples.
    plotted_angles: Vec<[f64; 2]>,
}

impl GeometrySurvey {
    /// Measures both ends exactly, and the cylinder at the outer end. False if no tracks are
    /// detected.
    fn measure_both_ends(&mut self, prober: &mut SeekProber<'_, '_>) -> Result<bool, BenchError> {
        let window = prober.window();
        // Leaves space for the scans, which proceed towards lower addresses.
        let begin = window.start + ((window.end - window.start) / 64).min(256 << 20);
        let room = (begin - window.start) as f64 / SECTOR_BYTES * 0.9;
        let Some(layout) = self.measure_end(prober, ("outer tracks", 0.05), begin, room)? else {
            return Ok(false);
        };
        prober
            .context
            .set_metric(sectors_metric(MetricId::SECTORS_PER_TRACK_OUTER, &layout));
        self.measure_cylinder(prober, begin, layout.sectors_per_track)?;
        let room = (window.end - begin) as f64 / SECTOR_BYTES;
        let Some(layout) = self.measure_end(prober, ("inner tracks", 0.05), window.end, room)?
        else {
            return Ok(false);
        };
        prober
            .context
            .set_metric(sectors_metric(MetricId::SECTORS_PER_TRACK_INNER, &layout));
        self.set_results(prober);
        Ok(true)
    }

    /// Scans tracks of unknown length below an address, within `room` sectors. Retries once if
    /// other activity on the computer disturbed the first attempt.
    fn measure_end(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        phase: (&str, f64),
        top: u64,
        room: f64,
    ) -> Result<Option<TrackLayout>, BenchError> {
        const MAX_ATTEMPTS: u32 = 3;
        for _ in 0..MAX_ATTEMPTS {
            let found = sector_scan::scan_unknown_tracks_below(
                prober,
                &self.drive_timing,
                phase,
                (top, room),
                END_TRACKS,
            )?;
            if let Some(found) = found {
                return Ok(Some(self.add_sample(prober, top, found)));
            }
            if prober.is_over() {
                break;
            }
        }
        Ok(None)
    }

    /// Skews and surfaces, from a long scan that begins well above the outer end.
    fn measure_cylinder(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        begin: u64,
        length: f64,
    ) -> Result<(), BenchError> {
        const TRACKS: f64 = 96.0;
        let top = begin + ((TRACKS + 8.0) * length * SECTOR_BYTES) as u64;
        let chain = SectorScan {
            highest_address: top,
            expected_track_sectors: length,
            track_count: TRACKS,
            reads_per_track: 4.0,
        };
        let Some(found) = sector_scan::scan_cylinders(prober, &self.drive_timing, 0.1, chain)?
        else {
            prober.context.set_check(SURFACES_UNDETERMINED.found(
                "the angles of the scanned sectors show no tracks",
                SURFACES_ADVICE,
                json!({ "reason": "no-tracks" }),
            ));
            return Ok(());
        };
        let layout = &found.layout;
        prober
            .context
            .set_series(angle_series(&found.samples, 8.0 * layout.sectors_per_track));
        let tracks = found.skews.len();
        match found.cylinder {
            Some(cylinder) => {
                prober
                    .context
                    .set_metric(Metric::new(MetricId::SURFACES, f64::from(cylinder.tracks)));
                prober
                    .context
                    .set_metric(Metric::new(MetricId::HEAD_SKEW, cylinder.head_skew));
                prober
                    .context
                    .set_metric(Metric::new(MetricId::CYLINDER_SKEW, cylinder.cylinder_skew));
            }
            None if found.is_conclusive() => {
                let skews = found.skews.iter().map(|skew| skew.1);
                let skew = skews.collect::<ResultantVector>().mean_direction();
                prober
                    .context
                    .set_metric(Metric::new(MetricId::TRACK_SKEW, skew));
                prober
                    .context
                    .set_check(surfaces_undetermined(tracks, "uniform", "are all equal"));
            }
            None => {
                prober.context.set_check(surfaces_undetermined(
                    tracks,
                    "irregular",
                    "show no pattern",
                ));
            }
        }
        Ok(())
    }

    /// Samples offsets evenly over the drive.
    fn sample_evenly(&mut self, prober: &mut SeekProber<'_, '_>) -> Result<(), BenchError> {
        let window = prober.window();
        for step in 1..SAMPLED_ADDRESSES {
            let top = window.start + (window.end - window.start) / SAMPLED_ADDRESSES * step;
            let text = format!("position {step} of {}", SAMPLED_ADDRESSES - 1);
            self.measure_track_length(prober, (&text, 0.4 / SAMPLED_ADDRESSES as f64), top)?;
            if prober.is_over() {
                break;
            }
        }
        self.set_results(prober);
        Ok(())
    }

    /// Repeatedly bisects the interval with the largest step between its ends, which contains a
    /// zone boundary.
    fn bisect_zone_boundaries(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
    ) -> Result<(), BenchError> {
        let window = prober.window();
        let finest = ((window.end - window.start) / BOUNDARY_RESOLUTION) as f64;
        let mut failures = 0;
        for _ in 0..MAX_BISECTIONS {
            let Some(middle) = zones::widest_boundary_interval(&self.track_lengths, finest) else {
                break;
            };
            if prober.is_over() || failures > MAX_BISECTIONS / 10 {
                break;
            }
            let known = self.track_lengths.len();
            // Off centre, so that after a failure the next attempt uses another offset.
            let aside = finest * (prober.random.random::<f64>() - 0.5);
            let phase = ("zone boundaries", 0.2 / MAX_BISECTIONS as f64);
            self.measure_track_length(prober, phase, (middle + aside) as u64)?;
            failures += usize::from(self.track_lengths.len() == known);
            self.set_results(prober);
        }
        let zones = zones::group_zones(&self.track_lengths, 2.0 * finest).len();
        if zones::widest_boundary_interval(&self.track_lengths, finest).is_none() {
            let zones = Metric::new(MetricId::ZONES, zones as f64);
            prober.context.set_metric(zones);
        } else {
            prober.context.set_check(ZONES_UNDETERMINED.found(
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
    fn measure_track_length(
        &mut self,
        prober: &mut SeekProber<'_, '_>,
        phase: (&str, f64),
        top: u64,
    ) -> Result<(), BenchError> {
        let after = self
            .track_lengths
            .partition_point(|step| step.address < top as f64);
        let around = [after.checked_sub(1), Some(after)];
        let neighbours: Vec<TrackLengthSample> = around
            .into_iter()
            .filter_map(|index| self.track_lengths.get(index?).copied())
            .collect();
        let away = |step: &TrackLengthSample| (step.address - top as f64).abs();
        let near = neighbours
            .iter()
            .min_by(|left, right| away(left).total_cmp(&away(right)));
        let Some(near) = near else {
            return Ok(());
        };
        let mut chain = SectorScan {
            highest_address: top,
            expected_track_sectors: near.sectors_per_track,
            track_count: 5.0,
            reads_per_track: sector_scan::READS_PER_TRACK,
        };
        // Beyond the data that the drive's cache still holds from the first attempt.
        let aside = (64.0 * near.sectors_per_track * SECTOR_BYTES) as u64;
        let mut earlier: Option<TrackLengthSample> = None;
        // Measures twice if the result differs from both adjacent samples: a few late completions can
        // mislead.
        for _ in 0..2 {
            let found = sector_scan::scan_tracks(prober, &self.drive_timing, phase, chain, false)?;
            if let Some(found) = found {
                let step = TrackLengthSample::from_layout(chain.highest_address, &found.0);
                let mut known = neighbours.iter().chain(&earlier);
                if known.any(|other| !other.is_in_other_zone(&step)) {
                    self.add_sample(prober, chain.highest_address, found);
                    break;
                }
                earlier = Some(step);
            }
            chain.highest_address = top.saturating_sub(aside).max(prober.window().start);
        }
        Ok(())
    }

    /// Adds the result at an address.
    fn add_sample(
        &mut self,
        prober: &SeekProber<'_, '_>,
        top: u64,
        (layout, samples): (TrackLayout, Vec<SectorAngle>),
    ) -> TrackLayout {
        let window = prober.window();
        let share = (top - window.start) as f64 / (window.end - window.start) as f64;
        // The innermost track has about half the radius of the outermost.
        self.plotted_angles.extend(
            samples
                .iter()
                .map(|sample| [sample.angle, 1.0 - 0.5 * share]),
        );
        self.track_lengths
            .push(TrackLengthSample::from_layout(top, &layout));
        self.track_lengths
            .sort_by(|left, right| left.address.total_cmp(&right.address));
        layout
    }

    fn set_results(&self, prober: &mut SeekProber<'_, '_>) {
        prober.context.set_series(Series::new(
            SeriesKind::SectorsPerTrack,
            self.track_lengths
                .iter()
                .map(|step| [step.address, step.sectors_per_track])
                .collect(),
        ));
        prober.context.set_series(Series::new(
            SeriesKind::Platter,
            self.plotted_angles.clone(),
        ));
        prober.context.phase_finished();
    }
}

fn sectors_metric(id: MetricId, layout: &TrackLayout) -> Metric {
    let (value, half_width) = (layout.sectors_per_track, 1.96 * layout.standard_error);
    Metric::new(id, value).with_interval(value - half_width, value + half_width)
}

/// The angles of the first sectors of a scan.
fn angle_series(samples: &[SectorAngle], sectors: f64) -> Series {
    let first = samples
        .iter()
        .map(|sample| sample.sector)
        .fold(f64::INFINITY, f64::min);
    Series::new(
        SeriesKind::AngleOverAddress,
        samples
            .iter()
            .filter(|sample| sample.sector <= first + sectors)
            .map(|sample| [sample.sector * SECTOR_BYTES, sample.angle])
            .collect(),
    )
}

/// The skews of the scanned tracks do not show a cylinder; their pattern as a key and in words.
fn surfaces_undetermined(tracks: usize, skews: &str, pattern: &str) -> Verdict {
    SURFACES_UNDETERMINED.found(
        format!("the skews of {tracks} tracks {pattern}"),
        SURFACES_ADVICE,
        json!({ "reason": "skews", "tracks": tracks, "skews": skews }),
    )
}
