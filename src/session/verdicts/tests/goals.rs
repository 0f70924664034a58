//! Decimal and binary units in goals.

use super::*;
use crate::session::document::{Figure, Unit};
use crate::session::goal::Wanted;

/// A run that measured this throughput and was held against a goal.
fn held(goal: &str, rate: f64) -> Run {
    let mut run = run();
    run.findings
        .put_figure(Figure::new("throughput", rate, Unit::BytesPerSecond));
    let goal = Wanted::parse(goal).unwrap().check(&run.findings);
    run.findings.goals = vec![goal];
    run
}

#[test]
fn an_answer_that_hangs_on_the_prefix_is_told() {
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
        ("throughput>=500000000", 510e6, false),
    ] {
        let found = found("units-confused", &held(goal, rate));
        assert_eq!(found.is_some(), told, "{goal} {rate}: {found:?}");
    }
    let run = held("throughput>=500MB/s", 510e6);
    assert_found(
        "units-confused",
        &run,
        &["510 MB/s", "met", "MiB", "524 MB/s", "opposite"],
    );
}

#[test]
fn other_goals_have_no_such_trouble() {
    let mut run = run();
    run.findings.goals = vec![Wanted::parse("iops>=980").unwrap().check(&run.findings)];
    assert_eq!(found("units-confused", &run), None);
    run.findings.goals = vec![
        Wanted::parse("throughput>=1MB/s")
            .unwrap()
            .check(&run.findings),
    ];
    assert_eq!(found("units-confused", &run), None, "no such figure");
}
