//! Full-stroke seek time: from one end of the drive to the other.

use std::time::Duration;

use super::analysis::checks::{SEEK_CHECKS, too_few_observations};
use super::analysis::drive_timing::{DriveTiming, RotatingDrive};
use super::analysis::prober::Prober;
use super::analysis::rotational_delay::{RotationalDelay, WaitEdge};
use super::mechanics::{MechanicsBenchmark, ROTATION_METRICS, probing_parameters};
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, RunContext,
    framework,
};
use crate::session::checks::Workload;
use crate::session::document::{Metric, MetricId, MetricKind, Series, SeriesId, SeriesKind};

const READS_PER_BATCH: usize = 100;
/// Minimum number of reads for a metric.
const MIN_READS: usize = 60;

const DURATION: Parameter<Option<Duration>> =
    framework::DURATION.with_default(|_| Some(Duration::from_secs(25)));

static DESCRIPTION: Description = Description {
    name: "full-stroke",
    aliases: &["fullstroke"],
    group: BenchmarkGroup::HardDisks,
    example: "/dev/sda",
    summary: "full-stroke seek time of a hard disk",
    explanation: include_str!("full-stroke.md").trim_ascii_end(),
    may_write: false,
    checks: &SEEK_CHECKS,
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[MetricKind::FullStrokeSeek]),
        ROTATION_METRICS,
    ],
    parameters: &probing_parameters(&DURATION),
    charts: &[
        ChartSpec::new(
            "Latency of full-stroke reads",
            ChartShape::Scatter,
            &[SeriesId::STROKE_RESPONSES, SeriesId::STROKE_EDGE],
        ),
        ChartSpec::new(
            "Rotational delay",
            ChartShape::Bars,
            &[SeriesId::ROTATIONAL_PART],
        ),
    ],
    headline_metrics: &[MetricId::FULL_STROKE_SEEK, MetricId::REVOLUTION_TIME],
};

/// Measures the time of the longest seek.
pub static FULL_STROKE: MechanicsBenchmark = MechanicsBenchmark {
    description: &DESCRIPTION,
    reads: "alternately at both ends",
    needs_rotation: true,
    phases: |phases, plan| phases.add_phase(plan),
    measure,
};

fn measure(bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let Some(mut drive) = RotatingDrive::find(bench)? else {
        return Ok(());
    };
    let passing = mean_block_passage_time(&mut drive)?;
    let (mut responses, mut commands) = (Vec::new(), Vec::new());
    let mut part = None;
    let batches = drive.batch_count(READS_PER_BATCH, 0.018, 10);
    for batch in 1..=batches {
        if drive.prober.is_over() {
            break;
        }
        let addresses = alternating_addresses(&mut drive.prober);
        let phase = format!("full-stroke reads, {batch} of {batches}");
        let found = drive.read_seeks(&phase, &addresses)?;
        commands.extend(found.command_responses);
        responses.extend(found.seeks.iter().map(|(_, read)| read.response()));
        if responses.len() < MIN_READS {
            continue;
        }
        let revolution = drive.timing.revolution;
        part = RotationalDelay::measure(&responses, revolution, WaitEdge::LowerQuartile);
        if let Some(part) = &part {
            let timing = drive.timing.with_measured_overhead(&commands);
            set_results(&mut drive.prober, &responses, part, &timing, passing);
        }
        drive.prober.context.phase_finished();
    }
    let quantity = ("full-stroke", "full-stroke seek");
    let verdict = match &part {
        Some(part) => part.check_plausibility(),
        None => Some(too_few_observations(quantity, responses.len(), MIN_READS)),
    };
    verdict
        .into_iter()
        .for_each(|verdict| drive.prober.context.set_check(verdict));
    Ok(())
}

/// Bytes to read at either end of the window: a thousandth of it, more than the drive's cache
/// holds.
fn end_region_bytes(prober: &Prober<'_, '_>) -> u64 {
    let size = prober.window_bytes();
    (size / 1000)
        .max((size / 100).min(16 << 20))
        .max(prober.block_bytes())
}

/// Extrapolates to the full stroke from seeks that are shorter by half of both end regions on
/// average. The relative growth of the seek time equals that of the distance where the actuator coasts,
/// and half of it where the actuator accelerates and brakes all the way. The true value lies in between.
fn extrapolate_full_stroke(prober: &Prober<'_, '_>, seek: Metric) -> Metric {
    const SEEK_GROWTH_EXPONENT: f64 = 0.7;
    const GROWTH_UNCERTAINTY: f64 = 0.4;
    let missing = end_region_bytes(prober) as f64 / prober.window_bytes() as f64;
    let (more, unsure) = (SEEK_GROWTH_EXPONENT * missing, GROWTH_UNCERTAINTY * missing);
    let grown = |value: f64, share: f64| value * (1.0 + share);
    Metric {
        value: grown(seek.value, more),
        low: seek.low.map(|low| grown(low, more - unsure)),
        high: seek.high.map(|high| grown(high, more + unsure)),
        ..seek
    }
}

/// Offsets at alternating ends.
fn alternating_addresses(prober: &mut Prober<'_, '_>) -> Vec<u64> {
    let window = prober.window();
    let end = end_region_bytes(prober);
    let ends = [
        window.start..window.start + end,
        window.end - end..window.end,
    ];
    (0..=READS_PER_BATCH)
        .map(|index| prober.random_address(&ends[index % 2]))
        .collect()
}

/// Mean passage time of a block under the head at both ends; 0 where no tracks are detected.
fn mean_block_passage_time(drive: &mut RotatingDrive<'_, '_>) -> Result<f64, BenchError> {
    let window = drive.prober.window();
    let mut times = Vec::new();
    for top in [window.start + drive.prober.window_bytes() / 16, window.end] {
        if let Some(length) = drive.first_track_length(top)? {
            let block = drive.prober.block_bytes();
            times.push(drive.timing.block_passage_time(block, length));
        }
    }
    Ok(times.iter().sum::<f64>() / times.len().max(1) as f64)
}

fn set_results(
    prober: &mut Prober<'_, '_>,
    responses: &[f64],
    part: &RotationalDelay,
    timing: &DriveTiming,
    passing: f64,
) {
    let seek = part.seek_metric(MetricId::FULL_STROKE_SEEK, timing, passing);
    let seek = extrapolate_full_stroke(prober, seek);
    let points = |of: &dyn Fn(&f64) -> f64| {
        let values = responses.iter().map(of).enumerate();
        values
            .map(|(index, value)| [index as f64, 1e9 * value])
            .collect()
    };
    let all = points(&|response| *response);
    let edge = points(&|_| part.lower_edge.lower);
    let context = &mut prober.context;
    context.set_metric(seek);
    context.set_series(part.distribution());
    context.set_series(Series::new(SeriesKind::StrokeResponses, all));
    context.set_series(Series::new(SeriesKind::StrokeEdge, edge));
}
