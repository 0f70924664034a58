//! Seek curve: how long the arm's way takes against how far it is.

use std::time::Duration;

use super::mechanics::rotational::{self, Edge, RotationalPart};
use super::mechanics::stroke::Stroke;
use super::mechanics::{self, Clockwork, Probe, Prober, command};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test, Value,
};
use crate::drive::Target;
use crate::session::document::{Axis, Figure, Series, Severity, Unit, Verdict};
use crate::stats::fits::{self, SeekCurve};
use crate::stats::student::NORMAL_975;
use crate::stats::{confidence, robust};

/// Seek time over distance.
pub struct SeekDistance;

/// Probes of one batch.
const BATCH: usize = 150;
/// Probes of one piece of the envelope, at least.
const PER_PIECE: usize = 50;
/// Pieces of the envelope at most.
const PIECES: usize = 32;
/// Pieces without which no curve is drawn.
const ENOUGH_PIECES: usize = 6;
/// Shortest distance, as a share of the stroke.
const SHORTEST: f64 = 2e-5;

static DESCRIPTION: Description = Description {
    name: "seek-curve",
    aliases: &["seekcurve"],
    summary: "time of the arm against the distance, and the average seek",
    explanation: "\
Reads single blocks at distances from a few tracks to the whole stroke, short ones as often as long \
ones. Each response is the command, the seek, and the part of a revolution that was still missing.

Every dot of the chart is one read. They fill a band that is exactly one revolution high: its lower \
edge is the seek, and what lies above it is rotation. For short distances the band is much higher \
than its edge: rotation dominates, and a faster arm would help little. For long ones the edge has \
risen: seeking dominates. The line along the edge is fitted to it: the square root of the distance \
as long as the arm accelerates and brakes, a straight line beyond, where it coasts at full speed \
(Ruemmler and Wilkes 1994).

Distances are shares of the stroke: outer tracks hold more bytes, and the test measures how many. \
The average seek is the one over a third of the stroke, which is the mean distance between two \
random tracks. Typical: 4 to 9 ms.",
    writes: false,
    metrics: &["average_seek", "rotation_speed", "revolution_time", "rotation_coherence"],
    parameters: &mechanics::parameters(|_| Value::Duration(Duration::from_secs(60))),
    charts: &[
        Chart::new("Response against distance", Shape::Scatter, &["seek-responses", "seek-envelope", "seek-curve"]),
        Chart::new("Seek against distance, short ones wide", Shape::Line, &["seek-envelope", "seek-curve"]).log_x(),
    ],
    headline: &["average_seek", "revolution_time"],
};

impl Test for SeekDistance {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        Ok(mechanics::forecast(
            target,
            parameters,
            "at distances of all lengths",
        ))
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = mechanics::start(bench, 0.1)? else {
            return Ok(());
        };
        let stroke = Stroke::measure(&mut prober, &clockwork, 0.1)?;
        let passing = stroke
            .sectors_per_track
            .map_or(0.0, |length| clockwork.passing(prober.block(), length));
        let mut probes: Vec<Seek> = Vec::new();
        let mut commands: Vec<Vec<f64>> = Vec::new();
        let mut doubts = 0;
        let batches = batches(&prober, &clockwork);
        for batch in 0..batches {
            if prober.over() {
                break;
            }
            let addresses = clockwork.with_repeats(&leaps(&mut prober, &stroke));
            let phase = format!("distances, {} of {batches}", batch + 1);
            let found = prober.read(&phase, 0.8 / batches as f64, &addresses)?;
            commands.push(command::repeats(&found).map(Probe::response).collect());
            let moves = clockwork.moves(&found).into_iter();
            probes.extend(moves.map(|(before, after)| Seek {
                distance: (stroke.position(before.address) - stroke.position(after.address)).abs(),
                response: after.response(),
                batch,
            }));
            let envelope = envelope(&mut probes, clockwork.revolution);
            doubts = envelope
                .iter()
                .filter(|piece| piece.part.doubt().is_some())
                .count();
            let scale = Scale {
                passing,
                error: stroke.error,
            };
            let found = Measured {
                probes: &probes,
                commands: &commands,
                envelope: &envelope,
            };
            report(&mut prober, &clockwork, &found, scale);
            prober.bench.phase_finished();
        }
        conclude(&mut prober, probes.len(), doubts);
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// One read after a move of the arm.
#[derive(Debug, Clone, Copy)]
struct Seek {
    /// Share of the stroke.
    distance: f64,
    /// In seconds.
    response: f64,
    /// Number of its batch.
    batch: usize,
}

/// What the batches so far have given.
#[derive(Clone, Copy)]
struct Measured<'a> {
    probes: &'a [Seek],
    /// Response times in seconds of reads of the block read just before, by batch.
    commands: &'a [Vec<f64>],
    envelope: &'a [Piece],
}

/// What is known of the tracks.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Seconds in which a block passes under the head.
    passing: f64,
    /// Standard error of a distance, in strokes.
    error: f64,
}

/// A range of distances.
struct Piece {
    distance: f64,
    part: RotationalPart,
}

/// How many batches the time allows; twenty where nothing limits it.
fn batches(prober: &Prober<'_, '_>, clockwork: &Clockwork) -> usize {
    const SEEK: f64 = 0.005;
    let one = BATCH as f64 * (0.5 * clockwork.revolution + SEEK);
    prober
        .time_left()
        .map_or(20, |left| (left.as_secs_f64() / one).ceil() as usize)
        .max(1)
}

/// Places at distances from one another of which half are even over the logarithm and half over
/// the stroke.
fn leaps(prober: &mut Prober<'_, '_>, stroke: &Stroke) -> Vec<u64> {
    let mut position = prober.random.share();
    let mut addresses = Vec::with_capacity(BATCH);
    for index in 0..BATCH {
        let share = prober.random.share();
        let distance = match index % 2 {
            0 => SHORTEST.powf(share),
            _ => share,
        };
        let (in_wards, out_wards) = (position + distance <= 1.0, position >= distance);
        position = match (in_wards, out_wards) {
            (true, true) if prober.random.share() < 0.5 => position - distance,
            (false, true) => position - distance,
            (true, _) => position + distance,
            // Too far from here: from one end to as near to the other as it asks for.
            (false, false) => f64::from(u8::from(position < 0.5)),
        };
        addresses.push(prober.aligned(stroke.address(position)));
    }
    addresses
}

/// The lower edge of the band, in pieces with equally many reads each.
fn envelope(probes: &mut [Seek], revolution: f64) -> Vec<Piece> {
    probes.sort_by(|left, right| left.distance.total_cmp(&right.distance));
    let pieces = (probes.len() / PER_PIECE).min(PIECES);
    if pieces < ENOUGH_PIECES {
        return Vec::new();
    }
    let piece = |part: &[Seek]| {
        let responses: Vec<_> = part.iter().map(|seek| (0, seek.response)).collect();
        Some(Piece {
            distance: robust::median(part.iter().map(|seek| seek.distance))?,
            part: rotational::analyse(&responses, Some(revolution))?,
        })
    };
    probes
        .chunks(probes.len().div_ceil(pieces))
        .filter_map(piece)
        .collect()
}

fn report(prober: &mut Prober<'_, '_>, clockwork: &Clockwork, found: &Measured<'_>, scale: Scale) {
    let points = |points: &mut dyn Iterator<Item = (f64, f64)>| -> Vec<[f64; 2]> {
        points
            .map(|(distance, seconds)| [distance, 1e9 * seconds])
            .collect()
    };
    let series = |name: &str, points: Vec<[f64; 2]>| Series {
        name: name.into(),
        x: Axis::new("distance in strokes", Unit::Ratio),
        y: Axis::new("time", Unit::Nanoseconds),
        points,
        intervals: Vec::new(),
    };
    let all = points(
        &mut found
            .probes
            .iter()
            .map(|seek| (seek.distance, seek.response)),
    );
    prober.bench.series(series("seek-responses", all));
    let edges: Vec<(f64, f64)> = found
        .envelope
        .iter()
        .map(|piece| (piece.distance, piece.part.edge.lower))
        .collect();
    let Some(curve) = fits::seek_curve(&edges) else {
        return;
    };
    prober
        .bench
        .series(series("seek-envelope", points(&mut edges.iter().copied())));
    // Denser towards short distances, where it bends.
    let smooth = (0..=100).map(|step| (f64::from(step) / 100.0).powi(2).max(SHORTEST));
    let drawn = points(&mut smooth.map(|distance| (distance, curve.at(distance))));
    prober.bench.series(series("seek-curve", drawn));
    if let Some(figure) = average(found, &curve, clockwork, scale) {
        prober.bench.figure(figure);
    }
}

/// The distance whose seek is the average one, and those that are brought to it, in strokes.
const THIRD: f64 = 1.0 / 3.0;
const AROUND: std::ops::Range<f64> = 0.22..0.45;

/// The seek over a third of the stroke: the edge of all responses at distances around it, each
/// brought to that distance along the curve.
fn average(
    found: &Measured<'_>,
    curve: &SeekCurve,
    clockwork: &Clockwork,
    scale: Scale,
) -> Option<Figure> {
    let again: Vec<f64> = found.commands.iter().flatten().copied().collect();
    let clockwork = clockwork.with_commands(&again);
    let part = around_a_third(found.probes.iter(), curve, &clockwork)?;
    let figure = mechanics::seek_figure("average_seek", &part, &clockwork, scale.passing);
    // A distance that is not known exactly makes the seek uncertain by the rise of the curve.
    let rise = (curve.at(AROUND.end) - curve.at(AROUND.start)) / (AROUND.end - AROUND.start);
    let margin = 1e9 * NORMAL_975 * rise.abs() * scale.error;
    let (low, high) = (figure.low? - margin, figure.high? + margin);
    let disagreement = 1e9 * disagreement(found, curve, &clockwork).unwrap_or(0.0);
    let (low, high) = (
        low.min(figure.value - disagreement),
        high.max(figure.value + disagreement),
    );
    Some(figure.within(low, high))
}

fn around_a_third<'a>(
    seeks: impl Iterator<Item = &'a Seek>,
    curve: &SeekCurve,
    clockwork: &Clockwork,
) -> Option<RotationalPart> {
    let brought = |seek: &Seek| seek.response - curve.at(seek.distance) + curve.at(THIRD);
    let near: Vec<(u64, f64)> = seeks
        .filter(|seek| AROUND.contains(&seek.distance))
        .map(|seek| (0, brought(seek)))
        .collect();
    rotational::measure(&near, clockwork.revolution, Edge::Middle)
}

/// The 95 % margin of the mean of what parts of the run say alone, each with its own commands: a
/// computer that is busy for a while delays some of them more than others.
fn disagreement(found: &Measured<'_>, curve: &SeekCurve, clockwork: &Clockwork) -> Option<f64> {
    const PARTS: usize = 8;
    const ENOUGH: usize = 40;
    let batches = found.commands.len();
    let alone = |part: usize| {
        let range = batches * part / PARTS..batches * (part + 1) / PARTS;
        let seeks = found
            .probes
            .iter()
            .filter(|seek| range.contains(&seek.batch));
        let edge = around_a_third(seeks, curve, clockwork)?.edge;
        let commands = found.commands[range.clone()].iter().flatten().copied();
        let command = robust::median(commands).unwrap_or(0.0);
        (edge.inside >= ENOUGH).then_some(edge.lower - command)
    };
    let values: Vec<f64> = (0..PARTS).filter_map(alone).collect();
    confidence::independent(&values)?.margin()
}

fn conclude(prober: &mut Prober<'_, '_>, probes: usize, doubts: usize) {
    let needed = ENOUGH_PIECES * PER_PIECE;
    if probes < needed {
        prober
            .bench
            .verdict(mechanics::too_few("seek curve", probes, needed));
    }
    // One piece in a hundred is doubtful by chance; in short ones the seek itself varies.
    if doubts > 3 {
        prober.bench.verdict(Verdict::new(
            "seek-doubtful",
            Severity::Warning,
            format!("in {doubts} pieces of the curve the waiting times are not those of a platter"),
            "stop other users of the drive and repeat",
        ));
    }
}
