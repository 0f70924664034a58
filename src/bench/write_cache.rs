//! What a drive's volatile write cache is worth, and what a write costs without it.

use std::time::Duration;

use super::common::{self, place};
use super::passes::{self, Nothing, Pass, PassHook};
use super::rounds::Rounds;
use super::{Bench, BenchError, Description, FioGap, FioJob, Forecast, Parameters, Test, Value};
use crate::drive::settings::{Guard, Setting, SettingError};
use crate::drive::{DriveKind, Target};
use crate::engine::{Limits, Operation, Pattern, Plan, SyncMode};
use crate::session::document::{Severity, Table, Verdict};

/// Plain and sync writes with the drive's write cache on and off.
pub struct WriteCache;

/// The kernel's words for the two states (drivers/scsi/sd.c, `sd_cache_types`).
const STATES: [(&str, &str, &str); 2] = [
    ("write back", "cache_on", "cache on"),
    ("write through", "cache_off", "cache off"),
];

static DESCRIPTION: Description = Description {
    name: "write-cache",
    aliases: &[],
    summary: "plain and O_DSYNC writes with the drive's volatile cache on and off (SCSI, SATA; root)",
    explanation: "\
Writes 4 KiB blocks at random places, plain and with O_DSYNC, with the drive's volatile write cache on \
(write back) and off (write through). Each of the four has its turn in four rounds of random order \
(--seed).

The table shows IOPS and response times of the four. With the cache on, plain writes are quick and an \
O_DSYNC write must empty the cache each time. With it off a plain write is as safe as a synced one, and as \
slow. Where O_DSYNC is as quick as plain writing although the cache is on, the drive either \
has a capacitor behind its cache or does not keep its promise; a disk cannot do more than one synced \
write per revolution (120 a second at 7200 rpm). sync_penalty is how many times as fast plain writes are \
as O_DSYNC ones with the cache on, cache_gain how many times as fast plain writes are with it as without, \
compared round by round; a check says when either may be 1.

The cache can be switched on SCSI and SATA drives, by root; the old state is put back on every way out, or \
at the next start. On other drives only the present state is measured. It overwrites what is there, 1 \
GiB at most.",
    writes: true,
    metrics: &["sync_penalty", "cache_gain", "cache_on_*", "cache_off_*", "present_*"],
    parameters: &[
        common::BLOCK_SIZE,
        common::DEPTH.with_default(|_| Value::Count(1)),
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(40))),
        common::BYTES.with_default(|_| Value::Bytes(1 << 30)),
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::DATA,
    ],
    charts: &[],
    headline: &["sync_penalty", "cache_gain"],
};

fn whole_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    common::plan(target, parameters, Operation::Write, Pattern::Random)
}

/// The setting of the whole drive: a partition has its parent's.
fn setting(bench: &Bench<'_>) -> Option<Setting> {
    let drive = bench.target.drive.as_ref()?;
    let device = match (drive.kind, &drive.parent) {
        (DriveKind::Partition, Some(parent)) => parent,
        _ => &drive.name,
    };
    let setting = Setting::write_cache(device).ok()?;
    bench.settings.exists(&setting).then_some(setting)
}

/// Plain and synced writes; the key of their figures begins with the cache's state.
fn pair(whole: &Plan, key: &str, label: &str) -> [Pass; 2] {
    let pass = |word: &str, kind: &str, sync| {
        let limits = Limits::default();
        let plan = Plan {
            sync,
            limits,
            ..whole.clone()
        };
        Pass::new(format!("{label}, {word}"), format!("{key}_{kind}"), plan)
    };
    [
        pass("plain", "plain", SyncMode::None),
        pass("O_DSYNC", "dsync", SyncMode::DataSync),
    ]
}

fn put_table(bench: &mut Bench<'_>, passes: &[Pass]) {
    let rows: Vec<(&str, &str)> = passes
        .iter()
        .map(|pass| (pass.label.as_str(), pass.key.as_str()))
        .collect();
    let columns = [
        ("IOPS", "iops"),
        ("mean", "latency"),
        ("p99", "latency_p99"),
    ];
    bench
        .findings
        .put_table(Table::crossed("Write cache", &columns, &rows));
}

impl Test for WriteCache {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = whole_plan(target, parameters)?;
        let amount = plan.limits.bytes.map_or_else(String::new, |bytes| {
            format!(", at most {}", common::written_share(bytes, target))
        });
        Ok(Forecast {
            sentence: format!(
                "writes at random places of {}, plain and synced, with the drive's cache on and off \
                 where it can be switched{amount}",
                place(target)
            ),
            time: passes::phases_in_rounds(plan.limits, &pair(&plan, "", "")).time(target),
            reads: None,
            writes: plan.limits.bytes,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = whole_plan(bench.target, bench.parameters)?;
        let guard = setting(bench).map(|setting| bench.settings.guard(setting));
        match guard {
            Some(Ok(guard)) => switched(bench, &whole, guard)?,
            Some(Err(error)) if error.is_held() => return Err(BenchError::SettingInUse(error)),
            Some(Err(error)) => present(bench, &whole, &error.to_string(), &error.advice())?,
            None => present(
                bench,
                &whole,
                "only SCSI and SATA drives have a switch (cache_type)",
                "use a whole SCSI or SATA drive, or nvme set-feature -f 6 on NVMe, by hand",
            )?,
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SettingChange)
    }
}

/// Switches the cache to the state that a pass needs.
struct Switch {
    guard: Guard,
    /// State of each pass.
    words: Vec<&'static str>,
    present: Option<&'static str>,
}

impl PassHook for Switch {
    fn before(&mut self, bench: &mut Bench<'_>, point: usize) -> bool {
        let word = self.words[point];
        if self.present == Some(word) {
            return true;
        }
        // After an error nobody knows the state.
        self.present = None;
        match self.guard.set(word) {
            Ok(()) => {
                self.present = Some(word);
                true
            }
            Err(error) => {
                bench.verdict(not_switchable(&error.to_string(), &error.advice()));
                false
            }
        }
    }
}

/// Both states, plain and synced, in rounds of random order.
fn switched(bench: &mut Bench<'_>, whole: &Plan, guard: Guard) -> Result<(), BenchError> {
    let pairs = STATES.map(|(word, key, label)| (word, pair(whole, key, label)));
    let passes: Vec<Pass> = pairs.iter().flat_map(|(_, pair)| pair.clone()).collect();
    put_table(bench, &passes);
    let mut switch = Switch {
        guard,
        words: pairs.iter().flat_map(|(word, _)| [*word; 2]).collect(),
        present: None,
    };
    let measured = passes::in_rounds(bench, whole.limits, &passes, whole.seed, &mut switch);
    // Put back whatever became of the passes.
    let put_back = switch.guard.put_back();
    let rounds = measured?;
    put_quotient(bench, &rounds, &passes, ("sync_penalty", 0, 1));
    put_quotient(bench, &rounds, &passes, ("cache_gain", 0, 2));
    if let Err(error) = put_back {
        bench.verdict(not_restored(&error));
    }
    Ok(())
}

/// The state that there is.
fn present(bench: &mut Bench<'_>, whole: &Plan, why: &str, advice: &str) -> Result<(), BenchError> {
    bench.verdict(not_switchable(why, advice));
    let state = bench
        .target
        .drive
        .as_ref()
        .and_then(|drive| drive.write_cache.clone())
        .unwrap_or_else(|| "cache as it is".to_owned());
    let passes = pair(whole, "present", &state);
    put_table(bench, &passes);
    let rounds = passes::in_rounds(bench, whole.limits, &passes, whole.seed, &mut Nothing)?;
    put_quotient(bench, &rounds, &passes, ("sync_penalty", 0, 1));
    Ok(())
}

/// How many times as fast one pass is as another, round by round.
fn put_quotient(
    bench: &mut Bench<'_>,
    rounds: &Rounds,
    passes: &[Pass],
    (name, of, to): (&str, usize, usize),
) {
    let Some(quotient) = rounds.quotient(of, to) else {
        return;
    };
    bench.figure(quotient.figure(name));
    if quotient.may_be_one() && !bench.stopped() {
        let code = match name {
            "sync_penalty" => ("no-significant-penalty", Severity::Note),
            _ => ("no-cache-gain", Severity::Note),
        };
        let labels = [of, to].map(|point| passes[point].label.as_str());
        bench.verdict(quotient.no_difference(code, labels, "IOPS"));
    }
}

fn not_switchable(why: &str, advice: &str) -> Verdict {
    Verdict::new(
        "setting-not-changeable",
        Severity::Warning,
        format!("the drive's write cache could not be switched: {why}"),
        advice,
    )
}

fn not_restored(error: &SettingError) -> Verdict {
    Verdict::new(
        "setting-not-restored",
        Severity::Warning,
        format!("the old state of the write cache is not back: {error}"),
        "the next start of diskscope tries again; or write it by hand",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::fake::{self, Fake, Nobody, codes, simulate, value};
    use super::super::{find, runner};
    use super::*;
    use crate::drive::random::scatter;
    use crate::engine::Control;
    use crate::roots::Roots;

    #[test]
    fn both_states_are_measured_and_the_old_one_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let disk = directory
            .path()
            .join("sys/class/block/sim:constant/device/scsi_disk/2:0:0:0");
        fs::create_dir_all(&disk).unwrap();
        let file = disk.join("cache_type");
        fs::write(&file, "write back\n").unwrap();
        let settings = fake::settings(directory.path());
        let switch = file.clone();
        let fake = Fake::new(move |asked| {
            let cached = fs::read_to_string(&switch).unwrap().trim() == "write back";
            let plain = asked.plan.sync == SyncMode::None;
            Some(if cached && plain { 100_000 } else { 8_000_000 })
        });
        let choice = crate::engine::Choice::Auto;
        let opened = crate::engine::open(&Roots::default(), "sim:constant", choice, None).unwrap();
        let test = find("write-cache").unwrap();
        let parameters = fake::parameters(test, &opened.target, &[("duration", "4s")]);
        let finished = runner::run_with(
            test,
            &opened.target,
            &parameters,
            &settings,
            &fake,
            &Control::default(),
            &mut Nobody,
        );
        assert!((value(&finished, "sync_penalty") / 80.0 - 1.0).abs() < 0.01);
        assert!((value(&finished, "cache_gain") / 80.0 - 1.0).abs() < 0.01);
        assert!(codes(&finished).is_empty());
        for name in ["sync_penalty", "cache_gain", "cache_off_dsync_iops"] {
            let figure = finished.findings.figure(name).unwrap();
            assert!(figure.low.unwrap() <= figure.value && figure.high.unwrap() >= figure.value);
        }
        assert_eq!(fake.plans.lock().unwrap().len(), 16);
        assert_eq!(fs::read_to_string(file).unwrap().trim(), "write back");
    }

    #[test]
    fn where_it_cannot_be_switched_the_present_state_is_measured() {
        let finished = simulate(
            find("write-cache").unwrap(),
            "sim:constant",
            &[("duration", "1s")],
        );
        assert_eq!(
            codes(&finished),
            ["setting-not-changeable", "no-significant-penalty"]
        );
        assert!((value(&finished, "sync_penalty") - 1.0).abs() < 0.01);
    }

    #[test]
    fn penalty_of_noisy_writes_has_an_interval_that_covers_it() {
        let covered = (0..60_u64)
            .filter(|seed| {
                // Phases differ by up to a third; O_DSYNC writes take three times as long.
                let fake = Fake::new(|asked: &fake::Asked<'_>| {
                    let plain = asked.plan.sync == SyncMode::None;
                    let word = scatter(asked.plan.seed ^ (u64::from(plain) << 60));
                    let time = 100_000 + word % 33_000;
                    Some(if plain { time } else { 3 * time })
                });
                let set = [("seed", &*seed.to_string()), ("requests", "800")];
                let test = find("write-cache").unwrap();
                let finished = fake::run(test, &fake::target(1 << 30), &set, &fake);
                let penalty = finished.findings.figure("sync_penalty").unwrap();
                assert_eq!(codes(&finished), ["setting-not-changeable"]);
                (penalty.low.unwrap()..=penalty.high.unwrap()).contains(&3.0)
            })
            .count();
        assert!(covered >= 53, "{covered} of 60");
    }
}
