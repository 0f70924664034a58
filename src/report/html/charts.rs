//! The charts of a run: those that its test describes, and whatever else it left.

use super::plot::{Curve, Plot, distribution};
use crate::session::chart::{Chart, Shape};
use crate::session::document::{Axis, Figure, Findings, Series, Unit, is_part};

/// How a series is drawn that no chart asks for.
fn plain(series: &Series) -> Chart {
    let around = series.x.unit == Unit::Revolution;
    Chart::new("", if around { Shape::Polar } else { Shape::Line }, &[])
}

/// All charts of a run: what the test finds most telling, the distributions of response times, the
/// test's other charts, the rest.
pub(super) fn of(findings: &Findings, charts: &[Chart]) -> String {
    let (first, others) = charts.split_at(charts.len().min(1));
    let mut body = String::new();
    body.extend(first.iter().map(|chart| described(findings, chart)));
    body.push_str(&distributions(findings));
    body.extend(others.iter().map(|chart| described(findings, chart)));
    for series in findings
        .series
        .iter()
        .filter(|series| !is_part(&series.name))
    {
        let asked_for = |chart: &Chart| chart.series.contains(&series.name.as_str());
        if !charts.iter().any(asked_for) {
            body.push_str(&plot(
                findings,
                &plain(series),
                &heading(&series.y, &series.x),
                &[series],
            ));
        }
    }
    if body.is_empty() {
        body
    } else {
        format!("<div class=\"charts\">\n{body}</div>\n")
    }
}

/// The heading of a chart that has none of its own.
pub(super) fn heading(y: &Axis, x: &Axis) -> String {
    let words = format!("{} against {}", y.name, x.name);
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

fn distributions(findings: &Findings) -> String {
    let latency = &findings.latency;
    [
        ("Response times of reads", "c0", &latency.read),
        ("Response times of writes", "c1", &latency.write),
    ]
    .into_iter()
    .filter_map(|(title, class, summary)| Some((title, class, summary.as_ref()?)))
    .filter(|(.., summary)| !summary.histogram.is_empty())
    .map(|(title, class, summary)| distribution(title, class, summary))
    .collect()
}

/// A chart that the test describes. Series in other units than the first get a picture of their
/// own: two scales on one paper invite wrong conclusions.
fn described(findings: &Findings, chart: &Chart) -> String {
    let known = |name: &&str| findings.series(name);
    let series: Vec<&Series> = chart.series.iter().filter_map(known).collect();
    let same = |left: &&Series, right: &&Series| {
        (left.x.unit, left.y.unit) == (right.x.unit, right.y.unit)
    };
    series
        .chunk_by(same)
        .map(|alike| plot(findings, chart, chart.title, alike))
        .collect()
}

fn plot(findings: &Findings, chart: &Chart, title: &str, series: &[&Series]) -> String {
    let Some(first) = series.first() else {
        return String::new();
    };
    let mark = |figure: &Figure| {
        (
            format!("{} {}", figure.label(), figure.text()),
            figure.value,
        )
    };
    let unnamed = Axis::new("", first.y.unit);
    let alike = series.iter().all(|series| series.y.name == first.y.name);
    Plot {
        title,
        x: &first.x,
        y: if alike { &first.y } else { &unnamed },
        shape: chart.shape,
        log_x: chart.log_x,
        log_y: chart.log_y,
        from_zero: chart.from_zero,
        curves: series.iter().map(|series| curve(series, alike)).collect(),
        marks: chart
            .marks
            .iter()
            .filter_map(|name| findings.figure(name))
            .filter(|figure| figure.unit == first.x.unit)
            .map(mark)
            .collect(),
    }
    .figure()
}

/// A series for the legend: by its own name where its quantity does not tell it from the others.
fn curve(series: &Series, quantities_alike: bool) -> Curve {
    let name = if quantities_alike {
        series.name.replace('-', " ")
    } else {
        series.y.name.clone().into()
    };
    Curve {
        name,
        points: series.points.clone(),
        intervals: series.intervals.clone(),
    }
}
