use super::*;
use crate::session::compare::sample::{run, session};
use crate::session::compare::{Input, compare, fleet as fleet_of};
use crate::session::document::{Axis, Figure, Series, Session, Unit};

fn with_curve(value: f64, margin: f64) -> crate::session::document::Run {
    let mut run = run("iops", value, margin);
    run.findings
        .put_figure(Figure::new("latency_p99", 1e11 / value, Unit::Nanoseconds));
    run.findings.put_series(Series {
        name: "iops-over-time".into(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new("IOPS", Unit::PerSecond),
        points: (0..20)
            .map(|second| [f64::from(second) * 1e9, value])
            .collect(),
        intervals: Vec::new(),
    });
    run
}

fn inputs<'a>(named: &'a [(&'a str, Session)]) -> Vec<Input<'a>> {
    named
        .iter()
        .map(|(name, session)| Input { name, session })
        .collect()
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn two_sessions_as_text() {
    let mut other = with_curve(91_200.0, 400.0);
    other.target.model = Some("evil\u{1b}[2Jname".into());
    let mut alone = run("iops", 1.0, 0.1);
    alone.parameters.insert("depth".into(), 1.into());
    let named = [
        (
            "before.json",
            session("web-07", vec![with_curve(83_900.0, 300.0), alone]),
        ),
        ("after.json", session("web-08", vec![other])),
    ];
    let text = comparison(&compare(&inputs(&named), &[]));
    fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_fleet_as_text() {
    let values = [1000.0, 1010.0, 620.0, 990.0, 1005.0, 1020.0];
    let hosts: Vec<String> = (0..6)
        .map(|index| format!("storage-rack-7-node-{index:02}"))
        .collect();
    let mut named: Vec<(&str, Session)> = hosts
        .iter()
        .zip(values)
        .map(|(host, value)| (host.as_str(), session(host, vec![run("iops", value, 10.0)])))
        .collect();
    named[5].1.runs[0].state = crate::session::document::RunState::Interrupted;
    named.push(("empty.json", session("empty", Vec::new())));
    let text = super::super::fleet::fleet(&fleet_of(&inputs(&named), "iops", &[]));
    fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn sides_beyond_the_alphabet_have_numbers() {
    assert_eq!([letter(0), letter(25), letter(26)], ["A", "Z", "#27"]);
}
