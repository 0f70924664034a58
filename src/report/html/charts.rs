//! The charts of a run: those that its test describes, and whatever else it left.

use super::plot::{Curve, Plot, distribution};
use crate::session::chart::{Chart, Shape};
use crate::session::document::{Axis, Figure, Run, Series};

/// How a series is drawn that no chart asks for.
const PLAIN: Chart = Chart::new("", Shape::Line, &[]);

/// All charts of a run: what the test finds most telling, the distributions of response times, the
/// test's other charts, the rest.
pub(super) fn of(run: &Run, charts: &[Chart]) -> String {
    let (first, others) = charts.split_at(charts.len().min(1));
    let mut body = String::new();
    body.extend(first.iter().map(|chart| described(run, chart)));
    body.push_str(&distributions(run));
    body.extend(others.iter().map(|chart| described(run, chart)));
    for series in &run.findings.series {
        let asked_for = |chart: &Chart| chart.series.contains(&series.name.as_str());
        if !charts.iter().any(asked_for) {
            body.push_str(&plot(
                run,
                &PLAIN,
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

fn distributions(run: &Run) -> String {
    let latency = &run.findings.latency;
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
fn described(run: &Run, chart: &Chart) -> String {
    let known = |name: &&str| run.findings.series(name);
    let series: Vec<&Series> = chart.series.iter().filter_map(known).collect();
    let same = |left: &&Series, right: &&Series| {
        (left.x.unit, left.y.unit) == (right.x.unit, right.y.unit)
    };
    series
        .chunk_by(same)
        .map(|alike| plot(run, chart, chart.title, alike))
        .collect()
}

fn plot(run: &Run, chart: &Chart, title: &str, series: &[&Series]) -> String {
    let Some(first) = series.first() else {
        return String::new();
    };
    let mark = |figure: &Figure| {
        (
            format!("{} {}", figure.label(), figure.text()),
            figure.value,
        )
    };
    Plot {
        title,
        x: &first.x,
        y: &first.y,
        shape: chart.shape,
        log_x: chart.log_x,
        log_y: chart.log_y,
        from_zero: chart.from_zero,
        curves: series
            .iter()
            .map(|series| Curve {
                name: series.name.replace('-', " "),
                points: series.points.clone(),
            })
            .collect(),
        marks: chart
            .marks
            .iter()
            .filter_map(|name| run.findings.figure(name))
            .filter(|figure| figure.unit == first.x.unit)
            .map(mark)
            .collect(),
    }
    .figure()
}
