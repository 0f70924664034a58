//! Speed of rotation, from the times between two reads of the same sectors.

use std::time::Duration;

use super::common;
use super::forecast::Phases;
use super::mechanics::revolution::{self, Pairs, READS_PER_ROUND, Revolution, Rotation, angles};
use super::mechanics::{self, Probe, Prober, findings};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test, Value,
};
use crate::drive::Target;
use crate::session::document::{Axis, Series, Severity, Unit, Verdict};

/// Finds out whether a drive rotates, and how fast, to a hundredth of a per cent.
pub struct RotationSpeed;

/// Rounds of reads at most.
const ROUNDS: usize = 3;
/// Speeds that drives are sold with, in revolutions per minute.
const CLASSES: [f64; 8] = [
    3600.0, 4200.0, 5400.0, 5700.0, 5900.0, 7200.0, 10_000.0, 15_000.0,
];
/// How far a drive may be from the speed that it is sold with, as a share.
const TOLERANCE: f64 = 0.005;
/// Points of the drawn spectrum.
const SPECTRUM_POINTS: usize = 512;

static DESCRIPTION: Description = Description {
    name: "rotation",
    aliases: &["rpm"],
    summary: "speed of rotation to 0.01 %, or the proof that nothing rotates",
    explanation: "\
Reads 128 sectors all over the drive, and then the same ones again in another order. The platter \
turns whatever the computer does, so that two reads of the same sector end a whole number of \
revolutions apart, be it 41 or 187. The test looks for the one speed at which all these times are \
whole numbers.

The first chart shows how well each speed fits (coherence): 1 means that all times are whole \
revolutions. One needle that stands out is the speed; lower needles to its right, at twice and \
three times the speed, are its harmonics. Grass without a needle says that nothing rotates: an SSD, \
a virtual disk, a RAID. The second chart is the platter seen from above: every dot is a sector at \
the angle at which it was read, the beginning of the drive outside. The third shows the same \
angles against the address. Dots all around are what a platter must give: were they all on one \
side, a timer would have answered.

The name of a class (5400, 7200 ...) is given only when the measured limits allow just one. It only \
reads, about 256 blocks in each of up to three rounds.",
    writes: false,
    metrics: &["rotation_speed", "revolution_time", "rotation_coherence"],
    parameters: &mechanics::parameters(|_| Value::Duration(Duration::from_secs(9))),
    charts: &[
        Chart::new("Coherence against speed", Shape::Line, &["coherence-spectrum"]),
        Chart::new("Where the sectors lie", Shape::Polar, &["platter"]),
        Chart::new("Angle against address", Shape::Scatter, &["angle-over-address"]),
    ],
    headline: &["rotation_speed", "revolution_time", "rotation_coherence"],
};

/// Each round passes once over the drive and back, in short ways.
fn phases(target: &Target, parameters: &Parameters) -> Phases {
    let mut plan = mechanics::single_reads(target, parameters);
    let length = plan.window.end.saturating_sub(plan.window.start);
    plan.window.end = plan.window.start + 2 * length / READS_PER_ROUND;
    plan.limits.requests = Some(READS_PER_ROUND);
    Phases::in_turn(common::limits(parameters)).then_all(std::iter::repeat_n(plan, ROUNDS))
}

impl Test for RotationSpeed {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let forecast = mechanics::forecast(target, parameters, "128 places twice, three times");
        Ok(Forecast {
            time: phases(target, parameters).time(target),
            ..forecast
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let mut prober = Prober::new(bench)?;
        let mut pairs = Pairs::default();
        for round in 1..=ROUNDS {
            let phase = format!("round {round} of {ROUNDS}");
            let probes = pairs.round(&mut prober, &phase, 1.0 / ROUNDS as f64)?;
            let rotation = pairs.rotation();
            prober.bench.findings.verdicts.clear();
            report(&mut prober, &rotation, &probes);
            prober.bench.phase_finished();
            if prober.over() {
                break;
            }
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

fn report(prober: &mut Prober<'_, '_>, rotation: &Rotation, probes: &[Probe]) {
    if let Some(verdict) = findings::verdict(rotation) {
        prober.bench.verdict(verdict);
    }
    match rotation {
        Rotation::Found(found) | Rotation::Doubtful(found) => {
            findings::report(prober, found);
            draw(prober, found, probes);
            class(prober, found);
        }
        Rotation::None(found) | Rotation::Clock(found) => {
            prober.bench.findings.figures.clear();
            prober.bench.series(spectrum(found));
        }
        Rotation::Unknown(_) => {}
    }
    flag(prober, rotation);
}

/// The charts of a platter.
fn draw(prober: &mut Prober<'_, '_>, found: &Revolution, probes: &[Probe]) {
    prober.bench.series(spectrum(found));
    if probes.is_empty() {
        return;
    }
    let window = prober.window();
    let outwards = |address: u64| {
        let share = (address - window.start) as f64 / (window.end - window.start) as f64;
        // The innermost track has about half the radius of the outermost.
        1.0 - 0.5 * share
    };
    let fast = revolution::cache_bound(probes);
    let from_medium: Vec<Probe> = probes
        .iter()
        .copied()
        .filter(|probe| probe.response() > fast)
        .collect();
    let angles: Vec<(u64, f64)> = angles(&from_medium, found.period()).collect();
    prober.bench.series(Series {
        name: "platter".into(),
        x: Axis::new("angle", Unit::Revolution),
        y: Axis::new("radius", Unit::Ratio),
        points: angles
            .iter()
            .map(|(address, angle)| [*angle, outwards(*address)])
            .collect(),
        intervals: Vec::new(),
    });
    prober.bench.series(Series {
        name: "angle-over-address".into(),
        x: Axis::new("address", Unit::Bytes),
        y: Axis::new("angle", Unit::Revolution),
        points: angles
            .iter()
            .map(|(address, angle)| [*address as f64, *angle])
            .collect(),
        intervals: Vec::new(),
    });
}

/// C(f), reduced to the highest value of each piece.
fn spectrum(found: &Revolution) -> Series {
    let piece = found.spectrum.len().div_ceil(SPECTRUM_POINTS).max(1);
    let highest = |piece: &[(f64, f64)]| {
        let top = piece
            .iter()
            .max_by(|left, right| left.1.total_cmp(&right.1))?;
        Some([top.0 * 60.0, top.1])
    };
    Series {
        name: "coherence-spectrum".into(),
        x: Axis::new("speed", Unit::RevolutionsPerMinute),
        y: Axis::new("coherence", Unit::Ratio),
        points: found.spectrum.chunks(piece).filter_map(highest).collect(),
        intervals: Vec::new(),
    }
}

/// Names the class when the limits allow one, and compares it with what the drive is sold as.
fn class(prober: &mut Prober<'_, '_>, found: &Revolution) {
    let (low, high) = found.folding.limits;
    let allowed: Vec<f64> = CLASSES
        .into_iter()
        .filter(|class| {
            low * 60.0 <= class * (1.0 + TOLERANCE) && class * (1.0 - TOLERANCE) <= high * 60.0
        })
        .collect();
    let speed = found.folding.frequency * 60.0;
    let verdict = match allowed[..] {
        [class] => Verdict::new(
            "rotation-class",
            Severity::Note,
            format!(
                "{speed:.2} rpm ({:+.3} % from {class:.0}): a drive of the {class:.0} rpm class",
                100.0 * (speed / class - 1.0)
            ),
            "nothing to do",
        ),
        _ => Verdict::new(
            "rotation-class",
            Severity::Note,
            format!("{speed:.2} rpm is none of the usual speeds"),
            "nothing to do: some drives have a speed of their own, which is not printed on them",
        ),
    };
    prober.bench.verdict(verdict);
    reported(prober, speed);
}

/// Compares with what the drive reports, where it does.
fn reported(prober: &mut Prober<'_, '_>, speed: f64) {
    let drive = prober.bench.target.drive.as_ref();
    let Some(rate) = drive.and_then(|drive| drive.rotation_rate) else {
        return;
    };
    let off = speed / f64::from(rate) - 1.0;
    let evidence = format!(
        "the drive reports {rate} rpm and makes {speed:.2}: {:+.3} %",
        100.0 * off
    );
    prober.bench.verdict(match off.abs() <= TOLERANCE {
        true => Verdict::new("rotation-as-reported", Severity::Note, evidence, "nothing to do"),
        false => Verdict::new(
            "rotation-differs",
            Severity::Warning,
            evidence,
            "some drives report the speed of their class only; else the spindle may be failing: see \
             the SMART values",
        ),
    });
}

/// Compares with what the kernel claims.
fn flag(prober: &mut Prober<'_, '_>, rotation: &Rotation) {
    // A disk's own cache answers all of a smaller window.
    const LARGEST_CACHE: u64 = 1_000_000_000;
    let claimed = prober.bench.target.rotational();
    let window = prober.window();
    let (seen, word) = match rotation {
        Rotation::Found(_) => (true, "rotates"),
        Rotation::None(_) | Rotation::Clock(_) if window.end - window.start > LARGEST_CACHE => {
            (false, "does not rotate")
        }
        _ => return,
    };
    if claimed.is_some_and(|claimed| claimed != seen) {
        prober.bench.verdict(Verdict::new(
            "rotational-flag-wrong",
            Severity::Warning,
            format!("the kernel's flag says rotational={}, but it {word}", u8::from(!seen)),
            "schedulers and file systems heed that flag: set it in /sys/block/NAME/queue/rotational",
        ));
    }
}
