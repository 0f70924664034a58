//! Seek curve: seek time over distance.

use std::ops::Range;
use std::time::Duration;

use rand::RngExt as _;

use super::analysis::checks::{SEEK_CHECKS, SEEK_DOUBTFUL, too_few_observations};
use super::analysis::drive_timing::{DriveTiming, RotatingDrive};
use super::analysis::prober::Prober;
use super::analysis::rotational_delay::{RotationalDelay, WaitEdge};
use super::analysis::seek_position_map::SeekPositionMap;
use super::mechanics::{MechanicsBenchmark, ROTATION_METRICS, probing_parameters};
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, RunContext,
    framework,
};
use crate::session::checks::Workload;
use crate::session::document::{Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind};
use crate::stats::general::fits::{SeekCurve, fit_seek_curve};
use crate::stats::general::student::NORMAL_975;
use crate::stats::general::{confidence, robust};

const READS_PER_BATCH: usize = 150;
/// Minimum reads per range of the envelope.
const MIN_READS_PER_RANGE: usize = 50;
/// Maximum number of ranges of the envelope.
const MAX_RANGES: usize = 32;
/// Minimum number of ranges for a curve.
const MIN_RANGES: usize = 6;
/// Shortest distance as a fraction of the stroke.
const MIN_DISTANCE: f64 = 2e-5;
/// Distance of the average seek, and the range of distances that are reduced to it, in strokes.
const THIRD_OF_STROKE: f64 = 1.0 / 3.0;
const THIRD_STROKE_RANGE: Range<f64> = 0.22..0.45;

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
    checks: &SEEK_CHECKS,
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[MetricKind::AverageSeek]),
        ROTATION_METRICS,
    ],
    parameters: &probing_parameters(&DURATION),
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

/// Measures seek time over distance.
pub static SEEK_CURVE: MechanicsBenchmark = MechanicsBenchmark {
    description: &DESCRIPTION,
    reads: "at all seek distances",
    needs_rotation: true,
    phases: |phases, plan| phases.add_phase(plan),
    measure,
};

fn measure(bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let Some(mut drive) = RotatingDrive::find(bench)? else {
        return Ok(());
    };
    let stroke = SeekPositionMap::measure(&mut drive)?;
    let mut survey = SeekSurvey {
        timing: drive.timing,
        seeks: Vec::new(),
        command_responses: Vec::new(),
    };
    let batches = drive.batch_count(READS_PER_BATCH, 0.005, 20);
    let mut doubts = 0;
    for batch in 0..batches {
        if drive.prober.is_over() {
            break;
        }
        let addresses = seek_addresses(&mut drive.prober, &stroke);
        let phase = format!("seek distances, {} of {batches}", batch + 1);
        let found = drive.read_seeks(&phase, &addresses)?;
        survey.command_responses.push(found.command_responses);
        let position = |address| stroke.position_of_address(address);
        survey
            .seeks
            .extend(found.seeks.iter().map(|(before, after)| TimedSeek {
                stroke_fraction: (position(before.address) - position(after.address)).abs(),
                response_seconds: after.response(),
                batch_index: batch,
            }));
        let envelope = survey.lower_envelope();
        let is_doubtful = |part: &&DistanceRange| part.delay.check_plausibility().is_some();
        doubts = envelope.iter().filter(is_doubtful).count();
        survey.set_results(&mut drive.prober, &envelope, &stroke);
        drive.prober.context.phase_finished();
    }
    check_results(&mut drive.prober, survey.seeks.len(), doubts);
    Ok(())
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

/// A range of distances.
struct DistanceRange {
    mean_distance: f64,
    delay: RotationalDelay,
}

/// Data from the batches so far.
struct SeekSurvey {
    timing: DriveTiming,
    seeks: Vec<TimedSeek>,
    /// Latencies in seconds of repeated reads of the same block, by batch.
    command_responses: Vec<Vec<f64>>,
}

/// Offsets with random distances between them: half are uniform in the logarithm of the distance,
/// half in the distance itself.
fn seek_addresses(prober: &mut Prober<'_, '_>, stroke: &SeekPositionMap) -> Vec<u64> {
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

impl SeekSurvey {
    /// The lower edge of the latencies, in ranges with equal numbers of reads.
    fn lower_envelope(&mut self) -> Vec<DistanceRange> {
        let seeks = &mut self.seeks;
        seeks.sort_by(|left, right| left.stroke_fraction.total_cmp(&right.stroke_fraction));
        let pieces = (seeks.len() / MIN_READS_PER_RANGE).min(MAX_RANGES);
        if pieces < MIN_RANGES {
            return Vec::new();
        }
        let range = |part: &[TimedSeek]| {
            let responses: Vec<f64> = part.iter().map(|seek| seek.response_seconds).collect();
            Some(DistanceRange {
                mean_distance: robust::median(part.iter().map(|seek| seek.stroke_fraction))?,
                delay: RotationalDelay::find(&responses, self.timing.revolution)?,
            })
        };
        let parts = seeks.chunks(seeks.len().div_ceil(pieces));
        parts.filter_map(range).collect()
    }

    fn set_results(
        &self,
        prober: &mut Prober<'_, '_>,
        envelope: &[DistanceRange],
        stroke: &SeekPositionMap,
    ) {
        let context = &mut prober.context;
        let all = self.seeks.iter();
        let all = all.map(|seek| (seek.stroke_fraction, seek.response_seconds));
        context.set_series(series(SeriesKind::SeekResponses, all));
        let edge = |range: &DistanceRange| (range.mean_distance, range.delay.lower_edge.lower);
        let edges: Vec<(f64, f64)> = envelope.iter().map(edge).collect();
        let Some(curve) = fit_seek_curve(&edges) else {
            return;
        };
        context.set_series(series(SeriesKind::SeekEnvelope, edges.into_iter()));
        // Denser towards short distances, where the curve bends.
        let smooth = (0..=100).map(|step| (f64::from(step) / 100.0).powi(2).max(MIN_DISTANCE));
        let smooth = smooth.map(|distance| (distance, curve.time_at(distance)));
        context.set_series(series(SeriesKind::SeekCurve, smooth));
        let block = prober.block_bytes();
        let passing = stroke
            .sectors_per_track
            .map_or(0.0, |length| self.timing.block_passage_time(block, length));
        if let Some(metric) = self.average_seek(&curve, passing, stroke.position_error) {
            prober.context.set_metric(metric);
        }
    }

    /// Seek time over a third of the stroke: the lower edge of all responses at similar distances,
    /// each shifted to that distance along the curve. A block passes the head in `passing` seconds;
    /// `distance_error` is the standard error of a distance in strokes.
    fn average_seek(&self, curve: &SeekCurve, passing: f64, distance_error: f64) -> Option<Metric> {
        let timing = self
            .timing
            .with_measured_overhead(&self.command_responses.concat());
        let part = self.third_stroke_delay(curve, 0..usize::MAX)?;
        let metric = part.seek_metric(MetricId::AVERAGE_SEEK, &timing, passing);
        // An uncertain distance adds an error in proportion to the slope of the curve.
        let Range { start, end } = THIRD_STROKE_RANGE;
        let rise = (curve.time_at(end) - curve.time_at(start)) / (end - start);
        let margin = 1e9 * NORMAL_975 * rise.abs() * distance_error;
        let disagreement = 1e9 * self.margin_between_parts(curve).unwrap_or(0.0);
        let low = (metric.low? - margin).min(metric.value - disagreement);
        let high = (metric.high? + margin).max(metric.value + disagreement);
        Some(metric.with_interval(low, high))
    }

    /// The delay of the seeks over about a third of the stroke in these batches.
    fn third_stroke_delay(
        &self,
        curve: &SeekCurve,
        batches: Range<usize>,
    ) -> Option<RotationalDelay> {
        let brought = |seek: &TimedSeek| {
            seek.response_seconds - curve.time_at(seek.stroke_fraction)
                + curve.time_at(THIRD_OF_STROKE)
        };
        let near = self.seeks.iter().filter(|seek| {
            batches.contains(&seek.batch_index)
                && THIRD_STROKE_RANGE.contains(&seek.stroke_fraction)
        });
        let responses: Vec<f64> = near.map(brought).collect();
        RotationalDelay::measure(&responses, self.timing.revolution, WaitEdge::Median)
    }

    /// The 95 % margin of the mean of separate estimates from parts of the run, each with its own
    /// command overhead: a temporarily busy computer delays some parts more than others.
    fn margin_between_parts(&self, curve: &SeekCurve) -> Option<f64> {
        const PART_COUNT: usize = 8;
        const MIN_READS_PER_PART: usize = 40;
        let batches = self.command_responses.len();
        let alone = |part: usize| {
            let range = batches * part / PART_COUNT..batches * (part + 1) / PART_COUNT;
            let edge = self.third_stroke_delay(curve, range.clone())?.lower_edge;
            let commands = self.command_responses[range].concat();
            let command = robust::median(commands).unwrap_or(0.0);
            (edge.observations_inside >= MIN_READS_PER_PART).then_some(edge.lower - command)
        };
        let values: Vec<f64> = (0..PART_COUNT).filter_map(alone).collect();
        confidence::independent_mean_estimate(&values)?.margin_of_error()
    }
}

/// A series of distances and times, the latter in seconds.
fn series(kind: SeriesKind, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let points = points.map(|(distance, seconds)| [distance, 1e9 * seconds]);
    Series::new(kind, points.collect())
}

fn check_results(prober: &mut Prober<'_, '_>, seeks: usize, doubts: usize) {
    let needed = MIN_RANGES * MIN_READS_PER_RANGE;
    if seeks < needed {
        let verdict = too_few_observations(("seek-curve", "seek curve"), seeks, needed);
        prober.context.set_check(verdict);
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
