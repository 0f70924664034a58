//! Rotational speed, from the intervals between two reads of the same sectors.

use std::time::Duration;

use serde_json::json;

use super::analysis;
use super::analysis::checks;
use super::analysis::checks::{ROTATION_DOUBTFUL, ROTATION_UNDETERMINED, TOO_FEW_PROBES};
use super::analysis::rotation_estimate;
use super::analysis::rotation_estimate::{
    READS_PER_ROUND, ReadPairs, RevolutionEstimate, RotationState, completion_angles,
};
use super::analysis::{SeekProber, TimedRead, findings};
use crate::bench::framework;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, Parameter, ParameterSet, RunContext,
};
use crate::drive::Target;
use crate::session::checks::{DOES_NOT_ROTATE, Workload};
use crate::session::document::check::Check;
use crate::session::document::{MetricId, MetricKind, Series, SeriesId, SeriesKind, Verdict};

/// Detects rotation and measures its speed to a hundredth of a per cent.
pub struct RotationSpeed;

const MAX_ROUNDS: usize = 3;
/// Nominal speeds of commercial drives in revolutions per minute.
const SPEED_CLASSES: [f64; 8] = [
    3600.0, 4200.0, 5400.0, 5700.0, 5900.0, 7200.0, 10_000.0, 15_000.0,
];
/// Maximum relative deviation from the nominal speed.
const CLASS_TOLERANCE: f64 = 0.005;
/// Points of the plotted spectrum.
const SPECTRUM_POINTS: usize = 512;

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
    metrics: &[MetricFamily::Own(&[
        MetricKind::RotationSpeed,
        MetricKind::RevolutionTime,
        MetricKind::RotationCoherence,
    ])],
    parameters: &analysis::probing_parameters(&DURATION),
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

/// Each round passes once over the drive and back, with short seeks.
fn planned_phases(target: &Target, parameters: &ParameterSet) -> PlannedPhases {
    let mut plan = analysis::single_read_plan(target, parameters);
    let length = plan.window.end.saturating_sub(plan.window.start);
    plan.window.end = plan.window.start + 2 * length / READS_PER_ROUND;
    plan.limits.requests = Some(READS_PER_ROUND);
    PlannedPhases::first_come(framework::plan_limits(parameters))
        .add_phases(std::iter::repeat_n(plan, MAX_ROUNDS))
}

impl Benchmark for RotationSpeed {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let forecast = analysis::forecast(target, parameters, "128 sectors twice, three times");
        Ok(Forecast {
            run_time: planned_phases(target, parameters).run_time(target),
            ..forecast
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let mut prober = SeekProber::new(bench)?;
        let mut pairs = ReadPairs::default();
        for round in 1..=MAX_ROUNDS {
            let phase = format!("round {round} of {MAX_ROUNDS}");
            let probes = pairs.read_round(&mut prober, &phase, 1.0 / MAX_ROUNDS as f64)?;
            let rotation = pairs.assess_rotation();
            prober.context.findings.verdicts.clear();
            set_results(&mut prober, &rotation, &probes);
            prober.context.phase_finished();
            if prober.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::AdaptiveRequests)
    }
}

fn set_results(prober: &mut SeekProber<'_, '_>, rotation: &RotationState, probes: &[TimedRead]) {
    if let Some(verdict) = checks::rotation_check(rotation) {
        prober.context.set_check(verdict);
    }
    match rotation {
        RotationState::Rotating(found) | RotationState::Doubtful(found) => {
            findings::set_rotation_metrics(prober, found);
            set_charts(prober, found, probes);
            check_speed_class(prober, found);
        }
        RotationState::NotRotating(found)
        | RotationState::TooFast(found)
        | RotationState::PeriodicClock(found) => {
            prober.context.findings.metrics.clear();
            prober.context.set_series(spectrum_series(found));
        }
        RotationState::ProcessorsBusy(_) => prober.context.findings.metrics.clear(),
        RotationState::TooFewPairs(_) => {}
    }
    check_rotational_flag(prober, rotation);
}

/// Sets the charts of a rotating drive.
fn set_charts(prober: &mut SeekProber<'_, '_>, found: &RevolutionEstimate, probes: &[TimedRead]) {
    prober.context.set_series(spectrum_series(found));
    if probes.is_empty() {
        return;
    }
    let window = prober.window();
    let outwards = |address: u64| {
        let share = (address - window.start) as f64 / (window.end - window.start) as f64;
        // The innermost track has about half the radius of the outermost.
        1.0 - 0.5 * share
    };
    let fast = rotation_estimate::cache_threshold(probes);
    let from_medium: Vec<TimedRead> = probes
        .iter()
        .copied()
        .filter(|probe| probe.response() > fast)
        .collect();
    let angles: Vec<(u64, f64)> =
        completion_angles(&from_medium, found.revolution_seconds()).collect();
    prober.context.set_series(Series::new(
        SeriesKind::Platter,
        angles
            .iter()
            .map(|(address, angle)| [*angle, outwards(*address)])
            .collect(),
    ));
    prober.context.set_series(Series::new(
        SeriesKind::AngleOverAddress,
        angles
            .iter()
            .map(|(address, angle)| [*address as f64, *angle])
            .collect(),
    ));
}

/// C(f), reduced to the maximum of each interval.
fn spectrum_series(found: &RevolutionEstimate) -> Series {
    let piece = found.spectrum.len().div_ceil(SPECTRUM_POINTS).max(1);
    let highest = |piece: &[(f64, f64)]| {
        let top = piece
            .iter()
            .max_by(|left, right| left.1.total_cmp(&right.1))?;
        Some([top.0 * 60.0, top.1])
    };
    Series::new(
        SeriesKind::CoherenceSpectrum,
        found.spectrum.chunks(piece).filter_map(highest).collect(),
    )
}

/// Names the speed class if the confidence interval permits, and compares it with the nominal
/// speed.
fn check_speed_class(prober: &mut SeekProber<'_, '_>, found: &RevolutionEstimate) {
    let (low, high) = found.epoch_folding.frequency_interval;
    let allowed: Vec<f64> = SPEED_CLASSES
        .into_iter()
        .filter(|class| {
            low * 60.0 <= class * (1.0 + CLASS_TOLERANCE)
                && class * (1.0 - CLASS_TOLERANCE) <= high * 60.0
        })
        .collect();
    let speed = found.epoch_folding.frequency * 60.0;
    let class_rpm = match allowed[..] {
        [class] => Some(class),
        _ => None,
    };
    prober.context.set_check(rotation_class(speed, class_rpm));
    check_reported_speed(prober, speed);
}

/// Compares with the speed that the drive reports, if any.
fn check_reported_speed(prober: &mut SeekProber<'_, '_>, speed: f64) {
    let drive = prober.context.target.drive.as_ref();
    let Some(rate) = drive.and_then(|drive| drive.rotation_rate) else {
        return;
    };
    let reported = f64::from(rate);
    let sentence = format!(
        "the drive reports {rate} rpm, measured are {speed:.2} rpm: {}",
        deviation(speed, reported)
    );
    let is_alike = (speed / reported - 1.0).abs() <= CLASS_TOLERANCE;
    let (check, advice) = if is_alike {
        (ROTATION_AS_REPORTED, "no action needed")
    } else {
        (
            ROTATION_DIFFERS,
            "some drives report only the speed of their class; otherwise the spindle may be failing: \
             check the SMART attributes",
        )
    };
    let facts = json!({ "reported_rpm": rate, "measured_rpm": speed });
    prober
        .context
        .set_check(check.found(sentence, advice, facts));
}

fn rotation_class(rpm: f64, class_rpm: Option<f64>) -> Verdict {
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

/// Deviation from a reference in percent with three decimals, such as `-0.012 %`; zero has no minus
/// sign.
fn deviation(measured: f64, reference: f64) -> String {
    let percent = 100.0 * (measured / reference - 1.0);
    format!("{:+.3} %", (percent * 1e3).round() / 1e3 + 0.0)
}

/// Compares with the kernel's rotational flag.
fn check_rotational_flag(prober: &mut SeekProber<'_, '_>, rotation: &RotationState) {
    // A disk's cache can answer all reads of a smaller window.
    const MAX_DRIVE_CACHE_BYTES: u64 = 1_000_000_000;
    let claimed = prober.context.target.is_rotational();
    let window = prober.window();
    let is_rotating = match rotation {
        RotationState::Rotating(_) => true,
        RotationState::NotRotating(_)
        | RotationState::TooFast(_)
        | RotationState::PeriodicClock(_)
            if window.end - window.start > MAX_DRIVE_CACHE_BYTES =>
        {
            false
        }
        _ => return,
    };
    if let Some(flag) = claimed.filter(|claimed| *claimed != is_rotating) {
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
