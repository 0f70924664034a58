//! What holds for every test.

pub mod fake;
mod forecast;

use std::collections::BTreeSet;

use self::fake::simulate;
use super::{TESTS, find, metrics};
use crate::engine::Operation;
use crate::session::document::{RunState, Unit};
use crate::session::goal::Wanted;

/// A drive on which every test is quick.
const DRIVE: &str = "sim:constant,latency=100us,throughput=1GB,size=64MiB,parallel=4";

/// Makes any test short.
const SHORT: [(&str, &str); 4] = [
    ("duration", "2s"),
    ("zone-bytes", "1MiB"),
    ("round-time", "200ms"),
    ("file-bytes", "16MiB"),
];

fn short(test: &dyn super::Test) -> Vec<(&'static str, &'static str)> {
    let known = test.description().parameters;
    let has = |(name, _): &(&str, &str)| known.iter().any(|parameter| parameter.name == *name);
    SHORT.into_iter().filter(has).collect()
}

#[test]
fn names_and_aliases_are_told_apart() {
    let mut seen = BTreeSet::new();
    for test in TESTS {
        let description = test.description();
        for name in std::iter::once(&description.name).chain(description.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(find(name).unwrap().description().name, description.name);
        }
    }
}

#[test]
fn every_name_of_the_contract_is_there() {
    for name in [
        "sequential-read",
        "seqread",
        "sequential-write",
        "seqwrite",
        "random-read",
        "rndread",
        "random-write",
        "rndwrite",
        "concurrency-read",
        "cncread",
        "concurrency-write",
        "cncwrite",
        "mixed",
        "block-size-read",
        "block-size-write",
        "write-sync-close",
        "wsc",
        "read-modify-write",
        "steady-state",
        "read-ahead",
        "reorder",
        "interference",
        "compression",
        "write-cache",
        "quartet",
        "survey",
    ] {
        assert!(find(name).is_some(), "{name}");
    }
}

#[test]
fn every_test_runs_on_a_simulated_drive_and_keeps_its_word() {
    for test in TESTS {
        let description = test.description();
        let finished = simulate(*test, DRIVE, &short(*test));
        let name = description.name;
        assert_eq!(
            finished.state,
            RunState::Finished,
            "{name}: {:?}",
            finished.error
        );
        let findings = &finished.findings;
        let said = findings
            .figures
            .iter()
            .any(|figure| description.headline.contains(&&*figure.name));
        assert!(said || !findings.verdicts.is_empty(), "{name} says nothing");
        for figure in &findings.figures {
            assert!(figure.value.is_finite(), "{name}: {figure:?}");
            assert!(
                metrics::includes(description.metrics, &figure.name),
                "{name} does not declare its metric {}",
                figure.name
            );
            // A goal can be set for it, by a limit in its own unit where one can be written.
            let limit = match figure.unit {
                Unit::PerSecond => "1/s",
                Unit::BytesPerSecond => "1MB/s",
                Unit::Nanoseconds => "1ms",
                Unit::Bytes => "1KiB",
                _ => "1",
            };
            let goal = Wanted::parse(&format!("{}>={limit}", figure.name));
            assert!(goal.is_ok(), "{name}: {goal:?}");
        }
        for point in findings.series.iter().flat_map(|series| &series.points) {
            assert!(
                point.iter().all(|value| value.is_finite()),
                "{name}: {point:?}"
            );
        }
    }
}

#[test]
fn a_reading_test_never_writes_and_a_writing_one_says_how_much() {
    for test in TESTS {
        let description = test.description();
        let fake = fake::Fake::new(|_| Some(100_000));
        let target = fake::target(64 << 20);
        let parameters = fake::parameters(*test, &target, &short(*test));
        fake::run(*test, &target, &short(*test), &fake);
        let plans = fake.plans.lock().unwrap();
        let wrote = plans.iter().any(|plan| plan.operation != Operation::Read);
        assert_eq!(wrote, test.writes(&parameters), "{}", description.name);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert_eq!(
            forecast.writes.is_some(),
            wrote,
            "{}: {forecast:?}",
            description.name
        );
    }
}

#[test]
fn every_test_survives_a_drive_that_fails_at_once() {
    for test in TESTS {
        let fake = fake::Fake::new(|_| None);
        let finished = fake::run(*test, &fake::target(64 << 20), &short(*test), &fake);
        assert_eq!(
            finished.state,
            RunState::Failed,
            "{}",
            test.description().name
        );
        assert_eq!(
            fake.plans.lock().unwrap().len(),
            1,
            "{}",
            test.description().name
        );
    }
}
