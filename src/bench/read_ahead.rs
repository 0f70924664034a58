//! How far ahead the kernel should read.

use std::time::Duration;

use super::budget::Budget;
use super::common::{self, place};
use super::forecast::Phases;
use super::rounds::{Compared, NoBest, ROUNDS, Rounds, order};
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Kind, Parameter, Parameters,
    Shape, Test, Value,
};
use crate::drive::settings::{Guard, Setting, SettingError};
use crate::drive::{DriveKind, Target, TargetKind};
use crate::engine::{CacheMode, Limits, Outcome, Pattern, Plan};
use crate::session::document::{Axis, Figure, Severity, Table, Unit, Verdict};
use crate::units;

/// Buffered sequential reads with every read-ahead from 4 KiB to 8 MiB.
pub struct ReadAhead;

/// Settings that are tried, in KiB.
const STEPS: [u32; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
/// A setting is as good as the best from this share of its throughput on.
const AS_GOOD: f64 = 0.95;

const STEP_BYTES: Parameter = Parameter {
    name: "step-bytes",
    kind: Kind::Size { least: 4096 },
    help: "bytes read with each setting, in all rounds together",
    default: |target| Value::Bytes((256 << 20).min(target.size)),
};

const SEED: Parameter = Parameter {
    help: "the same seed gives the same order of settings",
    ..common::SEED
};

static DESCRIPTION: Description = Description {
    name: "read-ahead",
    aliases: &[],
    summary: "sequential reads through the page cache with read-ahead of 4 KiB to 8 MiB (root)",
    explanation: "\
Reads a file's worth of data in sequence through the page cache, 16 KiB at a time as many programs do, \
with the device's read_ahead_kb set to 4, 8, 16 ... 8192. The cache is dropped each time. Each setting is \
measured in four rounds, in a random order (--seed).

The chart shows throughput against the setting. It rises until the kernel asks early enough that the \
drive never waits for the program; from there on a larger setting only costs memory and makes \
random readers drag in what they do not need. Set the smallest value on the plateau. It is named only \
if it is at least 95 % of the highest and all smaller settings are significantly slower (95 %, compared \
round by round); otherwise a check says which settings cannot be told apart.

It only reads, but it changes a setting of the system for as long as it runs, and needs root for that. The \
old value is put back on every way out; if the program is killed, at its next start.",
    writes: false,
    metrics: &["best_read_ahead_size", "best_read_ahead_throughput", "present_read_ahead_size", "present_read_ahead_throughput", "read_ahead_gain", "read_ahead_*k_throughput"],
    parameters: &[
        STEP_BYTES,
        common::BLOCK_SIZE.with_default(|_| Value::Bytes(16 << 10)),
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(60))),
        common::BYTES,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        SEED,
    ],
    charts: &[
        Chart::new(
            "Throughput against read-ahead",
            Shape::Line,
            &["throughput-against-read-ahead"],
        )
        .log_x()
        .marked(&["best_read_ahead_size", "present_read_ahead_size"]),
    ],
    headline: &[
        "best_read_ahead_size",
        "best_read_ahead_throughput",
        "present_read_ahead_size",
        "read_ahead_gain",
    ],
};

fn whole_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    let mut plan = common::reading_plan(target, parameters, Pattern::Sequential)?;
    plan.cache = CacheMode::Drop;
    Ok(plan)
}

/// Each step reads a place of its own as far as the window goes, for the drive has a cache too.
fn place_of(step: usize, plan: &Plan, bytes: u64) -> std::ops::Range<u64> {
    let window = &plan.window;
    let places = ((window.end - window.start) / bytes.max(1)).max(1);
    let begin = window.start + (step as u64 % places) * bytes / plan.align * plan.align;
    begin..(begin + bytes).min(window.end)
}

/// The device whose setting counts: a partition has its parent's.
fn device(target: &Target) -> Option<&str> {
    let drive = target.drive.as_ref()?;
    match (drive.kind, &drive.parent) {
        (DriveKind::Partition, Some(parent)) => Some(parent),
        _ => Some(&drive.name),
    }
}

/// One for each setting and round; a single one where there is no setting.
fn phases(whole: &Plan, target: &Target, parameters: &Parameters) -> Phases {
    let is_changeable = target.kind != TargetKind::Simulated && device(target).is_some();
    let count = match is_changeable {
        true => STEPS.len() * ROUNDS,
        false => 1,
    };
    let plan = Plan {
        limits: Limits {
            bytes: Some(bytes_of_step(parameters, whole)),
            ..Limits::default()
        },
        ..whole.clone()
    };
    Phases::sharing(whole.limits).then_all(std::iter::repeat_n(plan, count))
}

/// Both the bytes of a setting and the time of the whole are shared out to the rounds.
fn bytes_of_step(parameters: &Parameters, whole: &Plan) -> u64 {
    (parameters.bytes("step-bytes").unwrap_or(256 << 20) / ROUNDS as u64)
        .next_multiple_of(whole.align)
        .max(whole.align)
}

impl Test for ReadAhead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = whole_plan(target, parameters)?;
        let all = parameters
            .bytes("step-bytes")
            .unwrap_or(0)
            .saturating_mul(STEPS.len() as u64);
        let bytes = plan.limits.bytes.unwrap_or(all).min(all);
        Ok(Forecast {
            sentence: format!(
                "reads {} of {} in sequence with {} settings of the read-ahead, and puts the old one \
                 back",
                units::size(bytes),
                place(target),
                STEPS.len()
            ),
            time: phases(&plan, target, parameters).time(target),
            reads: Some(bytes),
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = whole_plan(bench.target, bench.parameters)?;
        let guard = device(bench.target)
            .map(|device| Setting::read_ahead(device).and_then(|it| bench.settings.guard(it)));
        let mut budget = Budget::new(whole.limits);
        match guard {
            Some(Ok(guard)) => sweep(bench, &whole, &mut budget, guard),
            Some(Err(error)) if error.is_held() => Err(BenchError::SettingInUse(error)),
            Some(Err(error)) => {
                present_only(bench, &whole, &budget, &error.to_string(), &error.advice())
            }
            None => present_only(
                bench,
                &whole,
                &budget,
                "no block device is known for this target",
                "name a block device, or a directory on one",
            ),
        }
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SettingChange)
    }
}

/// Measures what there is when the setting cannot be changed.
fn present_only(
    bench: &mut Bench<'_>,
    whole: &Plan,
    budget: &Budget,
    why: &str,
    advice: &str,
) -> Result<(), BenchError> {
    bench.verdict(Verdict::new(
        "setting-not-changeable",
        Severity::Warning,
        format!("only the present read-ahead was measured: {why}"),
        advice,
    ));
    if let Some(outcome) = step(bench, "the present setting", 1.0, whole, budget, (0, 1))? {
        put_rate(bench, "present_read_ahead_throughput", rate(&outcome));
    }
    Ok(())
}

fn sweep(
    bench: &mut Bench<'_>,
    whole: &Plan,
    budget: &mut Budget,
    mut guard: Guard,
) -> Result<(), BenchError> {
    let present = guard.original().parse::<u32>().ok();
    if let Some(kib) = present {
        put_size(bench, "present_read_ahead_size", kib);
    }
    put_table(bench);
    let mut rounds = Rounds::new(STEPS.len(), whole.seed);
    let order = order(STEPS.len(), ROUNDS, whole.seed);
    for (index, point) in order.iter().copied().enumerate() {
        if let Err(error) = guard.set(&STEPS[point].to_string()) {
            bench.verdict(not_changed(&error));
            break;
        }
        let round = index / STEPS.len() + 1;
        let phase = format!("read-ahead {}, round {round} of {ROUNDS}", name(point));
        let share = 1.0 / order.len() as f64;
        let place = (index, order.len() - index);
        let Some(outcome) = step(bench, &phase, share, whole, budget, place)? else {
            break;
        };
        budget.spend(&outcome);
        if outcome.tally.bytes() > 0 {
            rounds.add(point, round - 1, rate(&outcome));
        }
        report(bench, &rounds);
        bench.phase_finished();
        if bench.stopped() {
            break;
        }
    }
    conclude(bench, &rounds, present);
    if let Err(error) = guard.put_back() {
        bench.verdict(Verdict::new(
            "setting-not-restored",
            Severity::Warning,
            format!("the old read-ahead is not back: {error}"),
            "the next start of diskscope tries again; or write it by hand",
        ));
    }
    Ok(())
}

fn step(
    bench: &mut Bench<'_>,
    phase: &str,
    share: f64,
    whole: &Plan,
    budget: &Budget,
    (index, left): (usize, usize),
) -> Result<Option<Outcome>, BenchError> {
    let bytes = bytes_of_step(bench.parameters, whole);
    let own = Limits {
        bytes: Some(bytes),
        ..Limits::default()
    };
    let Some(limits) = budget.share(left as u64, whole.align, own) else {
        return Ok(None);
    };
    let plan = Plan {
        window: place_of(index, whole, bytes),
        limits,
        ..whole.clone()
    };
    bench.execute(phase, share, &plan).map(Some)
}

/// `128 KiB`: the setting of a point.
fn name(point: usize) -> String {
    units::block_size(f64::from(STEPS[point]) * 1024.0)
}

/// What the figures of a setting begin with.
fn key(point: usize) -> String {
    format!("read_ahead_{}k", STEPS[point])
}

fn rate(outcome: &Outcome) -> f64 {
    outcome.tally.bytes() as f64 / outcome.elapsed.as_secs_f64().max(1e-9)
}

fn put_rate(bench: &mut Bench<'_>, name: &str, value: f64) {
    bench.figure(Figure::new(name, value, Unit::BytesPerSecond));
}

fn put_size(bench: &mut Bench<'_>, name: &str, kib: u32) {
    bench.figure(Figure::new(name, f64::from(kib) * 1024.0, Unit::Bytes));
}

fn put_table(bench: &mut Bench<'_>) {
    let rows: Vec<(String, String)> = (0..STEPS.len())
        .map(|point| (name(point), key(point)))
        .collect();
    let rows: Vec<(&str, &str)> = rows
        .iter()
        .map(|(name, key)| (name.as_str(), key.as_str()))
        .collect();
    let columns = [("throughput", "throughput")];
    bench
        .findings
        .put_table(Table::crossed("Settings", &columns, &rows));
}

/// Means of the rounds so far.
fn report(bench: &mut Bench<'_>, rounds: &Rounds) {
    for point in 0..STEPS.len() {
        let name = format!("{}_throughput", key(point));
        if let Some(figure) = rounds.figure(point, &name, Unit::BytesPerSecond) {
            bench.figure(figure);
        }
    }
    bench.series(rounds.series(
        "throughput-against-read-ahead",
        Axis::new("read-ahead", Unit::Bytes),
        Axis::new("throughput", Unit::BytesPerSecond),
        &STEPS.map(|kib| f64::from(kib) * 1024.0),
    ));
}

/// The smallest setting on the plateau, where it can be told from the smaller ones.
fn conclude(bench: &mut Bench<'_>, rounds: &Rounds, present: Option<u32>) {
    // The present setting need not be a power of two: the next step below stands for it.
    let now = present.and_then(|present| {
        let not_larger = |kib: &u32| *kib <= present.max(STEPS[0]);
        STEPS.iter().rposition(not_larger)
    });
    let put_rate = |bench: &mut Bench<'_>, name: &str, point: usize| {
        if let Some(figure) = rounds.figure(point, name, Unit::BytesPerSecond) {
            bench.figure(figure);
        }
    };
    if let Some(now) = now {
        put_rate(bench, "present_read_ahead_throughput", now);
    }
    let best = match rounds.first_as_good(AS_GOOD) {
        Ok(best) => best,
        Err(reason) => {
            if !bench.stopped() {
                bench.verdict(no_best(reason));
            }
            return;
        }
    };
    put_size(bench, "best_read_ahead_size", STEPS[best]);
    put_rate(bench, "best_read_ahead_throughput", best);
    let gain = now.and_then(|now| rounds.quotient(best, now));
    if let Some(gain) = gain {
        bench.figure(gain.figure("read_ahead_gain"));
    }
}

fn no_best(reason: NoBest) -> Verdict {
    let names: Vec<String> = (0..STEPS.len()).map(name).collect();
    let compared = Compared {
        code: ("no-best-read-ahead", Severity::Note),
        best: "best read-ahead",
        points: "settings",
        advice: "a larger --step-bytes and a longer --duration narrow the intervals; if all settings \
                 are alike, keep the present one",
    };
    reason.verdict(compared, &names)
}

fn not_changed(error: &SettingError) -> Verdict {
    Verdict::new(
        "setting-not-changeable",
        Severity::Warning,
        format!("the sweep ended: {error}"),
        error.advice(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::runner::Finished;
    use super::super::tests::fake::{self, Fake, Nobody, codes, value};
    use super::super::{find, runner};
    use super::*;
    use crate::drive::Settings;
    use crate::drive::random::Random;
    use crate::engine::Control;
    use crate::roots::Roots;

    /// A directory with a device `sim:constant` whose read-ahead can be set.
    fn system() -> (tempfile::TempDir, Settings, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let settings = fake::settings(directory.path());
        let queue = directory.path().join("sys/class/block/sim:constant/queue");
        let file = queue.join("read_ahead_kb");
        fs::create_dir_all(&queue).unwrap();
        fs::write(&file, "128\n").unwrap();
        (directory, settings, file)
    }

    fn target() -> Target {
        let choice = crate::engine::Choice::Auto;
        crate::engine::open(&Roots::default(), "sim:constant", choice, None)
            .unwrap()
            .target
    }

    /// A sweep on a drive whose requests of 16 KiB take what a function of the setting in KiB and of
    /// the plan says, in nanoseconds.
    fn sweep_of(
        set: &[(&str, &str)],
        time: impl Fn(u64, &Plan) -> u64 + Send + Sync,
    ) -> (Finished, Vec<Plan>, String) {
        let (_directory, settings, file) = system();
        let seen = file.clone();
        let fake = Fake::new(move |asked| {
            let kib = fs::read_to_string(&seen).unwrap().trim().parse().unwrap();
            Some(time(kib, asked.plan))
        });
        let (target, test) = (target(), find("read-ahead").unwrap());
        let set = [&[("step-bytes", "1MiB")], set].concat();
        let parameters = fake::parameters(test, &target, &set);
        let control = Control::default();
        let finished = runner::run_with(
            test,
            &target,
            &parameters,
            &settings,
            &fake,
            &control,
            &mut Nobody,
        );
        let plans = fake.plans.lock().unwrap().clone();
        (finished, plans, fs::read_to_string(file).unwrap())
    }

    /// A time that scatters by that share from execution to execution.
    fn scattered(time: u64, plan: &Plan, share: f64) -> u64 {
        let mut random = Random::new(plan.window.start ^ plan.seed.rotate_left(40));
        (time as f64 * (share * random.normal()).exp()) as u64
    }

    #[test]
    fn the_smallest_setting_on_the_plateau_is_found_and_the_old_one_put_back() {
        // A request of 16 KiB takes 1 ms with 4 KiB ahead, 8 us from 512 KiB on.
        let (finished, plans, restored) = sweep_of(&[], |kib, _| 4_000_000 / kib.min(512));
        assert_eq!(
            value(&finished, "best_read_ahead_size"),
            f64::from(512 << 10)
        );
        assert_eq!(
            value(&finished, "present_read_ahead_size"),
            f64::from(128 << 10)
        );
        assert!((value(&finished, "read_ahead_gain") - 4.0).abs() < 0.01);
        assert!(codes(&finished).is_empty());
        assert_eq!(restored.trim(), "128");
        assert_eq!(plans.len(), 12 * ROUNDS);
        assert!(plans.iter().all(|plan| plan.cache == CacheMode::Drop));
        assert_ne!(plans[0].window, plans[1].window);
    }

    #[test]
    fn settings_that_are_all_alike_have_no_best_one() {
        for (share, most) in [(0.0, 0), (0.2, 1)] {
            let mut named = 0;
            for seed in 0..20 {
                let set = [("seed", &*seed.to_string())];
                let (finished, ..) = sweep_of(&set, |_, plan| scattered(100_000, plan, share));
                let best = finished.findings.figure("best_read_ahead_size").is_some();
                named += u32::from(best);
                assert_eq!(codes(&finished).contains(&"no-best-read-ahead"), !best);
                assert_eq!(finished.findings.figure("read_ahead_gain").is_some(), best);
                let figure = finished
                    .findings
                    .figure("read_ahead_128k_throughput")
                    .unwrap();
                assert!(figure.low.unwrap() <= figure.value && figure.high.is_some());
            }
            assert!(named <= most, "scatter {share}: {named} of 20 name a best");
        }
    }

    #[test]
    fn order_of_the_settings_differs_from_round_to_round() {
        let order = |seed: &str| {
            let seen = std::sync::Mutex::new(Vec::new());
            let (_, plans, _) = sweep_of(&[("seed", seed)], |kib, plan| {
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
    fn without_the_setting_the_present_one_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        let settings = fake::settings(directory.path());
        let fake = Fake::new(|_| Some(1000));
        let (target, test) = (target(), find("read-ahead").unwrap());
        let parameters = fake::parameters(test, &target, &[]);
        let control = Control::default();
        let finished = runner::run_with(
            test,
            &target,
            &parameters,
            &settings,
            &fake,
            &control,
            &mut Nobody,
        );
        assert_eq!(codes(&finished), ["setting-not-changeable"]);
        value(&finished, "present_read_ahead_throughput");
    }
}
