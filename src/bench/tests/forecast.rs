//! Compares the forecast of every benchmark with its actual run.

use std::sync::Mutex;
use std::time::Duration;

use super::fake;
use crate::bench::{BENCHMARKS, Benchmark, RunTime};
use crate::drive::SettingsManager;
use crate::engine;
use crate::engine::{
    CancellationToken, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot, Plan,
};
use crate::roots::SysPaths;
use crate::session::document::RunState;

/// An engine that adds up the time of the plans that it executes.
#[derive(Debug)]
struct Timed<'a> {
    engine: &'a dyn Engine,
    executed_time: Mutex<Duration>,
}

impl Engine for Timed<'_> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn features(&self) -> Vec<String> {
        self.engine.features()
    }

    fn has_virtual_time(&self) -> bool {
        self.engine.has_virtual_time()
    }

    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        control: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        let outcome = self
            .engine
            .execute_with_open_hook(plan, control, on_open, observe)?;
        let finish = outcome.finish_times.unwrap_or_default();
        *self.executed_time.lock().unwrap() +=
            plan.ramp_time + outcome.elapsed + finish.sync_time + finish.close_time;
        Ok(outcome)
    }
}

/// Forecast and actual run time.
fn forecast_and_elapsed(
    test: &'static dyn Benchmark,
    drive: &str,
    set: &[(&str, &str)],
) -> (RunTime, Duration) {
    let opened = engine::open_target(
        &SysPaths::default(),
        drive,
        engine::EngineChoice::Auto,
        None,
    )
    .unwrap();
    let target = &opened.target;
    let parameters = fake::parameters(test, target, set);
    let forecast = test.forecast(target, &parameters).unwrap();
    let timed = Timed {
        engine: opened.engine(),
        executed_time: Mutex::default(),
    };
    let settings = SettingsManager::default();
    let finished = fake::run_on_engine(test, target, &parameters, &settings, &timed);
    let name = test.description().name;
    assert_eq!(
        finished.state,
        RunState::Finished,
        "{name}: {:?}",
        finished.error
    );
    let elapsed = *timed.executed_time.lock().unwrap();
    (forecast.run_time, elapsed)
}

/// Errors in the forecasts of all benchmarks on a drive.
fn wrong_forecasts(drive: &str, set: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for test in BENCHMARKS {
        let description = test.description();
        let known = |(name, _): &&(&str, &str)| {
            description
                .parameters
                .iter()
                .any(|parameter| parameter.name() == *name)
        };
        let set: Vec<(&str, &str)> = set.iter().filter(known).copied().collect();
        let (time, elapsed) = forecast_and_elapsed(*test, drive, &set);
        let ratio = time.expected.as_secs_f64() / elapsed.as_secs_f64();
        let is_near =
            (0.5..=2.0).contains(&ratio) || time.expected.abs_diff(elapsed) < NEGLIGIBLE_TIME;
        let line = format!(
            "{} on {drive} {set:?}: {elapsed:.2?}, forecast {:.2?}, at most {:.2?}",
            description.name, time.expected, time.maximum
        );
        println!("{line}");
        if !is_near || elapsed > time.maximum + Duration::from_millis(100) {
            wrong.push(line);
        }
    }
    wrong
}

/// Tolerance for short operations: a cache absorbs a small amount of data at once.
const NEGLIGIBLE_TIME: Duration = Duration::from_millis(700);

/// Limits as set by a user, applied to every benchmark that accepts them. `precondition` shortens
/// the preconditioning of steady-state.
const LIMIT_SETS: [&[(&str, &str)]; 4] = [
    &[("requests", "3000"), ("precondition", "0.001")],
    &[("bytes", "200MB"), ("precondition", "0.001")],
    // The requests in flight at the end take as long as the run.
    &[
        ("duration", "2s"),
        ("depth", "128"),
        ("workers", "4"),
        ("precondition", "0.001"),
    ],
    &[
        ("duration", "4s"),
        ("ramp", "1s"),
        ("precondition", "0.001"),
    ],
];

#[test]
fn forecast_time_of_every_benchmark_on_disk_is_within_factor_two() {
    // A full write takes hours of virtual drive time, and seconds of this test's time.
    let mut found = wrong_forecasts("sim:hdd,clock=virtual", &[("precondition", "0.02")]);
    for set in LIMIT_SETS {
        found.extend(wrong_forecasts("sim:hdd,clock=virtual", set));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn forecast_time_of_every_benchmark_on_ssd_is_within_factor_two() {
    let mut found = wrong_forecasts("sim:ssd,clock=virtual", &[("precondition", "0.02")]);
    for set in LIMIT_SETS {
        found.extend(wrong_forecasts("sim:ssd,clock=virtual", set));
    }
    assert!(found.is_empty(), "{found:#?}");
}
