//! Full-stroke seek time: from one end of the drive to the other.

use std::time::Duration;

use super::analysis;
use super::analysis::checks::{
    COMMAND_OVERHEAD_UNKNOWN, ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, SEEK_DOUBTFUL,
    TOO_FEW_PROBES, too_few_observations,
};
use super::analysis::rotational_delay;
use super::analysis::rotational_delay::{RotationalDelay, WaitEdge};
use super::analysis::sector_scan;
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

/// Measures the time of the longest seek.
pub struct FullStrokeSeek;

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
        MetricKind::FullStrokeSeek,
        MetricKind::RotationSpeed,
        MetricKind::RevolutionTime,
        MetricKind::RotationCoherence,
    ])],
    parameters: &analysis::probing_parameters(&DURATION),
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

impl Benchmark for FullStrokeSeek {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        Ok(analysis::forecast(
            target,
            parameters,
            "alternately at both ends",
        ))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = analysis::start_seek_probing(bench, 0.2)? else {
            return Ok(());
        };
        let passing = mean_block_passage_time(&mut prober, &clockwork)?;
        let (mut responses, mut commands) = (Vec::new(), Vec::new());
        let mut part = None;
        let batches = batch_count(&prober, &clockwork);
        for batch in 0..batches {
            if prober.is_over() {
                break;
            }
            let addresses = clockwork.insert_repeated_reads(&alternating_addresses(&mut prober));
            let phase = format!("full-stroke reads, {} of {}", batch + 1, batches);
            let probes = prober.read_addresses(&phase, 0.7 / batches as f64, &addresses)?;
            commands.extend(command_overhead::repeated_reads(&probes).map(TimedRead::response));
            let moves = clockwork.seeks_between(&probes).into_iter();
            responses.extend(moves.map(|(_, probe)| (probe.address, probe.response())));
            if responses.len() >= MIN_READS {
                part = rotational_delay::measure_rotational_delay(
                    &responses,
                    clockwork.revolution,
                    WaitEdge::LowerQuartile,
                );
                let clockwork = clockwork.with_measured_overhead(&commands);
                set_results(
                    &mut prober,
                    &responses,
                    part.as_ref(),
                    (&clockwork, passing),
                );
                prober.context.phase_finished();
            }
        }
        let quantity = ("full-stroke", "full-stroke seek");
        let verdict = match &part {
            Some(part) => part.check_plausibility(),
            None => Some(too_few_observations(quantity, responses.len(), MIN_READS)),
        };
        if let Some(verdict) = verdict {
            prober.context.set_check(verdict);
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// Number of batches within the time limit; ten without one.
fn batch_count(prober: &SeekProber<'_, '_>, clockwork: &DriveTiming) -> usize {
    const TYPICAL_SEEK_SECONDS: f64 = 0.018;
    let one = READS_PER_BATCH as f64 * (0.5 * clockwork.revolution + TYPICAL_SEEK_SECONDS);
    prober
        .remaining_time()
        .map_or(10, |left| (left.as_secs_f64() / one).ceil() as usize)
        .max(1)
}

/// Bytes to read at either end of the window: a thousandth of it, more than the drive's cache
/// holds.
fn end_region_bytes(prober: &SeekProber<'_, '_>) -> u64 {
    let window = prober.window();
    let size = window.end - window.start;
    (size / 1000)
        .max((size / 100).min(16 << 20))
        .max(prober.block_bytes())
}

/// Extrapolates to the full stroke from seeks that are shorter by half of both end regions on
/// average. The relative growth of the seek time equals that of the distance where the actuator coasts,
/// and half of it where the actuator accelerates and brakes all the way. The true value lies in between.
fn extrapolate_full_stroke(prober: &SeekProber<'_, '_>, seek: &Metric) -> Metric {
    const SEEK_GROWTH_EXPONENT: f64 = 0.7;
    const GROWTH_UNCERTAINTY: f64 = 0.4;
    let window = prober.window();
    let missing = end_region_bytes(prober) as f64 / (window.end - window.start) as f64;
    let (more, unsure) = (SEEK_GROWTH_EXPONENT * missing, GROWTH_UNCERTAINTY * missing);
    let grown = |value: f64, share: f64| value * (1.0 + share);
    let low = seek.low.unwrap_or(seek.value);
    let high = seek.high.unwrap_or(seek.value);
    let metric = Metric::new(seek.id.clone(), grown(seek.value, more))
        .with_interval(grown(low, more - unsure), grown(high, more + unsure));
    Metric {
        observations: seek.observations,
        ..metric
    }
}

/// Offsets at alternating ends.
fn alternating_addresses(prober: &mut SeekProber<'_, '_>) -> Vec<u64> {
    let window = prober.window();
    let end = end_region_bytes(prober);
    (0..=READS_PER_BATCH)
        .map(|index| match index % 2 {
            0 => prober.random_address(&(window.start..window.start + end)),
            _ => prober.random_address(&(window.end - end..window.end)),
        })
        .collect()
}

/// Mean passage time of a block under the head at both ends; 0 where no tracks are detected.
fn mean_block_passage_time(
    prober: &mut SeekProber<'_, '_>,
    clockwork: &DriveTiming,
) -> Result<f64, BenchError> {
    let window = prober.window();
    let mut times = Vec::new();
    for top in [window.start + (window.end - window.start) / 16, window.end] {
        if let Some(length) = sector_scan::first_track_length(prober, clockwork, 0.05, top)? {
            times.push(clockwork.block_passage_time(prober.block_bytes(), length));
        }
    }
    Ok(times.iter().sum::<f64>() / times.len().max(1) as f64)
}

fn set_results(
    prober: &mut SeekProber<'_, '_>,
    responses: &[(u64, f64)],
    part: Option<&RotationalDelay>,
    (clockwork, passing): (&DriveTiming, f64),
) {
    let Some(part) = part else {
        return;
    };
    let seek = analysis::seek_metric(MetricId::FULL_STROKE_SEEK, part, clockwork, passing);
    let seek = extrapolate_full_stroke(prober, &seek);
    prober.context.set_metric(seek);
    prober
        .context
        .set_series(analysis::rotational_distribution(part));
    let points = |values: &mut dyn Iterator<Item = f64>| {
        values
            .enumerate()
            .map(|(index, value)| [index as f64, 1e9 * value])
            .collect()
    };
    let edge = vec![part.lower_edge.lower; responses.len()];
    let all = points(&mut responses.iter().map(|(_, response)| *response));
    prober
        .context
        .set_series(Series::new(SeriesKind::StrokeResponses, all));
    prober.context.set_series(Series::new(
        SeriesKind::StrokeEdge,
        points(&mut edge.into_iter()),
    ));
}
