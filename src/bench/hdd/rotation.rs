//! Rotational speed, from the intervals between two reads of the same sectors.

use std::time::Duration;

use serde_json::json;

use super::analysis::checks::{ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, TOO_FEW_PROBES};
use super::analysis::prober::{Prober, TimedRead};
use super::analysis::rotation_estimate::{
    self, MAX_ROUNDS, READS_PER_ROUND, ReadPairs, RevolutionEstimate, Rotation,
};
use super::mechanics::{MechanicsBenchmark, ROTATION_METRICS, probing_parameters};
use crate::bench::{
    BenchError, BenchmarkGroup, ChartShape, ChartSpec, Description, Parameter, RunContext,
    framework,
};
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{MetricId, Series, SeriesId, SeriesKind, Verdict};
use crate::stats::rotation::circular::wrap_turns;

/// Nominal speeds of commercial drives in revolutions per minute.
const SPEED_CLASSES: [f64; 8] = [
    3600.0, 4200.0, 5400.0, 5700.0, 5900.0, 7200.0, 10_000.0, 15_000.0,
];
/// Maximum relative deviation from the nominal speed.
const CLASS_TOLERANCE: f64 = 0.005;

const DURATION: Parameter<Option<Duration>> =
    framework::DURATION.with_default(|_| Some(Duration::from_secs(9)));

const ROTATION_CLASS: Check = Check::note(
    "rotation-class",
    "The class of rotation speeds that the drive belongs to.",
);
const ROTATION_AS_REPORTED: Check = Check::note(
    "rotation-as-reported",
    "The rotation speed is the one that the drive reports.",
);
const ROTATION_DIFFERS: Check = Check::warning(
    "rotation-differs",
    "The rotation speed is not the one that the drive reports.",
);
const ROTATIONAL_FLAG_WRONG: Check = Check::warning(
    "rotational-flag-wrong",
    "The kernel's rotational flag contradicts the measurement.",
);

static DESCRIPTION: Description = Description {
    name: "rotation",
    aliases: &["rpm"],
    group: BenchmarkGroup::HardDisks,
    example: "/dev/sda",
    summary: "rotational speed to 0.01 %, or evidence that nothing rotates",
    explanation: include_str!("rotation.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        TOO_FEW_PROBES,
        DOES_NOT_ROTATE,
        ROTATION_UNDETERMINED,
        ROTATION_DOUBTFUL,
        ROTATION_CLASS,
        ROTATION_AS_REPORTED,
        ROTATION_DIFFERS,
        ROTATIONAL_FLAG_WRONG,
    ],
    workload: Workload::CONSTANT,
    metrics: &[ROTATION_METRICS],
    parameters: &probing_parameters(&DURATION),
    charts: &[
        ChartSpec::new(
            "Coherence against speed",
            ChartShape::Line,
            &[SeriesId::COHERENCE_SPECTRUM],
        ),
        ChartSpec::new("Sector positions", ChartShape::Polar, &[SeriesId::PLATTER]),
        ChartSpec::new(
            "Angle against address",
            ChartShape::Scatter,
            &[SeriesId::ANGLE_OVER_ADDRESS],
        ),
    ],
    headline_metrics: &[
        MetricId::ROTATION_SPEED,
        MetricId::REVOLUTION_TIME,
        MetricId::ROTATION_COHERENCE,
    ],
};

/// Detects rotation and measures its speed to a hundredth of a per cent.
pub static ROTATION: MechanicsBenchmark = MechanicsBenchmark {
    description: &DESCRIPTION,
    reads: "128 sectors twice, three times",
    needs_rotation: false,
    // Each round passes once over the drive and back, with short seeks.
    phases: |phases, mut plan| {
        let length = plan.window.end.saturating_sub(plan.window.start);
        plan.window.end = plan.window.start + 2 * length / READS_PER_ROUND;
        plan.limits.requests = Some(READS_PER_ROUND);
        phases.add_phases(std::iter::repeat_n(plan, MAX_ROUNDS))
    },
    measure,
};

fn measure(bench: &mut RunContext<'_>) -> Result<(), BenchError> {
    let mut prober = Prober::new(bench)?;
    let mut pairs = ReadPairs::default();
    for round in 1..=MAX_ROUNDS {
        let phase = format!("round {round} of {MAX_ROUNDS}");
        let reads = pairs.read_round(&mut prober, &phase)?;
        set_results(&mut prober, &pairs.assess_rotation(), &reads);
        prober.context.phase_finished();
        if prober.is_over() {
            break;
        }
    }
    Ok(())
}

fn set_results(prober: &mut Prober<'_, '_>, rotation: &Rotation, reads: &[TimedRead]) {
    let findings = &mut prober.context.findings;
    findings.metrics.clear();
    findings.verdicts = rotation.verdict.iter().cloned().collect();
    let Some(best) = &rotation.best else {
        return;
    };
    if rotation.is_found || rotation.rotates.is_some() {
        prober.context.set_series(spectrum_series(best));
    }
    if rotation.is_found {
        for metric in best.metrics() {
            prober.context.set_metric(metric);
        }
        set_charts(prober, best.revolution_seconds(), reads);
        let speed = best.epoch_folding.frequency * 60.0;
        prober.context.set_check(rotation_class(best, speed));
        check_reported_speed(prober, speed);
    }
    check_rotational_flag(prober, rotation.rotates);
}

/// Sets the charts of the sectors' angles.
fn set_charts(prober: &mut Prober<'_, '_>, revolution: f64, reads: &[TimedRead]) {
    if reads.is_empty() {
        return;
    }
    let (begin, size) = (prober.window().start, prober.window_bytes());
    // The innermost track has about half the radius of the outermost.
    let radius = |address: u64| 1.0 - 0.5 * ((address - begin) as f64 / size as f64);
    let fast = rotation_estimate::cache_threshold(reads);
    let from_medium = reads.iter().filter(|read| read.response() > fast);
    let angles = from_medium.map(|read| (read.address, wrap_turns(read.end / revolution)));
    let (platter, by_address) = angles
        .map(|(address, angle)| ([angle, radius(address)], [address as f64, angle]))
        .unzip();
    let context = &mut prober.context;
    context.set_series(Series::new(SeriesKind::Platter, platter));
    context.set_series(Series::new(SeriesKind::AngleOverAddress, by_address));
}

/// C(f), reduced to the maximum of each interval.
fn spectrum_series(found: &RevolutionEstimate) -> Series {
    const POINTS: usize = 512;
    let piece = found.spectrum.len().div_ceil(POINTS).max(1);
    let highest = |piece: &[(f64, f64)]| {
        let by_height = |left: &&(f64, f64), right: &&(f64, f64)| left.1.total_cmp(&right.1);
        let top = piece.iter().max_by(by_height)?;
        Some([top.0 * 60.0, top.1])
    };
    let points = found.spectrum.chunks(piece).filter_map(highest).collect();
    Series::new(SeriesKind::CoherenceSpectrum, points)
}

/// Names the speed class if the confidence interval permits only one.
fn rotation_class(found: &RevolutionEstimate, rpm: f64) -> Verdict {
    let (low, high) = found.epoch_folding.frequency_interval;
    let is_possible = |class: &f64| {
        low * 60.0 <= class * (1.0 + CLASS_TOLERANCE)
            && class * (1.0 - CLASS_TOLERANCE) <= high * 60.0
    };
    let mut possible = SPEED_CLASSES.into_iter().filter(is_possible);
    let class_rpm = possible.next().filter(|_| possible.next().is_none());
    let (sentence, advice) = match class_rpm {
        Some(class) => (
            format!(
                "{rpm:.2} rpm ({} from {class:.0}): a drive of the {class:.0} rpm class",
                deviation(rpm, class)
            ),
            "no action needed",
        ),
        None => (
            format!("{rpm:.2} rpm is none of the usual speeds"),
            "no action needed: some drives have an unusual speed that their label does not state",
        ),
    };
    let facts = json!({ "measured_rpm": rpm, "class_rpm": class_rpm });
    ROTATION_CLASS.found(sentence, advice, facts)
}

/// Compares with the speed that the drive reports, if any.
fn check_reported_speed(prober: &mut Prober<'_, '_>, speed: f64) {
    let drive = prober.context.target.drive.as_ref();
    let Some(rate) = drive.and_then(|drive| drive.rotation_rate) else {
        return;
    };
    let reported = f64::from(rate);
    let sentence = format!(
        "the drive reports {rate} rpm, measured are {speed:.2} rpm: {}",
        deviation(speed, reported)
    );
    let (check, advice) = if (speed / reported - 1.0).abs() <= CLASS_TOLERANCE {
        (ROTATION_AS_REPORTED, "no action needed")
    } else {
        (
            ROTATION_DIFFERS,
            "some drives report only the speed of their class; otherwise the spindle may be failing: \
             check the SMART attributes",
        )
    };
    let facts = json!({ "reported_rpm": rate, "measured_rpm": speed });
    let verdict = check.found(sentence, advice, facts);
    prober.context.set_check(verdict);
}

/// Deviation from a reference in percent with three decimals, such as `-0.012 %`; zero has no minus
/// sign.
fn deviation(measured: f64, reference: f64) -> String {
    let percent = 100.0 * (measured / reference - 1.0);
    format!("{:+.3} %", (percent * 1e3).round() / 1e3 + 0.0)
}

/// Compares with the kernel's rotational flag.
fn check_rotational_flag(prober: &mut Prober<'_, '_>, rotates: Option<bool>) {
    // A disk's cache can answer all reads of a smaller window.
    const MAX_DRIVE_CACHE_BYTES: u64 = 1_000_000_000;
    let is_certain = |rotates: &bool| *rotates || prober.window_bytes() > MAX_DRIVE_CACHE_BYTES;
    let Some(rotates) = rotates.filter(is_certain) else {
        return;
    };
    let claimed = prober.context.target.is_rotational();
    if let Some(flag) = claimed.filter(|claimed| *claimed != rotates) {
        let rotates = if flag { "does not rotate" } else { "rotates" };
        prober.context.set_check(ROTATIONAL_FLAG_WRONG.found(
            format!(
                "the kernel's flag is rotational={}, but the drive {rotates}",
                u8::from(flag)
            ),
            "correct it in /sys/block/NAME/queue/rotational: schedulers and file systems use it",
            json!({ "flag": flag }),
        ));
    }
}
