use std::path::Path;

use super::*;
use crate::session::chart::{ChartShape, ChartSpec, ResultPresentation};
use crate::session::compare::{ComparisonInput, compare_sessions};
use crate::session::document::{
    ChartAxis, MetricId, MetricUnit, RunError, RunState, Series, SeriesId, Session,
};
use crate::session::store;

const TEST_CHARTS: &[ChartSpec] = &[
    ChartSpec::new(
        "IOPS over the run",
        ChartShape::Line,
        &[SeriesId::IOPS_OVER_TIME],
    ),
    ChartSpec::new(
        "Throughput against address",
        ChartShape::Steps,
        &[SeriesId::THROUGHPUT_OVER_ADDRESS],
    ),
];

fn load_sample_session(name: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name);
    store::load_session(&path).unwrap()
}

fn test_presentation(_: &str) -> Option<ResultPresentation> {
    Some(ResultPresentation {
        summary: "what it measures",
        headline: &[MetricId::IOPS, MetricId::THROUGHPUT_MEAN],
        charts: TEST_CHARTS,
    })
}

fn page_of(session: &Session) -> String {
    html_page(
        &[ComparisonInput {
            name: "one.json",
            session,
        }],
        None,
        &test_presentation,
    )
}

/// Asserts that every tag is closed in order, and that nothing is fetched or executed.
fn assert_well_formed_and_inert(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in html.split('<').skip(1) {
        let (tag, _) = piece
            .split_once('>')
            .unwrap_or_else(|| panic!("no end: {piece}"));
        let name = tag.split(' ').next().unwrap();
        if let Some(closing) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closing), "{piece}");
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name);
        }
        // Text between quotes is content; escaping prevents a premature end of a quote.
        let outside: String = tag.split('"').step_by(2).collect();
        for forbidden in ["src=", "on", "style="] {
            assert!(
                !outside
                    .split(' ')
                    .skip(1)
                    .any(|word| word.starts_with(forbidden)),
                "{tag}"
            );
        }
        assert!(name != "a" || tag.contains("href=\"#run-"), "{tag}");
        assert_ne!(name, "script");
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(
        !html.contains("NaN") && !html.contains("inf\""),
        "a place that is no number"
    );
}

#[test]
fn html_page_contains_all_run_results() {
    let html = page_of(&load_sample_session("nvme-random.json"));
    assert_well_formed_and_inert(&html);
    for part in [
        "web-07",
        "SAMSUNG MZQL2960HCJR-00A07",
        "406k<span",
        "p99.9 747 us",
        "temperature-rising",
        "p95&lt;=500us",
        "class=\"good\">met",
        "IOPS over the run",
        "Throughput against time",
        "Block layer counters",
        "--depth 32",
        "fio --name=diskscope",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn hard_disk_throughput_is_drawn_as_steps() {
    let html = page_of(&load_sample_session("hdd-sequential.json"));
    assert_well_formed_and_inert(&html);
    let steps = html
        .split("aria-label=\"Throughput against address\"")
        .nth(1)
        .unwrap();
    let path = steps
        .split("class=\"line\" d=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert_eq!(path.matches('V').count(), 99);
    assert!(steps.contains("address, TB") && steps.contains("throughput, MB/s"));
}

#[test]
fn hostile_names_are_escaped_in_html() {
    let hostile = "</title><script>alert(1)</script>\"'><img src=x onerror=y>\u{202e}&";
    let mut session = load_sample_session("hdd-sequential.json");
    session.host.name = Some(hostile.into());
    session.program = hostile.into();
    session.started = hostile.into();
    let run = &mut session.runs[0];
    run.test = hostile.into();
    run.target.path = hostile.into();
    run.target.model = Some(hostile.into());
    run.error = Some(RunError {
        message: hostile.into(),
        advice: hostile.into(),
    });
    run.state = RunState::Failed;
    run.engine.reason = Some(hostile.into());
    run.reproduce.diskscope = hostile.into();
    run.parameters.insert(hostile.into(), hostile.into());
    run.findings.metrics[0].id = MetricId::parse(hostile);
    run.findings.series[0].id = SeriesId::parse(hostile);
    run.findings.series[0].y.name = hostile.into();
    run.findings.verdicts[0].code = hostile.into();
    run.findings.goals[0].goal = hostile.into();
    run.kernel.as_mut().unwrap().device = hostile.into();
    let percentiles = &mut run.findings.latency.read.as_mut().unwrap().percentiles;
    percentiles.insert(hostile.to_owned(), 1);
    assert_well_formed_and_inert(&page_of(&session));
    let inputs = [ComparisonInput {
        name: hostile,
        session: &session,
    }; 2];
    let comparison = compare_sessions(&inputs, &[]);
    assert_well_formed_and_inert(&html_page(&inputs, Some(&comparison), &test_presentation));
}

#[test]
fn every_chart_shape_draws_extreme_points_within_bounds() {
    static ODD_SERIES: [SeriesId; 2] = [SeriesId::STROKE_RESPONSES, SeriesId::STROKE_EDGE];
    static ODD_CHARTS: &[ChartSpec] = &[
        ChartSpec::new("a", ChartShape::Line, &ODD_SERIES)
            .log_x()
            .log_y(),
        ChartSpec::new("b", ChartShape::Steps, &ODD_SERIES),
        ChartSpec::new("c", ChartShape::Bars, &ODD_SERIES).log_x(),
        ChartSpec::new("d", ChartShape::StackedBars, &ODD_SERIES),
        ChartSpec::new("e", ChartShape::Scatter, &ODD_SERIES)
            .with_marks(&[MetricId::THROUGHPUT_MEAN]),
        ChartSpec::new("f", ChartShape::Polar, &ODD_SERIES),
    ];
    let odd = |_: &str| {
        Some(ResultPresentation {
            charts: ODD_CHARTS,
            ..ResultPresentation::default()
        })
    };
    let mut session = load_sample_session("hdd-sequential.json");
    for points in [
        vec![],
        vec![[0.0, 0.0]],
        vec![[1.0, -5.0], [1.0, 1e308], [-1e308, 7.0], [1e-300, 1e-300]],
        vec![
            [f64::NAN, 1.0],
            [f64::INFINITY, 2.0],
            [3.0, f64::NEG_INFINITY],
        ],
    ] {
        for id in &ODD_SERIES {
            session.runs[0].findings.set_series(Series {
                id: id.clone(),
                x: ChartAxis::named("x", MetricUnit::BytesPerSecond),
                y: ChartAxis::named("y", MetricUnit::Bytes),
                points: points.clone(),
                intervals: Vec::new(),
            });
        }
        assert_well_formed_and_inert(&html_page(
            &[ComparisonInput {
                name: "odd",
                session: &session,
            }],
            None,
            &odd,
        ));
    }
}

#[test]
fn several_sessions_are_listed_and_compared() {
    let (first, other) = (
        load_sample_session("nvme-random.json"),
        load_sample_session("nvme-random-slower.json"),
    );
    let inputs = [
        ComparisonInput {
            name: "first.json",
            session: &first,
        },
        ComparisonInput {
            name: "other.json",
            session: &other,
        },
    ];
    let html = html_page(
        &inputs,
        Some(&compare_sessions(&inputs, &[])),
        &test_presentation,
    );
    assert_well_formed_and_inert(&html);
    for part in [
        "<h1>Comparison of web-07, web-11</h1>",
        "0.841",
        "worse",
        "#run-2",
        "id=\"run-2\"",
        "web-11",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn nested_benchmarks_have_separate_charts() {
    let part = load_sample_session("nvme-random.json").runs[0]
        .findings
        .clone();
    let mut session = load_sample_session("nvme-random.json");
    let findings = &mut session.runs[0].findings;
    *findings = Default::default();
    findings.merge_nested("random-read", &part);
    let html = page_of(&session);
    assert_well_formed_and_inert(&html);
    assert!(html.contains("<div class=\"part\"><h2>random-read</h2>"));
    assert!(html.contains("IOPS over the run"));
}
