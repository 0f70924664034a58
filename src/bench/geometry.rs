//! Geometry: sectors per track, zones, skew and surfaces, from the angles of neighbouring sectors.

use std::time::Duration;

use super::common;
use super::forecast::Phases;
use super::mechanics::chain::{self, Chain};
use super::mechanics::layout::{Layout, Sample};
use super::mechanics::zones::{self, Place};
use super::mechanics::{self, Clockwork, Prober, SECTOR};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test, Value,
};
use crate::drive::Target;
use crate::session::document::{Axis, Figure, Series, Severity, Unit, Verdict};
use crate::stats::circular::Resultant;

/// Where the sectors lie.
pub struct Geometry;

/// Places sampled evenly over the drive.
const PLACES: u64 = 32;
/// Tracks of the samples at both ends, which are to be exact.
const END_TRACKS: f64 = 32.0;
/// Zones are told apart to this part of the drive: 40 zones are at least eight times as long.
const FINEST: u64 = 512;
/// Intervals between places that are halved afterwards, at most.
const HALVINGS: usize = 200;

static DESCRIPTION: Description = Description {
    name: "geometry",
    aliases: &[],
    summary: "sectors per track, zones, skew and surfaces",
    explanation: "\
Once the revolution is known (see `rotation`), the moment at which a read ends tells the angle at \
which its sector lies. Along a track the angle rises evenly: one turn for one track's worth of \
sectors. Where a track ends it jumps by the skew, which gives the drive time to change to the next \
head or cylinder before the next sector comes by.

The first chart shows the sectors per track against the address: steps are zones. Outer tracks are \
longer and hold more, which is why a hard disk is fast at its beginning. The second shows the angles \
of neighbouring sectors: slanting lines are tracks, the breaks between them are the skew. The third \
is the platter from above: every ring is a sample of a few tracks, each with a zero angle of its \
own; the spiral arms are the beginnings of tracks, moved on by the skew.

Where one skew in so many differs from the others, the arm moves there, and that many tracks make a \
cylinder: one for each surface. Drives that change the head only after a band of many tracks do not \
show their surfaces this way; then the test says so.",
    writes: false,
    metrics: &["sectors_per_track_outer", "sectors_per_track_inner", "surfaces", "head_skew", "cylinder_skew", "track_skew", "zones", "rotation_speed", "revolution_time", "rotation_coherence"],
    parameters: &mechanics::parameters(|_| Value::Duration(Duration::from_secs(120))),
    charts: &[
        Chart::new("Sectors per track", Shape::Steps, &["sectors-per-track"]),
        Chart::new("Angles of neighbouring sectors", Shape::Scatter, &["angle-over-address"]),
        Chart::new("Where the sectors lie", Shape::Polar, &["platter"]),
    ],
    headline: &["sectors_per_track_outer", "sectors_per_track_inner", "zones", "surfaces"],
};

/// Four tracks at each place, and at four more around each boundary of zones; whatever is missing
/// then until the limits.
fn phases(target: &Target, parameters: &Parameters) -> Phases {
    const READS_PER_PLACE: u64 = 4 * chain::PER_TRACK as u64;
    let rest = mechanics::single_reads(target, parameters);
    let mut usual = rest.clone();
    usual.limits.requests = Some(5 * PLACES * READS_PER_PLACE);
    let limits = common::limits(parameters);
    Phases::in_turn(limits).then(usual).perhaps(rest)
}

impl Test for Geometry {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let forecast = mechanics::forecast(target, parameters, "neighbours at many places");
        Ok(match target.rotational() {
            Some(false) => forecast,
            _ => Forecast {
                time: phases(target, parameters).time(target),
                ..forecast
            },
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let Some((mut prober, clockwork)) = mechanics::start(bench, 0.1)? else {
            return Ok(());
        };
        let mut survey = Survey {
            clockwork,
            places: Vec::new(),
            rings: Vec::new(),
        };
        if survey.ends(&mut prober)? {
            survey.everywhere(&mut prober)?;
            survey.boundaries(&mut prober)?;
        } else {
            prober.bench.verdict(mechanics::no_tracks(prober.over()));
        }
        let missing = mechanics::too_few("places", survey.places.len(), PLACES as usize);
        if survey.places.len() < PLACES as usize && prober.over() {
            prober.bench.verdict(missing);
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

/// What was found so far.
struct Survey {
    clockwork: Clockwork,
    /// Ascending by address.
    places: Vec<Place>,
    /// Angle and radius of samples.
    rings: Vec<[f64; 2]>,
}

impl Survey {
    /// Both ends, exactly, and the cylinder at the outer one. False where tracks cannot be told.
    fn ends(&mut self, prober: &mut Prober<'_, '_>) -> Result<bool, BenchError> {
        let window = prober.window();
        // Room for the chains below: they go down.
        let begin = window.start + ((window.end - window.start) / 64).min(256 << 20);
        let room = (begin - window.start) as f64 / SECTOR * 0.9;
        let Some(layout) = self.end(prober, ("outer tracks", 0.05), begin, room)? else {
            return Ok(false);
        };
        prober
            .bench
            .figure(sectors("sectors_per_track_outer", &layout));
        self.cylinder(prober, begin, layout.sectors_per_track)?;
        let room = (window.end - begin) as f64 / SECTOR;
        let Some(layout) = self.end(prober, ("inner tracks", 0.05), window.end, room)? else {
            return Ok(false);
        };
        prober
            .bench
            .figure(sectors("sectors_per_track_inner", &layout));
        self.report(prober);
        Ok(true)
    }

    /// The tracks below an address of which nothing is known, within `room` sectors; once more where
    /// other work of the computer spoilt the first tries.
    fn end(
        &mut self,
        prober: &mut Prober<'_, '_>,
        phase: (&str, f64),
        top: u64,
        room: f64,
    ) -> Result<Option<Layout>, BenchError> {
        const TRIES: u32 = 3;
        for _ in 0..TRIES {
            let found = chain::below(prober, &self.clockwork, phase, (top, room), END_TRACKS)?;
            if let Some(found) = found {
                return Ok(Some(self.keep(prober, top, found)));
            }
            if prober.over() {
                break;
            }
        }
        Ok(None)
    }

    /// Skews and surfaces, from a long chain that begins well above the outer end.
    fn cylinder(
        &mut self,
        prober: &mut Prober<'_, '_>,
        begin: u64,
        length: f64,
    ) -> Result<(), BenchError> {
        const TRACKS: f64 = 96.0;
        let top = begin + ((TRACKS + 8.0) * length * SECTOR) as u64;
        let chain = Chain {
            top,
            length,
            tracks: TRACKS,
            per_track: 4.0,
        };
        let Some(found) = chain::cylinders(prober, &self.clockwork, 0.1, chain)? else {
            prober
                .bench
                .verdict(surfaces_not_told("no order in the angles of a long chain"));
            return Ok(());
        };
        let layout = &found.layout;
        prober
            .bench
            .series(angles(&found.samples, 8.0 * layout.sectors_per_track));
        let revolution = |name: &str, value: f64| Figure::new(name, value, Unit::Revolution);
        let tracks = found.skews.len();
        match found.cylinder {
            Some(cylinder) => {
                prober.bench.figure(Figure::new(
                    "surfaces",
                    f64::from(cylinder.tracks),
                    Unit::Count,
                ));
                prober
                    .bench
                    .figure(revolution("head_skew", cylinder.head_skew));
                prober
                    .bench
                    .figure(revolution("cylinder_skew", cylinder.cylinder_skew));
            }
            None if found.decided() => {
                let skews = found.skews.iter().map(|skew| skew.1);
                let skew = skews.collect::<Resultant>().direction();
                prober.bench.figure(revolution("track_skew", skew));
                let evidence = format!("the skews of {tracks} tracks are all alike");
                prober.bench.verdict(surfaces_not_told(&evidence));
            }
            None => {
                let evidence = format!("the skews of {tracks} tracks show no order");
                prober.bench.verdict(surfaces_not_told(&evidence));
            }
        }
        Ok(())
    }

    /// Places evenly over the drive.
    fn everywhere(&mut self, prober: &mut Prober<'_, '_>) -> Result<(), BenchError> {
        let window = prober.window();
        for place in 1..PLACES {
            let top = window.start + (window.end - window.start) / PLACES * place;
            let text = format!("place {place} of {}", PLACES - 1);
            self.at(prober, (&text, 0.4 / PLACES as f64), top)?;
            if prober.over() {
                break;
            }
        }
        self.report(prober);
        Ok(())
    }

    /// Halves the interval with the largest step between its ends, again and again: that is where
    /// a zone ends.
    fn boundaries(&mut self, prober: &mut Prober<'_, '_>) -> Result<(), BenchError> {
        let window = prober.window();
        let finest = ((window.end - window.start) / FINEST) as f64;
        let mut failures = 0;
        for _ in 0..HALVINGS {
            let Some(middle) = zones::widest_step(&self.places, finest) else {
                break;
            };
            if prober.over() || failures > HALVINGS / 10 {
                break;
            }
            let known = self.places.len();
            // Not exactly in the middle: where nothing can be told, the next try lies elsewhere.
            let aside = finest * (prober.random.share() - 0.5);
            let phase = ("boundaries of zones", 0.2 / HALVINGS as f64);
            self.at(prober, phase, (middle + aside) as u64)?;
            failures += usize::from(self.places.len() == known);
            self.report(prober);
        }
        let zones = zones::group(&self.places, 2.0 * finest).len();
        if zones::widest_step(&self.places, finest).is_none() {
            let zones = Figure::new("zones", zones as f64, Unit::Count);
            prober.bench.figure(zones);
        } else {
            prober.bench.verdict(Verdict::new(
                "zones-not-told",
                Severity::Note,
                format!("{zones} or more: it ended before all their boundaries were found"),
                "raise --duration",
            ));
        }
        Ok(())
    }

    /// The length of the tracks below an address, from what is known of the nearest place.
    fn at(
        &mut self,
        prober: &mut Prober<'_, '_>,
        phase: (&str, f64),
        top: u64,
    ) -> Result<(), BenchError> {
        let after = self
            .places
            .partition_point(|place| place.address < top as f64);
        let around = [after.checked_sub(1), Some(after)];
        let neighbours: Vec<Place> = around
            .into_iter()
            .filter_map(|index| self.places.get(index?).copied())
            .collect();
        let away = |place: &Place| (place.address - top as f64).abs();
        let near = neighbours
            .iter()
            .min_by(|left, right| away(left).total_cmp(&away(right)));
        let Some(near) = near else {
            return Ok(());
        };
        let mut chain = Chain {
            top,
            length: near.sectors_per_track,
            tracks: 5.0,
            per_track: chain::PER_TRACK,
        };
        // Beyond what the drive's cache still holds of the first try.
        let aside = (64.0 * near.sectors_per_track * SECTOR) as u64;
        let mut earlier: Option<Place> = None;
        // What is like neither neighbour is looked at twice: a few late answers may lead astray.
        for _ in 0..2 {
            let found = chain::tracks(prober, &self.clockwork, phase, chain, false)?;
            if let Some(found) = found {
                let place = Place::of(chain.top, &found.0);
                let mut known = neighbours.iter().chain(&earlier);
                if known.any(|other| !other.is_other_zone(&place)) {
                    self.keep(prober, chain.top, found);
                    break;
                }
                earlier = Some(place);
            }
            chain.top = top.saturating_sub(aside).max(prober.window().start);
        }
        Ok(())
    }

    /// Adds what was found below an address to what is known.
    fn keep(
        &mut self,
        prober: &Prober<'_, '_>,
        top: u64,
        (layout, samples): (Layout, Vec<Sample>),
    ) -> Layout {
        let window = prober.window();
        let share = (top - window.start) as f64 / (window.end - window.start) as f64;
        // The innermost track has about half the radius of the outermost.
        self.rings.extend(
            samples
                .iter()
                .map(|sample| [sample.angle, 1.0 - 0.5 * share]),
        );
        self.places.push(Place::of(top, &layout));
        self.places
            .sort_by(|left, right| left.address.total_cmp(&right.address));
        layout
    }

    fn report(&self, prober: &mut Prober<'_, '_>) {
        prober.bench.series(Series {
            name: "sectors-per-track".into(),
            x: Axis::new("address", Unit::Bytes),
            y: Axis::new("sectors per track", Unit::Sectors),
            points: self
                .places
                .iter()
                .map(|place| [place.address, place.sectors_per_track])
                .collect(),
            intervals: Vec::new(),
        });
        prober.bench.series(Series {
            name: "platter".into(),
            x: Axis::new("angle", Unit::Revolution),
            y: Axis::new("radius", Unit::Ratio),
            points: self.rings.clone(),
            intervals: Vec::new(),
        });
        prober.bench.phase_finished();
    }
}

fn sectors(name: &str, layout: &Layout) -> Figure {
    let (value, half_width) = (layout.sectors_per_track, 1.96 * layout.error);
    Figure::new(name, value, Unit::Sectors).within(value - half_width, value + half_width)
}

/// The angles of the first so many sectors of a chain.
fn angles(samples: &[Sample], sectors: f64) -> Series {
    let first = samples
        .iter()
        .map(|sample| sample.sector)
        .fold(f64::INFINITY, f64::min);
    Series {
        name: "angle-over-address".into(),
        x: Axis::new("address", Unit::Bytes),
        y: Axis::new("angle", Unit::Revolution),
        points: samples
            .iter()
            .filter(|sample| sample.sector <= first + sectors)
            .map(|sample| [sample.sector * SECTOR, sample.angle])
            .collect(),
        intervals: Vec::new(),
    }
}

fn surfaces_not_told(evidence: &str) -> Verdict {
    Verdict::new(
        "surfaces-not-told",
        Severity::Note,
        evidence,
        "there is one surface, or changing the head takes as long as moving the arm, or the drive \
         changes the head after many tracks only; or other users disturbed: then repeat",
    )
}
