//! The charts of a run: those of its benchmark's description, and all other series.

use super::plot::{HtmlCurve, HtmlPlot, distribution_chart};
use crate::safe_text::SafeText;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::document::{ChartAxis, Findings, Metric, MetricUnit, Series};

/// Chart settings of a series that is in no described chart.
fn default_chart(series: &Series) -> ChartSpec {
    let around = series.x.unit == MetricUnit::Revolution;
    ChartSpec::new(
        "",
        if around {
            ChartShape::Polar
        } else {
            ChartShape::Line
        },
        &[],
    )
}

/// All charts of a run: the benchmark's first chart, the latency distributions, the benchmark's
/// other charts, the remaining series.
pub(super) fn run_charts(findings: &Findings, charts: &[ChartSpec]) -> String {
    let (first, others) = charts.split_at(charts.len().min(1));
    let mut body = String::new();
    body.extend(first.iter().map(|chart| specified_chart(findings, chart)));
    body.push_str(&distribution_charts(findings));
    body.extend(others.iter().map(|chart| specified_chart(findings, chart)));
    for series in findings
        .series
        .iter()
        .filter(|series| series.id.benchmark().is_none())
    {
        let asked_for = |chart: &ChartSpec| chart.series.contains(&series.id);
        if !charts.iter().any(asked_for) {
            body.push_str(&plot_chart(
                findings,
                &default_chart(series),
                &chart_heading(&series.y, &series.x),
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

/// Heading of a chart without a title.
pub(super) fn chart_heading(y: &ChartAxis, x: &ChartAxis) -> String {
    let words = format!("{} against {}", y.name, x.name);
    let mut letters = words.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

fn distribution_charts(findings: &Findings) -> String {
    let latency = &findings.latency;
    [
        ("Response times of reads", "c0", &latency.read),
        ("Response times of writes", "c1", &latency.write),
    ]
    .into_iter()
    .filter_map(|(title, class, summary)| Some((title, class, summary.as_ref()?)))
    .filter(|(.., summary)| !summary.histogram.is_empty())
    .map(|(title, class, summary)| distribution_chart(title, class, summary))
    .collect()
}

/// A chart of the benchmark's description. Series in other units than the first get a separate
/// chart: two scales in one chart are misleading.
fn specified_chart(findings: &Findings, chart: &ChartSpec) -> String {
    let known = chart.series.iter().filter_map(|id| findings.series(id));
    let series: Vec<&Series> = known.collect();
    let same = |left: &&Series, right: &&Series| {
        (left.x.unit, left.y.unit) == (right.x.unit, right.y.unit)
    };
    series
        .chunk_by(same)
        .map(|alike| plot_chart(findings, chart, chart.title, alike))
        .collect()
}

fn plot_chart(findings: &Findings, chart: &ChartSpec, title: &str, series: &[&Series]) -> String {
    let Some(first) = series.first() else {
        return String::new();
    };
    let mark = |figure: &Metric| {
        (
            format!("{} {}", figure.label(), figure.value_text()),
            figure.value,
        )
    };
    let unnamed = ChartAxis {
        name: SafeText::new(),
        unit: first.y.unit,
    };
    let alike = series.iter().all(|series| series.y.name == first.y.name);
    HtmlPlot {
        title,
        x: &first.x,
        y: if alike { &first.y } else { &unnamed },
        shape: chart.shape,
        log_x: chart.log_x,
        log_y: chart.log_y,
        from_zero: chart.from_zero,
        curves: series
            .iter()
            .map(|series| legend_curve(series, alike))
            .collect(),
        marked_values: chart
            .marked_metrics
            .iter()
            .filter_map(|id| findings.metric(id))
            .filter(|figure| figure.unit == first.x.unit)
            .map(mark)
            .collect(),
    }
    .render_figure()
}

/// A legend entry: the series' own name if its quantity does not distinguish it from the others.
fn legend_curve(series: &Series, quantities_alike: bool) -> HtmlCurve {
    let name = if quantities_alike {
        series.id.to_string().replace('-', " ")
    } else {
        series.y.name.clone().into()
    };
    HtmlCurve {
        name,
        points: series.points.clone(),
        intervals: series.intervals.clone(),
    }
}
