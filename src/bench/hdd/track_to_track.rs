//! Track-to-track seek time: the shortest seek.

use std::time::Duration;

use serde_json::json;

use super::analysis;
use super::analysis::checks::{
    COMMAND_OVERHEAD_UNKNOWN, ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, SEEK_DOUBTFUL,
    TOO_FEW_PROBES, TRACKS_UNDETERMINED, too_few_observations, tracks_undetermined,
};
use super::analysis::constant_zone::ConstantZone;
use super::analysis::seek_walk;
use super::analysis::seek_walk::{JumpPattern, SeekWalk};
use super::analysis::track_to_track_estimate;
use super::analysis::track_to_track_estimate::{SEEK_UNCERTAIN, TrackToTrackEstimate};
use super::analysis::{DriveTiming, SECTOR_BYTES, SeekProber};
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, Parameter, ParameterKind, ParameterSet, RunContext, framework,
};
use crate::drive::Target;
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind, Severity,
};
use crate::units;

/// Measures the time of the shortest seek.
pub struct TrackToTrack;

const JUMPS_PER_BATCH: usize = 150;
/// Minimum number of jumps for a metric.
const MIN_JUMPS: usize = 100;
/// Batches of uniform jumps before jumps are aimed at the edge.
const UNIFORM_BATCHES: usize = 3;

const SPAN: Parameter<Option<u64>> = Parameter {
    name: "span",
    kind: ParameterKind::Size { min: 4096 },
    help: "length of the seeks; unset: one cylinder, as measured",
    default: |_| None,
};

const SPAN_BELOW_CYLINDER: Check = Check::invalid(
    "span-below-cylinder",
    "The jumps may stay within a cylinder.",
);
const CYLINDER_UNDETERMINED: Check = Check::invalid(
    "cylinder-undetermined",
    "The skews of the tracks do not show where a cylinder ends.",
);

static DESCRIPTION: Description = Description {
    name: "track-to-track",
    aliases: &["tracktotrack"],
    group: BenchmarkGroup::HardDisks,
    example: "/dev/sda",
    summary: "track-to-track seek time of a hard disk",
    explanation: include_str!("track-to-track.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        TOO_FEW_PROBES,
        DOES_NOT_ROTATE,
        ROTATION_UNDETERMINED,
        ROTATION_DOUBTFUL,
        COMMAND_OVERHEAD_UNKNOWN,
        SEEK_DOUBTFUL,
        SEEK_UNCERTAIN,
        SPAN_BELOW_CYLINDER,
        TRACKS_UNDETERMINED,
        CYLINDER_UNDETERMINED,
    ],
    workload: Workload::CONSTANT,
    metrics: &[MetricFamily::Own(&[
        MetricKind::TrackToTrackSeek,
        MetricKind::CylinderSize,
        MetricKind::RotationSpeed,
        MetricKind::RevolutionTime,
        MetricKind::RotationCoherence,
    ])],
    parameters: &[
        &SPAN,
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(40))),
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ],
    charts: &[
        ChartSpec::new(
            "Latency against seek length",
            ChartShape::Scatter,
            &[SeriesId::JUMP_RESPONSES],
        ),
        ChartSpec::new(
            "Rotational delay",
            ChartShape::Bars,
            &[SeriesId::ROTATIONAL_PART],
        ),
    ],
    headline_metrics: &[
        MetricId::TRACK_TO_TRACK_SEEK,
        MetricId::CYLINDER_SIZE,
        MetricId::REVOLUTION_TIME,
    ],
};

/// Single reads at short distances until the limits.
fn planned_phases(target: &Target, parameters: &ParameterSet) -> PlannedPhases {
    let mut plan = analysis::single_read_plan(target, parameters);
    plan.window.end = plan.window.start + (plan.window.end - plan.window.start) / 1000;
    PlannedPhases::first_come(framework::plan_limits(parameters)).add_phase(plan)
}

impl Benchmark for TrackToTrack {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let forecast = analysis::forecast(target, parameters, "with seeks of one cylinder");
        Ok(match target.is_rotational() {
            Some(false) => forecast,
            _ => Forecast {
                run_time: planned_phases(target, parameters).run_time(target),
                ..forecast
            },
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = analysis::start_seek_probing(bench, 0.2)? else {
            return Ok(());
        };
        let Some(stretch) = ConstantZone::find_constant_zone(&mut prober, &clockwork)? else {
            prober
                .context
                .set_check(tracks_undetermined(prober.is_over()));
            return Ok(());
        };
        let Some(jumps) = jump_pattern(&mut prober, &stretch) else {
            return Ok(());
        };
        let passing = clockwork.block_passage_time(prober.block_bytes(), jumps.track_sectors);
        walk_cylinders(&mut prober, &clockwork, jumps, passing)
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// The jumps to make; `None`, with a check, if they would not reliably cause a seek.
fn jump_pattern(prober: &mut SeekProber<'_, '_>, stretch: &ConstantZone) -> Option<JumpPattern> {
    let found = &stretch.cylinder_scan;
    let length = stretch.sectors_per_cylinder();
    let tracks = found.skews.len();
    match found.cylinder {
        Some(_) => {
            let size = Metric::new(MetricId::CYLINDER_SIZE, length * SECTOR_BYTES);
            prober.context.set_metric(size);
        }
        None if found.is_conclusive() => {
            // Nothing is wrong: the skews of this drive do not distinguish cylinders.
            let check = Check {
                severity: Severity::Note,
                ..CYLINDER_UNDETERMINED
            };
            prober.context.set_check(check.found(
                "all tracks have the same skew: a head switch takes as long as a seek to the next \
                 cylinder, or there is one surface only",
                "the jumps are one track long",
                json!({ "tracks": tracks, "skews": "uniform" }),
            ));
        }
        None => {
            prober.context.set_check(CYLINDER_UNDETERMINED.found(
                format!("the skews of {tracks} tracks show no pattern"),
                "stop other users of the drive and repeat the run",
                json!({ "tracks": tracks, "skews": "irregular" }),
            ));
            return None;
        }
    }
    let span = prober
        .context
        .parameters
        .get(SPAN)
        .map(|span| span as f64 / SECTOR_BYTES);
    if let Some(span) = span.filter(|span| *span < 0.98 * length) {
        let (span_bytes, cylinder_bytes) = (span * SECTOR_BYTES, length * SECTOR_BYTES);
        prober.context.set_check(SPAN_BELOW_CYLINDER.found(
            format!(
                "some jumps of {} stay within a cylinder of {}",
                units::format_block_size(span_bytes),
                units::format_block_size(cylinder_bytes)
            ),
            "omit --span, or make it larger than a cylinder",
            json!({ "span_bytes": span_bytes, "cylinder_bytes": cylinder_bytes }),
        ));
        return None;
    }
    let length = span.unwrap_or(length);
    Some(JumpPattern {
        highest_address: stretch.highest_address,
        lowest_address: stretch.lowest_jump_address(length, &prober.window()),
        jump_sectors: length,
        track_sectors: found.layout.rounded_sectors_per_track(),
    })
}

fn walk_cylinders(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    jumps: JumpPattern,
    passing: f64,
) -> Result<(), BenchError> {
    let mut walk = SeekWalk::new(jumps);
    let mut found: Option<TrackToTrackEstimate> = None;
    let batches = batch_count(prober, clockwork);
    for batch in 0..batches {
        if prober.is_over() {
            break;
        }
        let text = format!("track-to-track seeks, {} of {batches}", batch + 1);
        let phase = (text.as_str(), 0.6 / batches as f64);
        match &found {
            Some(TrackToTrackEstimate {
                rotational_delay: part,
                ..
            }) if walk.uniform_batches.len() >= UNIFORM_BATCHES
                && walk.edge_batches.len() < 3 * walk.uniform_batches.len() =>
            {
                // The edge also contains delays other than seek and command: aim at the complete
                // edge.
                let aim = (part.lower_edge.lower, JUMPS_PER_BATCH);
                let before = walk.edge_batches.len();
                walk.measure_edge_jumps(prober, clockwork, phase, aim)?;
                if walk.edge_batches.len() == before {
                    walk.measure_uniform_jumps(prober, clockwork, phase, JUMPS_PER_BATCH)?;
                }
            }
            _ => walk.measure_uniform_jumps(prober, clockwork, phase, JUMPS_PER_BATCH)?,
        }
        // Aiming needs the first edge; later estimates improve slowly.
        let due = batch < 2 * UNIFORM_BATCHES
            || (batch + 1) % (batches / 10).max(1) == 0
            || batch + 1 == batches;
        if seek_walk::all_jumps(&walk.uniform_batches).count() >= MIN_JUMPS
            && (due || prober.is_over())
        {
            found = track_to_track_estimate::analyse_walk(&walk, clockwork);
            set_results(prober, &walk, found.as_ref(), passing);
            prober.context.phase_finished();
        }
    }
    let verdict = match &found {
        Some(found) => found.check_plausibility(&found.seek_metric(passing)),
        None => Some(too_few_observations(
            ("track-to-track", "track-to-track seek"),
            seek_walk::all_jumps(&walk.uniform_batches).count(),
            MIN_JUMPS,
        )),
    };
    if let Some(verdict) = verdict {
        prober.context.set_check(verdict);
    }
    Ok(())
}

/// Number of batches within the time limit; twelve without one.
fn batch_count(prober: &SeekProber<'_, '_>, clockwork: &DriveTiming) -> usize {
    const TYPICAL_SEEK_SECONDS: f64 = 0.0015;
    let one = JUMPS_PER_BATCH as f64 * (0.5 * clockwork.revolution + TYPICAL_SEEK_SECONDS);
    prober
        .remaining_time()
        .map_or(12, |left| (left.as_secs_f64() / one).ceil() as usize)
        .max(1)
}

fn set_results(
    prober: &mut SeekProber<'_, '_>,
    walk: &SeekWalk,
    found: Option<&TrackToTrackEstimate>,
    passing: f64,
) {
    let Some(found) = found else {
        return;
    };
    let seek = found.seek_metric(passing);
    prober.context.set_metric(seek);
    prober
        .context
        .set_series(analysis::rotational_distribution(&found.rotational_delay));
    prober.context.set_series(Series::new(
        SeriesKind::JumpResponses,
        seek_walk::all_jumps(&walk.uniform_batches)
            .map(|jump| [jump.excess_tracks, 1e9 * jump.response])
            .collect(),
    ));
}
