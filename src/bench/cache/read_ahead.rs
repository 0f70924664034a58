//! Best read-ahead setting of the kernel.

use std::time::Duration;

use serde_json::json;

use crate::bench::framework;
use crate::bench::framework::budget::PhaseBudget;
use crate::bench::framework::describe_target;
use crate::bench::framework::forecast::PlannedPhases;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::{
    DEFAULT_ROUNDS, SoughtOptimum, SweepRounds, measurement_order,
};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, ChartShape, ChartSpec, Description, FioGap, FioJob,
    Forecast, Parameter, ParameterKind, ParameterSet, RunContext,
};
use crate::drive::settings::{SettingError, SettingLock, SystemSetting};
use crate::drive::{DriveKind, Target, TargetKind};
use crate::engine::{AccessPattern, CacheMode, ExecutionOutcome, Plan, PlanLimits};
use crate::files::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::Check;
use crate::session::document::{
    Metric, MetricId, MetricKind, MetricTable, SeriesId, SeriesKind, VariantKey, Verdict,
};
use crate::units;

/// Buffered sequential reads with read-ahead settings from 4 KiB to 8 MiB.
pub struct ReadAheadSweep;

const READ_AHEAD_KIB: [u32; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
/// Fraction of the best throughput from which a setting is equivalent to the best.
const EQUIVALENCE_FRACTION: f64 = 0.95;

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
    charts: &[ChartSpec::new(
        "Throughput against read-ahead",
        ChartShape::Line,
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

fn complete_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    let mut plan = framework::build_read_plan(target, parameters, AccessPattern::Sequential)?;
    plan.cache_mode = CacheMode::Drop;
    Ok(plan)
}

/// Each step reads its own range as far as the window permits, because the drive has a cache too.
fn window_of_step(step: usize, plan: &Plan, bytes: u64) -> std::ops::Range<u64> {
    let window = &plan.window;
    let slots = ((window.end - window.start) / bytes.max(1)).max(1);
    let begin = window.start + (step as u64 % slots) * bytes / plan.alignment * plan.alignment;
    begin..(begin + bytes).min(window.end)
}

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

/// One phase per setting and round; a single one if the setting is unavailable.
fn planned_phases(base_plan: &Plan, target: &Target, parameters: &ParameterSet) -> PlannedPhases {
    let is_changeable =
        target.kind != TargetKind::Simulated && device_with_setting(target).is_some();
    let count = match is_changeable {
        true => READ_AHEAD_KIB.len() * DEFAULT_ROUNDS,
        false => 1,
    };
    let plan = Plan {
        limits: PlanLimits {
            bytes: Some(bytes_of_step(parameters, base_plan)),
            ..PlanLimits::default()
        },
        ..base_plan.clone()
    };
    PlannedPhases::with_even_shares(base_plan.limits).add_phases(std::iter::repeat_n(plan, count))
}

/// Divides the bytes of a setting and the time of the benchmark among the rounds.
fn bytes_of_step(parameters: &ParameterSet, base_plan: &Plan) -> u64 {
    (parameters.get(STEP_BYTES) / DEFAULT_ROUNDS as u64)
        .next_multiple_of(base_plan.alignment)
        .max(base_plan.alignment)
}

impl Benchmark for ReadAheadSweep {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let plan = complete_plan(target, parameters)?;
        let all = parameters
            .get(STEP_BYTES)
            .saturating_mul(READ_AHEAD_KIB.len() as u64);
        let bytes = plan.limits.bytes.unwrap_or(all).min(all);
        Ok(Forecast {
            sentence: format!(
                "reads {} of {} sequentially with {} read-ahead settings, and restores the previous \
                 one",
                units::format_size(bytes),
                describe_target(target),
                READ_AHEAD_KIB.len()
            ),
            run_time: planned_phases(&plan, target, parameters).run_time(target),
            max_read_bytes: Some(bytes),
            max_written_bytes: None,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let base_plan = complete_plan(bench.target, bench.parameters)?;
        let setting = device_with_setting(bench.target).and_then(SystemSetting::read_ahead);
        let guard = setting.map(|setting| bench.settings.lock_setting(setting));
        let mut budget = PhaseBudget::new(base_plan.limits);
        match guard {
            Some(Ok(guard)) => sweep_settings(bench, &base_plan, &mut budget, guard),
            Some(Err(error)) if error.is_locked_by_process() => {
                Err(BenchError::SettingInUse(error))
            }
            Some(Err(error)) => measure_current_setting(bench, &base_plan, &budget, Some(&error)),
            None => measure_current_setting(bench, &base_plan, &budget, None),
        }
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SettingChange)
    }
}

/// Measures current setting if it cannot be changed.
fn measure_current_setting(
    bench: &mut RunContext<'_>,
    base_plan: &Plan,
    budget: &PhaseBudget,
    error: Option<&SettingError>,
) -> Result<(), BenchError> {
    bench.set_check(setting_not_changed(false, error));
    if let Some(plan) = plan_of_step(bench, base_plan, budget, (0, 1)) {
        let outcome = bench.execute("current setting", 1.0, &plan)?;
        if let Some(rate) = bytes_per_second(&outcome) {
            set_throughput(bench, MetricId::PRESENT_READ_AHEAD_THROUGHPUT, rate);
        }
    }
    Ok(())
}

fn sweep_settings(
    bench: &mut RunContext<'_>,
    base_plan: &Plan,
    budget: &mut PhaseBudget,
    mut guard: SettingLock,
) -> Result<(), BenchError> {
    let present = guard.original_value();
    set_size(bench, MetricId::PRESENT_READ_AHEAD_SIZE, present);
    set_table(bench);
    let mut rounds = SweepRounds::new(READ_AHEAD_KIB.len(), base_plan.seed);
    let order = measurement_order(READ_AHEAD_KIB.len(), DEFAULT_ROUNDS, base_plan.seed);
    for (index, point) in order.iter().copied().enumerate() {
        let round = index / READ_AHEAD_KIB.len() + 1;
        let phase = format!(
            "read-ahead {}, round {round} of {DEFAULT_ROUNDS}",
            setting_name(point)
        );
        let share = 1.0 / order.len() as f64;
        let position = (index, order.len() - index);
        let Some(plan) = plan_of_step(bench, base_plan, budget, position) else {
            break;
        };
        let measured = measure_setting(bench, &mut guard, point, (&phase, share, &plan))?;
        let outcome = match measured {
            Ok(outcome) => outcome,
            Err(error) => {
                bench.set_check(setting_not_changed(true, Some(&error)));
                break;
            }
        };
        budget.consume_outcome(&outcome);
        if let Some(rate) = bytes_per_second(&outcome) {
            rounds.set_value(point, round - 1, rate);
        }
        set_series(bench, &rounds);
        bench.phase_finished();
        if bench.is_stopped() {
            break;
        }
    }
    set_results(bench, &rounds, present);
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

/// Measures with a setting, or returns why it could not be changed or restored. The kernel copies the setting
/// into a file when the file is opened (mm/readahead.c, `file_ra_state_init`): it is restored as soon as the
/// target is open, so that no other program works with it.
fn measure_setting(
    bench: &mut RunContext<'_>,
    guard: &mut SettingLock,
    point: usize,
    (phase, share, plan): (&str, f64, &Plan),
) -> Result<Result<ExecutionOutcome, SettingError>, BenchError> {
    if let Err(error) = guard.set(READ_AHEAD_KIB[point]) {
        return Ok(Err(error));
    }
    let mut restored = Ok(());
    let outcome = bench.execute_with_open_hook(phase, share, plan, &mut || {
        restored = guard.restore();
    })?;
    Ok(restored.map(|()| outcome))
}

/// The plan of a step; `None` if the budget is used up.
fn plan_of_step(
    bench: &RunContext<'_>,
    base_plan: &Plan,
    budget: &PhaseBudget,
    (index, left): (usize, usize),
) -> Option<Plan> {
    let bytes = bytes_of_step(bench.parameters, base_plan);
    let own = PlanLimits {
        bytes: Some(bytes),
        ..PlanLimits::default()
    };
    let limits = budget.next_phase_limits(left as u64, base_plan.alignment, own)?;
    Some(Plan {
        window: window_of_step(index, base_plan, bytes),
        limits,
        ..base_plan.clone()
    })
}

/// Setting of a point as text: `128 KiB`.
fn setting_name(point: usize) -> String {
    units::format_block_size(f64::from(READ_AHEAD_KIB[point]) * 1024.0)
}

/// Variant of a setting.
fn variant_key(point: usize) -> VariantKey {
    READ_AHEAD.kibibytes(READ_AHEAD_KIB[point].into())
}

/// `None` where nothing was read, or the time is not known.
fn bytes_per_second(outcome: &ExecutionOutcome) -> Option<f64> {
    let bytes = outcome.stats.bytes();
    outcome.per_second(bytes).filter(|_| bytes > 0)
}

fn set_throughput(bench: &mut RunContext<'_>, id: MetricId, value: f64) {
    bench.set_metric(Metric::new(id, value));
}

fn set_size(bench: &mut RunContext<'_>, id: MetricId, kib: u32) {
    bench.set_metric(Metric::new(id, f64::from(kib) * 1024.0));
}

fn set_table(bench: &mut RunContext<'_>) {
    let names: Vec<String> = (0..READ_AHEAD_KIB.len()).map(setting_name).collect();
    let rows: Vec<(&str, VariantKey)> = names
        .iter()
        .enumerate()
        .map(|(point, name)| (name.as_str(), variant_key(point)))
        .collect();
    let columns = [("throughput", MetricKind::Throughput)];
    bench
        .findings
        .set_table(MetricTable::cross_product("Settings", &columns, &rows));
}

/// Sets the means of the rounds so far.
fn set_series(bench: &mut RunContext<'_>, rounds: &SweepRounds) {
    for point in 0..READ_AHEAD_KIB.len() {
        let id = MetricId::of_variant(variant_key(point), MetricKind::Throughput);
        if let Some(metric) = rounds.metric_of_point(point, id) {
            bench.set_metric(metric);
        }
    }
    bench.set_series(rounds.series_of_means(
        SeriesKind::ThroughputAgainstReadAhead,
        &READ_AHEAD_KIB.map(|kib| f64::from(kib) * 1024.0),
    ));
}

/// Sets the smallest setting on the plateau, if it is significantly better than smaller ones.
fn set_results(bench: &mut RunContext<'_>, rounds: &SweepRounds, present: u32) {
    // The present setting may not be a power of two: the next lower step stands for it.
    let not_larger = |kib: &u32| *kib <= present.max(READ_AHEAD_KIB[0]);
    let now = READ_AHEAD_KIB.iter().rposition(not_larger);
    let put_rate = |bench: &mut RunContext<'_>, id: MetricId, point: usize| {
        if let Some(metric) = rounds.metric_of_point(point, id) {
            bench.set_metric(metric);
        }
    };
    if let Some(now) = now {
        put_rate(bench, MetricId::PRESENT_READ_AHEAD_THROUGHPUT, now);
    }
    let best = match rounds.first_equivalent_to_best(EQUIVALENCE_FRACTION) {
        Ok(best) => best,
        Err(reason) => {
            if !bench.is_stopped() {
                let sizes = READ_AHEAD_KIB.map(|kib| f64::from(kib) * 1024.0);
                bench.set_check(reason.verdict(BEST_READ_AHEAD, &sizes));
            }
            return;
        }
    };
    set_size(bench, MetricId::BEST_READ_AHEAD_SIZE, READ_AHEAD_KIB[best]);
    put_rate(bench, MetricId::BEST_READ_AHEAD_THROUGHPUT, best);
    let gain = now.and_then(|now| rounds.ratio_of_points(best, now));
    if let Some(gain) = gain {
        bench.set_metric(gain.to_metric(MetricId::READ_AHEAD_GAIN));
    }
}

/// `error` is why; without one the target has no such setting. During the sweep some values were
/// measured before.
fn setting_not_changed(during_sweep: bool, error: Option<&SettingError>) -> Verdict {
    let consequence = if during_sweep {
        "the benchmark ended because the read-ahead could not be changed"
    } else {
        "the read-ahead could not be changed, only its current state was measured"
    };
    let Some(error) = error else {
        return SETTING_NOT_CHANGEABLE.found(
            format!("{consequence}: no block device is known for this target"),
            "name a block device, or a directory on one",
            json!({ "during_sweep": during_sweep, "cause": { "cause": "not-supported" } }),
        );
    };
    let (message, advice) = (SafeText::from(error.to_string()), error.advice());
    let cause = json!({ "cause": "error", "message": message, "advice": SafeText::from(&advice) });
    SETTING_NOT_CHANGEABLE.found(
        format!("{consequence}: {message}"),
        advice,
        json!({ "during_sweep": during_sweep, "cause": cause }),
    )
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
