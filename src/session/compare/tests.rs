use super::sample::{run, session};
use super::*;
use crate::session::document::{Axis, Series};

fn compared_sessions(sessions: &[Session], ignored: &[String]) -> Comparison {
    let names = ["a.json", "b.json", "c.json"];
    let inputs: Vec<Input<'_>> = names
        .iter()
        .zip(sessions)
        .map(|(name, session)| Input { name, session })
        .collect();
    compare(&inputs, ignored)
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
        .map(|side| side.as_ref()?.against_baseline.as_ref()?.judgement)
        .collect();
    assert_eq!(
        judgements,
        [
            None,
            Some(Judgement::Faster),
            Some(Judgement::NoSignificantDifference)
        ]
    );
    assert!(comparison.mismatches.is_empty());
    assert_eq!(
        comparison.tests[0].parameters,
        ["block-size 4KiB", "depth 32", "seed 1"]
    );
}

#[test]
fn other_parameters_are_refused_by_name_unless_ignored() {
    let sessions = [
        session("a", vec![at_depth(1000.0, 1)]),
        session("b", vec![at_depth(1100.0, 32)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    assert!(comparison.tests.is_empty());
    let [mismatch] = comparison.mismatches.as_slice() else {
        panic!("listed once: {:?}", comparison.mismatches)
    };
    assert_eq!(mismatch.differences[0].parameter, "depth");
    assert_eq!(mismatch.differences[0].other.as_deref(), Some("32"));
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
        (
            &mismatch.sides[..],
            &mismatch.lacking[..],
            mismatch.test.as_str()
        ),
        (&[0][..], &[1][..], "mixed")
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
            intervals: Vec::new(),
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

#[test]
fn an_ignored_parameter_shows_the_values_of_both_sides_and_is_no_common_one() {
    let mut other = at_depth(1100.0, 32);
    other.parameters.insert("seed".into(), 2.into());
    let sessions = [
        session("a", vec![at_depth(1000.0, 1)]),
        session("b", vec![other]),
    ];
    let test = &compared_sessions(&sessions, &["depth".to_owned()]).tests[0];
    // Seeds differ in every run that was not given one.
    assert_eq!(test.parameters, ["block-size 4KiB"]);
    let words: Vec<String> = test.differing.iter().map(|it| it.words()).collect();
    assert_eq!(words, ["depth 1 (A), 32 (B)"]);
}

#[test]
fn files_that_pair_among_themselves_but_not_with_the_first_are_compared() {
    let sessions = [
        session("a", vec![at_depth(1000.0, 1)]),
        session("b", vec![at_depth(2000.0, 32)]),
        session("c", vec![at_depth(3000.0, 32)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    let [test] = comparison.tests.as_slice() else {
        panic!("{:?}", comparison.tests)
    };
    assert_eq!((test.baseline, test.pairs()), (1, vec![(1, 2)]));
    assert!(test.measured[0].is_none());
    let sides = &test.figures[0].sides;
    assert!(sides[1].as_ref().unwrap().against_baseline.is_none());
    let against = sides[2].as_ref().unwrap().against_baseline.as_ref();
    assert!((against.unwrap().ratio - 1.5).abs() < 1e-9);
    let sentences: Vec<String> = comparison
        .mismatches
        .iter()
        .map(|it| it.sentence())
        .collect();
    assert_eq!(sentences, ["random-read: depth 1 (A) is not 32 (B, C)"]);
}

#[test]
fn a_figure_that_the_first_side_lacks_is_compared_between_the_others() {
    let with_latency = |latency| {
        let mut run = run("iops", 1000.0, 10.0);
        let figure = Figure::new("latency_mean", latency, Unit::Nanoseconds);
        run.findings
            .put_figure(figure.within(latency - 1.0, latency + 1.0));
        run
    };
    let sessions = [
        session("a", vec![run("iops", 1000.0, 10.0)]),
        session("b", vec![with_latency(100.0)]),
        session("c", vec![with_latency(50.0)]),
    ];
    let test = &compared_sessions(&sessions, &[]).tests[0];
    let latency = test
        .figures
        .iter()
        .find(|it| it.name == "latency_mean")
        .unwrap();
    assert_eq!(latency.baseline, 1);
    assert_eq!(test.pairs(), [(0, 1), (0, 2), (1, 2)]);
    let against = latency.sides[2].as_ref().unwrap().against_baseline.as_ref();
    assert_eq!(against.unwrap().judgement, Some(Judgement::Faster));
}

proptest::proptest! {
    /// Whatever each file holds: two runs of one kind are compared, and a pair of kinds that
    /// differs is listed once.
    #[test]
    fn every_pair_of_files_is_compared_or_named_once(
        depths in proptest::collection::vec(proptest::collection::vec(1..4_u64, 1..3), 2..4),
    ) {
        let sessions: Vec<Session> = depths
            .iter()
            .map(|depths| session("h", depths.iter().map(|it| at_depth(1000.0, *it)).collect()))
            .collect();
        let comparison = compared_sessions(&sessions, &[]);
        for depth in 1..4_u64 {
            let having = depths.iter().filter(|depths| depths.contains(&depth)).count();
            let written: crate::safe_text::SafeText = format!("depth {depth}").into();
            let tests = comparison.tests.iter();
            let found: Vec<_> = tests.filter(|it| it.parameters.contains(&written)).collect();
            proptest::prop_assert_eq!(found.len(), usize::from(having > 1));
            if let [test] = found[..] {
                let measured = test.measured.iter().flatten().count();
                proptest::prop_assert_eq!(measured, having);
            } else if having == 1 {
                let value = Some(depth.to_string().into());
                let named = comparison.mismatches.iter().any(|it| {
                    it.differences.iter().any(|it| it.first == value || it.other == value)
                });
                proptest::prop_assert!(named || depths.len() < 2, "{depth} is not named");
            }
        }
        let mut pairs: Vec<[String; 2]> = Vec::new();
        for mismatch in &comparison.mismatches {
            let it = &mismatch.differences[0];
            let mut pair = [&it.first, &it.other].map(|value| format!("{value:?}"));
            pair.sort();
            proptest::prop_assert!(!pairs.contains(&pair), "{pair:?} twice");
            pairs.push(pair);
        }
    }
}
