//! Benefit of a drive's volatile write cache, and the cost of writes without it.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::framework::describe_target;
use crate::bench::framework::metric_families::{MetricFamily, VariantFamily};
use crate::bench::framework::rounds::SweepRounds;
use crate::bench::framework::variants;
use crate::bench::framework::variants::{
    LATENCY_COLUMNS, NoHook, PassHook, VARIANT_METRICS, Variant,
};
use crate::bench::{
    BenchError, Benchmark, BenchmarkGroup, Description, FioGap, FioJob, Forecast, ParameterSet,
    RunContext,
};
use crate::drive::settings;
use crate::drive::settings::{
    CacheObstacle, CacheStates, SettingError, SettingLock, SystemSetting,
};
use crate::drive::{DriveKind, Target};
use crate::engine::{AccessPattern, IoOperation, Plan, PlanLimits, SyncMode};
use crate::files::safe_text::SafeText;
use crate::session::checks::Workload;
use crate::session::document::check::{
    CheckEvidence, CheckId, ObstacleCause, SettingFailure, SettingObstacle, TestedSetting,
    VariantRatio,
};
use crate::session::document::{MetricId, MetricKind, MetricTable, VariantKey};

/// A SATA disk revalidates itself once more when its cache is switched, and what that resets is written
/// back afterwards. A run that is stopped while it switches the cache ends the one switch, and switches
/// back. The rest is for the writes.
const CACHE_RESTORE_TIME: Duration = settings::QUIET_TIME
    .saturating_mul(2)
    .saturating_add(Duration::from_millis(400));

/// Plain and synchronous writes with the drive's write cache on and off.
pub struct WriteCacheBenchmark;

/// Plain and O_DSYNC writes in one state of the cache.
type StateVariants = [VariantKey; 2];

const CACHE_ON: StateVariants = [
    VariantKey::new("cache_on_plain"),
    VariantKey::new("cache_on_dsync"),
];
const CACHE_OFF: StateVariants = [
    VariantKey::new("cache_off_plain"),
    VariantKey::new("cache_off_dsync"),
];
const PRESENT: StateVariants = [
    VariantKey::new("present_plain"),
    VariantKey::new("present_dsync"),
];

static DESCRIPTION: Description = Description {
    name: "write-cache",
    aliases: &[],
    group: BenchmarkGroup::Durability,
    example: "/dev/sdX --overwrite /dev/sdX",
    summary: "plain and O_DSYNC writes with the drive's volatile cache on and off (SCSI, SATA; root)",
    explanation: "\
Writes 4 KiB blocks at random offsets, plain and with O_DSYNC, with the drive's volatile write cache on \
(write back) and off (write through). Each of the four variants runs in four rounds in random order \
(--seed).

The table shows IOPS and latency of the four variants. With the cache on, plain writes are fast, and each \
O_DSYNC write must flush the cache. With the cache off, a plain write is as durable and as slow as an \
O_DSYNC write. If O_DSYNC is as fast as plain writes although the cache is on, the drive either has \
power-loss protection or ignores flushes; a hard disk completes at most one synchronous write per \
revolution (120 per second at 7200 rpm). sync_penalty is the ratio of the rate of plain writes to that of \
O_DSYNC writes with the cache on; cache_gain is the ratio of plain writes with the cache to plain writes \
without it. Both are compared round by round; a check reports when a ratio may be 1.

The cache can be switched off on SCSI and SATA drives, and this needs root. It is switched on again when \
the benchmark ends for any reason, or at the next start. A reset or a power failure in between may leave \
it off: the drive is slower then, but loses nothing. Do not set up device-mapper maps (LVM, LUKS) on the drive \
during the run: a map that was set up while the cache is off sends no flushes later. A cache that is off at \
the start is never switched on, for the same reason. There, where drive and kernel disagree, where discards (TRIM) or \
the verification or generation of protection information are switched off although the drive supports them, and \
on other drives, only the current state is measured.

The kernel reads the drive's properties again when the cache is switched, and resets what udev rules or an \
administrator have set: among others rotational, read_ahead_kb and provisioning_mode. The benchmark writes these \
settings back after each switch. It overwrites the window, at most 1 GiB.",
    may_write: true,
    checks: &[CheckId::SettingNotChangeable, CheckId::SettingNotRestored, CheckId::NoSignificantPenalty, CheckId::NoCacheGain],
    workload: Workload::VARYING,
    metrics: &[MetricFamily::Own(&[MetricKind::SyncPenalty, MetricKind::CacheGain]), MetricFamily::Variants {
        variants: &[
            VariantFamily::One(VariantKey::new("cache_on_plain")),
            VariantFamily::One(VariantKey::new("cache_on_dsync")),
            VariantFamily::One(VariantKey::new("cache_off_plain")),
            VariantFamily::One(VariantKey::new("cache_off_dsync")),
            VariantFamily::One(VariantKey::new("present_plain")),
            VariantFamily::One(VariantKey::new("present_dsync")),
        ],
        metrics: VARIANT_METRICS,
    }],
    parameters: &[
        &framework::BLOCK_SIZE,
        &framework::DEPTH.with_default(|_| 1),
        &framework::DURATION.with_default(|_| Some(Duration::from_secs(40))),
        &framework::BYTES.with_default(|_| Some(1 << 30)),
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::DATA,
    ],
    charts: &[],
    headline_metrics: &[MetricId::SYNC_PENALTY, MetricId::CACHE_GAIN],
};

fn complete_plan(target: &Target, parameters: &ParameterSet) -> Result<Plan, BenchError> {
    framework::build_plan(
        target,
        parameters,
        IoOperation::Write,
        AccessPattern::Random,
    )
}

/// The setting of the whole drive: a partition uses its parent's.
fn write_cache_setting(bench: &RunContext<'_>) -> Option<SystemSetting> {
    let drive = bench.target.drive.as_ref()?;
    let device = match (drive.kind, &drive.parent) {
        (DriveKind::Partition, Some(parent)) => parent,
        _ => &drive.name,
    };
    let setting = SystemSetting::write_cache(device).ok()?;
    bench.settings.exists(&setting).then_some(setting)
}

/// The locked setting and its states, or why the cache is not switched.
fn lock_cache(
    bench: &RunContext<'_>,
) -> Result<Result<(SettingLock, CacheStates), ObstacleCause>, BenchError> {
    let Some(setting) = write_cache_setting(bench) else {
        return Ok(Err(ObstacleCause::NotSupported));
    };
    let guard = match bench.settings.lock_setting(setting) {
        Ok(guard) => guard,
        Err(error) if error.is_locked_by_process() => return Err(BenchError::SettingInUse(error)),
        Err(error) => return Ok(Err(framework::setting_error(&error))),
    };
    let states = bench.settings.switchable_cache(&guard);
    Ok(states
        .map(|states| (guard, states))
        .map_err(|obstacle| match obstacle {
            CacheObstacle::Off => ObstacleCause::CacheOff,
            CacheObstacle::DiscardsOff => ObstacleCause::DiscardsOff,
            CacheObstacle::ProtectionOff => ObstacleCause::ProtectionOff,
            CacheObstacle::Overridden { drive, kernel } => ObstacleCause::CacheOverridden {
                drive: drive.into(),
                kernel: kernel.map(SafeText::from),
            },
        }))
}

/// Plain and synchronous writes in one state of the cache.
fn plain_and_sync_variants(
    base_plan: &Plan,
    [plain, dsync]: StateVariants,
    label: &str,
) -> [Variant; 2] {
    let variant = |word: &str, key: VariantKey, sync| {
        let limits = PlanLimits::default();
        let plan = Plan {
            sync_mode: sync,
            limits,
            ..base_plan.clone()
        };
        Variant::new(format!("{label}, {word}"), key, plan)
    };
    [
        variant("plain", plain, SyncMode::None),
        variant("O_DSYNC", dsync, SyncMode::DataSync),
    ]
}

fn set_table(bench: &mut RunContext<'_>, variants: &[Variant]) {
    let rows = variants::table_rows(variants);
    let table = MetricTable::cross_product("Write cache", &LATENCY_COLUMNS, &rows);
    bench.findings.set_table(table);
}

impl Benchmark for WriteCacheBenchmark {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn restore_time(&self) -> Duration {
        CACHE_RESTORE_TIME
    }

    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        let plan = complete_plan(target, parameters)?;
        let amount = framework::describe_written_limit(plan.limits.bytes, target);
        Ok(Forecast {
            sentence: format!(
                "writes at random offsets of {}, plain and with O_DSYNC, with the drive's cache on and off \
                 if it can be switched{amount}",
                describe_target(target)
            ),
            run_time: variants::planned_rounds(
                plan.limits,
                &plain_and_sync_variants(&plan, PRESENT, ""),
            )
            .run_time(target),
            max_read_bytes: None,
            max_written_bytes: plan.limits.bytes,
        })
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        let base_plan = complete_plan(bench.target, bench.parameters)?;
        match lock_cache(bench)? {
            Ok((guard, states)) => measure_both_states(bench, &base_plan, guard, states),
            Err(cause) => measure_current_state(bench, &base_plan, cause),
        }
    }

    fn fio(&self, _target: &Target, _parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        Err(FioGap::SettingChange)
    }
}

/// Switches the cache to the state that a variant needs.
struct CacheSwitch {
    guard: SettingLock,
    /// Cache state per variant.
    cache_states: Vec<&'static str>,
    current_state: Option<&'static str>,
}

impl PassHook for CacheSwitch {
    fn before_variant(&mut self, bench: &mut RunContext<'_>, point: usize) -> bool {
        let word = self.cache_states[point];
        if self.current_state == Some(word) {
            return true;
        }
        // After an error the state is unknown. A cache that an administrator has switched off in the
        // meantime stays off: see `CacheObstacle::Off`.
        self.current_state = None;
        match self.guard.set_unless_changed_elsewhere(word) {
            Ok(()) => {
                self.current_state = Some(word);
                true
            }
            Err(error) => {
                bench.set_check(cache_not_switchable(true, framework::setting_error(&error)));
                false
            }
        }
    }
}

/// Measures both states, plain and synchronous, in rounds of random order.
fn measure_both_states(
    bench: &mut RunContext<'_>,
    base_plan: &Plan,
    guard: SettingLock,
    states: CacheStates,
) -> Result<(), BenchError> {
    let pairs = [
        (states.on, CACHE_ON, "cache on"),
        (states.off, CACHE_OFF, "cache off"),
    ]
    .map(|(word, key, label)| (word, plain_and_sync_variants(base_plan, key, label)));
    let variants: Vec<Variant> = pairs.iter().flat_map(|(_, pair)| pair.clone()).collect();
    set_table(bench, &variants);
    let mut switch = CacheSwitch {
        guard,
        cache_states: pairs.iter().flat_map(|(word, _)| [*word; 2]).collect(),
        current_state: None,
    };
    let measured = variants::measure_in_rounds(
        bench,
        base_plan.limits,
        &variants,
        base_plan.seed,
        &mut switch,
    );
    // Restores the setting whatever the outcome of the variants.
    let put_back = switch.guard.restore_original();
    let rounds = measured?;
    set_ratio(
        bench,
        &rounds,
        &variants,
        (MetricKind::SyncPenalty, 0, 1),
        CheckEvidence::NoSignificantPenalty,
    );
    set_ratio(
        bench,
        &rounds,
        &variants,
        (MetricKind::CacheGain, 0, 2),
        CheckEvidence::NoCacheGain,
    );
    if let Err(error) = put_back {
        bench.set_check(setting_not_restored(&error));
    }
    Ok(())
}

/// Measures the present state only.
fn measure_current_state(
    bench: &mut RunContext<'_>,
    base_plan: &Plan,
    cause: ObstacleCause,
) -> Result<(), BenchError> {
    bench.set_check(cache_not_switchable(false, cause));
    let state = bench
        .target
        .drive
        .as_ref()
        .and_then(|drive| drive.write_cache.clone())
        .unwrap_or_else(|| "current cache state".to_owned());
    let variants = plain_and_sync_variants(base_plan, PRESENT, &state);
    set_table(bench, &variants);
    let rounds = variants::measure_in_rounds(
        bench,
        base_plan.limits,
        &variants,
        base_plan.seed,
        &mut NoHook,
    )?;
    set_ratio(
        bench,
        &rounds,
        &variants,
        (MetricKind::SyncPenalty, 0, 1),
        CheckEvidence::NoSignificantPenalty,
    );
    Ok(())
}

/// Sets the ratio of the rates of two variants, compared round by round, or the check that they do
/// not differ.
fn set_ratio(
    bench: &mut RunContext<'_>,
    rounds: &SweepRounds,
    variants: &[Variant],
    (metric, of, to): (MetricKind, usize, usize),
    without_difference: fn(VariantRatio) -> CheckEvidence,
) {
    let Some(quotient) = rounds.ratio_of_points(of, to) else {
        return;
    };
    bench.set_metric(quotient.to_metric(metric.into()));
    if quotient.includes_one() && !bench.is_stopped() {
        let labels = [of, to].map(|point| variants[point].label.as_str());
        bench.set_check(without_difference(quotient.without_difference(labels)));
    }
}

fn cache_not_switchable(during_sweep: bool, cause: ObstacleCause) -> CheckEvidence {
    CheckEvidence::SettingNotChangeable(SettingObstacle {
        setting: TestedSetting::WriteCache,
        during_sweep,
        cause,
    })
}

fn setting_not_restored(error: &SettingError) -> CheckEvidence {
    CheckEvidence::SettingNotRestored(SettingFailure {
        setting: TestedSetting::WriteCache,
        error: error.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::bench::find_benchmark;
    use crate::bench::framework::context::FinishedRun;
    use crate::bench::tests::fake;
    use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value, run_on_simulated};
    use crate::drive::random::splitmix64;
    use crate::roots::SysPaths;

    /// The files of a drive with a volatile cache.
    struct CachedDrive {
        directory: tempfile::TempDir,
        cache_type: PathBuf,
    }

    impl CachedDrive {
        /// `drive`: its `cache_type`; `kernel`: its `queue/write_cache`.
        fn new(drive: &str, kernel: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let disk = directory.path().join("sys/class/block/sim:constant");
            let cache_type = disk.join("device/scsi_disk/2:0:0:0/cache_type");
            let queue = disk.join("queue/write_cache");
            for (file, value) in [(&cache_type, drive), (&queue, kernel)] {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, format!("{value}\n")).unwrap();
            }
            Self {
                directory,
                cache_type,
            }
        }

        fn cache_type(&self) -> String {
            fs::read_to_string(&self.cache_type).unwrap()
        }

        /// Runs the benchmark; with the run the number of plans that it executed.
        fn run(&self) -> (FinishedRun, usize) {
            let fake = FakeDrive::new(|request: &fake::FakeRequest<'_>| {
                let cached = self.cache_type().trim() == "write back";
                let plain = request.plan.sync_mode == SyncMode::None;
                Some(if cached && plain { 100_000 } else { 8_000_000 })
            });
            let settings = fake::settings_below(self.directory.path());
            let choice = crate::engine::EngineChoice::Auto;
            let opened =
                crate::engine::open_target(&SysPaths::default(), "sim:constant", choice, None)
                    .unwrap();
            let test = find_benchmark("write-cache").unwrap();
            let parameters = fake::parameters(test, &opened.target, &[("duration", "4s")]);
            let finished = fake::run_on_engine(test, &opened.target, &parameters, &settings, &fake);
            let executed = fake.executed_plans.lock().unwrap().len();
            (finished, executed)
        }
    }

    #[test]
    fn write_cache_measures_both_states_and_restores_original() {
        let drive = CachedDrive::new("write back", "write back");
        let (finished, executed) = drive.run();
        assert!((metric_value(&finished, &MetricId::SYNC_PENALTY) / 80.0 - 1.0).abs() < 0.01);
        assert!((metric_value(&finished, &MetricId::CACHE_GAIN) / 80.0 - 1.0).abs() < 0.01);
        assert!(check_codes(&finished).is_empty());
        for name in ["sync_penalty", "cache_gain", "cache_off_dsync_iops"].map(MetricId::parse) {
            let run_metric = finished.findings.metric(&name).unwrap();
            assert!(
                run_metric.low.unwrap() <= run_metric.value
                    && run_metric.high.unwrap() >= run_metric.value
            );
        }
        assert_eq!(executed, 16);
        assert_eq!(drive.cache_type().trim(), "write back");
    }

    #[test]
    fn write_cache_that_is_off_or_overridden_is_left_alone() {
        let overridden = ObstacleCause::CacheOverridden {
            drive: "write back".into(),
            kernel: Some("write through".into()),
        };
        for (of_drive, of_kernel, cause) in [
            ("write through", "write through", ObstacleCause::CacheOff),
            ("write back", "write through", overridden),
        ] {
            let drive = CachedDrive::new(of_drive, of_kernel);
            let (finished, executed) = drive.run();
            assert_eq!(check_codes(&finished)[0], "setting-not-changeable");
            let expected = cache_not_switchable(false, cause);
            assert_eq!(finished.findings.verdicts[0].facts, Some(expected));
            // Not even the same value is written: that would revalidate the disk.
            assert_eq!(drive.cache_type(), format!("{of_drive}\n"));
            assert_eq!(executed, 8, "{of_drive}");
        }
    }

    #[test]
    fn write_cache_of_drive_with_discards_switched_off_is_left_alone() {
        let drive = CachedDrive::new("write back", "write back");
        for (file, value) in [("provisioning_mode", "full"), ("thin_provisioning", "1")] {
            fs::write(drive.cache_type.with_file_name(file), format!("{value}\n")).unwrap();
        }
        let (finished, executed) = drive.run();
        let expected = cache_not_switchable(false, ObstacleCause::DiscardsOff);
        assert_eq!(finished.findings.verdicts[0].facts, Some(expected));
        assert_eq!(drive.cache_type(), "write back\n");
        assert_eq!(executed, 8);
    }

    #[test]
    fn write_cache_of_drive_with_protection_switched_off_is_left_alone() {
        let drive = CachedDrive::new("write back", "write back");
        let device = drive.cache_type.ancestors().nth(4).unwrap();
        fs::create_dir(device.join("integrity")).unwrap();
        for (file, value) in [("format", "T10-DIF-TYPE1-CRC"), ("read_verify", "0")] {
            fs::write(device.join("integrity").join(file), format!("{value}\n")).unwrap();
        }
        let (finished, executed) = drive.run();
        let expected = cache_not_switchable(false, ObstacleCause::ProtectionOff);
        assert_eq!(finished.findings.verdicts[0].facts, Some(expected));
        assert_eq!(drive.cache_type(), "write back\n");
        assert_eq!(executed, 8);
    }

    #[test]
    fn write_cache_not_switchable_measures_current_state() {
        let finished = run_on_simulated(
            find_benchmark("write-cache").unwrap(),
            "sim:constant",
            &[("duration", "1s")],
        );
        assert_eq!(
            check_codes(&finished),
            ["setting-not-changeable", "no-significant-penalty"]
        );
        assert!((metric_value(&finished, &MetricId::SYNC_PENALTY) - 1.0).abs() < 0.01);
    }

    #[test]
    fn write_cache_penalty_interval_of_noisy_writes_covers_truth() {
        let covered = (0..60_u64)
            .filter(|seed| {
                // Phases vary by up to a third; O_DSYNC writes take three times as long.
                let fake = FakeDrive::new(|request: &fake::FakeRequest<'_>| {
                    let plain = request.plan.sync_mode == SyncMode::None;
                    let word = splitmix64(request.plan.seed ^ (u64::from(plain) << 60));
                    let time = 100_000 + word % 33_000;
                    Some(if plain { time } else { 3 * time })
                });
                let set = [("seed", &*seed.to_string()), ("requests", "800")];
                let test = find_benchmark("write-cache").unwrap();
                let finished =
                    fake::run_on_fake(test, &fake::simulated_target(1 << 30), &set, &fake);
                let penalty = finished.findings.metric(&MetricId::SYNC_PENALTY).unwrap();
                assert_eq!(check_codes(&finished), ["setting-not-changeable"]);
                (penalty.low.unwrap()..=penalty.high.unwrap()).contains(&3.0)
            })
            .count();
        assert!(covered >= 53, "{covered} of 60");
    }
}
