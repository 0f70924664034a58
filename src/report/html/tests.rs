use std::path::Path;

use super::*;
use crate::session::chart::{Chart, Shape};
use crate::session::compare::{Input, compare};
use crate::session::document::{Axis, RunError, RunState, Series, Session, Unit};
use crate::session::store;

const CHARTS: &[Chart] = &[
    Chart::new("IOPS over the run", Shape::Line, &["iops-over-time"]),
    Chart::new(
        "Throughput against address",
        Shape::Steps,
        &["throughput-over-address"],
    ),
];

fn sample(name: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name);
    store::load(&path).unwrap()
}

fn present(_: &str) -> Option<Presentation> {
    Some(Presentation {
        summary: "what it measures",
        headline: &["iops", "throughput_mean"],
        charts: CHARTS,
    })
}

fn page_of(session: &Session) -> String {
    page(
        &[Input {
            name: "one.json",
            session,
        }],
        None,
        &present,
    )
}

/// Every tag is closed by its own kind in order, and nothing is fetched or executed.
fn is_whole_and_harmless(html: &str) {
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
        // What stands between quotes is text; escaping lets no quote end it early.
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
fn everything_of_a_run_is_on_the_page() {
    let html = page_of(&sample("nvme-random.json"));
    is_whole_and_harmless(&html);
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
        "Kernel's own counts",
        "--depth 32",
        "fio --name=diskscope",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn the_curve_of_a_hard_disk_is_drawn_in_steps() {
    let html = page_of(&sample("hdd-sequential.json"));
    is_whole_and_harmless(&html);
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
fn hostile_names_stay_text() {
    let hostile = "</title><script>alert(1)</script>\"'><img src=x onerror=y>\u{202e}&";
    let mut session = sample("hdd-sequential.json");
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
    run.findings.figures[0].name = hostile.into();
    run.findings.series[0].name = hostile.into();
    run.findings.series[0].y.name = hostile.into();
    run.findings.verdicts[0].code = hostile.into();
    run.findings.goals[0].goal = hostile.into();
    run.kernel.as_mut().unwrap().device = hostile.into();
    let percentiles = &mut run.findings.latency.read.as_mut().unwrap().percentiles;
    percentiles.insert(hostile.to_owned(), 1);
    is_whole_and_harmless(&page_of(&session));
    let inputs = [Input {
        name: hostile,
        session: &session,
    }; 2];
    let comparison = compare(&inputs, &[]);
    is_whole_and_harmless(&page(&inputs, Some(&comparison), &present));
}

#[test]
fn every_shape_draws_odd_points_without_odd_places() {
    static ODD: &[Chart] = &[
        Chart::new("a", Shape::Line, &["odd"]).log_x().log_y(),
        Chart::new("b", Shape::Steps, &["odd"]),
        Chart::new("c", Shape::Bars, &["odd"]).log_x(),
        Chart::new("d", Shape::StackedBars, &["odd", "other"]),
        Chart::new("e", Shape::Scatter, &["odd"]).marked(&["throughput_mean"]),
        Chart::new("f", Shape::Polar, &["odd"]),
    ];
    let odd = |_: &str| {
        Some(Presentation {
            charts: ODD,
            ..Presentation::default()
        })
    };
    let mut session = sample("hdd-sequential.json");
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
        for name in ["odd", "other"] {
            session.runs[0].findings.put_series(Series {
                name: name.into(),
                x: Axis::new("x", Unit::BytesPerSecond),
                y: Axis::new("y", Unit::Bytes),
                points: points.clone(),
                intervals: Vec::new(),
            });
        }
        is_whole_and_harmless(&page(
            &[Input {
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
        sample("nvme-random.json"),
        sample("nvme-random-slower.json"),
    );
    let inputs = [
        Input {
            name: "first.json",
            session: &first,
        },
        Input {
            name: "other.json",
            session: &other,
        },
    ];
    let html = page(&inputs, Some(&compare(&inputs, &[])), &present);
    is_whole_and_harmless(&html);
    for part in [
        "<h1>Comparison of web-07, web-11</h1>",
        "0.841",
        "slower",
        "#run-2",
        "id=\"run-2\"",
        "web-11",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn the_parts_of_a_larger_test_have_charts_of_their_own() {
    let part = sample("nvme-random.json").runs[0].findings.clone();
    let mut session = sample("nvme-random.json");
    let findings = &mut session.runs[0].findings;
    *findings = Default::default();
    findings.absorb("random-read", &part);
    let html = page_of(&session);
    is_whole_and_harmless(&html);
    assert!(html.contains("<div class=\"part\"><h2>random-read</h2>"));
    assert!(html.contains("IOPS over the run"));
}
