//! Seek curve: seek time over distance.

use std::time::Duration;

use rand::RngExt as _;

use super::analysis;
use super::analysis::checks::{
    COMMAND_OVERHEAD_UNKNOWN, ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, SEEK_DOUBTFUL,
    TOO_FEW_PROBES, too_few_observations,
};
use super::analysis::rotational_delay;
use super::analysis::rotational_delay::{RotationalDelay, WaitEdge};
use super::analysis::seek_position_map::SeekPositionMap;
use super::analysis::{DriveTiming, SeekProber, TimedRead, command_overhead};
use crate::bench::framework;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, Parameter, ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::{Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind};
use crate::stats::general::fits;
use crate::stats::general::fits::SeekCurve;
use crate::stats::general::student::NORMAL_975;
use crate::stats::general::{confidence, robust};

/// Measures seek time over distance.
pub struct SeekCurveBenchmark;

const READS_PER_BATCH: usize = 150;
/// Minimum reads per range of the envelope.
const MIN_READS_PER_RANGE: usize = 50;
/// Maximum number of ranges of the envelope.
const MAX_RANGES: usize = 32;
/// Minimum number of ranges for a curve.
const MIN_RANGES: usize = 6;
/// Shortest distance as a fraction of the stroke.
const MIN_DISTANCE: f64 = 2e-5;

const DURATION: Parameter<Option<Duration>> =
    framework::DURATION.with_default(|_| Some(Duration::from_secs(60)));

static DESCRIPTION: Description = Description {
    name: "seek-curve",
    aliases: &["seekcurve"],
    group: BenchmarkGroup::HardDisks,
    example: "/dev/sda",
    summary: "seek time against distance, and average seek time of a hard disk",
    explanation: include_str!("seek-curve.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        TOO_FEW_PROBES,
        DOES_NOT_ROTATE,
        ROTATION_UNDETERMINED,
        ROTATION_DOUBTFUL,
        COMMAND_OVERHEAD_UNKNOWN,
        SEEK_DOUBTFUL,
    ],
    workload: Workload::CONSTANT,
    metrics: &[MetricFamily::Own(&[
        MetricKind::AverageSeek,
        MetricKind::RotationSpeed,
        MetricKind::RevolutionTime,
        MetricKind::RotationCoherence,
    ])],
    parameters: &analysis::probing_parameters(&DURATION),
    charts: &[
        ChartSpec::new(
            "Latency against distance",
            ChartShape::Scatter,
            &[
                SeriesId::SEEK_RESPONSES,
                SeriesId::SEEK_ENVELOPE,
                SeriesId::SEEK_CURVE,
            ],
        ),
        ChartSpec::new(
            "Seek time against distance, short distances enlarged",
            ChartShape::Line,
            &[SeriesId::SEEK_ENVELOPE, SeriesId::SEEK_CURVE],
        )
        .log_x(),
    ],
    headline_metrics: &[MetricId::AVERAGE_SEEK, MetricId::REVOLUTION_TIME],
};

impl Benchmark for SeekCurveBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        Ok(analysis::forecast(
            target,
            parameters,
            "at all seek distances",
        ))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = analysis::start_seek_probing(bench, 0.1)? else {
            return Ok(());
        };
        let stroke = SeekPositionMap::measure_positions(&mut prober, &clockwork, 0.1)?;
        let passing = stroke.sectors_per_track.map_or(0.0, |length| {
            clockwork.block_passage_time(prober.block_bytes(), length)
        });
        let mut probes: Vec<TimedSeek> = Vec::new();
        let mut commands: Vec<Vec<f64>> = Vec::new();
        let mut doubts = 0;
        let batches = batch_count(&prober, &clockwork);
        for batch in 0..batches {
            if prober.is_over() {
                break;
            }
            let addresses = clockwork.insert_repeated_reads(&seek_addresses(&mut prober, &stroke));
            let phase = format!("seek distances, {} of {batches}", batch + 1);
            let found = prober.read_addresses(&phase, 0.8 / batches as f64, &addresses)?;
            commands.push(
                command_overhead::repeated_reads(&found)
                    .map(TimedRead::response)
                    .collect(),
            );
            let moves = clockwork.seeks_between(&found).into_iter();
            probes.extend(moves.map(|(before, after)| {
                TimedSeek {
                    stroke_fraction: (stroke.position_of_address(before.address)
                        - stroke.position_of_address(after.address))
                    .abs(),
                    response_seconds: after.response(),
                    batch_index: batch,
                }
            }));
            let envelope = lower_envelope(&mut probes, clockwork.revolution);
            doubts = envelope
                .iter()
                .filter(|piece| piece.rotational_delay.check_plausibility().is_some())
                .count();
            let scale = TrackScale {
                block_passage_time: passing,
                distance_error: stroke.position_error,
            };
            let found = SeekCurveData {
                seeks: &probes,
                command_responses: &commands,
                envelope: &envelope,
            };
            set_results(&mut prober, &clockwork, &found, scale);
            prober.context.phase_finished();
        }
        check_results(&mut prober, probes.len(), doubts);
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// One read after a seek.
#[derive(Debug, Clone, Copy)]
struct TimedSeek {
    /// Seek distance as a fraction of the stroke.
    stroke_fraction: f64,
    /// Latency in seconds.
    response_seconds: f64,
    /// Index of its batch.
    batch_index: usize,
}

/// Data from the batches so far.
#[derive(Clone, Copy)]
struct SeekCurveData<'a> {
    seeks: &'a [TimedSeek],
    /// Latencies in seconds of repeated reads of the same block, by batch.
    command_responses: &'a [Vec<f64>],
    envelope: &'a [DistanceRange],
}

/// Known properties of the tracks.
#[derive(Debug, Clone, Copy)]
struct TrackScale {
    /// Passage time of a block under the head in seconds.
    block_passage_time: f64,
    /// Standard error of a distance in strokes.
    distance_error: f64,
}

/// A range of distances.
struct DistanceRange {
    mean_distance: f64,
    rotational_delay: RotationalDelay,
}

/// Number of batches within the time limit; twenty without one.
fn batch_count(prober: &SeekProber<'_, '_>, clockwork: &DriveTiming) -> usize {
    const TYPICAL_SEEK_SECONDS: f64 = 0.005;
    let one = READS_PER_BATCH as f64 * (0.5 * clockwork.revolution + TYPICAL_SEEK_SECONDS);
    prober
        .remaining_time()
        .map_or(20, |left| (left.as_secs_f64() / one).ceil() as usize)
        .max(1)
}

/// Offsets with random distances between them: half are uniform in the logarithm of the distance,
/// half in the distance itself.
fn seek_addresses(prober: &mut SeekProber<'_, '_>, stroke: &SeekPositionMap) -> Vec<u64> {
    let mut position = prober.random.random::<f64>();
    let mut addresses = Vec::with_capacity(READS_PER_BATCH);
    for index in 0..READS_PER_BATCH {
        let share = prober.random.random::<f64>();
        let distance = match index % 2 {
            0 => MIN_DISTANCE.powf(share),
            _ => share,
        };
        let (in_wards, out_wards) = (position + distance <= 1.0, position >= distance);
        position = match (in_wards, out_wards) {
            (true, true) if prober.random.random::<f64>() < 0.5 => position - distance,
            (false, true) => position - distance,
            (true, _) => position + distance,
            // The distance fits in neither direction: go to the farther end.
            (false, false) => f64::from(u8::from(position < 0.5)),
        };
        addresses.push(prober.align_down(stroke.address_of_position(position)));
    }
    addresses
}

/// The lower edge of the latencies, in ranges with equal numbers of reads.
fn lower_envelope(probes: &mut [TimedSeek], revolution: f64) -> Vec<DistanceRange> {
    probes.sort_by(|left, right| left.stroke_fraction.total_cmp(&right.stroke_fraction));
    let pieces = (probes.len() / MIN_READS_PER_RANGE).min(MAX_RANGES);
    if pieces < MIN_RANGES {
        return Vec::new();
    }
    let piece = |part: &[TimedSeek]| {
        let responses: Vec<_> = part.iter().map(|seek| (0, seek.response_seconds)).collect();
        Some(DistanceRange {
            mean_distance: robust::median(part.iter().map(|seek| seek.stroke_fraction))?,
            rotational_delay: rotational_delay::analyse_rotational_delay(
                &responses,
                Some(revolution),
            )?,
        })
    };
    probes
        .chunks(probes.len().div_ceil(pieces))
        .filter_map(piece)
        .collect()
}

fn set_results(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
    found: &SeekCurveData<'_>,
    scale: TrackScale,
) {
    let points = |points: &mut dyn Iterator<Item = (f64, f64)>| -> Vec<[f64; 2]> {
        points
            .map(|(distance, seconds)| [distance, 1e9 * seconds])
            .collect()
    };
    let all = points(
        &mut found
            .seeks
            .iter()
            .map(|seek| (seek.stroke_fraction, seek.response_seconds)),
    );
    prober
        .context
        .set_series(Series::new(SeriesKind::SeekResponses, all));
    let edges: Vec<(f64, f64)> = found
        .envelope
        .iter()
        .map(|piece| (piece.mean_distance, piece.rotational_delay.lower_edge.lower))
        .collect();
    let Some(curve) = fits::fit_seek_curve(&edges) else {
        return;
    };
    prober.context.set_series(Series::new(
        SeriesKind::SeekEnvelope,
        points(&mut edges.iter().copied()),
    ));
    // Denser towards short distances, where the curve bends.
    let smooth = (0..=100).map(|step| (f64::from(step) / 100.0).powi(2).max(MIN_DISTANCE));
    let drawn = points(&mut smooth.map(|distance| (distance, curve.time_at(distance))));
    prober
        .context
        .set_series(Series::new(SeriesKind::SeekCurve, drawn));
    if let Some(metric) = average_seek_metric(found, &curve, clockwork, scale) {
        prober.context.set_metric(metric);
    }
}

/// Distance of the average seek, and the range of distances that are reduced to it, in strokes.
const THIRD_OF_STROKE: f64 = 1.0 / 3.0;
const THIRD_STROKE_RANGE: std::ops::Range<f64> = 0.22..0.45;

/// Seek time over a third of the stroke: the lower edge of all responses at similar distances, each
/// shifted to that distance along the curve.
fn average_seek_metric(
    found: &SeekCurveData<'_>,
    curve: &SeekCurve,
    clockwork: &DriveTiming,
    scale: TrackScale,
) -> Option<Metric> {
    let again: Vec<f64> = found.command_responses.iter().flatten().copied().collect();
    let clockwork = clockwork.with_measured_overhead(&again);
    let part = third_stroke_delay(found.seeks.iter(), curve, &clockwork)?;
    let metric = analysis::seek_metric(
        MetricId::AVERAGE_SEEK,
        &part,
        &clockwork,
        scale.block_passage_time,
    );
    // An uncertain distance adds an error in proportion to the slope of the curve.
    let rise = (curve.time_at(THIRD_STROKE_RANGE.end) - curve.time_at(THIRD_STROKE_RANGE.start))
        / (THIRD_STROKE_RANGE.end - THIRD_STROKE_RANGE.start);
    let margin = 1e9 * NORMAL_975 * rise.abs() * scale.distance_error;
    let (low, high) = (metric.low? - margin, metric.high? + margin);
    let disagreement = 1e9 * margin_between_parts(found, curve, &clockwork).unwrap_or(0.0);
    let (low, high) = (
        low.min(metric.value - disagreement),
        high.max(metric.value + disagreement),
    );
    Some(metric.with_interval(low, high))
}

fn third_stroke_delay<'a>(
    seeks: impl Iterator<Item = &'a TimedSeek>,
    curve: &SeekCurve,
    clockwork: &DriveTiming,
) -> Option<RotationalDelay> {
    let brought = |seek: &TimedSeek| {
        seek.response_seconds - curve.time_at(seek.stroke_fraction) + curve.time_at(THIRD_OF_STROKE)
    };
    let near: Vec<(u64, f64)> = seeks
        .filter(|seek| THIRD_STROKE_RANGE.contains(&seek.stroke_fraction))
        .map(|seek| (0, brought(seek)))
        .collect();
    rotational_delay::measure_rotational_delay(&near, clockwork.revolution, WaitEdge::Median)
}

/// The 95 % margin of the mean of separate estimates from parts of the run, each with its own
/// command overhead: a temporarily busy computer delays some parts more than others.
fn margin_between_parts(
    found: &SeekCurveData<'_>,
    curve: &SeekCurve,
    clockwork: &DriveTiming,
) -> Option<f64> {
    const PART_COUNT: usize = 8;
    const MIN_READS_PER_PART: usize = 40;
    let batches = found.command_responses.len();
    let alone = |part: usize| {
        let range = batches * part / PART_COUNT..batches * (part + 1) / PART_COUNT;
        let seeks = found
            .seeks
            .iter()
            .filter(|seek| range.contains(&seek.batch_index));
        let edge = third_stroke_delay(seeks, curve, clockwork)?.lower_edge;
        let commands = found.command_responses[range.clone()]
            .iter()
            .flatten()
            .copied();
        let command = robust::median(commands).unwrap_or(0.0);
        (edge.observations_inside >= MIN_READS_PER_PART).then_some(edge.lower - command)
    };
    let values: Vec<f64> = (0..PART_COUNT).filter_map(alone).collect();
    confidence::independent_mean_estimate(&values)?.margin_of_error()
}

fn check_results(prober: &mut SeekProber<'_, '_>, probes: usize, doubts: usize) {
    let needed = MIN_RANGES * MIN_READS_PER_RANGE;
    if probes < needed {
        let quantity = ("seek-curve", "seek curve");
        prober
            .context
            .set_check(too_few_observations(quantity, probes, needed));
    }
    // One range in a hundred is doubtful by chance; in short ranges the seek time itself varies.
    if doubts > 3 {
        prober.context.set_check(SEEK_DOUBTFUL.found(
            format!(
                "in {doubts} ranges of the curve the rotational delays are not those of a disk"
            ),
            "stop other users of the drive and repeat the run",
            serde_json::json!({ "reason": "curve-ranges", "ranges": doubts }),
        ));
    }
}
