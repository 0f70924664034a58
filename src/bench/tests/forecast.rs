//! What was forecast against what it took, for every benchmark that there is.

use std::sync::Mutex;
use std::time::Duration;

use super::fake::{self, Nobody};
use crate::bench::{RunTime, TESTS, Test, runner};
use crate::engine::{self, Control, Engine, EngineError, Outcome, Plan, Snapshot};
use crate::roots::Roots;
use crate::session::document::RunState;

/// An engine that adds up the time of what it executes.
#[derive(Debug)]
struct Timed<'a> {
    engine: &'a dyn Engine,
    total: Mutex<Duration>,
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

    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        let outcome = self.engine.execute(plan, control, observe)?;
        let finish = outcome.finish.unwrap_or_default();
        *self.total.lock().unwrap() += plan.ramp + outcome.elapsed + finish.sync + finish.close;
        Ok(outcome)
    }
}

/// What was forecast, and what it took.
fn forecast_and_elapsed(
    test: &'static dyn Test,
    drive: &str,
    set: &[(&str, &str)],
) -> (RunTime, Duration) {
    let opened = engine::open(&Roots::default(), drive, engine::Choice::Auto, None).unwrap();
    let target = &opened.target;
    let parameters = fake::parameters(test, target, set);
    let forecast = test.forecast(target, &parameters).unwrap();
    let timed = Timed {
        engine: opened.engine(),
        total: Mutex::default(),
    };
    let control = Control::default();
    let finished = runner::run(test, target, &parameters, &timed, &control, &mut Nobody);
    let name = test.description().name;
    assert_eq!(
        finished.state,
        RunState::Finished,
        "{name}: {:?}",
        finished.error
    );
    let elapsed = *timed.total.lock().unwrap();
    (forecast.time, elapsed)
}

/// What of the forecasts of every benchmark on a drive is wrong.
fn wrong(drive: &str, set: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for test in TESTS {
        let description = test.description();
        let known = |(name, _): &&(&str, &str)| {
            description
                .parameters
                .iter()
                .any(|parameter| parameter.name == *name)
        };
        let set: Vec<(&str, &str)> = set.iter().filter(known).copied().collect();
        let (time, elapsed) = forecast_and_elapsed(*test, drive, &set);
        let ratio = time.expected.as_secs_f64() / elapsed.as_secs_f64();
        let is_near = (0.5..=2.0).contains(&ratio) || time.expected.abs_diff(elapsed) < UNNOTICED;
        let line = format!(
            "{} on {drive} {set:?}: {elapsed:.2?}, forecast {:.2?}, at most {:.2?}",
            description.name, time.expected, time.at_most
        );
        println!("{line}");
        if !is_near || elapsed > time.at_most + Duration::from_millis(100) {
            wrong.push(line);
        }
    }
    wrong
}

/// Nobody notices whether something takes so much longer: a small amount that a cache takes is over at
/// once.
const UNNOTICED: Duration = Duration::from_millis(700);

/// Limits that somebody sets, for whichever benchmark has them. `precondition` keeps the writing before
/// the rounds of steady-state short.
const LIMITS: [&[(&str, &str)]; 3] = [
    &[("requests", "3000"), ("precondition", "0.001")],
    &[("bytes", "200MB"), ("precondition", "0.001")],
    &[
        ("duration", "4s"),
        ("ramp", "1s"),
        ("precondition", "0.001"),
    ],
];

#[test]
fn time_of_every_benchmark_on_a_simulated_disk_is_forecast_within_a_factor_of_two() {
    // Writing all of it takes hours of the drive's time, and seconds of this test's.
    let mut found = wrong("sim:hdd,clock=virtual", &[("precondition", "0.02")]);
    for set in LIMITS {
        found.extend(wrong("sim:hdd,clock=virtual", set));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn time_of_every_benchmark_on_a_simulated_ssd_is_forecast_within_a_factor_of_two() {
    let mut found = wrong("sim:ssd,clock=virtual", &[("precondition", "0.02")]);
    for set in LIMITS {
        found.extend(wrong("sim:ssd,clock=virtual", set));
    }
    assert!(found.is_empty(), "{found:#?}");
}
