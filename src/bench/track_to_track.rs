//! Track to track: the shortest way of the arm.

use std::time::Duration;

use super::forecast::Phases;
use super::mechanics::shortest::{self, Shortest};
use super::mechanics::stretch::Stretch;
use super::mechanics::walk::{self, Jumps, Walk};
use super::mechanics::{self, Clockwork, Prober, SECTOR};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value, common,
};
use crate::drive::Target;
use crate::session::document::{Axis, Figure, Series, Severity, Unit, Verdict};
use crate::units;

/// Time of the shortest seek.
pub struct TrackToTrack;

/// Jumps of one batch.
const BATCH: usize = 150;
/// Jumps without which no figure is given.
const ENOUGH: usize = 100;
/// Batches of even jumps before the rest is aimed at the edge.
const EVEN: usize = 3;

const SPAN: Parameter = Parameter {
    name: "span",
    kind: Kind::Size { least: 4096 },
    help: "length of the jumps; unset: one cylinder, as the test finds it",
    default: |_| Value::Unset,
};

static DESCRIPTION: Description = Description {
    name: "track-to-track",
    aliases: &["tracktotrack"],
    summary: "time of the arm from one cylinder to the next",
    explanation: "\
First finds out how long a cylinder is: reads neighbouring sectors, whose angles rise evenly along \
a track and jump where the next one begins. The jump is the skew that hides the change of head, and \
one jump in so many is different, because there the arm moves: that many tracks are a cylinder. It \
is the shortest jump that is certain to move the arm.

Then walks over the drive in jumps of one cylinder, up to half a track more or less. As in `full-stroke`, the \
response times spread evenly over one revolution, and the lower edge of the band is the seek. Where \
that edge lies, a block is just caught or just missed: the second half of the jumps is aimed there.

The first chart shows response against the exact length of the jump: the slanting line is the \
platter turning on; where it breaks, the block was missed and came a revolution later. Typical: 0.2 \
to 2 ms. With --span the jumps have another length; if that is less than a cylinder, some of them \
do not move the arm at all, and the test says so in place of a number.",
    writes: false,
    metrics: &["track_to_track_seek", "cylinder_size", "rotation_speed", "revolution_time", "rotation_coherence"],
    parameters: &[
        SPAN,
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(40))),
        common::BYTES,
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::CACHE,
    ],
    charts: &[
        Chart::new("Response against jump", Shape::Scatter, &["jump-responses"]),
        Chart::new("Rotational part", Shape::Bars, &["rotational-part"]),
    ],
    headline: &["track_to_track_seek", "cylinder_size", "revolution_time"],
};

/// Single reads until the limits, near each other.
fn phases(target: &Target, parameters: &Parameters) -> Phases {
    let mut plan = mechanics::single_reads(target, parameters);
    plan.window.end = plan.window.start + (plan.window.end - plan.window.start) / 1000;
    Phases::in_turn(common::limits(parameters)).then(plan)
}

impl Test for TrackToTrack {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let forecast = mechanics::forecast(target, parameters, "in jumps of one cylinder");
        Ok(match target.rotational() {
            Some(false) => forecast,
            _ => Forecast {
                time: phases(target, parameters).time(target),
                ..forecast
            },
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = mechanics::start(bench, 0.2)? else {
            return Ok(());
        };
        let Some(stretch) = Stretch::find(&mut prober, &clockwork)? else {
            prober.bench.verdict(mechanics::no_tracks(prober.over()));
            return Ok(());
        };
        let Some(jumps) = jumps(&mut prober, &stretch) else {
            return Ok(());
        };
        let passing = clockwork.passing(prober.block(), jumps.track);
        walk(&mut prober, &clockwork, jumps, passing)
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// The jumps to be made; `None`, with a verdict, where they would not always move the arm.
fn jumps(prober: &mut Prober<'_, '_>, stretch: &Stretch) -> Option<Jumps> {
    let found = &stretch.cylinders;
    let length = stretch.cylinder();
    match found.cylinder {
        Some(_) => {
            let size = Figure::new("cylinder_size", length * SECTOR, Unit::Bytes);
            prober.bench.figure(size);
        }
        None if found.decided() => prober.bench.verdict(Verdict::new(
            "cylinder-not-told",
            Severity::Note,
            "all tracks begin with the same skew: changing the head takes as long as moving the arm, \
             or there is one surface only",
            "the jumps are one track long",
        )),
        None => {
            prober.bench.verdict(Verdict::new(
                "cylinder-not-told",
                Severity::Invalid,
                format!("the skews of {} tracks show no order", found.skews.len()),
                "stop other users of the drive and repeat",
            ));
            return None;
        }
    }
    let span = prober
        .bench
        .parameters
        .bytes("span")
        .map(|span| span as f64 / SECTOR);
    if let Some(span) = span.filter(|span| *span < 0.98 * length) {
        prober.bench.verdict(Verdict::new(
            "span-below-cylinder",
            Severity::Invalid,
            format!(
                "a jump of {} stays within a cylinder of {} at times",
                units::block_size(span * SECTOR),
                units::block_size(length * SECTOR)
            ),
            "leave --span out, or make it larger than a cylinder",
        ));
        return None;
    }
    let length = span.unwrap_or(length);
    Some(Jumps {
        from: stretch.top,
        to: stretch.bottom(length, &prober.window()),
        length,
        track: found.layout.whole_sectors(),
    })
}

fn walk(
    prober: &mut Prober<'_, '_>,
    clockwork: &Clockwork,
    jumps: Jumps,
    passing: f64,
) -> Result<(), BenchError> {
    let mut walk = Walk::new(jumps);
    let mut found: Option<Shortest> = None;
    let batches = batches(prober, clockwork);
    for batch in 0..batches {
        if prober.over() {
            break;
        }
        let text = format!("cylinder to cylinder, {} of {batches}", batch + 1);
        let phase = (text.as_str(), 0.6 / batches as f64);
        match &found {
            Some(Shortest { part, .. })
                if walk.even.len() >= EVEN && walk.aimed.len() < 3 * walk.even.len() =>
            {
                // What is neither arm nor command is in the edge too: aim at the whole of it.
                let aim = (part.edge.lower, BATCH);
                let before = walk.aimed.len();
                walk.at_the_edge(prober, clockwork, phase, aim)?;
                if walk.aimed.len() == before {
                    walk.evenly(prober, clockwork, phase, BATCH)?;
                }
            }
            _ => walk.evenly(prober, clockwork, phase, BATCH)?,
        }
        // The first edge is needed for aiming; later ones become more exact slowly.
        let due =
            batch < 2 * EVEN || (batch + 1) % (batches / 10).max(1) == 0 || batch + 1 == batches;
        if walk::jumps(&walk.even).count() >= ENOUGH && (due || prober.over()) {
            found = shortest::analyse(&walk, clockwork);
            report(prober, &walk, found.as_ref(), passing);
            prober.bench.phase_finished();
        }
    }
    let verdict = match &found {
        Some(found) => found.doubt(&found.figure("", passing)),
        None => Some(mechanics::too_few(
            "track to track",
            walk::jumps(&walk.even).count(),
            ENOUGH,
        )),
    };
    verdict
        .into_iter()
        .for_each(|verdict| prober.bench.verdict(verdict));
    Ok(())
}

/// How many batches the time allows; twelve where nothing limits it.
fn batches(prober: &Prober<'_, '_>, clockwork: &Clockwork) -> usize {
    const SEEK: f64 = 0.0015;
    let one = BATCH as f64 * (0.5 * clockwork.revolution + SEEK);
    prober
        .time_left()
        .map_or(12, |left| (left.as_secs_f64() / one).ceil() as usize)
        .max(1)
}

fn report(prober: &mut Prober<'_, '_>, walk: &Walk, found: Option<&Shortest>, passing: f64) {
    let Some(found) = found else {
        return;
    };
    let seek = found.figure("track_to_track_seek", passing);
    prober.bench.figure(seek);
    prober.bench.series(mechanics::distribution(&found.part));
    prober.bench.series(Series {
        name: "jump-responses".into(),
        x: Axis::new("jump beyond a cylinder", Unit::Revolution),
        y: Axis::new("response", Unit::Nanoseconds),
        points: walk::jumps(&walk.even)
            .map(|jump| [jump.more, 1e9 * jump.response])
            .collect(),
        intervals: Vec::new(),
    });
}
