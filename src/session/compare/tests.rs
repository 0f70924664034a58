use super::sample::{run, session};
use super::*;
use crate::session::document::{Axis, Series};

fn compared_sessions(sessions: &[Session], passed_over: &[String]) -> Comparison {
    let names = ["a.json", "b.json", "c.json"];
    let inputs: Vec<Input<'_>> = names
        .iter()
        .zip(sessions)
        .map(|(name, session)| Input { name, session })
        .collect();
    compare(&inputs, passed_over)
}

fn at_depth(value: f64, depth: u64) -> Run {
    let mut run = run("iops", value, 5.0);
    run.parameters.insert("depth".into(), depth.into());
    run
}

#[test]
fn every_side_is_set_against_the_first() {
    let sessions = [
        session("a", vec![run("iops", 1000.0, 10.0)]),
        session("b", vec![run("iops", 1100.0, 10.0)]),
        session("c", vec![run("iops", 1001.0, 10.0)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    let figure = &comparison.tests[0].figures[0];
    let judgements: Vec<_> = figure
        .sides
        .iter()
        .map(|side| side.as_ref()?.against_first.as_ref()?.judgement)
        .collect();
    assert_eq!(
        judgements,
        [None, Some(Judgement::Faster), Some(Judgement::CannotTell)]
    );
    assert!(comparison.mismatches.is_empty());
    assert_eq!(
        comparison.tests[0].parameters,
        ["block-size 4KiB", "depth 32", "seed 1"]
    );
}

#[test]
fn other_parameters_are_refused_by_name_unless_passed_over() {
    let sessions = [
        session("a", vec![at_depth(1000.0, 1)]),
        session("b", vec![at_depth(1100.0, 32)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    assert!(comparison.tests.is_empty());
    assert_eq!(comparison.mismatches.len(), 2);
    assert_eq!(comparison.mismatches[0].differences[0].parameter, "depth");
    assert_eq!(
        comparison.mismatches[0].differences[0].other.as_deref(),
        Some("32")
    );
    let allowed = compared_sessions(&sessions, &["depth".to_owned()]);
    assert_eq!((allowed.tests.len(), allowed.mismatches.len()), (1, 0));
}

#[test]
fn a_test_that_a_side_lacks_is_named() {
    let mut other = run("iops", 1.0, 0.1);
    other.test = "mixed".into();
    let sessions = [
        session("a", vec![run("iops", 1000.0, 10.0), other]),
        session("b", vec![run("iops", 1000.0, 10.0)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    assert_eq!(comparison.tests.len(), 1);
    let [mismatch] = comparison.mismatches.as_slice() else {
        panic!("{:?}", comparison.mismatches)
    };
    assert_eq!(
        (mismatch.side, mismatch.lacking, mismatch.test.as_str()),
        (0, 1, "mixed")
    );
    assert!(mismatch.differences.is_empty());
}

#[test]
fn curves_of_one_name_lie_under_one_axis() {
    let with_curve = |unit| {
        let mut run = run("iops", 1000.0, 10.0);
        run.findings.put_series(Series {
            name: "iops-over-time".into(),
            x: Axis::new("time", Unit::Nanoseconds),
            y: Axis::new("IOPS", unit),
            points: vec![[0.0, 1.0], [1.0, 2.0]],
        });
        run
    };
    let alike = [
        session("a", vec![with_curve(Unit::PerSecond)]),
        session("b", vec![with_curve(Unit::PerSecond)]),
    ];
    let charts = &compared_sessions(&alike, &[]).tests[0].charts;
    assert_eq!(charts.len(), 1);
    assert_eq!(
        charts[0]
            .curves
            .iter()
            .map(|curve| curve.side)
            .collect::<Vec<_>>(),
        [0, 1]
    );
    let unlike = [
        session("a", vec![with_curve(Unit::PerSecond)]),
        session("b", vec![with_curve(Unit::BytesPerSecond)]),
    ];
    assert!(compared_sessions(&unlike, &[]).tests[0].charts.is_empty());
}

#[test]
fn what_spoils_a_side_is_said_once() {
    let mut doubtful = run("iops", 1000.0, 10.0);
    doubtful.state = RunState::Interrupted;
    doubtful.findings.put_verdict(Verdict::new(
        "served-from-cache",
        Severity::Invalid,
        "e",
        "a",
    ));
    doubtful
        .findings
        .put_verdict(Verdict::new("too-few-samples", Severity::Note, "e", "a"));
    let sessions = [
        session("a", vec![doubtful.clone(), doubtful]),
        session(
            "b",
            vec![run("iops", 1000.0, 10.0), run("iops", 2000.0, 10.0)],
        ),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    let codes = |side: usize| {
        let measured = comparison.tests[0].measured[side].as_ref().unwrap();
        measured
            .cautions
            .iter()
            .map(|caution| caution.code.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(0), ["served-from-cache", "interrupted"]);
    assert_eq!(codes(1), ["unstable"]);
}
