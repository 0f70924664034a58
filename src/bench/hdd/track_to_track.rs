//! Track-to-track seek time: the shortest seek.

use std::time::Duration;

use serde_json::json;

use super::analysis::checks::{
    COMMAND_OVERHEAD_UNKNOWN, ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, SEEK_DOUBTFUL,
    TOO_FEW_PROBES, TRACKS_UNDETERMINED, too_few_observations, tracks_undetermined,
};
use super::analysis::constant_zone::ConstantZone;
use super::analysis::drive_timing::RotatingDrive;
use super::analysis::prober::{Prober, SECTOR_BYTES};
use super::analysis::seek_walk;
use super::analysis::seek_walk::{JumpPattern, SeekWalk};
use super::analysis::track_to_track_estimate::{SEEK_UNCERTAIN, TrackToTrackEstimate};
use super::mechanics::{MechanicsBenchmark, ROTATION_METRICS};
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, ParameterKind,
    RunContext, framework,
};
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind, Severity, Verdict,
};
use crate::units;

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
    metrics: &[
        MetricFamily::Own(&[MetricKind::TrackToTrackSeek, MetricKind::CylinderSize]),
        ROTATION_METRICS,
    ],
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

/// Measures the time of the shortest seek.
pub static TRACK_TO_TRACK: MechanicsBenchmark = MechanicsBenchmark {
    description: &DESCRIPTION,
    reads: "with seeks of one cylinder",
    needs_rotation: true,
    phases: |phases, mut plan| {
        plan.window.end = plan.window.start + (plan.window.end - plan.window.start) / 1000;
        phases.add_phase(plan)
    },
    measure,
};

fn measure(bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let Some(mut drive) = RotatingDrive::find(bench)? else {
        return Ok(());
    };
    match ConstantZone::find(&mut drive)? {
        Some(zone) => match jump_pattern(&mut drive.prober, &zone) {
            Ok(jumps) => walk_cylinders(&mut drive, jumps)?,
            Err(verdict) => drive.prober.context.set_check(verdict),
        },
        None => {
            let verdict = tracks_undetermined(drive.prober.is_over());
            drive.prober.context.set_check(verdict);
        }
    }
    Ok(())
}

/// The jumps to make; or why they would not reliably cause a seek.
fn jump_pattern(prober: &mut Prober<'_, '_>, zone: &ConstantZone) -> Result<JumpPattern, Verdict> {
    let found = &zone.cylinders;
    let cylinder = zone.sectors_per_cylinder();
    let tracks = found.skews.len();
    if found.cylinder.is_some() {
        let size = Metric::new(MetricId::CYLINDER_SIZE, cylinder * SECTOR_BYTES);
        prober.context.set_metric(size);
    } else if found.is_conclusive() {
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
    } else {
        return Err(CYLINDER_UNDETERMINED.found(
            format!("the skews of {tracks} tracks show no pattern"),
            "stop other users of the drive and repeat the run",
            json!({ "tracks": tracks, "skews": "irregular" }),
        ));
    }
    let span = prober.context.parameters.get(SPAN);
    let length = span.map_or(cylinder, |span| span as f64 / SECTOR_BYTES);
    if length < 0.98 * cylinder {
        return Err(span_below_cylinder(
            length * SECTOR_BYTES,
            cylinder * SECTOR_BYTES,
        ));
    }
    Ok(JumpPattern {
        highest_address: zone.highest_address,
        lowest_address: zone.lowest_jump_address(length, prober.window().start),
        jump_sectors: length,
        track_sectors: found.first.layout.rounded_sectors_per_track(),
    })
}

fn span_below_cylinder(span_bytes: f64, cylinder_bytes: f64) -> Verdict {
    SPAN_BELOW_CYLINDER.found(
        format!(
            "some jumps of {} stay within a cylinder of {}",
            units::format_block_size(span_bytes),
            units::format_block_size(cylinder_bytes)
        ),
        "omit --span, or make it larger than a cylinder",
        json!({ "span_bytes": span_bytes, "cylinder_bytes": cylinder_bytes }),
    )
}

fn walk_cylinders(drive: &mut RotatingDrive<'_, '_>, jumps: JumpPattern) -> Result<(), BenchError> {
    let block = drive.prober.block_bytes();
    let passing = drive.timing.block_passage_time(block, jumps.track_sectors);
    let mut walk = SeekWalk::new(jumps);
    let mut found: Option<TrackToTrackEstimate> = None;
    let batches = drive.batch_count(JUMPS_PER_BATCH, 0.0015, 12);
    for batch in 1..=batches {
        if drive.prober.is_over() {
            break;
        }
        let phase = format!("track-to-track seeks, {batch} of {batches}");
        let (uniform, aimed) = (walk.uniform_batches.len(), walk.edge_batches.len());
        match &found {
            // The edge also contains delays other than seek and command: aim at the complete edge.
            Some(found) if uniform >= UNIFORM_BATCHES && aimed < 3 * uniform => {
                let edge = found.rotational_delay.lower_edge.lower;
                walk.measure_edge_jumps(drive, &phase, JUMPS_PER_BATCH, edge)?;
            }
            _ => walk.measure_uniform_jumps(drive, &phase, JUMPS_PER_BATCH)?,
        }
        // Aiming needs the first edge; later estimates improve slowly.
        let is_due = batch <= 2 * UNIFORM_BATCHES
            || batch % (batches / 10).max(1) == 0
            || batch == batches
            || drive.prober.is_over();
        if is_due && seek_walk::all_jumps(&walk.uniform_batches).count() >= MIN_JUMPS {
            found = TrackToTrackEstimate::from_walk(&walk, &drive.timing);
            if let Some(found) = &found {
                set_results(&mut drive.prober, &walk, found, passing);
            }
            drive.prober.context.phase_finished();
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
    verdict
        .into_iter()
        .for_each(|verdict| drive.prober.context.set_check(verdict));
    Ok(())
}

fn set_results(
    prober: &mut Prober<'_, '_>,
    walk: &SeekWalk,
    found: &TrackToTrackEstimate,
    passing: f64,
) {
    let context = &mut prober.context;
    context.set_metric(found.seek_metric(passing));
    context.set_series(found.rotational_delay.distribution());
    let jumps = seek_walk::all_jumps(&walk.uniform_batches);
    let points = jumps.map(|jump| [jump.excess_tracks, 1e9 * jump.response]);
    context.set_series(Series::new(SeriesKind::JumpResponses, points.collect()));
}
