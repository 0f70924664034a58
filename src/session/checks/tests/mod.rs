//! Tests of every rule on literal evidence: what triggers it, what does not, and the threshold
//! between.

mod counts;
mod course;
mod distribution;
mod goals;
mod medium;
mod setup;

use std::collections::BTreeSet;

use super::*;
use crate::session::compare::sample;
use crate::session::document::{
    DirectionCounts, KernelCounts, LatencySummary, ProcessorLoad, RunEvidence, RunState,
};
use crate::stats::latency::histogram::LatencyHistogram;

const MIB: u64 = 1 << 20;

/// A run of random-read without any evidence.
fn empty_run() -> BenchmarkRun {
    sample::sample_run("iops", 1000.0, 20.0)
}

/// Evidence that the rule with this code returns.
fn rule_evidence(code: &str, run: &BenchmarkRun) -> Option<String> {
    let rule = all_rules().find(|rule| rule.code == code);
    (rule
        .unwrap_or_else(|| panic!("no rule {code}"))
        .find_evidence)(run)
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
fn verdict_codes_are_unique_and_texts_are_sentences() {
    let mut codes = BTreeSet::new();
    for rule in all_rules() {
        assert!(codes.insert(rule.code), "{} twice", rule.code);
        assert!(rule.meaning.ends_with('.'), "{}", rule.code);
        assert!(
            !rule.condition.ends_with('.') && !rule.advice.ends_with('.'),
            "{}",
            rule.code
        );
    }
    for known in of_benchmarks::BENCHMARK_VERDICTS {
        assert!(codes.insert(known.code), "{} twice", known.code);
    }
    assert!(of_benchmarks::BENCHMARK_VERDICTS.is_sorted_by_key(|known| known.code));
}

#[test]
fn run_without_evidence_gets_no_verdicts() {
    let mut run = empty_run();
    add_rule_verdicts(&mut run);
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
    add_rule_verdicts(&mut run);
    assert_eq!(run.findings.verdicts, []);
}

#[test]
fn benchmark_verdicts_are_kept_by_rules() {
    let mut run = run_with_counts(500, 0);
    run.kernel = Some(KernelCounts::default());
    run.findings
        .set_verdict(Verdict::new("not-steady", Severity::Warning, "e", "a"));
    add_rule_verdicts(&mut run);
    let codes: Vec<&str> = run
        .findings
        .verdicts
        .iter()
        .map(|it| it.code.as_str())
        .collect();
    assert_eq!(codes, ["not-steady", "served-from-cache"]);
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
    assert_evidence_contains("generator-busy", &busy, &["2 threads", "90 %", "each"]);
    assert_evidence_contains("machine-busy", &busy, &["95 %", "4 processors"]);
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
