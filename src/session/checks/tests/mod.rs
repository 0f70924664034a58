//! Tests of every rule on literal evidence: what triggers it, what does not, and the threshold
//! between.

mod counts;
mod course;
mod distribution;
mod goals;
mod medium;
mod setup;

use serde_json::Value;

use super::*;
use crate::session::compare::sample;
use crate::session::document::check::Check;
use crate::session::document::{
    DirectionCounts, KernelCounts, LatencySummary, ProcessorLoad, RunEvidence, RunState,
};
use crate::stats::latency::histogram::LatencyHistogram;

const MIB: u64 = 1 << 20;

/// A run of random-read without any evidence.
fn empty_run() -> BenchmarkRun {
    sample::sample_run("iops", 1000.0, 20.0)
}

/// Evidence of the check with this code on a run of random reads, as a sentence.
fn rule_evidence(code: &str, run: &BenchmarkRun) -> Option<String> {
    evidence_for(code, run, Workload::RANDOM_READS)
}

/// Evidence of the check with this code on a run with this workload, as a sentence.
fn evidence_for(code: &str, run: &BenchmarkRun, workload: Workload) -> Option<String> {
    let is_known = all_rules().any(|rule| rule.check.code == code);
    assert!(is_known, "no check {code}");
    let found = evaluate_rules(run, workload);
    for verdict in &found {
        for option in named_options(&verdict.advice) {
            let has_option = run.parameters.contains_key(option);
            assert!(has_option, "{}: {}", verdict.code, verdict.advice);
        }
    }
    let verdict = found.into_iter().find(|verdict| verdict.code == code)?;
    Some(verdict.evidence.into())
}

fn assert_evidence_contains(code: &str, run: &BenchmarkRun, words: &[&str]) {
    let evidence = rule_evidence(code, run).unwrap_or_else(|| panic!("{code} was not found"));
    for word in words {
        assert!(
            evidence.contains(word),
            "{code}: no {word:?} in {evidence:?}"
        );
    }
}

/// A check, what is done to a run, and the words of the evidence; none where the check passes.
type Case<'a> = (&'a str, fn(&mut BenchmarkRun), &'a [&'a str]);

/// Evaluates a check on each changed run.
fn assert_cases(run: impl Fn() -> BenchmarkRun, cases: &[Case<'_>]) {
    for (index, (code, change, words)) in cases.iter().enumerate() {
        let mut run = run();
        change(&mut run);
        let evidence = rule_evidence(code, &run);
        let is_expected = evidence.is_some() != words.is_empty();
        assert!(is_expected, "{code}, case {index}: {evidence:?}");
        let evidence = evidence.unwrap_or_default();
        for word in *words {
            assert!(
                evidence.contains(word),
                "{code}, case {index}: no {word:?} in {evidence:?}"
            );
        }
    }
}

/// A run that issued these requests of 4 KiB, with a device that completed as many.
fn run_with_counts(reads: u64, writes: u64) -> BenchmarkRun {
    let mut run = empty_run();
    run.evidence.issued = Some(DirectionCounts {
        reads,
        read_bytes: reads * 4096,
        writes,
        written_bytes: writes * 4096,
    });
    run.kernel = Some(KernelCounts {
        device: "nvme0n1".into(),
        reads,
        read_bytes: reads * 4096,
        writes,
        written_bytes: writes * 4096,
        ..KernelCounts::default()
    });
    run
}

/// A distribution of these latencies in microseconds.
fn latency_of_times(microseconds: impl IntoIterator<Item = u64>) -> Option<LatencySummary> {
    let mut latency = LatencyHistogram::default();
    microseconds
        .into_iter()
        .for_each(|time| latency.record(time * 1000));
    LatencySummary::from_histogram(&latency)
}

#[test]
fn run_without_evidence_gets_no_verdicts() {
    let mut run = empty_run();
    add_rule_verdicts(&mut run, Workload::RANDOM_READS);
    assert_eq!(run.findings.verdicts, []);
}

#[test]
fn run_with_clean_evidence_gets_no_verdicts() {
    let mut run = run_with_counts(100_000, 0);
    run.findings.latency.read = latency_of_times((0..100_000).map(|index| 90 + index % 40));
    run.evidence.processors = Some(ProcessorLoad {
        generator_utilization: Some(0.5),
        busiest_workers: 1,
        machine_utilization: Some(0.6),
        count: 2,
    });
    add_rule_verdicts(&mut run, Workload::RANDOM_READS);
    assert_eq!(run.findings.verdicts, []);
}

#[test]
fn benchmark_verdicts_are_kept_by_rules() {
    let mut run = run_with_counts(500, 0);
    run.kernel = Some(KernelCounts::default());
    let own = Check::note("no-page-cache", "A simulated drive has no page cache.");
    run.findings
        .set_check(own.found("seen", "do this", serde_json::Value::Null));
    add_rule_verdicts(&mut run, Workload::RANDOM_READS);
    let verdicts = run.findings.verdicts.iter();
    let codes: Vec<String> = verdicts.map(|it| it.code.to_string()).collect();
    assert_eq!(codes, ["no-page-cache", "served-from-cache"]);
}

#[test]
fn busy_machine_is_named_instead_of_the_queue_depth() {
    let checks = |utilization: f64| {
        let mut run = empty_run();
        let queue = QUEUE_DEPTH_NOT_REACHED.found("seen", "do this", serde_json::Value::Null);
        run.findings.set_check(queue);
        run.evidence.processors = Some(ProcessorLoad {
            machine_utilization: Some(utilization),
            count: 2,
            ..ProcessorLoad::default()
        });
        add_rule_verdicts(&mut run, Workload::RANDOM_READS);
        let verdicts = run.findings.verdicts.iter();
        verdicts.map(|it| it.code.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(checks(0.97), ["machine-busy"]);
    assert_eq!(checks(0.5), ["queue-depth-not-reached"]);
}

#[test]
fn processor_verdicts_follow_utilization() {
    let with = |generator: Option<f64>, machine: Option<f64>| {
        let mut run = empty_run();
        run.evidence.processors = Some(ProcessorLoad {
            generator_utilization: generator,
            busiest_workers: 2,
            machine_utilization: machine,
            count: 4,
        });
        run
    };
    let busy = with(Some(0.9), Some(0.95));
    assert_evidence_contains(
        "generator-busy",
        &busy,
        &["2 worker threads", "90 %", "each"],
    );
    assert_evidence_contains("machine-busy", &busy, &["95 %", "4 CPUs"]);
    let idle = with(Some(0.89), Some(0.94));
    assert_eq!(rule_evidence("generator-busy", &idle), None);
    assert_eq!(rule_evidence("machine-busy", &idle), None);
    let unknown = with(None, None);
    assert_eq!(rule_evidence("generator-busy", &unknown), None);
    assert_eq!(rule_evidence("machine-busy", &unknown), None);
}

#[test]
fn running_run_gets_no_verdicts_on_incomplete_evidence() {
    let mut run = run_with_counts(0, 1000);
    run.findings.latency.write = latency_of_times(0..10);
    run.kernel = Some(KernelCounts::default());
    assert!(rule_evidence("still-in-memory", &run).is_some());
    assert!(rule_evidence("too-few-samples", &run).is_some());
    run.state = RunState::Running;
    assert_eq!(rule_evidence("still-in-memory", &run), None);
    assert_eq!(rule_evidence("too-few-samples", &run), None);
    assert_eq!(
        run.evidence,
        RunEvidence {
            issued: run.evidence.issued,
            ..RunEvidence::default()
        }
    );
}
