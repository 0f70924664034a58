use std::path::Path;

use super::*;
use crate::report::blocks::{Block, Chart, Curve};
use crate::session::chart::ChartShape;
use crate::session::compare::{ComparisonInput, compare_sessions};
use crate::session::document::{
    ChartAxis, MetricId, MetricUnit, RunError, RunState, SeriesId, Session,
};
use crate::session::store;

fn load_sample_session(name: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name);
    store::load_session(&path).unwrap()
}

fn page_of(session: &Session) -> String {
    html_page(
        &[ComparisonInput {
            name: "one.json",
            session,
        }],
        None,
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
        assert!(outside.matches(" class=").count() < 2, "{tag}");
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
    assert_well_formed_and_inert(&html_page(&inputs, Some(&comparison)));
}

#[test]
fn every_chart_shape_draws_extreme_points_within_bounds() {
    let shapes = [
        ChartShape::Line,
        ChartShape::Steps,
        ChartShape::Bars,
        ChartShape::StackedBars,
        ChartShape::Scatter,
        ChartShape::Polar,
    ];
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
        for (shape, log) in shapes.into_iter().flat_map(|it| [(it, false), (it, true)]) {
            let curve = Curve {
                name: "curve".to_owned(),
                intervals: points.iter().map(|_| Some([-1e308, f64::NAN])).collect(),
                points: points.clone(),
            };
            let chart = Chart {
                title: "odd".to_owned(),
                x: ChartAxis::named("x", MetricUnit::BytesPerSecond),
                y: ChartAxis::named("y", MetricUnit::Bytes),
                shape,
                log_x: log,
                log_y: log,
                from_zero: !log,
                curves: vec![curve.clone(), curve],
                marks: vec![("mark".to_owned(), f64::MAX)],
            };
            let markup = render::blocks_markup(&[Block::Chart(chart)]);
            assert_well_formed_and_inert(&markup.into_string());
        }
    }
}

/// An escape in the page stands for a character that the program itself put there.
#[test]
fn page_has_no_escapes_of_its_own() {
    for name in ["nvme-random.json", "hdd-sequential.json"] {
        let session = load_sample_session(name);
        let input = ComparisonInput {
            name: "one",
            session: &session,
        };
        let comparison = compare_sessions(&[input, input], &[]);
        let page = html_page(&[input, input], Some(&comparison));
        assert!(!page.contains("\\u{"), "{name}");
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
    let html = html_page(&inputs, Some(&compare_sessions(&inputs, &[])));
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
