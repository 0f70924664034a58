//! Full stroke: the arm's way from one end of the drive to the other.

use std::time::Duration;

use super::mechanics::chain;
use super::mechanics::rotational::{self, Edge, RotationalPart};
use super::mechanics::{self, Clockwork, Probe, Prober, command};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test, Value,
};
use crate::drive::Target;
use crate::session::document::{Axis, Figure, Series, Unit};

/// Time of the longest seek.
pub struct FullStroke;

/// Probes of one batch.
const BATCH: usize = 100;
/// Probes without which no figure is given.
const ENOUGH: usize = 60;

static DESCRIPTION: Description = Description {
    name: "full-stroke",
    aliases: &["fullstroke"],
    summary: "time of the arm from one end of the drive to the other",
    explanation: "\
Reads single blocks in turn at the very beginning and the very end of the drive. Each read takes \
the command, the arm's way over all tracks, and then whatever part of a revolution is missing until \
the block comes by: anything from nothing to a whole one, all equally likely.

So the response times spread evenly over exactly one revolution, and the lower edge of that band is \
the seek. The test first measures the revolution (see `rotation`), and then finds the place where a \
band of that width holds the most reads: all of them count, not the fastest one alone. The time of \
a bare command, measured on answers of the drive's cache, is taken off.

The first chart shows the band. The second shows how the reads lie within it: bars of equal height \
are what a platter must give; if they are not, the result is called doubtful. Typical: 12 to 25 ms.",
    writes: false,
    metrics: &["full_stroke_seek", "rotation_speed", "revolution_time", "rotation_coherence"],
    parameters: &mechanics::parameters(|_| Value::Duration(Duration::from_secs(25))),
    charts: &[
        Chart::new("Response times, end to end", Shape::Scatter, &["stroke-responses", "stroke-edge"]),
        Chart::new("Rotational part", Shape::Bars, &["rotational-part"]),
    ],
    headline: &["full_stroke_seek", "revolution_time"],
};

impl Test for FullStroke {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        Ok(mechanics::forecast(
            target,
            parameters,
            "at both ends in turn",
        ))
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = mechanics::start(bench, 0.2)? else {
            return Ok(());
        };
        let passing = passing(&mut prober, &clockwork)?;
        let (mut responses, mut commands) = (Vec::new(), Vec::new());
        let mut part = None;
        let batches = batches(&prober, &clockwork);
        for batch in 0..batches {
            if prober.over() {
                break;
            }
            let addresses = clockwork.with_repeats(&alternate(&mut prober));
            let phase = format!("end to end, {} of {}", batch + 1, batches);
            let probes = prober.read(&phase, 0.7 / batches as f64, &addresses)?;
            commands.extend(command::repeats(&probes).map(Probe::response));
            let moves = clockwork.moves(&probes).into_iter();
            responses.extend(moves.map(|(_, probe)| (probe.address, probe.response())));
            if responses.len() >= ENOUGH {
                part = rotational::measure(&responses, clockwork.revolution, Edge::Quick);
                let clockwork = clockwork.with_commands(&commands);
                report(
                    &mut prober,
                    &responses,
                    part.as_ref(),
                    (&clockwork, passing),
                );
                prober.bench.phase_finished();
            }
        }
        let verdict = match &part {
            Some(part) => part.doubt(),
            None => Some(mechanics::too_few("full stroke", responses.len(), ENOUGH)),
        };
        verdict
            .into_iter()
            .for_each(|verdict| prober.bench.verdict(verdict));
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// How many batches the time allows; ten where nothing limits it.
fn batches(prober: &Prober<'_, '_>, clockwork: &Clockwork) -> usize {
    const FULL_STROKE: f64 = 0.018;
    let one = BATCH as f64 * (0.5 * clockwork.revolution + FULL_STROKE);
    prober
        .time_left()
        .map_or(10, |left| (left.as_secs_f64() / one).ceil() as usize)
        .max(1)
}

/// Bytes of the window at either end that are read: a thousandth, so that the cache of the drive
/// does not know them all.
fn end_size(prober: &Prober<'_, '_>) -> u64 {
    let window = prober.window();
    let size = window.end - window.start;
    (size / 1000)
        .max((size / 100).min(16 << 20))
        .max(prober.block())
}

/// The figure for the whole stroke, from seeks that are shorter by half of both ends on the average.
/// A seek grows by its own share of the distance while the arm coasts, and by half as much where it
/// accelerates and brakes all the way: by something between.
fn whole(prober: &Prober<'_, '_>, seek: &Figure) -> Figure {
    const GROWTH: f64 = 0.7;
    const UNCERTAIN: f64 = 0.4;
    let window = prober.window();
    let missing = end_size(prober) as f64 / (window.end - window.start) as f64;
    let (more, unsure) = (GROWTH * missing, UNCERTAIN * missing);
    let grown = |value: f64, share: f64| value * (1.0 + share);
    let low = seek.low.unwrap_or(seek.value);
    let high = seek.high.unwrap_or(seek.value);
    let figure = Figure::new(&seek.name, grown(seek.value, more), seek.unit)
        .within(grown(low, more - unsure), grown(high, more + unsure));
    Figure {
        observations: seek.observations,
        ..figure
    }
}

/// Places at one end and the other in turn.
fn alternate(prober: &mut Prober<'_, '_>) -> Vec<u64> {
    let window = prober.window();
    let end = end_size(prober);
    (0..=BATCH)
        .map(|index| match index % 2 {
            0 => prober.anywhere(&(window.start..window.start + end)),
            _ => prober.anywhere(&(window.end - end..window.end)),
        })
        .collect()
}

/// Mean time in which a block passes under the head at both ends; 0 where tracks cannot be told.
fn passing(prober: &mut Prober<'_, '_>, clockwork: &Clockwork) -> Result<f64, BenchError> {
    let window = prober.window();
    let mut times = Vec::new();
    for top in [window.start + (window.end - window.start) / 16, window.end] {
        if let Some(length) = chain::first_length(prober, clockwork, 0.05, top)? {
            times.push(clockwork.passing(prober.block(), length));
        }
    }
    Ok(times.iter().sum::<f64>() / times.len().max(1) as f64)
}

fn report(
    prober: &mut Prober<'_, '_>,
    responses: &[(u64, f64)],
    part: Option<&RotationalPart>,
    (clockwork, passing): (&Clockwork, f64),
) {
    let Some(part) = part else {
        return;
    };
    let seek = mechanics::seek_figure("full_stroke_seek", part, clockwork, passing);
    let seek = whole(prober, &seek);
    prober.bench.figure(seek);
    prober.bench.series(mechanics::distribution(part));
    let points = |values: &mut dyn Iterator<Item = f64>| {
        values
            .enumerate()
            .map(|(index, value)| [index as f64, 1e9 * value])
            .collect()
    };
    let series = |name: &str, points: Vec<[f64; 2]>| Series {
        name: name.into(),
        x: Axis::new("read", Unit::Count),
        y: Axis::new("response", Unit::Nanoseconds),
        points,
        intervals: Vec::new(),
    };
    let edge = vec![part.edge.lower; responses.len()];
    let all = points(&mut responses.iter().map(|(_, response)| *response));
    prober.bench.series(series("stroke-responses", all));
    prober
        .bench
        .series(series("stroke-edge", points(&mut edge.into_iter())));
}
