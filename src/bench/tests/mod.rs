//! Properties of all benchmarks.

pub mod fake;
mod forecast;

use std::collections::BTreeSet;

use self::fake::run_on_simulated;
use super::framework::metric_families;
use super::{BENCHMARKS, ParameterValue, find_benchmark};
use crate::engine::IoOperation;
use crate::session::document::{MetricUnit, RunState};
use crate::session::slo::SloSpec;

/// A drive on which every benchmark is fast.
const QUICK_DRIVE: &str = "sim:constant,latency=100us,throughput=1GB,size=64MiB,parallel=4";

/// Limits that shorten any benchmark.
const SHORT_LIMITS: [(&str, &str); 4] = [
    ("duration", "2s"),
    ("zone-bytes", "1MiB"),
    ("round-time", "200ms"),
    ("file-bytes", "16MiB"),
];

fn short_parameters(test: &dyn super::Benchmark) -> Vec<(&'static str, &'static str)> {
    let known = test.description().parameters;
    let has = |(name, _): &(&str, &str)| known.iter().any(|parameter| parameter.name() == *name);
    SHORT_LIMITS.into_iter().filter(has).collect()
}

#[test]
fn benchmark_names_and_aliases_are_unique() {
    let mut seen = BTreeSet::new();
    for test in BENCHMARKS {
        let description = test.description();
        for name in std::iter::once(&description.name).chain(description.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(
                find_benchmark(name).unwrap().description().name,
                description.name
            );
        }
    }
}

#[test]
fn every_parameter_accepts_its_default_as_written() {
    let target = fake::simulated_target(64 << 20);
    for parameter in BENCHMARKS
        .iter()
        .flat_map(|test| test.description().parameters)
    {
        let default = parameter.default_value(&target);
        let stored = parameter.kind().of_json(&default.to_json());
        assert_eq!(stored, Some(default.clone()), "{parameter:?}");
        if default != ParameterValue::Unset {
            let parsed = parameter.parse(&default.to_string()).unwrap();
            assert_eq!(parsed, default, "{parameter:?}");
        }
        for word in parameter.kind().words().unwrap_or_default() {
            let value = parameter.parse(word).unwrap();
            let stored = parameter.kind().of_json(&value.to_json());
            assert_eq!(stored, Some(value), "{parameter:?}: {word}");
        }
    }
}

#[test]
fn benchmark_names_of_contract_all_exist() {
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
        assert!(find_benchmark(name).is_some(), "{name}");
    }
}

#[test]
fn every_benchmark_runs_on_simulated_drive_as_described() {
    for test in BENCHMARKS {
        let description = test.description();
        let finished = run_on_simulated(*test, QUICK_DRIVE, &short_parameters(*test));
        let name = description.name;
        assert_eq!(
            finished.state,
            RunState::Finished,
            "{name}: {:?}",
            finished.error
        );
        let findings = &finished.findings;
        let said = findings
            .metrics
            .iter()
            .any(|metric| description.headline_metrics.contains(&metric.id));
        assert!(said || !findings.verdicts.is_empty(), "{name} says nothing");
        for metric in &findings.metrics {
            assert!(metric.value.is_finite(), "{name}: {metric:?}");
            assert!(
                metric_families::contains(description.metrics, &metric.id),
                "{name} does not declare its metric {}",
                metric.id
            );
            // A goal can be set for the metric, with a limit in its own unit where that can be
            // written.
            let limit = match metric.unit {
                MetricUnit::PerSecond => "1/s",
                MetricUnit::BytesPerSecond => "1MB/s",
                MetricUnit::Nanoseconds => "1ms",
                MetricUnit::Bytes => "1KiB",
                _ => "1",
            };
            let goal = SloSpec::parse(&format!("{}>={limit}", metric.id));
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
fn every_benchmark_writes_only_what_its_forecast_states() {
    for test in BENCHMARKS {
        let description = test.description();
        let fake = fake::FakeDrive::new(|_| Some(100_000));
        let target = fake::simulated_target(64 << 20);
        let parameters = fake::parameters(*test, &target, &short_parameters(*test));
        fake::run_on_fake(*test, &target, &short_parameters(*test), &fake);
        let plans = fake.executed_plans.lock().unwrap();
        let wrote = plans.iter().any(|plan| plan.operation != IoOperation::Read);
        assert_eq!(wrote, test.writes(&parameters), "{}", description.name);
        let forecast = test.forecast(&target, &parameters).unwrap();
        assert_eq!(
            forecast.max_written_bytes.is_some(),
            wrote,
            "{}: {forecast:?}",
            description.name
        );
    }
}

#[test]
fn every_benchmark_handles_immediately_failing_drive() {
    for test in BENCHMARKS {
        let fake = fake::FakeDrive::new(|_| None);
        let finished = fake::run_on_fake(
            *test,
            &fake::simulated_target(64 << 20),
            &short_parameters(*test),
            &fake,
        );
        assert_eq!(
            finished.state,
            RunState::Failed,
            "{}",
            test.description().name
        );
        assert_eq!(
            fake.executed_plans.lock().unwrap().len(),
            1,
            "{}",
            test.description().name
        );
    }
}
