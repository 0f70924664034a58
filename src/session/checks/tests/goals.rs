//! Tests of decimal and binary unit prefixes in goals.

use super::*;
use crate::session::document::{Metric, MetricId};
use crate::session::slo::SloSpec;

/// A run that measured this throughput and evaluated this goal.
fn run_with_goal(goal: &str, rate: f64) -> BenchmarkRun {
    let mut run = empty_run();
    run.findings
        .set_metric(Metric::new(MetricId::THROUGHPUT, rate));
    let goal = SloSpec::parse(goal).unwrap().evaluate(&run.findings);
    run.findings.goals = vec![goal];
    run
}

#[test]
fn goal_result_depending_on_unit_prefix_gets_verdict() {
    for (goal, rate, told) in [
        // 500 MiB are 524.3 MB.
        ("throughput>=500MB/s", 510e6, true),
        ("throughput>=500MB/s", 524.2e6, true),
        ("throughput>=500MB/s", 526e6, false),
        ("throughput>=500MB/s", 499e6, false),
        ("throughput>=500MiB/s", 510e6, true),
        ("throughput>=500MiB/s", 499e6, true),
        ("throughput>=500MiB/s", 495e6, false),
        ("throughput>=500MiB/s", 530e6, false),
        ("throughput<=500MB/s", 510e6, true),
        ("throughput<=500MB/s", 490e6, false),
        // 1 GiB is 7.4 % more than 1 GB.
        ("throughput>=1GB/s", 1.07e9, true),
        ("throughput>=1GB/s", 1.08e9, false),
        ("throughput>=500000000B/s", 510e6, false),
    ] {
        let found = rule_evidence("units-confused", &run_with_goal(goal, rate));
        assert_eq!(found.is_some(), told, "{goal} {rate}: {found:?}");
    }
    let run = run_with_goal("throughput>=500MB/s", 510e6);
    assert_evidence_contains(
        "units-confused",
        &run,
        &["510 MB/s", "met", "MiB", "524 MB/s", "missed"],
    );
}

#[test]
fn goal_result_independent_of_unit_prefix_gets_no_verdict() {
    let mut run = empty_run();
    run.findings.goals = vec![SloSpec::parse("iops>=980").unwrap().evaluate(&run.findings)];
    assert_eq!(rule_evidence("units-confused", &run), None);
    run.findings.goals = vec![
        SloSpec::parse("throughput>=1MB/s")
            .unwrap()
            .evaluate(&run.findings),
    ];
    assert_eq!(
        rule_evidence("units-confused", &run),
        None,
        "no such metric"
    );
}
