//! Every rule on literal evidence: what provokes it, what does not, and the boundary between.

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
    Counts, Evidence, KernelCounts, LatencySummary, Processors, RunState,
};
use crate::stats::latency::Latency;

const MIB: u64 = 1 << 20;

/// A run of random-read about which nothing is known.
fn run() -> Run {
    sample::run("iops", 1000.0, 20.0)
}

/// What a rule finds.
fn found(code: &str, run: &Run) -> Option<String> {
    let rule = rules().find(|rule| rule.code == code);
    (rule.unwrap_or_else(|| panic!("no rule {code}")).find)(run)
}

fn assert_found(code: &str, run: &Run, words: &[&str]) {
    let evidence = found(code, run).unwrap_or_else(|| panic!("{code} was not found"));
    for word in words {
        assert!(
            evidence.contains(word),
            "{code}: no {word:?} in {evidence:?}"
        );
    }
}

/// A run that asked for these requests of 4 KiB, and whose device did as many.
fn counted(reads: u64, writes: u64) -> Run {
    let mut run = run();
    run.evidence.asked = Some(Counts {
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

/// A distribution of these response times in microseconds.
fn times(microseconds: impl IntoIterator<Item = u64>) -> Option<LatencySummary> {
    let mut latency = Latency::default();
    microseconds
        .into_iter()
        .for_each(|time| latency.record(time * 1000));
    LatencySummary::of(&latency)
}

#[test]
fn codes_are_unique_and_speak_in_sentences() {
    let mut codes = BTreeSet::new();
    for rule in rules() {
        assert!(codes.insert(rule.code), "{} twice", rule.code);
        assert!(rule.means.ends_with('.'), "{}", rule.code);
        assert!(
            !rule.when.ends_with('.') && !rule.advice.ends_with('.'),
            "{}",
            rule.code
        );
    }
    for known in of_tests::KNOWN {
        assert!(codes.insert(known.code), "{} twice", known.code);
    }
    assert!(of_tests::KNOWN.is_sorted_by_key(|known| known.code));
}

#[test]
fn a_run_of_which_nothing_is_known_deserves_nothing() {
    let mut run = run();
    judge(&mut run);
    assert_eq!(run.findings.verdicts, []);
}

#[test]
fn a_clean_run_deserves_nothing() {
    let mut run = counted(100_000, 0);
    run.findings.latency.read = times((0..100_000).map(|index| 90 + index % 40));
    run.evidence.processors = Some(Processors {
        generator_share: Some(0.5),
        workers: 1,
        machine_share: Some(0.6),
        count: 2,
    });
    judge(&mut run);
    assert_eq!(run.findings.verdicts, []);
}

#[test]
fn what_the_test_said_itself_stays() {
    let mut run = counted(500, 0);
    run.kernel = Some(KernelCounts::default());
    run.findings
        .put_verdict(Verdict::new("not-steady", Severity::Warning, "e", "a"));
    judge(&mut run);
    let codes: Vec<&str> = run
        .findings
        .verdicts
        .iter()
        .map(|it| it.code.as_str())
        .collect();
    assert_eq!(codes, ["not-steady", "served-from-cache"]);
}

#[test]
fn processors_are_judged_by_their_shares() {
    let with = |generator: Option<f64>, machine: Option<f64>| {
        let mut run = run();
        run.evidence.processors = Some(Processors {
            generator_share: generator,
            workers: 2,
            machine_share: machine,
            count: 4,
        });
        run
    };
    let busy = with(Some(0.9), Some(0.95));
    assert_found("generator-busy", &busy, &["2 threads", "90 %", "each"]);
    assert_found("machine-busy", &busy, &["95 %", "4 processors"]);
    let idle = with(Some(0.89), Some(0.94));
    assert_eq!(found("generator-busy", &idle), None);
    assert_eq!(found("machine-busy", &idle), None);
    let unknown = with(None, None);
    assert_eq!(found("generator-busy", &unknown), None);
    assert_eq!(found("machine-busy", &unknown), None);
}

#[test]
fn what_may_still_come_is_not_judged_while_it_runs() {
    let mut run = counted(0, 1000);
    run.findings.latency.write = times(0..10);
    run.kernel = Some(KernelCounts::default());
    assert!(found("still-in-memory", &run).is_some());
    assert!(found("too-few-samples", &run).is_some());
    run.state = RunState::Running;
    assert_eq!(found("still-in-memory", &run), None);
    assert_eq!(found("too-few-samples", &run), None);
    assert_eq!(
        run.evidence,
        Evidence {
            asked: run.evidence.asked,
            ..Evidence::default()
        }
    );
}
