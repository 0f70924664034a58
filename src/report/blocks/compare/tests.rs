use super::*;
use crate::session::compare::fleet::compare_fleet;
use crate::session::compare::sample::{sample_run, sample_session};
use crate::session::compare::{ComparisonInput, compare_sessions};
use crate::session::document::{
    ChartAxis, Metric, MetricId, MetricUnit, Series, SeriesId, Session,
};

fn run_with_curve(value: f64, margin: f64) -> crate::session::document::BenchmarkRun {
    let mut run = sample_run("iops", value, margin);
    run.findings
        .set_metric(Metric::new(MetricId::LATENCY_P99, 1e11 / value));
    run.findings.set_series(Series {
        id: SeriesId::parse("iops-over-time"),
        x: ChartAxis::named("time", MetricUnit::Nanoseconds),
        y: ChartAxis::named("IOPS", MetricUnit::PerSecond),
        points: (0..20)
            .map(|second| [f64::from(second) * 1e9, value])
            .collect(),
        intervals: Vec::new(),
    });
    run
}

fn comparison_inputs<'a>(named: &'a [(&'a str, Session)]) -> Vec<ComparisonInput<'a>> {
    named
        .iter()
        .map(|(name, session)| ComparisonInput { name, session })
        .collect()
}

fn assert_fits_width(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn comparison_of_two_sessions_is_formatted_as_text() {
    let mut other = run_with_curve(91_200.0, 400.0);
    other.target.model = Some("evil\u{1b}[2Jname".into());
    let mut alone = sample_run("iops", 1.0, 0.1);
    alone.parameters.insert("depth".into(), 1.into());
    let named = [
        (
            "before.json",
            sample_session("web-07", vec![run_with_curve(83_900.0, 300.0), alone]),
        ),
        ("after.json", sample_session("web-08", vec![other])),
    ];
    let text =
        crate::report::text::comparison_text(&compare_sessions(&comparison_inputs(&named), &[]));
    assert_fits_width(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn fleet_comparison_is_formatted_as_text() {
    let values = [1000.0, 1010.0, 620.0, 990.0, 1005.0, 1020.0];
    let hosts: Vec<String> = (0..6)
        .map(|index| format!("storage-rack-7-node-{index:02}"))
        .collect();
    let mut named: Vec<(&str, Session)> = hosts
        .iter()
        .zip(values)
        .map(|(host, value)| {
            (
                host.as_str(),
                sample_session(host, vec![sample_run("iops", value, 10.0)]),
            )
        })
        .collect();
    named[5].1.runs[0].state = crate::session::document::RunState::Interrupted;
    named.push(("empty.json", sample_session("empty", Vec::new())));
    let text = crate::report::text::fleet_text(&compare_fleet(
        &comparison_inputs(&named),
        &MetricId::IOPS,
        &[],
    ));
    assert_fits_width(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn ignore_option_is_quoted() {
    let difference = |name: &str| crate::session::compare::ParameterDifference {
        parameter: name.into(),
        first: Some("1".into()),
        other: None,
    };
    let mismatch = UnmatchedMeasurement {
        present_in: vec![0],
        missing_in: vec![1],
        benchmark: "mixed".into(),
        differences: vec![difference("depth"), difference("a;id")],
    };
    let text = mismatch_text(&mismatch);
    assert!(text.ends_with("--ignore depth --ignore 'a;id'"), "{text}");
}
