use super::sample::{sample_run, sample_session};
use super::*;
use crate::session::document::check::Check;
use crate::session::document::{
    BenchmarkRun, ChartAxis, Metric, MetricId, MetricUnit, RunState, Series, SeriesId, Session,
};

fn compared_sessions(sessions: &[Session], ignored: &[String]) -> Comparison {
    let names = ["a.json", "b.json", "c.json"];
    let inputs: Vec<ComparisonInput<'_>> = names
        .iter()
        .zip(sessions)
        .map(|(name, session)| ComparisonInput { name, session })
        .collect();
    compare_sessions(&inputs, ignored)
}

fn at_depth(value: f64, depth: u64) -> BenchmarkRun {
    let mut run = sample_run("iops", value, 5.0);
    run.parameters.insert("depth".into(), depth.into());
    run
}

#[test]
fn every_session_is_compared_with_baseline() {
    let sessions = [
        sample_session("a", vec![sample_run("iops", 1000.0, 10.0)]),
        sample_session("b", vec![sample_run("iops", 1100.0, 10.0)]),
        sample_session("c", vec![sample_run("iops", 1001.0, 10.0)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    let metric = &comparison.benchmarks[0].metrics[0];
    let judgements: Vec<_> = metric
        .samples
        .iter()
        .map(|side| side.as_ref()?.against_baseline.as_ref()?.judgement)
        .collect();
    assert_eq!(
        judgements,
        [
            None,
            Some(RatioJudgement::Faster),
            Some(RatioJudgement::NoSignificantDifference)
        ]
    );
    assert!(comparison.mismatches.is_empty());
    assert_eq!(
        comparison.benchmarks[0].parameters,
        ["block-size 4KiB", "depth 32", "seed 1"]
    );
}

#[test]
fn benchmark_missing_in_session_is_listed_as_mismatch() {
    let mut other = sample_run("iops", 1.0, 0.1);
    other.test = "mixed".into();
    let sessions = [
        sample_session("a", vec![sample_run("iops", 1000.0, 10.0), other]),
        sample_session("b", vec![sample_run("iops", 1000.0, 10.0)]),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    assert_eq!(comparison.benchmarks.len(), 1);
    let [mismatch] = comparison.mismatches.as_slice() else {
        panic!("{:?}", comparison.mismatches)
    };
    assert_eq!(
        (
            &mismatch.present_in[..],
            &mismatch.missing_in[..],
            mismatch.benchmark.as_str()
        ),
        (&[0][..], &[1][..], "mixed")
    );
    assert!(mismatch.differences.is_empty());
}

#[test]
fn series_of_same_name_share_one_overlay() {
    let with_curve = |unit| {
        let mut run = sample_run("iops", 1000.0, 10.0);
        run.findings.set_series(Series {
            id: SeriesId::parse("iops-over-time"),
            x: ChartAxis::named("time", MetricUnit::Nanoseconds),
            y: ChartAxis::named("IOPS", unit),
            points: vec![[0.0, 1.0], [1.0, 2.0]],
            intervals: Vec::new(),
        });
        run
    };
    let alike = [
        sample_session("a", vec![with_curve(MetricUnit::PerSecond)]),
        sample_session("b", vec![with_curve(MetricUnit::PerSecond)]),
    ];
    let charts = &compared_sessions(&alike, &[]).benchmarks[0].charts;
    assert_eq!(charts.len(), 1);
    assert_eq!(
        charts[0]
            .curves
            .iter()
            .map(|curve| curve.session)
            .collect::<Vec<_>>(),
        [0, 1]
    );
    let unlike = [
        sample_session("a", vec![with_curve(MetricUnit::PerSecond)]),
        sample_session("b", vec![with_curve(MetricUnit::BytesPerSecond)]),
    ];
    assert!(
        compared_sessions(&unlike, &[]).benchmarks[0]
            .charts
            .is_empty()
    );
}

#[test]
fn repeated_caution_is_listed_once() {
    let mut doubtful = sample_run("iops", 1000.0, 10.0);
    doubtful.state = RunState::Interrupted;
    for check in [
        Check::invalid("served-from-cache", "A cache answered."),
        Check::note("too-few-samples", "Too few."),
    ] {
        let verdict = check.found("seen", "do this", serde_json::Value::Null);
        doubtful.findings.set_check(verdict);
    }
    let sessions = [
        sample_session("a", vec![doubtful.clone(), doubtful]),
        sample_session(
            "b",
            vec![
                sample_run("iops", 1000.0, 10.0),
                sample_run("iops", 2000.0, 10.0),
            ],
        ),
    ];
    let comparison = compared_sessions(&sessions, &[]);
    let codes = |side: usize| {
        let measured = comparison.benchmarks[0].targets[side].as_ref().unwrap();
        measured
            .cautions
            .iter()
            .map(|caution| caution.code.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(0), ["served-from-cache", "interrupted"]);
    assert_eq!(codes(1), ["unstable"]);
}

#[test]
fn metric_missing_in_baseline_is_compared_between_others() {
    let with_latency = |latency| {
        let mut run = sample_run("iops", 1000.0, 10.0);
        let metric = Metric::new(MetricId::LATENCY_MEAN, latency);
        run.findings
            .set_metric(metric.with_interval(latency - 1.0, latency + 1.0));
        run
    };
    let sessions = [
        sample_session("a", vec![sample_run("iops", 1000.0, 10.0)]),
        sample_session("b", vec![with_latency(100.0)]),
        sample_session("c", vec![with_latency(50.0)]),
    ];
    let test = &compared_sessions(&sessions, &[]).benchmarks[0];
    let latency = test
        .metrics
        .iter()
        .find(|it| it.id == MetricId::LATENCY_MEAN)
        .unwrap();
    assert_eq!(latency.baseline, 1);
    assert_eq!(test.compared_pairs(), [(0, 1), (0, 2), (1, 2)]);
    let against = latency.samples[2]
        .as_ref()
        .unwrap()
        .against_baseline
        .as_ref();
    assert_eq!(against.unwrap().judgement, Some(RatioJudgement::Faster));
}

proptest::proptest! {
    /// For any distribution of runs over files: two runs with equal parameters are compared, and a
    /// pair with different parameters is listed once.
    #[test]
    fn every_session_pair_is_compared_or_listed_once(
        depths in proptest::collection::vec(proptest::collection::vec(1..4_u64, 1..3), 2..4),
    ) {
        let sessions: Vec<Session> = depths
            .iter()
            .map(|depths| sample_session("h", depths.iter().map(|it| at_depth(1000.0, *it)).collect()))
            .collect();
        let comparison = compared_sessions(&sessions, &[]);
        for depth in 1..4_u64 {
            let having = depths.iter().filter(|depths| depths.contains(&depth)).count();
            let written: crate::files::safe_text::SafeText = format!("depth {depth}").into();
            let tests = comparison.benchmarks.iter();
            let found: Vec<_> = tests.filter(|it| it.parameters.contains(&written)).collect();
            proptest::prop_assert_eq!(found.len(), usize::from(having > 1));
            if let [test] = found[..] {
                let measured = test.targets.iter().flatten().count();
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
