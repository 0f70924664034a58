//! Best read-ahead setting of the kernel.

use std::time::Duration;

use serde_json::json;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::{DEFAULT_ROUNDS, SoughtOptimum};
use crate::bench::framework::sweep::{self, Point, Sweep, Turn};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartSpec, Description, FioGap, Parameter,
    ParameterKind, ParameterSet, Phase, Phases, RunContext, Sharing,
};
use crate::drive::settings::{SettingError, SettingLock, SystemSetting};
use crate::drive::{DriveKind, Target, TargetKind};
use crate::engine::{AccessPattern, CacheMode, ExecutionOutcome, Plan, PlanLimits};
use crate::files::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, SeriesId, SeriesKind, VariantKey, Verdict,
};
use crate::units;

/// Buffered sequential reads with read-ahead settings from 4 KiB to 8 MiB.
pub struct ReadAheadSweep;

const READ_AHEAD_KIB: [u32; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

const STEP_BYTES: Parameter<u64> = Parameter {
    name: "step-bytes",
    kind: ParameterKind::Size { min: 4096 },
    help: "bytes read with each setting, total of all rounds",
    default: |target| (256 << 20).min(target.size_bytes),
};

const SEED: Parameter<u64> = Parameter {
    help: "seed of the random order of the settings",
    ..framework::SEED
};

/// Variants by read-ahead.
const READ_AHEAD: VariantKey = VariantKey::new("read_ahead");

const SETTING_NOT_CHANGEABLE: Check = Check::warning(
    "setting-not-changeable",
    "The read-ahead could not be changed.",
);
const SETTING_NOT_RESTORED: Check = Check::warning(
    "setting-not-restored",
    "The read-ahead could not be restored.",
);
const BEST_READ_AHEAD: SoughtOptimum = SoughtOptimum {
    check: Check::note(
        "no-best-read-ahead",
        "The differences between the read-ahead settings do not determine the best one.",
    ),
    optimum: "best read-ahead",
    points: "settings",
    format: units::format_block_size,
    advice: "use a larger --step-bytes and a longer --duration for narrower intervals; if all settings \
             are equal, keep the current one",
    equal_is_first: false,
};

static DESCRIPTION: Description = Description {
    name: "read-ahead",
    aliases: &[],
    group: BenchmarkGroup::Sweeps,
    example: "/srv",
    summary: "sequential reads through the page cache with a read-ahead of 4 KiB to 8 MiB (root)",
    explanation: include_str!("read-ahead.md").trim_ascii_end(),
    may_write: false,
    checks: &[
        SETTING_NOT_CHANGEABLE,
        SETTING_NOT_RESTORED,
        BEST_READ_AHEAD.check,
    ],
    workload: Workload::CONSTANT,
    metrics: &[
        MetricFamily::Own(&[
            MetricKind::BestReadAheadSize,
            MetricKind::BestReadAheadThroughput,
            MetricKind::PresentReadAheadSize,
            MetricKind::PresentReadAheadThroughput,
            MetricKind::ReadAheadGain,
        ]),
        MetricFamily::Variants {
            variants: &[VariantFamily::Kibibytes(READ_AHEAD)],
            metrics: &[MetricFamily::Own(&[MetricKind::Throughput])],
        },
    ],
    parameters: &[
        &STEP_BYTES,
        &framework::BLOCK_SIZE.with_default(|_| 16 << 10),
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(60))),
        &framework::BYTES,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &SEED,
    ],
    charts: &[ChartSpec::line(
        "Throughput against read-ahead",
        &[SeriesId::THROUGHPUT_AGAINST_READ_AHEAD],
    )
    .log_x()
    .with_marks(&[
        MetricId::BEST_READ_AHEAD_SIZE,
        MetricId::PRESENT_READ_AHEAD_SIZE,
    ])],
    headline_metrics: &[
        MetricId::BEST_READ_AHEAD_SIZE,
        MetricId::BEST_READ_AHEAD_THROUGHPUT,
        MetricId::PRESENT_READ_AHEAD_SIZE,
        MetricId::READ_AHEAD_GAIN,
    ],
};

/// The device whose setting applies: a partition uses its parent's. A simulated drive has none.
fn device_with_setting(target: &Target) -> Option<&str> {
    let drive = target
        .drive
        .as_ref()
        .filter(|_| target.kind != TargetKind::Simulated)?;
    match (drive.kind, &drive.parent) {
        (DriveKind::Partition, Some(parent)) => Some(parent),
        _ => Some(&drive.name),
    }
}

/// Reads the bytes of a setting in one round.
fn step_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    let plan = framework::build_read_plan(target, parameters, AccessPattern::Sequential)?;
    let bytes = (parameters.get(STEP_BYTES) / DEFAULT_ROUNDS as u64)
        .next_multiple_of(plan.alignment)
        .max(plan.alignment);
    Ok(Plan {
        cache_mode: CacheMode::Drop,
        limits: PlanLimits {
            bytes: Some(bytes),
            ..PlanLimits::default()
        },
        ..plan
    })
}

/// One point for each setting.
fn settings_sweep(target: &Target, parameters: &ParameterSet) -> Result<Sweep, BenchError> {
    let plan = step_plan(target, parameters)?;
    let points = READ_AHEAD_KIB.map(|kib| {
        let bytes = f64::from(kib) * 1024.0;
        let key = READ_AHEAD.kibibytes(kib.into());
        Point {
            metrics: Some((key, &[MetricKind::Throughput])),
            ..Point::at(bytes, units::format_block_size(bytes), plan.clone())
        }
    });
    Sweep::new(target, parameters, points.to_vec())
}

/// A single phase: the setting as it is.
fn current_setting(target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
    let sentence = format!(
        "reads {} sequentially with its current read-ahead",
        describe_target(target)
    );
    let phase = Phase::new("current setting", step_plan(target, parameters)?);
    let limits = framework::plan_limits(parameters);
    Ok(Phases::new(sentence, limits, Sharing::Even, vec![phase]))
}

impl Benchmark for ReadAheadSweep {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        if device_with_setting(target).is_none() {
            return current_setting(target, parameters);
        }
        let sentence = format!(
            "reads {} sequentially with {} read-ahead settings, and restores the previous one",
            describe_target(target),
            READ_AHEAD_KIB.len()
        );
        let phases = settings_sweep(target, parameters)?.phases(sentence);
        Ok(phases.without_fio(FioGap::SettingChange))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let setting = device_with_setting(bench.target).and_then(SystemSetting::read_ahead);
        match setting.map(|setting| bench.settings.lock_setting(setting)) {
            Some(Ok(guard)) => sweep_settings(bench, guard),
            Some(Err(error)) if error.is_locked_by_process() => {
                Err(BenchError::SettingInUse(error))
            }
            Some(Err(error)) => measure_current_setting(bench, Some(&error)),
            None => measure_current_setting(bench, None),
        }
    }
}

/// Measures current setting if it cannot be changed.
fn measure_current_setting(
    bench: &mut RunContext<'_>,
    error: Option<&SettingError>,
) -> Result<(), BenchError> {
    bench.set_check(setting_not_changed(false, error));
    let phases = current_setting(bench.target, bench.parameters)?;
    bench.run_phases(&phases, &mut |findings, measured| {
        let (bytes, seconds) = (measured.stats.bytes(), measured.elapsed.as_secs_f64());
        if bytes > 0 && seconds > 0.0 {
            let id = MetricId::PRESENT_READ_AHEAD_THROUGHPUT;
            findings.set_metric(Metric::new(id, bytes as f64 / seconds));
        }
    })
}

fn sweep_settings(bench: &mut RunContext<'_>, mut guard: SettingLock) -> Result<(), BenchError> {
    let mut sweep = settings_sweep(bench.target, bench.parameters)?;
    let present = guard.original_value();
    let present_bytes = f64::from(present) * 1024.0;
    bench.set_metric(Metric::new(
        MetricId::PRESENT_READ_AHEAD_SIZE,
        present_bytes,
    ));
    let columns = [("throughput", MetricKind::Throughput)];
    bench
        .findings
        .set_table(sweep::table("Settings", &columns, &sweep.points));
    while let Some(mut turn) = sweep.next_turn(bench) {
        // Each step reads its own range as far as the window permits, because the drive has a cache too.
        let step = turn.round * READ_AHEAD_KIB.len() + turn.point;
        turn.plan.window = window_of_step(step, &sweep.points[turn.point].plan);
        match measure_setting(bench, &mut guard, &turn, sweep.share())? {
            Ok(outcome) => sweep.add(&mut bench.findings, &turn, &outcome),
            Err(error) => {
                bench.set_check(setting_not_changed(true, Some(&error)));
                break;
            }
        }
        let rates = &sweep.throughputs;
        sweep.set_series(bench, SeriesKind::ThroughputAgainstReadAhead, rates);
        bench.phase_finished();
    }
    set_results(bench, &sweep, present);
    if let Err(error) = guard.restore() {
        let error = SafeText::from(error.to_string());
        bench.set_check(SETTING_NOT_RESTORED.found(
            format!("the read-ahead could not be restored: {error}"),
            "diskscope tries again at its next start; or set it by hand",
            json!({ "error": error }),
        ));
    }
    Ok(())
}

/// The range of the window that a step reads.
fn window_of_step(step: usize, plan: &Plan) -> std::ops::Range<u64> {
    let (window, bytes) = (&plan.window, plan.limits.bytes.unwrap_or(plan.alignment));
    let slots = ((window.end - window.start) / bytes).max(1);
    let begin = window.start + (step as u64 % slots) * bytes / plan.alignment * plan.alignment;
    begin..(begin + bytes).min(window.end)
}

/// Measures with a setting, or returns why it could not be changed or restored. The kernel copies the setting
/// into a file when the file is opened (mm/readahead.c, `file_ra_state_init`): it is restored as soon as the
/// target is open, so that no other program works with it.
fn measure_setting(
    bench: &mut RunContext<'_>,
    guard: &mut SettingLock,
    turn: &Turn,
    share: f64,
) -> Result<Result<ExecutionOutcome, SettingError>, BenchError> {
    if let Err(error) = guard.set(READ_AHEAD_KIB[turn.point]) {
        return Ok(Err(error));
    }
    let mut restored = Ok(());
    let outcome = bench.execute_with_open_hook(&turn.label, share, &turn.plan, &mut || {
        restored = guard.restore();
    })?;
    Ok(restored.map(|()| outcome))
}

/// Sets the smallest setting on the plateau, if it is significantly better than smaller ones, and the
/// present one.
fn set_results(bench: &mut RunContext<'_>, sweep: &Sweep, present: u32) {
    let rates = &sweep.throughputs;
    // The present setting may not be a power of two: the next lower step stands for it.
    let not_larger = |kib: &u32| *kib <= present.max(READ_AHEAD_KIB[0]);
    let now = READ_AHEAD_KIB.iter().rposition(not_larger).unwrap_or(0);
    let of_present = rates.metric_of_point(now, MetricId::PRESENT_READ_AHEAD_THROUGHPUT);
    of_present
        .into_iter()
        .for_each(|metric| bench.set_metric(metric));
    if let Some(best) = sweep.find_optimum(bench, rates, BEST_READ_AHEAD) {
        let size = Metric::new(MetricId::BEST_READ_AHEAD_SIZE, sweep.points[best].value);
        let rate = rates.metric_of_point(best, MetricId::BEST_READ_AHEAD_THROUGHPUT);
        let gain = rates.ratio_of_points(best, now);
        let gain = gain.map(|gain| gain.to_metric(MetricId::READ_AHEAD_GAIN));
        for metric in [Some(size), rate, gain].into_iter().flatten() {
            bench.set_metric(metric);
        }
    }
    sweep.sort_metrics(&mut bench.findings);
}

/// `error` is why; without one the target has no such setting. During the sweep some values were
/// measured before.
fn setting_not_changed(during_sweep: bool, error: Option<&SettingError>) -> Verdict {
    let consequence = if during_sweep {
        "the benchmark ended because the read-ahead could not be changed"
    } else {
        "the read-ahead could not be changed, only its current state was measured"
    };
    let (message, advice, cause) = match error {
        Some(error) => (error.to_string(), error.advice(), "error"),
        None => (
            "no block device is known for this target".to_owned(),
            "name a block device, or a directory on one".to_owned(),
            "not-supported",
        ),
    };
    let message = SafeText::from(message);
    let facts =
        json!({ "during_sweep": during_sweep, "cause": { "cause": cause, "message": message } });
    SETTING_NOT_CHANGEABLE.found(format!("{consequence}: {message}"), advice, facts)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, OnceLock};

    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::framework::context::FinishedRun;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value};
    use crate::drive::SettingsManager;
    use crate::roots::SysPaths;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_distr::StandardNormal;

    /// A directory with a device `sim:constant` whose read-ahead can be set.
    fn temporary_system() -> (tempfile::TempDir, SettingsManager, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let settings = fake::settings_below(directory.path());
        let queue = directory.path().join("sys/class/block/sim:constant/queue");
        let file = queue.join("read_ahead_kb");
        fs::create_dir_all(&queue).unwrap();
        fs::write(&file, "128\n").unwrap();
        (directory, settings, file)
    }

    /// A simulated drive as a block device.
    fn simulated_target() -> Target {
        let choice = crate::engine::EngineChoice::Auto;
        let opened =
            crate::engine::open_target(&SysPaths::default(), "sim:constant", choice, None).unwrap();
        Target {
            kind: TargetKind::BlockDevice,
            ..opened.target
        }
    }

    /// A sweep on a drive whose latency for 16 KiB requests is a function of the plan and of the setting in
    /// KiB at the time when it was opened, in nanoseconds. All requests must find the original setting.
    fn simulated_sweep(
        set: &[(&str, &str)],
        time: impl Fn(u64, &Plan) -> u64 + Send + Sync,
    ) -> (FinishedRun, Vec<Plan>, String) {
        let (_directory, settings, file) = temporary_system();
        let (seen, opened) = (file.clone(), file.clone());
        let kib_of_file = Arc::new(AtomicU64::new(0));
        let kib = Arc::clone(&kib_of_file);
        let fake = FakeDrive::new(move |request| {
            assert_eq!(fs::read_to_string(&seen).unwrap().trim(), "128");
            Some(time(kib.load(Ordering::Relaxed), request.plan))
        })
        .when_opened(move || {
            let kib = fs::read_to_string(&opened).unwrap().trim().parse();
            kib_of_file.store(kib.unwrap(), Ordering::Relaxed);
        });
        let (target, test) = (simulated_target(), find_benchmark("read-ahead").unwrap());
        let set = [&[("step-bytes", "1MiB")], set].concat();
        let parameters = fake::parameters(test, &target, &set);
        let finished = fake::run_on_engine(test, &target, &parameters, &settings, &fake);
        let plans = fake.executed_plans.lock().unwrap().clone();
        (finished, plans, fs::read_to_string(file).unwrap())
    }

    /// A time with this relative scatter between executions.
    fn scattered_time(time: u64, plan: &Plan, share: f64) -> u64 {
        let mut random =
            Xoshiro256PlusPlus::seed_from_u64(plan.window.start ^ plan.seed.rotate_left(40));
        (time as f64 * (share * random.sample::<f64, _>(StandardNormal)).exp()) as u64
    }

    #[test]
    fn read_ahead_finds_smallest_plateau_setting_and_restores_original() {
        // A request of 16 KiB takes 1 ms at 4 KiB read-ahead, 8 us from 512 KiB on.
        let (finished, plans, restored) = simulated_sweep(&[], |kib, _| 4_000_000 / kib.min(512));
        assert_eq!(
            metric_value(&finished, &MetricId::BEST_READ_AHEAD_SIZE),
            f64::from(512 << 10)
        );
        assert_eq!(
            metric_value(&finished, &MetricId::PRESENT_READ_AHEAD_SIZE),
            f64::from(128 << 10)
        );
        assert!((metric_value(&finished, &MetricId::READ_AHEAD_GAIN) - 4.0).abs() < 0.01);
        assert!(check_codes(&finished).is_empty());
        assert_eq!(restored.trim(), "128");
        assert_eq!(plans.len(), 12 * DEFAULT_ROUNDS);
        assert!(plans.iter().all(|plan| plan.cache_mode == CacheMode::Drop));
        assert_ne!(plans[0].window, plans[1].window);
    }

    #[test]
    fn read_ahead_that_is_set_during_a_measurement_is_the_one_that_is_restored() {
        let (_directory, settings, file) = temporary_system();
        let (seen, opened) = (file.clone(), file.clone());
        let (first, requests) = (Arc::new(OnceLock::<String>::new()), AtomicU64::new(0));
        let (first_value, first_value_of_run) = (Arc::clone(&first), Arc::clone(&first));
        // During the first measurement another program sets the value of that measurement.
        let fake = FakeDrive::new(move |_| {
            let value = first.get().unwrap();
            if requests.fetch_add(1, Ordering::Relaxed) == 0 {
                fs::write(&seen, value).unwrap();
            }
            assert_eq!(fs::read_to_string(&seen).unwrap(), *value);
            Some(1000)
        })
        .when_opened(move || {
            first_value.get_or_init(|| fs::read_to_string(&opened).unwrap());
        });
        let (target, test) = (simulated_target(), find_benchmark("read-ahead").unwrap());
        let parameters = fake::parameters(test, &target, &[("step-bytes", "1MiB")]);
        fake::run_on_engine(test, &target, &parameters, &settings, &fake);
        let plans = fake.executed_plans.lock().unwrap().len();
        assert_eq!(plans, 12 * DEFAULT_ROUNDS);
        let value = first_value_of_run.get().unwrap();
        assert_ne!(value.trim(), "128");
        assert_eq!(fs::read_to_string(file).unwrap(), *value);
    }

    #[test]
    fn read_ahead_with_equal_settings_has_no_optimum() {
        for (share, most) in [(0.0, 0), (0.2, 1)] {
            let mut named = 0;
            for seed in 0..20 {
                let set = [("seed", &*seed.to_string())];
                let (finished, ..) =
                    simulated_sweep(&set, |_, plan| scattered_time(100_000, plan, share));
                let best = finished
                    .findings
                    .metric(&MetricId::BEST_READ_AHEAD_SIZE)
                    .is_some();
                named += u32::from(best);
                assert_eq!(finished.findings.has_check(BEST_READ_AHEAD.check), !best);
                assert_eq!(
                    finished
                        .findings
                        .metric(&MetricId::READ_AHEAD_GAIN)
                        .is_some(),
                    best
                );
                let metric = finished
                    .findings
                    .metric(&MetricId::parse("read_ahead_128k_throughput"))
                    .unwrap();
                assert!(metric.low.unwrap() <= metric.value && metric.high.is_some());
            }
            assert!(named <= most, "scatter {share}: {named} of 20 name a best");
        }
    }

    #[test]
    fn read_ahead_order_of_settings_differs_between_rounds() {
        let order = |seed: &str| {
            let seen = std::sync::Mutex::new(Vec::new());
            let (_, plans, _) = simulated_sweep(&[("seed", seed)], |kib, plan| {
                seen.lock().unwrap().push((plan.window.start, kib));
                1000
            });
            let mut seen = seen.into_inner().unwrap();
            seen.dedup();
            assert_eq!(seen.len(), plans.len());
            seen.into_iter().map(|(_, kib)| kib).collect::<Vec<u64>>()
        };
        let one = order("1");
        assert_ne!(one[..12], one[12..24]);
        assert_eq!(one, order("1"));
        assert_ne!(one, order("2"));
    }

    #[test]
    fn read_ahead_without_setting_measures_current_value() {
        let directory = tempfile::tempdir().unwrap();
        let settings = fake::settings_below(directory.path());
        let fake = FakeDrive::new(|_| Some(1000));
        let (target, test) = (simulated_target(), find_benchmark("read-ahead").unwrap());
        let parameters = fake::parameters(test, &target, &[]);
        let finished = fake::run_on_engine(test, &target, &parameters, &settings, &fake);
        assert_eq!(check_codes(&finished), ["setting-not-changeable"]);
        metric_value(&finished, &MetricId::PRESENT_READ_AHEAD_THROUGHPUT);
    }
}
